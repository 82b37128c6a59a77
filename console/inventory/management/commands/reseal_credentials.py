"""``manage.py reseal_credentials``: after a new key was put in front of the old ones."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.inventory import services


class Command(BaseCommand):
    help = "Seals the credentials of all clusters with the first key of SLACKLINE_CREDENTIALS_KEYS."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            changed = services.reseal_credentials()
        except services.ReadError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{changed} sealed anew")
