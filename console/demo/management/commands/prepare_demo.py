from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.demo import services


class Command(BaseCommand):
    help = "Bring the demo's database up to date; create its accounts and its simulated fleet where they are missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--nodes", type=int, default=2000)

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("Accounts whose password is their name belong into the demo only: set SLACKLINE_DEMO=1.")
        if services.refresh_static():
            self.stdout.write("static files collected")
        call_command("migrate", verbosity=0)
        services.seed_people()
        call_command("load_world", name="demo", world="asi", nodes=options["nodes"], stdout=self.stdout)
        if services.seed_study():
            self.stdout.write("study asked for")
        if services.seed_book():
            self.stdout.write("book of quotas seeded")
        if services.seed_prices():
            self.stdout.write("prices seeded")
        if services.seed_supply():
            self.stdout.write("supply of spot capacity seeded")
        if services.seed_leases():
            self.stdout.write("leases asked for")
        if services.seed_standby():
            self.stdout.write("standby windows seeded")
