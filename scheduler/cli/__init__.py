"""``slackline``: the core on files.  The one door of the core that reads files, looks at the clock and prints.

Exit 0 good, 1 the answer is no, 2 bad input.  With ``--json`` stdout holds exactly one JSON document; people's text and
progress bars then have stderr alone.  Each verb is a file of its own in ``verbs`` and stands in ``VERBS`` once.
"""

import typer

from scheduler.cli.verbs.consolidate import consolidate
from scheduler.cli.verbs.convert import convert
from scheduler.cli.verbs.explain import explain
from scheduler.cli.verbs.generate import generate
from scheduler.cli.verbs.measure import measure
from scheduler.cli.verbs.place import place
from scheduler.cli.verbs.quote import quote
from scheduler.cli.verbs.replay import replay
from scheduler.cli.verbs.victims import victims

__all__ = ["main"]

VERBS = (  # in the order of the help
    measure,
    consolidate,
    place,
    victims,
    explain,
    replay,
    quote,
    convert,
    generate,
)

main = typer.Typer(
    name="slackline",
    help="See where the GPUs of a cluster are stuck, and plan how to free whole nodes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _verb in VERBS:
    main.command()(_verb)
