"""Windows in which HP workloads sleep: once, or on days of the week; what sleeps now, will sleep, and still holds.

Instants of windows are Unix seconds, all in UTC; ``clock_offset`` ties a snapshot's own clock to them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from scheduler.cluster.errors import ParamError, within
from scheduler.cluster.occupancy import borrowers, occupancy
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Longs, Snapshot
from scheduler.performance.stopping import states_mib
from scheduler.spot.rebate import Held, SleepCost, SleepRates, sleep_cost

DAY_S, HOUR_S = 86_400, 3_600
THURSDAY = 3  # day 0 of Unix time; 0 is Monday
FOREVER_S = 1 << 40


@dataclass(frozen=True, slots=True, order=True)
class Span:
    start_s: int
    end_s: int  # not in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Raises ``ParamError`` for the first field that says no window.

    Without ``days``: once.  Else on each of those days, at the time of day of ``starts_s``, from that instant on; a
    span that goes past midnight belongs to the day on which it starts.
    """

    starts_s: int
    length_s: int
    days: tuple[int, ...] = ()  # 0 Monday to 6 Sunday
    until_s: int | None = None  # no span of it starts from then on

    def __post_init__(self) -> None:
        within("starts_s", self.starts_s, 0, FOREVER_S)
        within("length_s", self.length_s, 60, DAY_S if self.days else 366 * DAY_S)
        for day in self.days:
            within("days", day, 0, 6)
        if len(set(self.days)) != len(self.days):
            raise ParamError("days", self.days, "names a day twice")
        if self.until_s is not None and self.until_s <= self.starts_s:
            raise ParamError("until_s", self.until_s, "is before the window starts")

    def between(self, low_s: int, high_s: int) -> Iterator[Span]:
        """Its spans that touch [low, high), in order, whole."""
        if not self.days:
            if self.starts_s < high_s and self.starts_s + self.length_s > low_s:
                yield Span(self.starts_s, self.starts_s + self.length_s)
            return
        of_day, last = self.starts_s % DAY_S, FOREVER_S if self.until_s is None else self.until_s
        first = max(self.starts_s, low_s - self.length_s) // DAY_S
        for day in range(first, max(first, high_s // DAY_S + 1)):
            start = day * DAY_S + of_day
            begins = weekday(start) in self.days and self.starts_s <= start < min(last, high_s)
            if begins and start + self.length_s > low_s:
                yield Span(start, start + self.length_s)


def weekday(at_s: int) -> int:
    """0 Monday to 6 Sunday, UTC."""
    return (at_s // DAY_S + THURSDAY) % 7


def spans(windows: Sequence[Window], low_s: int, high_s: int) -> tuple[Span, ...]:
    """When at least one of the windows is on, in [low, high) or reaching into it; spans that touch are one."""
    found: list[Span] = []
    for one in sorted(span for window in windows for span in window.between(low_s, high_s)):
        if found and one.start_s <= found[-1].end_s:
            found[-1] = Span(found[-1].start_s, max(found[-1].end_s, one.end_s))
        else:
            found.append(one)
    return tuple(found)


def span_at(windows: Sequence[Window], at_s: int) -> Span | None:
    """The span that ``at_s`` is in.  One that goes on without a break for more than a week is told for a week."""
    return next((one for one in spans(windows, at_s, at_s + 7 * DAY_S) if one.start_s <= at_s < one.end_s), None)


def next_change(windows: Sequence[Window], at_s: int) -> int | None:
    """The next instant after ``at_s`` at which it falls asleep or wakes, within a year; None: none."""
    now = span_at(windows, at_s)
    if now is not None:
        return now.end_s
    for high_s in (at_s + 8 * DAY_S, at_s + 366 * DAY_S):
        found = [one.start_s for one in spans(windows, at_s, high_s) if one.start_s > at_s]
        if found:
            return found[0]
    return None


def clock_offset(snapshot: Snapshot) -> int:
    """Unix seconds less the snapshot's own: add it to a column of the snapshot."""
    return int(datetime.fromisoformat(snapshot.taken_at).timestamp()) - snapshot.now_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleeper:
    """An HP pod that has windows or sleeps.  ``until_s``: Unix seconds; None: until it is recalled, or awake."""

    pod: str  # namespace/name
    row: int
    uid: str
    node: str
    asw: str | None
    tenant: str | None
    gpu_model: str
    gpu_milli: int
    cpu_milli: int
    host_mib: int
    device_mib: int | None  # None: nobody knows
    addresses: int
    asleep: bool
    until_s: int | None
    lent_milli: int
    borrowers: tuple[int, ...]  # rows
    windows: tuple[Window, ...]


def sleepers_of(
    snapshot: Snapshot, windows: Mapping[str, Sequence[Window]] | None = None, offset_s: int | None = None
) -> tuple[Sleeper, ...]:
    """In the order of the snapshot.  ``windows``: by namespace/name of the pod."""
    windows, offset = windows or {}, clock_offset(snapshot) if offset_s is None else offset_s
    bound = snapshot.pod_live & ~snapshot.pod_lp
    rows = [p for p in np.flatnonzero(bound).tolist() if snapshot.pod_standby[p] or snapshot.pod_key(p) in windows]
    lent: dict[int, list[int]] = {}
    for p in borrowers(snapshot).tolist():
        lent.setdefault(int(snapshot.pod_lender[p]), []).append(p)
    state, known = states_mib(snapshot, np.array(rows, np.int64))
    level = snapshot.levels.index("asw") if "asw" in snapshot.levels else None
    return tuple(
        _sleeper(snapshot, p, level, int(state[i]) if known[i] else None, lent.get(p, []),
                 tuple(windows.get(snapshot.pod_key(p), ())), offset)
        for i, p in enumerate(rows)
    )  # fmt: skip


def _sleeper(
    snapshot: Snapshot, p: int, level: int | None, device_mib: int | None, lent: list[int],
    windows: tuple[Window, ...], offset: int,
) -> Sleeper:  # fmt: skip
    node, asleep = int(snapshot.pod_node[p]), bool(snapshot.pod_standby[p])
    domain = UNKNOWN if level is None else int(snapshot.node_at_level[level, node])
    tenant, model, told = int(snapshot.pod_tenant[p]), int(snapshot.node_model[node]), snapshot.pod_standby_until_s[p]
    until = int(told) + offset if asleep and told != ABSENT else None
    if until is None and asleep and (now := span_at(windows, snapshot.now_s + offset)) is not None:
        until = now.end_s
    return Sleeper(
        pod=snapshot.pod_key(p),
        row=p,
        uid=snapshot.pod_uid[p],
        node=snapshot.node_name[node],
        asw=None if domain == UNKNOWN else snapshot.domain_name[domain],
        tenant=None if tenant == UNKNOWN else snapshot.tenants[tenant],
        gpu_model="" if model == UNKNOWN else snapshot.models[model],
        gpu_milli=int(snapshot.pod_gpus[p]) * int(snapshot.pod_gpu_milli[p]),
        cpu_milli=int(snapshot.pod_cpu_milli[p]),
        host_mib=int(snapshot.pod_memory_mib[p]),
        device_mib=device_mib,
        addresses=1,  # of the pod itself; ports of the host are addresses of the node
        asleep=asleep,
        until_s=until,
        lent_milli=sum(int(snapshot.pod_gpus[q]) * int(snapshot.pod_gpu_milli[q]) for q in lent),
        borrowers=tuple(lent),
        windows=windows,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """Sleepers of one GPU model under one access switch, now; GPUs in thousandths, memory in MiB."""

    gpu_model: str
    asw: str | None  # None: nobody knows
    pods: int
    asleep_milli: int
    lent_milli: int
    lendable_milli: int  # whole GPUs that nobody borrows, on nodes in service with memory left for somebody
    no_memory_milli: int  # the same where the node has no host memory left
    out_of_service_milli: int  # the same on nodes that are cordoned or not ready
    host_mib: int
    device_mib: int | None
    addresses: int
    cost: SleepCost  # of what they hold, an hour


def pool_now(
    snapshot: Snapshot, sleepers: Sequence[Sleeper], rates: SleepRates | None = None, least_mib: int = 1
) -> tuple[PoolRow, ...]:
    """By model, then by switch.  ``least_mib``: host memory that a borrower needs at least."""
    left = snapshot.node_memory_mib - occupancy(snapshot).used_memory_mib
    rows: dict[tuple[str, str], list[Sleeper]] = {}
    for one in sleepers:
        if one.asleep:
            rows.setdefault((one.gpu_model, one.asw or ""), []).append(one)
    return tuple(_pool_row(snapshot, rows[key], left, rates or SleepRates(), least_mib) for key in sorted(rows))


def _pool_row(snapshot: Snapshot, some: list[Sleeper], left: Longs, rates: SleepRates, least_mib: int) -> PoolRow:
    idle = {"": 0, "memory": 0, "service": 0}
    for one in some:
        node = int(snapshot.pod_node[one.row])
        free = max(0, one.gpu_milli - one.lent_milli) // WHOLE_GPU_MILLI * WHOLE_GPU_MILLI
        where = "service" if not snapshot.node_usable[node] else "memory" if left[node] < least_mib else ""
        idle[where] += free
    known = [one.device_mib for one in some if one.device_mib is not None]
    device = sum(known) if len(known) == len(some) else None
    host, addresses = sum(one.host_mib for one in some), sum(one.addresses for one in some)
    held = Held(host_memory_mib=host, device_memory_mib=device, addresses=addresses, seconds=HOUR_S)
    return PoolRow(
        gpu_model=some[0].gpu_model,
        asw=some[0].asw,
        pods=len(some),
        asleep_milli=sum(one.gpu_milli for one in some),
        lent_milli=sum(min(one.gpu_milli, one.lent_milli) for one in some),
        lendable_milli=idle[""],
        no_memory_milli=idle["memory"],
        out_of_service_milli=idle["service"],
        host_mib=host,
        device_mib=device,
        addresses=addresses,
        cost=sleep_cost(held, rates),
    )
