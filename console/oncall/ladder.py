"""How an alert widens: one person after the other, then everybody in the rota, then all approvers.  Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from console.oncall.choices import Reach
from console.oncall.turns import Person


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a call may go without an answer, and how many people are called one by one."""

    next_minutes: int
    singles: int
    last_minutes: int


@dataclass(frozen=True, slots=True)
class Call:
    """Whom to call now, and how long to wait for an answer; None: nobody comes after them."""

    reach: Reach
    people: tuple[Person, ...]
    wait: timedelta | None


def following(
    pace: Pace,
    line: tuple[Person, ...],
    approvers: tuple[Person, ...],
    called: Collection[int],
    singles: int,
    reached: Reach | None,
) -> Call | None:
    """The next call of an alert; None where everybody has been called.

    ``line`` is the duty of this instant: who came on call meanwhile is called first, and nobody is called alone twice.
    ``singles`` people were called one by one so far, ``called`` are all who were; ``reached`` is the widest call yet.
    """
    fresh = next((one for one in line if one.uid not in called), None)
    if reached in (None, Reach.PERSON) and fresh is not None and singles < pace.singles:
        return Call(Reach.PERSON, (fresh,), timedelta(minutes=pace.next_minutes))
    if reached in (None, Reach.PERSON) and line:
        return Call(Reach.ROTA, line, timedelta(minutes=pace.last_minutes))
    if reached != Reach.APPROVERS and approvers:
        return Call(Reach.APPROVERS, approvers, None)
    return None
