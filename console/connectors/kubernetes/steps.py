"""What goes into a reflector and what comes out of it.  Facts only; the reflector decides, the feed carries out."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

Change = Literal["ADDED", "MODIFIED", "DELETED"]


class Item(NamedTuple):
    """One object as the API told it.  ``uid`` says whether it is still the same one, ``version`` how new it is.

    Both are ``""`` where they are not known.  An object that could not be read is an item as well; its value says so.
    """

    key: Hashable
    uid: str
    version: str
    value: Any


# --- inputs: what the wire met -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Paged:
    """One page of a list; ``token`` asks for the next one, ``""`` ends the list."""

    items: tuple[Item, ...]
    version: str
    token: str


@dataclass(frozen=True, slots=True)
class Opened:
    """The API has accepted a watch; the stream follows."""


@dataclass(frozen=True, slots=True)
class Changed:
    what: Change
    item: Item


@dataclass(frozen=True, slots=True)
class Marked:
    """A bookmark: everything up to ``version`` has been told."""

    version: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An event of which not even the object's name could be read, or that is about something else."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An HTTP status, or the status inside an ERROR event."""

    status: int
    reason: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer, a cut line, silence, something that is not the protocol."""

    word: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The API closed the stream in order."""


@dataclass(frozen=True, slots=True)
class Woke:
    """A wait is over."""


Input = Paged | Opened | Changed | Marked | Unreadable | Refused | Lost | Ended | Woke


# --- instructions --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class List:
    """Ask for one page of at most ``limit`` objects (0: all of them)."""

    limit: int
    token: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """Ask for all changes after ``version``; the API should end the stream after ``timeout_s``."""

    version: str
    timeout_s: int


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Put:
    key: Hashable
    value: Any


@dataclass(frozen=True, slots=True)
class Drop:
    key: Hashable


Wire = List | Watch | Wait  # at most one per step; a new one ends whatever ran before
Instruction = Wire | Put | Drop


class Phase(StrEnum):
    """What a kind is doing; the word on the health page."""

    STARTING = "starting"
    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"
    ABSENT = "absent"  # the API does not know this kind
    FORBIDDEN = "forbidden"


class Doubt(StrEnum):
    """Why an answer is not taken at its word; see the reflector."""

    WENT_BACK = "the API went back in time"
    VANISHED = "half of the objects or more vanished at once"
    EMPTY = "all objects vanished at once"
    KIND_GONE = "the API no longer knows a kind that had objects"
