"""What an entry of the book holds: read from JSON, a form or a table, normal form out, and every fault by field.

Numbers of GPUs are whole GPUs.  None is *not set*: no guarantee for a nominal quota, no limit for a limit; 0 is 0.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from console.tenancy.choices import EntryKind

MOST = 1_000_000_000
LONGEST_NAME = 200
MOST_ROLLING_DAYS = 366
LIMITS = ("nominal", "borrowing_limit", "lending_limit")
BUDGET = ("gpu_hours", "usd", "warn_percent")
WARN_PERCENT = 80  # where a budget does not say
ROLLING = "rolling-"

type Key = tuple[str, str]  # kind, name
type Document = dict[str, Any]
type Docs = dict[Key, Document]


class Wrong(NamedTuple):
    """One fault: where it stands in what was sent (an entry's number, a line), which field, and why."""

    row: str
    field: str
    reason: str

    @property
    def words(self) -> str:
        return ", ".join(part for part in (self.row, self.field) if part) + f": {self.reason}"


class BookError(ValueError):
    """What was sent is not fit; nothing of it is kept.  HTTP 400."""

    def __init__(self, wrongs: Iterable[Wrong]) -> None:
        self.wrongs = tuple(wrongs)
        super().__init__("; ".join(one.words for one in self.wrongs[:5]))


@dataclass(frozen=True, slots=True)
class Given:
    """One entry as somebody wants it; ``removed``: it shall not be there any more.

    ``row``: where it stands in what was sent; ``rows``: where a part of it stands, if elsewhere, by the part's field.
    """

    kind: str
    name: str
    document: Mapping[str, Any] = field(default_factory=dict)
    row: str = ""
    removed: bool = False
    rows: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.kind, self.name

    def row_of(self, named: str) -> str:
        """Where a field of it stands."""
        parts = (row for part, row in self.rows.items() if named == part or named.startswith(f"{part}."))
        return next(parts, self.row or f"{self.kind} {self.name}"[:300])


class _Reader:
    """Takes fields out of one entry and keeps what is wrong with them."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.wrongs: list[Wrong] = []

    def refuse(self, name: str, reason: str) -> None:
        self.wrongs.append(Wrong(self.given.row_of(name), name, reason))

    def number(self, name: str, value: Any, *, low: int = 0, high: int = MOST) -> int | None:
        if value is None or value == "":
            return None
        if isinstance(value, str) and value.strip().isascii() and value.strip().removeprefix("-").isdigit():
            value = int(value) if len(value) < 20 else MOST + 1
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(name, "must be a whole number, or empty for not set")
            return None
        if not low <= value <= high:
            self.refuse(name, f"must be from {low:,} to {high:,}")
            return None
        return value

    def name(self, name: str, value: Any) -> str | None:
        if value is None or value == "":
            return None
        wrong = name_fault(value)
        if wrong:
            self.refuse(name, wrong)
            return None
        return str(value)

    def mapping(self, name: str, value: Any) -> Mapping[Any, Any]:
        if value is None or isinstance(value, Mapping):
            return value or {}
        self.refuse(name, "must be an object")
        return {}

    def only(self, given: Mapping[Any, Any], known: Iterable[str], prefix: str = "") -> None:
        for name in given:
            if name not in known:
                self.refuse(f"{prefix}{name}"[:200], f"is no field here; there are {', '.join(known)}")


def name_fault(value: Any) -> str:
    """Why this cannot be the name of an entry; "" where it can."""
    if not isinstance(value, str) or not value.strip():
        return "must be a name"
    if value != value.strip() or len(value) > LONGEST_NAME:
        return f"must have no blanks around it and at most {LONGEST_NAME} characters"
    if "/" in value or any(unicodedata.category(letter)[0] == "C" for letter in value) or value in (".", ".."):
        return "must have no slash and nothing unseen"
    return ""


def _tenant(given: Mapping[str, Any], read: _Reader) -> Document:
    read.only(given, _FIELDS[EntryKind.TENANT])
    weight, cap, guarantee, runtime = (
        read.number(name, given.get(name)) for name in ("weight", "cap_gpus", "guarantee_gpus", "min_runtime_s")
    )
    if cap is not None and guarantee is not None and guarantee > cap:
        read.refuse("guarantee_gpus", f"is more than the cap of {cap:,}")
    return {
        "parent": read.name("parent", given.get("parent")),
        "cohort": read.name("cohort", given.get("cohort")),
        "weight": weight,
        "cap_gpus": cap,
        "guarantee_gpus": guarantee,
        "min_runtime_s": runtime,
        "quotas": _quotas(given, read),
        "budgets": _budgets(given, read),
        "namespaces": _namespaces(given, read),
    }


def _namespaces(given: Mapping[str, Any], read: _Reader) -> list[str]:
    """Names, or ``cluster/name``; each once, in order."""
    said = given.get("namespaces") or []
    if not isinstance(said, list):
        read.refuse("namespaces", "must be a list of names")
        return []
    found: list[str] = []
    for one in said:
        cluster, slash, name = one.rpartition("/") if isinstance(one, str) else ("", "", one)
        fault = name_fault(name) or (name_fault(cluster.replace("/", "-")) if slash else "")
        if fault:
            read.refuse("namespaces", f"{str(one)[:100]!r}: a namespace (or cluster/namespace) {fault}")
        elif one in found:
            read.refuse("namespaces", f"{one} is there twice")
        else:
            found.append(one)
    return sorted(found)


def _cohort(given: Mapping[str, Any], read: _Reader) -> Document:
    read.only(given, _FIELDS[EntryKind.COHORT])
    return {
        "parent": read.name("parent", given.get("parent")),
        "weight": read.number("weight", given.get("weight")),
        "quotas": _quotas(given, read),
    }


def _priority(given: Mapping[str, Any], read: _Reader) -> Document:
    read.only(given, _FIELDS[EntryKind.PRIORITY])
    value = read.number("value", given.get("value"), low=-MOST)
    if value is None and not read.wrongs:
        read.refuse("value", "a class needs a value; higher goes first")
    tenants = given.get("tenants") or []
    if not isinstance(tenants, list):
        read.refuse("tenants", "must be a list of names")
        tenants = []
    return {"value": value, "tenants": sorted({name for one in tenants if (name := read.name("tenants", one))})}


def _price(given: Mapping[str, Any], read: _Reader) -> Document:
    read.only(given, _FIELDS[EntryKind.PRICE])
    prices = {name: read.number(name, given.get(name)) for name in ("hp_cents", "lp_cents")}
    if not read.wrongs and all(value is None for value in prices.values()):
        read.refuse("hp_cents", "a price needs a figure, in US cents of a GPU-hour")
    return prices


_FIELDS: dict[str, tuple[str, ...]] = {
    EntryKind.TENANT: (
        *("parent", "cohort", "weight", "cap_gpus", "guarantee_gpus", "min_runtime_s", "quotas", "budgets"),
        "namespaces",
    ),
    EntryKind.COHORT: ("parent", "weight", "quotas"),
    EntryKind.PRIORITY: ("value", "tenants"),
    EntryKind.PRICE: ("hp_cents", "lp_cents"),
}
_READ: dict[str, Callable[[Mapping[str, Any], _Reader], Document]] = {
    EntryKind.TENANT: _tenant,
    EntryKind.COHORT: _cohort,
    EntryKind.PRIORITY: _priority,
    EntryKind.PRICE: _price,
}


def _quotas(given: Mapping[str, Any], read: _Reader) -> Document:
    found = {}
    for model, said in read.mapping("quotas", given.get("quotas")).items():
        at = f"quotas.{model}"[:250]
        if wrong := name_fault(model):
            read.refuse(at, f"a GPU model {wrong}")
            continue
        limits = read.mapping(at, said)
        read.only(limits, LIMITS, f"{at}.")
        one = {name: read.number(f"{at}.{name}", limits.get(name)) for name in LIMITS}
        if one["nominal"] is not None and one["lending_limit"] is not None and one["lending_limit"] > one["nominal"]:
            read.refuse(f"{at}.lending_limit", f"is more than the nominal quota of {one['nominal']:,}")
        if any(value is not None for value in one.values()):
            found[model] = one
    return dict(sorted(found.items()))


def _budgets(given: Mapping[str, Any], read: _Reader) -> Document:
    found = {}
    for period, said in read.mapping("budgets", given.get("budgets")).items():
        at = f"budgets.{period}"[:250]
        if not is_period(period):
            read.refuse(
                at, f"is no period; there are month, quarter and rolling-1 to rolling-{MOST_ROLLING_DAYS} (days)"
            )
            continue
        limits = read.mapping(at, said)
        read.only(limits, BUDGET, f"{at}.")
        hours, usd = (read.number(f"{at}.{name}", limits.get(name)) for name in ("gpu_hours", "usd"))
        warn = read.number(f"{at}.warn_percent", limits.get("warn_percent"), low=1, high=100)
        if hours is not None or usd is not None:
            found[str(period)] = {
                "gpu_hours": hours,
                "usd": usd,
                "warn_percent": WARN_PERCENT if warn is None else warn,
            }
    return dict(sorted(found.items()))


def is_period(word: Any) -> bool:
    if word in ("month", "quarter"):
        return True
    days = str(word).removeprefix(ROLLING)
    return (
        str(word).startswith(ROLLING) and days.isascii() and days.isdigit() and 1 <= int(days[:5]) <= MOST_ROLLING_DAYS
    )


def read_entries(given: Iterable[Given]) -> tuple[Docs, set[Key], list[Wrong]]:
    """(documents by key, keys to remove, what is wrong).  An entry that comes twice is wrong."""
    docs: Docs = {}
    removed: set[Key] = set()
    wrongs: list[Wrong] = []
    for one in given:
        row = one.row_of("")
        if one.kind not in _READ:
            wrongs.append(Wrong(row, "kind", f"must be one of {', '.join(_READ)}"))
        elif fault := name_fault(one.name):
            wrongs.append(Wrong(row, "name", fault))
        elif one.key in docs or one.key in removed:
            wrongs.append(Wrong(row, "name", f"{one.kind} {one.name} is there twice"))
        elif one.removed:
            removed.add(one.key)
        else:
            reader = _Reader(one)
            docs[one.key] = _READ[one.kind](one.document, reader)
            wrongs += reader.wrongs
    return docs, removed, wrongs


def flat(document: Mapping[str, Any] | None) -> dict[str, Any]:
    """Field -> value of all that is set, nested ones by dots."""
    return dict(_flat(document or {}, ""))


def _flat(document: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None and value != []:
            yield f"{prefix}{name}", value


def changes(before: Docs, after: Docs) -> list[list[Any]]:
    """[kind, name, field, was, now] of every field that differs; field "" where the entry comes or goes empty."""
    found: list[list[Any]] = []
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key), after.get(key)
        if was == now:
            continue
        old, new = flat(was), flat(now)
        rows = [[*key, name, old.get(name), new.get(name)] for name in sorted(old.keys() | new.keys())]
        rows = [row for row in rows if row[3] != row[4]]
        if was is None or now is None:
            rows.insert(0, [*key, "", None if was is None else "there", None if now is None else "there"])
        found += rows
    return found


def as_json(docs: Docs) -> list[dict[str, Any]]:
    """The entries as they are sent and received, in one order."""
    order = [kind.value for kind in EntryKind]
    keys = sorted(docs, key=lambda key: (order.index(key[0]), key[1]))
    return [{"kind": kind, "name": name, **docs[kind, name]} for kind, name in keys]


_SENT_BESIDE = ("kind", "name", "removed", "version")


def _is_absent(name: str, value: Any) -> bool:
    """A null under any name that entries have: an answer has all of them, whatever its entry is."""
    return value is None and any(name in fields for fields in _FIELDS.values())


def given_of(rows: Any) -> list[Given]:
    """Entries from JSON: flat objects with ``kind`` and ``name``; ``BookError`` where it is no list of such."""
    if not isinstance(rows, list):
        raise BookError([Wrong("", "entries", "must be a list")])
    wrongs = [
        Wrong(f"entry {at + 1}", "", "must be an object") for at, row in enumerate(rows) if not isinstance(row, dict)
    ]
    if wrongs:
        raise BookError(wrongs)
    return [
        Given(
            str(row.get("kind", EntryKind.TENANT.value)),
            row["name"] if isinstance(row.get("name"), str) else "",
            {name: value for name, value in row.items() if name not in _SENT_BESIDE and not _is_absent(name, value)},
            f"entry {at + 1} ({row.get('name')})"[:300],
            row.get("removed") is True,
        )
        for at, row in enumerate(rows)
    ]
