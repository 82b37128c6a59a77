"""How fast a plan runs: its waves cut finer, so that little is at stake at once.

A planned wave becomes one or more run waves, one after the other and in the planner's order.  That is legal wherever
the planned wave is: fewer copies stand at once, whoever has moved has left room behind, and no company of an arrival
leaves earlier than before.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from scheduler.cluster.snapshot import UNKNOWN, PodSpec, Snapshot
from scheduler.plan.plan import Plan
from scheduler.plan.resolve import resolve

FIRST, WAVE, NODE, ASW, OWNER, TENANT = "first", "wave", "node", "asw", "owner", "tenant"
STORE, SWITCH = "store", "switch"  # traffic: out of the store, and into one switch
WORDS = (FIRST, WAVE, NODE, ASW, OWNER, TENANT, STORE, SWITCH)  # what can end a wave, as the reason is named


@dataclass(frozen=True, slots=True)
class Touch:
    """What one move disturbs.  "" stands for nothing known, which shares no limit with anything."""

    nodes: tuple[str, ...]  # the one that it leaves and the one that it reaches
    asws: tuple[str, ...]  # the switches above them, each once; unlabelled nodes have none
    owner: str
    tenant: str
    into: str = ""  # the switch above the node that it reaches
    store_mib: float = 0.0  # read back from the store
    image_mib: float = 0.0  # pulled from elsewhere


@dataclass(frozen=True, slots=True)
class Limits:
    """Most moves, or most traffic, in one run wave; None: no limit.

    Every move alone is always allowed, however low the limits are.
    """

    first_per_cent: int = 1  # of all moves, rounded down, in the first run wave
    wave: int | None = None
    node: int | None = None
    asw: int | None = None
    owner: int | None = None
    tenant: int | None = None
    tenants: Mapping[str, int] = field(default_factory=dict)  # of single tenants, where it differs from ``tenant``
    store_mib: float | None = None
    switch_mib: float | None = None  # into one access switch


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


def touches(plan: Plan, snapshot: Snapshot, traffic: Sequence[tuple[float, float]] = ()) -> tuple[Touch, ...]:
    """What each move of the plan disturbs, as the snapshot (with the plan's cluster) says.

    An owner is a workload: its name where one is given, else kind and name of the owning object, else the pod alone.
    ``traffic``: MiB from the store and of images, for each move; nothing where it is not given.
    """
    rows = resolve(plan, snapshot)
    there = rows.snapshot
    asw = there.node_at_level[there.levels.index("asw")] if "asw" in there.levels else None
    found = []
    mib = traffic or [(0.0, 0.0)] * len(plan.moves)
    for move, pod, source, target, (store, image) in zip(
        plan.moves, rows.pod, rows.source, rows.target, mib, strict=True
    ):
        domains = [UNKNOWN if asw is None or node == UNKNOWN else int(asw[node]) for node in (source, target)]
        names = dict.fromkeys(there.domain_name[domain] for domain in domains if domain != UNKNOWN)
        tenant = UNKNOWN if pod == UNKNOWN else int(there.pod_tenant[pod])
        spec = PodSpec() if pod == UNKNOWN else there.pod_specs[there.pod_spec[pod]]
        found.append(
            Touch(
                nodes=(move.source, move.target),
                asws=tuple(names),
                owner=owner_of(move.pod, spec),
                tenant="" if tenant == UNKNOWN else there.tenants[tenant],
                into="" if domains[1] == UNKNOWN else there.domain_name[domains[1]],
                store_mib=store,
                image_mib=image,
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
    used: dict[tuple[int, Hashable], float] = field(default_factory=lambda: defaultdict(float))
    opens: dict[Hashable, int] = field(default_factory=lambda: defaultdict(int))  # limit -> first wave looked at
    held: dict[int, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))  # run wave -> limit -> object

    def take(self, touch: Touch) -> int:
        """The earliest run wave in which every limit leaves room.

        Room only shrinks, so no full wave is looked at twice; of traffic, no wave that was too full for anybody.
        """
        keys = list(self._keys(touch))
        place = 0
        while (full := self._full(place, keys)) is not None:
            place = full
        if place == len(self.taken):
            self.taken.append(0)
        self.taken[place] += 1
        for key, _most, amount in keys:
            self.used[place, key] += amount
        return place

    def _keys(self, touch: Touch) -> Iterator[tuple[tuple[str, str], float, float]]:
        """The limits that this move counts against: (word, object), the most of one wave, and what the move takes."""
        of = self.limits
        own = of.tenants.get(touch.tenant, of.tenant) if touch.tenant else None
        into = (touch.into,) if touch.into else ()
        sets: tuple[tuple[str, float | None, tuple[str, ...], float], ...] = (
            (WAVE, of.wave, ("",), 1),
            (NODE, of.node, touch.nodes, 1),
            (ASW, of.asw, touch.asws, 1),
            (OWNER, of.owner, (touch.owner,), 1),
            (TENANT, own, (touch.tenant,), 1),
            (STORE, of.store_mib, ("",), touch.store_mib),
            (SWITCH, of.switch_mib, into, touch.store_mib + touch.image_mib),
        )
        for word, most, objects, amount in sets:
            if most is not None and amount:
                yield from (((word, name), most, amount) for name in objects)

    def _full(self, place: int, keys: list[tuple[tuple[str, str], float, float]]) -> int | None:
        """The next run wave to look at, if a limit has no room in this one; an empty one has room for any move."""
        if place == len(self.taken):
            return None
        if self.begins + place == 0 and self.taken[0] >= self.first:
            self.held[0].setdefault(FIRST, "")
            return 1
        for key, most, amount in keys:
            if self.used[place, key] and self.used[place, key] + amount > most:
                self.held[place].setdefault(*key)
                while self.used[self.opens[key], key] and self.used[self.opens[key], key] + amount > most:
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
