"""What people read: lines, tables, a bar while something is planned; and the one JSON document for machines."""

import sys
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

SHOWN_ROWS = 40  # rows of a table for people; --json has them all

screen = Console(highlight=False, markup=False, emoji=False)
errors = Console(stderr=True, highlight=False, markup=False, emoji=False)


def plain(text: str) -> str:
    """Text from a file without anything that would steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_json(document: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    sys.stdout.buffer.flush()


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def gpus_of(milli: int) -> str:
    return f"{milli / 1000:g}" if milli % 1000 else f"{milli // 1000}"


def say(lines: list[str]) -> None:
    for line in lines:
        screen.print(plain(line), soft_wrap=True)


def show_table(title: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    if not rows:
        return
    table = Table(title=Text(plain(title)), title_justify="left")
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows[:SHOWN_ROWS]:
        table.add_row(*(Text("–" if cell is None else plain(str(cell))) for cell in row))
    screen.print(table)
    if len(rows) > SHOWN_ROWS:
        say([f"... and {len(rows) - SHOWN_ROWS} more; --json has all"])
