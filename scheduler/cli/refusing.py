"""Bad input becomes one line on stderr and exit 2."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Never

import typer

from scheduler.cli.options import BAD_INPUT, STREAM
from scheduler.cli.screen import plain
from scheduler.cluster.errors import InputError, ParamError


@contextmanager
def bad_input(options: Mapping[str, str] | None = None) -> Iterator[None]:
    """``options`` names the option of a field of ``ParamError`` where it is not called like the field."""
    try:
        yield
    except InputError as error:
        refuse(error.path, error.value, error.reason)
    except ParamError as error:
        refuse((options or {}).get(error.field, f"--{error.field.replace('_', '-')}"), error.value, error.reason)
    except OSError as error:
        refuse(str(error.filename or "file"), None, error.strerror or str(error))


def refuse(path: str, value: object, reason: str) -> Never:
    got = _typed(value) if path.startswith("--") else None if value is None else repr(value)
    told = f" (got {got})" if got else ""
    sys.stderr.write(f"error: {plain(path)}: {plain(reason)}{plain(told)}\n")
    raise typer.Exit(BAD_INPUT)


def _typed(value: object) -> str:
    """The value of an option as it was typed; a flag has none beside its name."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(repr, value))
    return repr(value)


def check_streams(out: Path, json: bool) -> None:
    if json and out == STREAM:
        raise InputError("--json", None, "stdout already holds the snapshot")


def check_seed(seed: int) -> None:
    if seed < 0:
        raise InputError("--seed", seed, "must be 0 or more")
