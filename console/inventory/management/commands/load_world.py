"""``manage.py load_world``: a simulated cluster that starts as one of the named worlds."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.inventory import planning, selectors, services


class Command(BaseCommand):
    help = "Makes a simulated cluster of a named world, unless a source of that name exists, and reads it once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", default="demo")
        parser.add_argument("--world", default="asi")
        parser.add_argument("--nodes", type=int, default=None)
        parser.add_argument("--seed", type=int, default=7)
        parser.add_argument("--hour", type=int, default=10)
        parser.add_argument("--quiet", action="store_true", help="nothing in it changes by itself")

    def handle(self, *args: Any, **options: Any) -> None:
        if selectors.source_exists(options["name"]):
            self.stdout.write(f"{options['name']} exists: kept as it is")
            return
        try:
            source = planning.found_world(
                options["name"],
                options["world"],
                nodes=options["nodes"],
                seed=options["seed"],
                hour=options["hour"],
                lively=not options["quiet"],
            )
            observation = planning.read_first(source)
        except (ValueError, services.ReadError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{source.name}: {observation.counts['nodes']} nodes, revision {observation.revision}")
