"""What a study asks for, field by field.  The core checks its own words again when a run begins."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from console.rest.errors import FieldError
from console.simulation.choices import (
    CHANGES,
    LARGEST_SEED,
    MOST_DAYS,
    MOST_POLICIES,
    MOST_RUNS,
    MOST_SEEDS,
    NAMED,
    NUMBERS,
    SWITCHES,
    WORDS,
)

LONGEST_NAME = 40


def checked_policies(given: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of name, base, changes.  Raises ``FieldError`` whose field is ``policies`` or the field that is changed."""
    if not 1 <= len(given) <= MOST_POLICIES:
        raise FieldError("policies", f"choose 1 to {MOST_POLICIES} policies")
    found = [_policy(one) for one in given]
    names = [one["name"] for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FieldError("policies", f"the name {twice} stands twice")
    return found


def _policy(given: Mapping[str, Any]) -> dict[str, Any]:
    base, changes = given.get("base", ""), dict(given.get("changes") or {})
    if base not in NAMED:
        raise FieldError("policies", f"there is no policy {base!r} to start from, only {', '.join(NAMED)}")
    name = str(given.get("name") or base).strip()
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise FieldError("policies", f"a policy needs a name of 1 to {LONGEST_NAME} printable characters")
    if changes and name in NAMED:
        raise FieldError("policies", f"{name} is the name of a policy as it stands: give the changed one its own")
    return {"name": name, "base": base, "changes": {field: checked_change(field, changes[field]) for field in changes}}


def checked_change(field: str, value: object) -> Any:
    """One changed setting of a policy.  Raises ``FieldError`` at that field."""
    if field in NUMBERS:
        if fault := NUMBERS[field].fault(value):
            raise FieldError(field, fault)
        return value
    if field in WORDS:
        if value not in WORDS[field].values:
            raise FieldError(field, f"must be one of {', '.join(WORDS[field].values)}")
        return value
    if field in SWITCHES:
        if not isinstance(value, bool):
            raise FieldError(field, "must be true or false")
        return value
    raise FieldError("policies", f"there is no setting {field!r}, only {', '.join(CHANGES)}")


def checked_seeds(given: Sequence[object], policies: int) -> list[int]:
    if not 1 <= len(given) <= MOST_SEEDS:
        raise FieldError("seeds", f"1 to {MOST_SEEDS} seeds; intervals need two or more")
    for seed in given:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
            raise FieldError("seeds", f"a seed is a whole number from 0 to {LARGEST_SEED}")
    if len(set(given)) < len(given):
        raise FieldError("seeds", "a seed stands twice: the same seed gives the same result")
    if len(given) * policies > MOST_RUNS:
        raise FieldError("seeds", f"{len(given)} seeds x {policies} policies are more than {MOST_RUNS} runs")
    return sorted(int(seed) for seed in given)  # type: ignore[call-overload]


def checked_days(given: object) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST_DAYS:
        raise FieldError("days", f"must be 1 to {MOST_DAYS}, or nothing for the whole trace")
    return given


def checked_share(field: str, given: object, low: float, high: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise FieldError(field, "must be a number")
    if not low <= given <= high:
        raise FieldError(field, f"must be {low:g} to {high:g}")
    return float(given)


def checked_text(field: str, given: object, most: int, *, least: int = 0) -> str:
    text = str(given or "").strip()
    if not least <= len(text) <= most:
        raise FieldError(field, f"must have {least} to {most} characters" if least else f"at most {most} characters")
    if "\x00" in text:
        raise FieldError(field, "must not hold a null character")
    return text
