"""Options that several verbs share, and what exit codes mean."""

from pathlib import Path
from typing import Annotated

import typer

NO, BAD_INPUT = 1, 2
STREAM = Path("-")

SnapshotFile = Annotated[
    Path, typer.Argument(metavar="SNAPSHOT", help="Snapshot file, slackline/snapshot/v1; - stdin.")
]
ClusterName = Annotated[str | None, typer.Option("--cluster", help="The cluster meant, where there are several.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout and nothing else.")]
OutFile = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where the snapshot goes; - is stdout.")]
Seed = Annotated[int, typer.Option("--seed", help="Equal input and seed give the equal result.")]
