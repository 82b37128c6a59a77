"""A recall storm: many sleepers wake at about one time.  Foreseen, and spread ahead of it so that its end holds.

At once, all checkpoints that are written on notice share the store: what does not fit into the grace time is lost.
Spread, sleepers are called in groups, each with no more to write than the store takes within one grace time, the last
group as late as possible and the others before it; who was guaranteed a run time, or is locked, leaves in the latest
group that has room, and a gang never leaves in two groups.

Everybody is called so long before the end of its own window that it serves by then even if somebody has to be killed
for it: that holds under any law of exit times.  Where time is too short for the store, the sleeper wins and what is not
written is told; who is late because its window ends too soon is named, with by how much.

Instants are on the snapshot's clock.  Equal input gives the equal plan.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.cluster.errors import within
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.performance.leaving import Leaving, last_of, later_by, plus, resuming
from scheduler.placement.named import VictimRules
from scheduler.placement.prey import Prey, prey_of
from scheduler.spot.blocks import Block, blocks_of
from scheduler.spot.timeline import Step, Wave, serving_by, timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """What all jobs together can write."""

    write_mib_per_s: int = 100 * 1024

    def __post_init__(self) -> None:
        within("write_mib_per_s", self.write_mib_per_s, 1, 1 << 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class StormRules:
    """Raises ``ParamError`` for the first field out of range."""

    gap_s: int = 900  # ends of windows that lie no further apart belong to one storm
    least_pods: int = 2
    certain_percent: int = 99  # with this probability whatever is said of an end comes true
    write_s: int = 40  # of the grace time are for writing; the rest is the hook's
    step_s: int = 30  # of the timelines
    victims: VictimRules = field(default_factory=VictimRules)

    def __post_init__(self) -> None:
        within("gap_s", self.gap_s, 0, 86_400)
        within("least_pods", self.least_pods, 1, 1_000_000)
        within("certain_percent", self.certain_percent, 50, 99)
        within("write_s", self.write_s, 1, self.victims.costs.grace_s)
        within("step_s", self.step_s, 1, 3_600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Sleepers that are called at one instant, and who leaves for them."""

    at_s: int
    sleepers: tuple[str, ...]
    leavers: tuple[str, ...]
    gangs: int  # that end whole
    gpu_milli: int  # of the sleepers
    state_mib: int  # that is written on notice
    ends_s: int  # all of it serves by then, with the probability that was asked for


