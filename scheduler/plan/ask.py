"""What may be asked of a planner beside whole nodes, and whether a cluster has what the question names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.cluster.errors import ParamError, within
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan.goal import CLUSTER, DOMAIN, DRAIN, GANG, KINDS, NODES, SHAPE, SPARE
from scheduler.plan.promise import nodes_of
from scheduler.plan.slots import SHAPE_WORDS
from scheduler.plan.waiting import gang_pods, waiting_of

__all__ = ["Ask", "ParamError", "ask_of", "asked_words", "check", "domain_of", "one_goal", "within"]

MOST_NAMED = 10_000  # nodes of a drain, slots of a shape
GIVEN = {  # what each goal is asked with
    NODES: (),
    DRAIN: ("nodes",),
    DOMAIN: ("name", "level"),
    SHAPE: ("name", "slots"),
    GANG: ("name",),
    SPARE: ("nodes", "level"),
}
SCOPED = (NODES, SHAPE)  # GPU models narrow these; the others say by names where they are meant
ALL_OR_NOTHING = (DOMAIN, GANG, SPARE)  # unless said otherwise; of a gang and a spare a part is no use


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a plan is to reach.  Raises ``ParamError`` for the first field that its kind cannot be asked with."""

    kind: str = NODES  # of ``plan.goal.KINDS``
    nodes: tuple[str, ...] = ()  # DRAIN: the nodes to clear; SPARE: the failing one
    name: str = ""  # DOMAIN: of the domain; SHAPE: such as 8G128C; GANG: namespace/name of a gang or pod
    level: str = ""  # DOMAIN: of the domain, "" where only one has that name; SPARE: what it shares, "" = the switch
    slots: int = 0  # SHAPE: how many
    whole: bool | None = None  # all or nothing; None: as is usual for this kind

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParamError("goal", self.kind, f"must be one of {', '.join(KINDS)}")
        for field in ("nodes", "name", "level", "slots"):
            given, known = getattr(self, field), field in GIVEN[self.kind]
            if given and not known:
                raise ParamError(field, given, f"says nothing for the goal {self.kind}")
            if known and not given and field != "level":
                raise ParamError(field, given, f"is needed for the goal {self.kind}")
        self._check()

    def _check(self) -> None:
        if len(set(self.nodes)) < len(self.nodes) or len(self.nodes) > MOST_NAMED:
            raise ParamError("nodes", len(self.nodes), f"must be at most {MOST_NAMED} names, each once")
        if self.kind == SPARE and len(self.nodes) != 1:
            raise ParamError("nodes", self.nodes, "must be one node: spares are found one by one")
        if self.kind == SHAPE:
            within("slots", self.slots, 1, MOST_NAMED)
            if not re.fullmatch(SHAPE_WORDS, self.name):
                raise ParamError("name", self.name, "must be a shape such as 8G128C: GPUs, then CPU cores")
        if self.kind == GANG and not all(self.name.partition("/")):
            raise ParamError("name", self.name, "must be namespace/name of a gang or pod")
        if self.kind == NODES and self.whole is not None:
            raise ParamError("whole", self.whole, f"says nothing for the goal {self.kind}")
        if self.kind in (GANG, SPARE) and self.whole is False:
            raise ParamError("whole", False, "a part of a gang is of no use: it is all or nothing")

    @property
    def all_or_nothing(self) -> bool:
        return self.kind in ALL_OR_NOTHING if self.whole is None else self.whole


def ask_of(given: Mapping[str, Any] | None) -> Ask:
    """From plain values, as they are stored; None: whole nodes."""
    fields = dict(given or {})
    return Ask(**{**fields, "nodes": tuple(fields.get("nodes", ()))})


