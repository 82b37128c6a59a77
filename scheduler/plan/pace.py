"""How fast a plan runs: its waves cut finer, so that little is at stake at once.

A planned wave becomes one or more run waves, one after the other and in the planner's order.  That is legal wherever
the planned wave is: fewer copies stand at once, whoever has moved has left room behind, and no company of an arrival
leaves earlier than before.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from scheduler.cluster.snapshot import UNKNOWN, PodSpec, Snapshot
from scheduler.plan.plan import Plan
from scheduler.plan.resolve import resolve

FIRST, WAVE, NODE, ASW, OWNER, TENANT = "first", "wave", "node", "asw", "owner", "tenant"
WORDS = (FIRST, WAVE, NODE, ASW, OWNER, TENANT)  # what can end a wave, as the reason is named


@dataclass(frozen=True, slots=True)
class Touch:
    """What one move disturbs.  "" stands for nothing known, which shares no limit with anything."""

    nodes: tuple[str, ...]  # the one that it leaves and the one that it reaches
    asws: tuple[str, ...]  # the switches above them, each once; unlabelled nodes have none
    owner: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Most moves in one run wave; None: no limit.  Every move alone is always allowed, however low the limits are."""

    first_per_cent: int = 1  # of all moves, rounded down, in the first run wave
    wave: int | None = None
    node: int | None = None
    asw: int | None = None
    owner: int | None = None
    tenant: int | None = None
    tenants: Mapping[str, int] = field(default_factory=dict)  # of single tenants, where it differs from ``tenant``


@dataclass(frozen=True, slots=True)
class Bind:
    """A limit that was reached in a run wave and kept a further move out of it."""

    limit: str  # of WORDS
    object: str  # the node, switch, owner or tenant that was first; "" for FIRST and WAVE


@dataclass(frozen=True, slots=True)
class Paced:
    """Run wave of each move, from 0 without a gap, and for each run wave what kept more moves out of it."""

    wave_of: tuple[int, ...]
    binds: tuple[tuple[Bind, ...], ...]


def touches(plan: Plan, snapshot: Snapshot) -> tuple[Touch, ...]:
    """What each move of the plan disturbs, as the snapshot (with the plan's cluster) says.

    An owner is a workload: its name where one is given, else kind and name of the owning object, else the pod alone.
    """
    rows = resolve(plan, snapshot)
    there = rows.snapshot
    asw = there.node_at_level[there.levels.index("asw")] if "asw" in there.levels else None
    found = []
    for move, pod, *ends in zip(plan.moves, rows.pod, rows.source, rows.target, strict=True):
        domains = [] if asw is None else [int(asw[node]) for node in ends if node != UNKNOWN]
        names = dict.fromkeys(there.domain_name[domain] for domain in domains if domain != UNKNOWN)
        tenant = UNKNOWN if pod == UNKNOWN else int(there.pod_tenant[pod])
        spec = PodSpec() if pod == UNKNOWN else there.pod_specs[there.pod_spec[pod]]
        found.append(
            Touch(
                nodes=(move.source, move.target),
                asws=tuple(names),
                owner=owner_of(move.pod, spec),
                tenant="" if tenant == UNKNOWN else there.tenants[tenant],
            )
        )
    return tuple(found)


def owner_of(pod: str, spec: PodSpec) -> str:
    """namespace/workload of the pod ``namespace/name``."""
    owner = spec.owner
    name = spec.workload or (f"{owner.kind}/{owner.name}" if owner is not None and owner.name else "")
    return f"{pod.partition('/')[0]}/{name}" if name else pod


def pace(plan: Plan, touched: Sequence[Touch], limits: Limits) -> Paced:
    """The run wave of every move of ``plan``; ``touched`` as of ``touches``, one for each move."""
    first = max(1, len(plan.moves) * limits.first_per_cent // 100)
    wave_of: list[int] = []
    binds: list[tuple[Bind, ...]] = []
    for _wave, group in groupby(range(len(plan.moves)), key=plan.wave_of.__getitem__):
        moves = list(group)
        part = _Part(limits, begins=len(binds), first=first)
        wave_of += [part.begins + part.take(touched[move]) for move in moves]
        binds += part.told()
    return Paced(tuple(wave_of), tuple(binds))


@dataclass(slots=True)
class _Part:
    """One planned wave while it is cut into run waves."""

    limits: Limits
    begins: int  # number of its first run wave
    first: int  # most moves in run wave 0 of the plan
    taken: list[int] = field(default_factory=list)  # moves of each run wave
    used: Counter[tuple[int, Hashable]] = field(default_factory=Counter)  # (run wave, limit) -> moves
    opens: dict[Hashable, int] = field(default_factory=lambda: defaultdict(int))  # limit -> first wave with room
    held: dict[int, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))  # run wave -> limit -> object

    def take(self, touch: Touch) -> int:
        """The earliest run wave in which every limit leaves room; room only shrinks, so no wave is looked at twice."""
        keys = list(self._keys(touch))
        place = 0
        while (full := self._full(place, keys)) is not None:
            place = full
        if place == len(self.taken):
            self.taken.append(0)
        self.taken[place] += 1
        self.used.update((place, key) for key, _most in keys)
        return place

    def _keys(self, touch: Touch) -> Iterator[tuple[tuple[str, str], int]]:
        """The limits that this move counts against: (word, object) and the most moves of one wave."""
        of = self.limits
        own = of.tenants.get(touch.tenant, of.tenant) if touch.tenant else None
        sets = (
            (WAVE, of.wave, ("",)),
            (NODE, of.node, touch.nodes),
            (ASW, of.asw, touch.asws),
            (OWNER, of.owner, (touch.owner,)),
            (TENANT, own, (touch.tenant,)),
        )
        for word, most, objects in sets:
            if most is not None:
                yield from (((word, name), most) for name in objects)

    def _full(self, place: int, keys: list[tuple[tuple[str, str], int]]) -> int | None:
        """The next run wave to look at, if a limit has no room in this one; an empty one has room for any move."""
        if place == len(self.taken):
            return None
        if self.begins + place == 0 and self.taken[0] >= self.first:
            self.held[0].setdefault(FIRST, "")
            return 1
        for key, most in keys:
            if self.used[place, key] >= most:
                self.held[place].setdefault(*key)
                while self.used[self.opens[key], key] >= most:
                    self.held[self.opens[key]].setdefault(*key)
                    self.opens[key] += 1
                return max(place + 1, self.opens[key])
        return None

    def told(self) -> list[tuple[Bind, ...]]:
        """For each run wave of this part, in the order of WORDS."""
        return [
            tuple(Bind(word, self.held[place][word]) for word in WORDS if word in self.held[place])
            for place in range(len(self.taken))
        ]
