"""``slackline generate``."""

from pathlib import Path
from typing import Annotated

import typer

from scheduler.cli.files import read_bytes, write_document
from scheduler.cli.options import AsJson, OutFile, Seed
from scheduler.cli.refusing import bad_input, check_streams
from scheduler.worlds.generate import WORLDS
from scheduler.worlds.generate import generate as generate_world
from scheduler.worlds.openb import read_shapes


def generate(
    out: OutFile,
    world: Annotated[str, typer.Option(help=", ".join(WORLDS))],
    nodes: Annotated[int | None, typer.Option(help="Number of nodes; default: the world's own.")] = None,
    seed: Seed = 0,
    hour: Annotated[int, typer.Option(help="Hour of the day, 0 to 23; services sleep most at midnight.")] = 0,
    shapes: Annotated[Path | None, typer.Option(help="OpenB pod list to draw pods from.")] = None,
    json: AsJson = False,
) -> None:
    """Make a named world."""
    with bad_input():
        check_streams(out, json)
        drawn = read_shapes(read_bytes(shapes), str(shapes)) if shapes else None
        write_document(out, generate_world(world, nodes=nodes, seed=seed, hour=hour, shapes=drawn), json)