@dataclass(frozen=True, slots=True)
class Late:
    """A sleeper that serves later than at the end of its window, with a sentence."""

    pod: str
    by_s: int
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One way to call them.  ``last_serving_s``: when the last one serves, with the probability that was asked for."""

    groups: tuple[Group, ...]
    last_serving_s: int
    killed: float  # pods that are expected to be killed
    unsaved_mib: int  # that does not fit into the store within the grace time
    crowded: tuple[str, ...]  # sleepers whose borrowers write while the store is asked for more than it takes
    peak_mib_per_s: float
    given_up_milli_s: int  # lendable GPU time before the ends of windows that is given up
    late: tuple[Late, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """``at_s``: the latest end of its windows.  ``before``: each called for itself; ``after``: spread."""

    at_s: int
    first_end_s: int
    pods: int
    gpu_milli: int
    leavers: int
    leaver_milli: int
    gangs: int
    tenants: int  # whose pods leave
    state_mib: int
    silent_pods: int  # who write nothing on notice
    needed_mib_per_s: float  # if all of it is to be written within one grace time
    store_mib_per_s: int
    before: Course
    after: Course

    @property
    def holds(self) -> bool:
        return not self.after.late

    @property
    def said(self) -> str:
        """The sentence of the page."""
        head = (
            f"{self.pods:,} sleepers with {self.gpu_milli / 1000:,.0f} GPUs wake; {self.leavers:,} LP pods leave"
            f" ({self.gangs:,} gangs whole)."
        )
        if self.after.unsaved_mib:
            some = f"{self.after.unsaved_mib:,} of {self.state_mib:,} MiB"
            head += f" {some} that they write do not fit into the store in time."
        if self.holds:
            return f"{head} Called in {len(self.after.groups):,} groups they all serve by the ends of their windows."
        worst = max(one.by_s for one in self.after.late)
        return f"{head} {len(self.after.late):,} of them are late whatever is done, by up to {worst:,} s."


def foresee(
    snapshot: Snapshot,
    ends: Mapping[str, int],
    *,
    now_s: int | None = None,
    store: Store | None = None,
    rules: StormRules | None = None,
    resume: Leaving | None = None,
    cluster: str | None = None,
) -> tuple[Storm, ...]:
    """Storms among sleepers (namespace/name of the pod -> end of its window), the first one first.

    Those that do not sleep on this snapshot, or whose end is over, are left out: they are recalled by themselves.
    ``cluster``: of the pods, where the snapshot has several.
    """
    store, rules, instant = store or Store(), rules or StormRules(), snapshot.now_s if now_s is None else now_s
    prey = prey_of(snapshot, instant, rules.victims.assumed_age_s, rules.victims.costs)
    resume, found = resume or resuming(), []
    for some in _storms(ends, instant, rules.gap_s):
        blocks = blocks_of(snapshot, prey, some, rules.victims.costs, cluster)
        if sum(len(one.sleepers) for one in blocks) >= rules.least_pods:
            found.append(_storm(snapshot, prey, blocks, _Setting(instant, store, rules, resume)))
    return tuple(found)


def _storms(ends: Mapping[str, int], now_s: int, gap_s: int) -> list[dict[str, int]]:
    found: list[dict[str, int]] = []
    last = None
    for pod, end in sorted(ends.items(), key=lambda one: (one[1], one[0])):
        if end <= now_s:
            continue
        if last is None or end - last > gap_s:
            found.append({})
        found[-1][pod], last = end, end
    return found


@dataclass(frozen=True, slots=True)
class _Setting:
    now_s: int
    store: Store
    rules: StormRules
    resume: Leaving

    @property
    def grace_s(self) -> int:
        return self.rules.victims.costs.grace_s

    @property
    def per_group_mib(self) -> int:
        """That the store takes while one group writes."""
        return self.store.write_mib_per_s * self.rules.write_s

    def serving(self, block: Block, more_s: int = 0) -> Leaving:
        """From the call to serving; ``more_s``: that all of its writing takes longer."""
        return plus(last_of([later_by(law, more_s, self.grace_s) for law in block.laws]), self.resume)

    def lead_s(self, block: Block) -> int:
        """From the call until it serves at the latest: the kill is the longest that anybody takes."""
        return self.serving(block).longest_s


def _storm(snapshot: Snapshot, prey: Prey, blocks: tuple[Block, ...], setting: _Setting) -> Storm:
    state = sum(one.state_mib for one in blocks)
    leavers = [p for one in blocks for p in one.leavers]
    tenants = {int(snapshot.pod_tenant[p]) for p in leavers} - {UNKNOWN}
    gpus = snapshot.pod_gpus.astype(int) * snapshot.pod_gpu_milli
    return Storm(
        at_s=max(one.end_s for one in blocks),
        first_end_s=min(one.first_end_s for one in blocks),
        pods=sum(len(one.sleepers) for one in blocks),
        gpu_milli=sum(one.gpu_milli for one in blocks),
        leavers=len(leavers),
        leaver_milli=int(gpus[leavers].sum()) if leavers else 0,
        gangs=sum(one.gangs for one in blocks),
        tenants=len(tenants),
        state_mib=state,
        silent_pods=sum(not prey.stops.on_notice[p] for p in leavers),
        needed_mib_per_s=state / setting.grace_s,
        store_mib_per_s=setting.store.write_mib_per_s,
        before=_at_once(snapshot, blocks, setting),
        after=_spread(snapshot, blocks, setting),
    )


def _at_once(snapshot: Snapshot, blocks: tuple[Block, ...], setting: _Setting) -> Course:
    """Each is called in time for itself alone; those of one grace time share the store."""
    at = {one: max(one.first_end_s - setting.lead_s(one), setting.now_s) for one in blocks}
    return _course(snapshot, blocks, at, setting)


def _spread(snapshot: Snapshot, blocks: tuple[Block, ...], setting: _Setting) -> Course:
    """From the latest call backwards, one group in each grace time; who fits nowhere goes where it crowds least.

    In a group first those who are protected, then those who keep most GPUs lent for each MiB that they write.
    """
    latest = {one: one.first_end_s - setting.lead_s(one) for one in blocks}
    at = {one: max(latest[one], setting.now_s) for one in blocks if not one.state_mib}
    left = sorted((one for one in blocks if one.state_mib), key=_rank)
    used: Counter[int] = Counter()
    slot = max((latest[one] for one in left), default=setting.now_s)
    while left and slot >= setting.now_s:
        for one in [one for one in left if latest[one] >= slot]:
            if used[slot] == 0 or used[slot] + one.state_mib <= setting.per_group_mib:
                used[slot] += one.state_mib
                at[one] = slot
        left = [one for one in left if one not in at]
        below = max((latest[one] for one in left), default=slot)
        slot = min(slot - setting.grace_s, below)
    for one in sorted(left, key=lambda one: (one.first_end_s, _rank(one))):
        instant = _least_crowded(setting, used, latest[one])
        used[instant] += one.state_mib
        at[one] = instant
    return _course(snapshot, blocks, at, setting)


def _rank(one: Block) -> tuple[bool, float, str]:
    return not one.protected, -one.gpu_milli / max(one.state_mib, 1), one.sleepers[0]


def _least_crowded(setting: _Setting, used: Mapping[int, int], latest_s: int) -> int:
    """Of the instants at which it is still in time, or now where it is too late, the last one with least to write."""
    if latest_s <= setting.now_s:
        return setting.now_s
    choices = {setting.now_s, latest_s, *(slot for slot in used if setting.now_s <= slot <= latest_s)}
    busy = {c: sum(mib for slot, mib in used.items() if abs(slot - c) < setting.grace_s) for c in choices}
    return min(choices, key=lambda c: (busy[c], -c))


def _course(snapshot: Snapshot, blocks: tuple[Block, ...], at: Mapping[Block, int], setting: _Setting) -> Course:
    rules, groups, waves, late = setting.rules, [], [], []
    killed, unsaved, peak, crowded = 0.0, 0, 0.0, list[str]()
    for instant in sorted(set(at.values())):
        some = sorted((one for one in blocks if at[one] == instant), key=lambda one: one.sleepers)
        together = sum(one.state_mib for one in blocks if abs(at[one] - instant) < setting.grace_s)
        longer, excess = _crowded(together, setting)
        mine = sum(one.state_mib for one in some)
        unsaved += round(excess * mine / together) if together else 0
        crowded += [pod for one in some for pod in one.sleepers if longer and one.state_mib]
        peak = max(peak, min(together / rules.write_s, setting.store.write_mib_per_s))
        laws = [setting.serving(one, longer if one.state_mib else 0) for one in some]
        law = last_of(laws)
        killed += sum(later_by(of, longer if one.state_mib else 0, setting.grace_s).killed
                      for one in some for of in one.laws)  # fmt: skip
        ends = instant + law.quantile(rules.certain_percent / 100)
        groups.append(_group(snapshot, instant, some, ends))
        for one, own in zip(some, laws, strict=True):
            waves.append(Wave(instant, one.gpu_milli, one.leaver_milli, one.state_mib, own, rules.write_s + longer))
            late += _late(one, instant + own.quantile(rules.certain_percent / 100), setting)
    end = serving_by(waves, rules.certain_percent / 100)
    return Course(
        groups=tuple(groups),
        last_serving_s=end,
        killed=round(killed, 3),
        unsaved_mib=unsaved,
        crowded=tuple(crowded),
        peak_mib_per_s=round(peak, 1),
        given_up_milli_s=sum(max(0, one.first_end_s - at[one]) * one.leaver_milli for one in blocks),
        late=tuple(late),
        steps=timeline(waves, min(at.values()), end, rules.step_s),
    )


def _crowded(together_mib: int, setting: _Setting) -> tuple[int, int]:
    """Seconds that writing takes beyond its share of the grace time, and MiB that are not written within it at all."""
    needed = -(-together_mib // setting.store.write_mib_per_s)
    whole = setting.store.write_mib_per_s * setting.grace_s
    return max(0, needed - setting.rules.write_s), max(0, together_mib - whole)


def _group(snapshot: Snapshot, at_s: int, some: list[Block], ends_s: int) -> Group:
    return Group(
        at_s=at_s,
        sleepers=tuple(pod for one in some for pod in one.sleepers),
        leavers=tuple(snapshot.pod_key(p) for one in some for p in one.leavers),
        gangs=sum(one.gangs for one in some),
        gpu_milli=sum(one.gpu_milli for one in some),
        state_mib=sum(one.state_mib for one in some),
        ends_s=ends_s,
    )


def _late(one: Block, serves_s: int, setting: _Setting) -> list[Late]:
    lead = setting.lead_s(one)
    return [
        Late(
            pod, serves_s - end, f"its window ends in {end - setting.now_s:,} s, and to call it takes up to {lead:,} s"
        )
        for pod, end in one.ends
        if serves_s > end
    ]