def check(snapshot: Snapshot, ask: Ask) -> None:
    """Raises ``ParamError`` for the first thing that the question names and the cluster does not have."""
    known = set(snapshot.node_name) if ask.nodes else set()
    for name in ask.nodes:
        if name not in known:
            raise ParamError("nodes", name, "no such node")
    if ask.kind == DOMAIN:
        domain_of(snapshot, ask)
    if ask.kind == GANG and waiting_of(snapshot, ask.name) is None:
        raise ParamError("name", ask.name, "no such gang or pod")
    if ask.kind == SPARE and not len(gang_pods(snapshot, ask.nodes[0])):
        raise ParamError("nodes", ask.nodes[0], "carries no member of a gang")
    if ask.kind == SPARE and ask.level not in ("", CLUSTER, *snapshot.levels):
        raise ParamError("level", ask.level, f"must be {', '.join([*snapshot.levels, CLUSTER])}")


def domain_of(snapshot: Snapshot, ask: Ask) -> tuple[str, tuple[str, ...]]:
    """The level and the nodes of the domain that is named."""
    levels = [
        snapshot.levels[snapshot.domain_level[d]] for d, name in enumerate(snapshot.domain_name) if name == ask.name
    ]
    if not levels:
        raise ParamError("name", ask.name, "no such network domain")
    if ask.level and ask.level not in levels:
        raise ParamError("level", ask.level, f"{ask.name} is of level {', '.join(levels)}")
    if not ask.level and len(levels) > 1:
        raise ParamError("level", "", f"{ask.name} is the name of several: say which of {', '.join(levels)}")
    level = ask.level or levels[0]
    names = nodes_of(snapshot, level, ask.name)
    if not names:
        raise ParamError("name", ask.name, f"no node stands under this {level}")
    return level, names


GOAL_OF = {"level": "a domain or a spare", "slots": "room for a shape", "whole": "any but whole nodes",
           "models": "whole nodes or room for a shape"}  # fmt: skip


def one_goal(drain: list[str] | None, domain: str | None, level: str, shape: str | None, slots: int | None,
          seat: str | None, spare: str | None, whole: bool | None, models: Sequence[str] = ()) -> Ask:  # fmt: skip
    """The one goal that is asked for; whole nodes where none is.  What belongs to another goal is refused."""
    asked: list[dict[str, Any]] = [
        *([{"kind": DRAIN, "nodes": tuple(name for one in drain for name in one.split(",") if name)}] if drain else []),
        *([{"kind": DOMAIN, "name": domain, "level": level}] if domain is not None else []),
        *([{"kind": SHAPE, "name": shape, "slots": 1 if slots is None else slots}] if shape is not None else []),
        *([{"kind": GANG, "name": seat}] if seat is not None else []),
        *([{"kind": SPARE, "nodes": (spare,) if spare else (), "level": level}] if spare is not None else []),
    ]
    if len(asked) > 1:
        raise ParamError("goal", None, "give one of them")
    kind = asked[0]["kind"] if asked else NODES
    strays = {"level": level and kind not in (DOMAIN, SPARE), "slots": slots is not None and kind != SHAPE,
              "whole": whole is not None and kind == NODES, "models": models and kind not in SCOPED}  # fmt: skip
    for name in [name for name, stray in strays.items() if stray]:
        raise ParamError(name, None, f"says something of a goal that is not asked for: {GOAL_OF[name]}")
    if slots is not None:
        within("slots", slots, 1, MOST_NAMED)
    return Ask(**asked[0], whole=whole) if asked else Ask()


def asked_words(ask: Ask) -> str:
    """The question in a few words, such as a title has."""
    match ask.kind:
        case "drain":
            return f"drain {ask.nodes[0]}" if len(ask.nodes) == 1 else f"drain {len(ask.nodes)} nodes"
        case "domain":
            return f"empty {ask.level} {ask.name}" if ask.level else f"empty {ask.name}"
        case "shape":
            return f"make room for {ask.slots} x {ask.name}"
        case "gang":
            return f"make {ask.name} fit"
        case "spare":
            return f"replace {ask.nodes[0]} by a spare"
    return "empty nodes"
