from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console.demo import services


class Command(BaseCommand):
    help = "Create the demo's accounts and tenants, where they are missing."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("Accounts whose password is their name belong into the demo only: set SLACKLINE_DEMO=1.")
        self.stdout.write(f"accounts: {', '.join(services.seed_people())}")
