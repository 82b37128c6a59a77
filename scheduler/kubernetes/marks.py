"""What people write on pods: our own labels and annotations, and the marks of others that forbid disruption.

Each of ours may be a label or an annotation; the label wins.  Instants are seconds since 1970 or RFC 3339.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from scheduler.cluster.records import MoveMode, Tier, WorkClass
from scheduler.cluster.rows import MAX_TIME
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.unheld import Note
from scheduler.kubernetes.wire import seconds

Labels = Mapping[str, str]
LONGEST_NAME, LONGEST_WORDS = 253, 300
TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no")
# Annotation, values that do not forbid anything, who reads it
FORBIDDING = (
    ("karpenter.sh/do-not-disrupt", FALSE, "karpenter"),
    ("karpenter.sh/do-not-evict", FALSE, "karpenter"),
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", TRUE, "cluster-autoscaler"),
    ("descheduler.alpha.kubernetes.io/prefer-no-eviction", FALSE, "descheduler"),
)


@dataclass(frozen=True, slots=True)
class Marks:
    """Fields of a pod record that marks set; None where nobody said anything."""

    tenant: str | None = None
    tier: Tier | None = None
    work_class: WorkClass | None = None
    move: MoveMode | None = None
    locked: bool = False
    locked_by: str | None = None
    lock_reason: str | None = None
    locked_until_s: int | None = None
    standby: bool = False
    standby_until_s: int | None = None
    checkpoint_s: int | None = None
    checkpoint_interval_s: int | None = None
    min_runtime_s: int | None = None


NONE = Marks()


def read_marks(labels: Labels, annotations: Labels, options: Options) -> tuple[Marks, tuple[Note, ...]]:
    """The marks, and those that could not be understood.  A lock or a mode of moving that is not understood pins."""
    own = _own(labels, annotations, options.prefix)
    forbidden = _forbidden(annotations)
    if not own and forbidden is None:
        return NONE, ()
    reader = _Reader(own, options.prefix)
    locked = reader.flag("locked")
    move = reader.choice("move", get_args(MoveMode))
    found = Marks(
        tenant=reader.name("tenant"),
        tier=reader.choice("tier", get_args(Tier), str.upper),  # type: ignore[arg-type]
        work_class=reader.choice("class", get_args(WorkClass)),  # type: ignore[arg-type]
        move="never" if "move" in reader.wrong else move,  # type: ignore[arg-type]
        locked=locked or "locked" in reader.wrong or forbidden is not None,
        locked_by=_line(own.get("locked-by")) or (None if locked or forbidden is None else forbidden[0]),
        lock_reason=_line(own.get("lock-reason")) or (None if locked or forbidden is None else forbidden[1]),
        locked_until_s=reader.instant("locked-until"),
        standby=reader.flag("standby"),
        standby_until_s=reader.instant("standby-until"),
        checkpoint_s=reader.instant("checkpoint"),
        checkpoint_interval_s=reader.seconds("checkpoint-interval"),
        min_runtime_s=reader.seconds("min-runtime"),
    )
    return found, tuple(reader.notes)


def _own(labels: Labels, annotations: Labels, prefix: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for source in (annotations, labels):
        for key, value in source.items():
            if key.startswith(prefix):
                found[key[len(prefix) :]] = value.strip()
    return found


def _forbidden(annotations: Labels) -> tuple[str, str] | None:
    for key, allows, reader in FORBIDDING:
        value = annotations.get(key)
        if value is not None and value.strip().lower() not in allows:
            return reader, f"{key}={_line(value) or ''}"
    return None


class _Reader:
    """Reads one mark after the other and remembers which it did not understand."""

    def __init__(self, own: dict[str, str], prefix: str) -> None:
        self._own, self._prefix = own, prefix
        self.wrong: set[str] = set()
        self.notes: list[Note] = []

    def _refuse(self, name: str, expected: str) -> None:
        self.wrong.add(name)
        done = "pinned" if name in ("locked", "move") else "ignored"
        detail = f"{self._own[name]!r:.80}: expected {expected}"
        self.notes.append(Note("value", done, f"$.metadata.labels.{self._prefix}{name}", detail))  # type: ignore[arg-type]

    def name(self, name: str) -> str | None:
        text = self._own.get(name)
        if text and (len(text) > LONGEST_NAME or not text.isprintable()):
            self._refuse(name, f"one line of at most {LONGEST_NAME} characters")
            return None
        return text or None

    def flag(self, name: str) -> bool:
        text = self._own.get(name, "false").lower()
        if text not in TRUE + FALSE:
            self._refuse(name, "true or false")
        return text in TRUE

    def choice(self, name: str, words: tuple[str, ...], change: type[str] | object = str.lower) -> str | None:
        text = self._own.get(name)
        if not text:
            return None
        word = text.upper() if change is str.upper else text.lower()
        if word not in words:
            self._refuse(name, f"one of {', '.join(words)}")
            return None
        return word

    def seconds(self, name: str) -> int | None:
        text = self._own.get(name)
        if not text:
            return None
        if not _whole(text):
            self._refuse(name, "seconds")
            return None
        return int(text)

    def instant(self, name: str) -> int | None:
        text = self._own.get(name)
        if not text:
            return None
        if _whole(text):
            return int(text)
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            found = None
        if found is None or found.tzinfo is None:
            self._refuse(name, "seconds since 1970 or an instant as in RFC 3339")
            return None
        return seconds(found)


def _line(text: str | None) -> str | None:
    """Words for people: an annotation may hold a quarter of a megabyte."""
    return " ".join(text[:LONGEST_WORDS].split()) if text else None


def _whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(MAX_TIME)) and int(text) <= MAX_TIME
