"""The project's own Python files, read once."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("scheduler", "console", "tests", "benchmarks")


@cache
def files() -> dict[str, str]:
    """Path below the root -> text; migrations are written by Django and are left out."""
    found = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): path.read_text() for path in found if "migrations" not in path.parts}


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(text, name) for name, text in files().items()}
