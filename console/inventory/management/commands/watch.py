"""``manage.py watch``: follows Kubernetes clusters until it is told to stop."""

import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from console.inventory import planning, services


class Command(BaseCommand):
    help = "Follows the Kubernetes clusters among the sources.  Several of these processes share the clusters."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--most", type=int, default=services.MOST_WATCHED, help="clusters that it follows at most")

    def handle(self, *args: Any, **options: Any) -> None:
        watcher = services.Watcher(planning.encode, most=options["most"])
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: watcher.stop())
        watcher.run()
