"""What apps hang into the frame of every page: navigation, tools of the top bar, banners, palette sources.

The frame asks nobody upstairs. Each app registers its parts once, from `AppConfig.ready`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Entry:
    """One page of the main navigation. `section` is compared with the context variable `section`."""

    section: str
    label: str
    url_name: str
    icon: str
    order: int
    permission: str | None = None
    short: str = ""
    count: Callable[[HttpRequest], int | None] | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A button of the top bar, such as the freeze switch; below 640 px it stands under More."""

    label: str
    url: str
    icon: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Banner:
    """A full-width notice on every page. `link` is (label, url)."""

    tone: str
    icon: str
    title: str
    text: str
    link: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A word beside the brand on every page, for what must never be forgotten."""

    label: str
    title: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of the command palette."""

    kind: str
    label: str
    url: str
    icon: str = "arrow-right"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """What one app has to say about an object that another app shows, such as a lock on a node."""

    icon: str
    text: str
    url: str


type Notes = Callable[[HttpRequest, str, str, str], Iterable[Note]]
type Tools = Callable[[HttpRequest], Iterable[Tool]]
type Banners = Callable[[HttpRequest], Iterable[Banner]]
type Marks = Callable[[HttpRequest], Iterable[Mark]]
type Hits = Callable[[HttpRequest, str, int], Iterable[Hit]]


@dataclass(slots=True)
class Shell:
    """All that apps have registered in this process."""

    entries: dict[str, Entry] = field(default_factory=dict)
    tools: dict[str, Tools] = field(default_factory=dict)
    banners: dict[str, Banners] = field(default_factory=dict)
    marks: dict[str, Marks] = field(default_factory=dict)
    hits: dict[str, Hits] = field(default_factory=dict)
    notes: dict[str, Notes] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)


SHELL = Shell()


def register_entry(entry: Entry) -> None:
    SHELL.entries[entry.section] = entry


def register_tools(name: str, source: Tools) -> None:
    SHELL.tools[name] = source


def register_banners(name: str, source: Banners) -> None:
    SHELL.banners[name] = source


def register_marks(name: str, source: Marks) -> None:
    SHELL.marks[name] = source


def register_topic(topic: str, permission: str) -> None:
    """Whoever holds the permission sees the frame drawn anew at every notice of this topic."""
    SHELL.topics[topic] = permission


def register_hits(name: str, source: Hits) -> None:
    """`source(request, words, limit)` returns at most `limit` answers that this person may see."""
    SHELL.hits[name] = source


def register_notes(name: str, source: Notes) -> None:
    """`source(request, kind, cluster, name)` says what this person may know about an object of that kind."""
    SHELL.notes[name] = source


def notes_on(request: HttpRequest, kind: str, cluster: str, name: str) -> list[Note]:
    return [note for source in SHELL.notes.values() for note in source(request, kind, cluster, name)]


def allowed_topics(request: HttpRequest) -> list[str]:
    return [topic for topic, permission in SHELL.topics.items() if request.user.has_perm(permission)]


def allowed_entries(request: HttpRequest) -> list[Entry]:
    user = request.user
    entries = (e for e in SHELL.entries.values() if e.permission is None or user.has_perm(e.permission))
    return sorted(entries, key=lambda entry: entry.order)
