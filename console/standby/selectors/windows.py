"""Windows as people read them: what sleeps now, what it holds, brings and costs, and when it wakes."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Sum
from django.utils import timezone

from console.inventory.archive import UNKNOWN
from console.inventory.models import Source
from console.inventory.selectors.pods import workload_name
from console.inventory.selectors.viewing import Filters, Reading, readings
from console.plans.selectors import active_freezes
from console.standby.choices import SleeperState
from console.standby.hours import Span
from console.standby.models import ASLEEP, PoolSample, Recall, Sleeper, Window
from console.standby.selectors.recalls import times
from console.standby.selectors.viewing import owns, reaches, scope_of, windows
from console.ui.sums import known_sum

DRAWN = timedelta(hours=40)
BACK = timedelta(hours=6)
SHOWN = 100
NIGHTS = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class WindowRow:
    """``id`` None: no window of ours, but a pod label or the cluster's own doing, seen by its connector."""

    id: int | None
    version: int
    source: str
    source_id: int
    cluster: str
    tenant: str
    key: str
    when: str
    state: str  # asleep, partly, waking, awake, observed
    why: str
    pods: int
    asleep: int
    gpus: float
    asleep_gpus: float
    lent_gpus: float | None
    memory_mib: int
    device_mib: int | None
    addresses: int
    recall_p50_s: float | None
    recall_p95_s: float | None
    rebate_cents: int | None  # of the last 30 days
    cost_cents: int | None
    expected: dict[str, Any]  # of its next span, as it was when the window was last said
    spans: tuple[Span, ...]
    next_at: datetime | None  # begins or ends then
    acts: bool
    may_edit: bool
    may_recall: bool
    reason: str
    made_by: str

    @property
    def gain_cents(self) -> int | None:
        """Expected rebate less expected cost."""
        rebate, cost = self.expected.get("rebate_cents"), self.expected.get("cost_cents")
        return None if rebate is None or cost is None else rebate - cost


@dataclass(frozen=True, slots=True)
class OthersRow:
    """All other tenants together; None: nothing was counted yet."""

    asleep_gpus: float
    lent_gpus: float


@dataclass(frozen=True, slots=True)
class WindowsPage:
    rows: list[WindowRow]
    total: int
    others: OthersRow | None
    own: bool
    may_make: bool
    observed_only: tuple[str, ...]  # sources where nothing can be done
    frozen: str
    low: datetime
    high: datetime
    at: datetime

    @property
    def asleep_gpus(self) -> float:
        return sum(row.asleep_gpus for row in self.rows)

    @property
    def rebate_cents(self) -> int | None:
        """Of the rows, over 30 days; None where one of them is not known."""
        return known_sum(row.rebate_cents for row in self.rows if row.id is not None)


@dataclass(frozen=True, slots=True)
class _Seen:
    pods: int = 0
    asleep: int = 0
    milli: int = 0
    asleep_milli: int = 0


def windows_page(viewer: Any, now: datetime | None = None) -> WindowsPage:
    """Open windows of the viewer's own tenants (or of all), what sleeps without one, and one sum of all others."""
    at = now or timezone.now()
    found = windows(viewer).filter(ended_at=None)
    seen = _seen(viewer)
    rows = [_window_row(viewer, window, seen, at) for window in found[:SHOWN]]
    ours = {(window.source_id, window.cluster, window.key) for window in found}
    rows += [_observed_row(key, one) for key, one in sorted(seen.items()) if key[:3] not in ours and one.asleep]
    freezes = active_freezes()
    return WindowsPage(
        rows=rows[:SHOWN], total=len(rows), others=_others(viewer, seen), own=scope_of(viewer) is not None,
        may_make=viewer.has_perm("standby.set_window"),
        observed_only=tuple(one.name for one in Source.objects.order_by("name") if not one.lends),
        frozen=f"{freezes[0].where}" if freezes else "", low=at - BACK, high=at + DRAWN, at=at,
    )  # fmt: skip


def window_row(viewer: Any, window: Window, now: datetime | None = None) -> WindowRow:
    return _window_row(viewer, window, _seen(viewer), now or timezone.now())


def _window_row(viewer: Any, window: Window, seen: dict[tuple[int, str, str, str], _Seen], at: datetime) -> WindowRow:
    now = seen.get((window.source_id, window.cluster, window.key, window.tenant), _Seen())
    spans = tuple(window.spans(at - BACK, at + DRAWN))
    span = window.span_at(at)
    sleepers = list(Sleeper.objects.filter(window=window, state__in=ASLEEP))
    sums = Sleeper.objects.filter(window=window, begins_at__gt=at - NIGHTS).aggregate(
        rebate=Sum("rebate_cents"), cost=Sum("cost_cents")
    )
    taken = times(list(Recall.objects.filter(sleeper__window=window).prefetch_related("endings")[:200]))
    state, why = _state(window, sleepers, span, now)
    device = [one.device_mib for one in sleepers]
    lent = [one.lent_milli for one in sleepers if one.lent_milli is not None]
    return WindowRow(
        id=window.pk, version=window.version, source=window.source.name, source_id=window.source_id,
        cluster=window.cluster, tenant=window.tenant, key=window.key, when=window.words, state=state, why=why,
        pods=now.pods, asleep=now.asleep, gpus=now.milli / 1000, asleep_gpus=now.asleep_milli / 1000,
        lent_gpus=sum(lent) / 1000 if lent else None, memory_mib=sum(one.memory_mib for one in sleepers),
        device_mib=None if None in device or not device else sum(one for one in device if one is not None),
        addresses=sum(one.addresses for one in sleepers), recall_p50_s=taken.p50_s, recall_p95_s=taken.p95_s,
        rebate_cents=sums["rebate"], cost_cents=sums["cost"], expected=window.expected, spans=spans,
        next_at=span.ends_at if span else next((one.begins_at for one in spans if one.begins_at > at), None),
        acts=window.source.lends, may_edit=owns(viewer, window.tenant),
        may_recall=bool(sleepers) and reaches(viewer, window.tenant) and window.source.lends, reason=window.reason,
        made_by=window.made_by.get_username(),
    )  # fmt: skip


def _state(window: Window, sleepers: list[Sleeper], span: Span | None, seen: _Seen) -> tuple[str, str]:
    waking = sum(one.state == SleeperState.WAKING for one in sleepers)
    if waking:
        return "waking", f"{waking} of {len(sleepers)} wake"
    if sleepers:
        refused = Sleeper.objects.filter(window=window, state=SleeperState.REFUSED, begins_at=sleepers[0].begins_at)
        first = refused.first()
        return ("asleep", "") if first is None else ("partly", first.detail)
    if span is None:
        return "awake", ""
    if not window.source.lends:
        return "observed", f"{window.source.name} is only observed: its owner must put it to sleep there"
    if not seen.pods:
        return "awake", "none of its pods runs now"
    last = Sleeper.objects.filter(window=window, begins_at=span.begins_at).first()
    if last is not None and last.state == SleeperState.REFUSED:
        return "awake", last.detail
    if last is not None:
        return "awake", "recalled: awake until its next time"
    frozen = next((one for one in active_freezes() if one.cluster in ("", window.cluster)), None)
    return "awake", f"frozen ({frozen.where}): nothing is put to sleep" if frozen else "it is put to sleep in a moment"


def _observed_row(key: tuple[int, str, str, str], one: _Seen) -> WindowRow:
    source = Source.objects.get(pk=key[0])
    return WindowRow(
        id=None, version=0, source=source.name, source_id=source.pk, cluster=key[1], tenant=key[3], key=key[2],
        when="no window", state="observed", why="asleep by a pod label or by its cluster, not by a window",
        pods=one.pods, asleep=one.asleep, gpus=one.milli / 1000, asleep_gpus=one.asleep_milli / 1000, lent_gpus=None,
        memory_mib=0, device_mib=None, addresses=0, recall_p50_s=None, recall_p95_s=None, rebate_cents=None,
        cost_cents=None, expected={}, spans=(), next_at=None, acts=source.lends, may_edit=False, may_recall=False,
        reason="", made_by="",
    )  # fmt: skip


def _seen(viewer: Any) -> dict[tuple[int, str, str, str], _Seen]:
    """(source, cluster, namespace/workload, tenant) of what the viewer may see -> its pods in the newest reading."""
    scope = scope_of(viewer)
    sums: dict[tuple[int, str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for reading in readings(Filters()):
        for key, asleep, milli in _pods(reading, scope):
            one = sums[key]
            for place, amount in enumerate((1, int(asleep), milli, milli if asleep else 0)):
                one[place] += amount
    return {key: _Seen(*one) for key, one in sums.items()}


def _pods(reading: Reading, scope: frozenset[str] | None) -> Any:
    """Live high-priority pods with GPUs of workloads that have a window, or of whose likes something sleeps."""
    snapshot = reading.snapshot
    chosen = snapshot.pod_live & ~snapshot.pod_lp & ~snapshot.pod_agent & (snapshot.pod_gpus > 0)
    names = [workload_name(spec) or "" for spec in snapshot.pod_specs]
    wanted = {index for index, name in enumerate(snapshot.tenants) if scope is None or name in scope}
    asleep_specs = set(snapshot.pod_spec[chosen & snapshot.pod_standby].tolist())
    windowed = set(Window.objects.filter(ended_at=None).values_list("namespace", "workload"))
    for p in chosen.nonzero()[0].tolist():
        spec, tenant = int(snapshot.pod_spec[p]), int(snapshot.pod_tenant[p])
        space = snapshot.namespaces[int(snapshot.pod_namespace[p])]
        if tenant == UNKNOWN or tenant not in wanted:
            continue
        if spec not in asleep_specs and (space, names[spec]) not in windowed:
            continue
        key = reading.observation.source_id, snapshot.clusters[int(snapshot.pod_cluster[p])].name
        milli = int(snapshot.pod_gpus[p]) * int(snapshot.pod_gpu_milli[p])
        whole = (*key, f"{space}/{names[spec]}", snapshot.tenants[tenant])
        yield whole, bool(snapshot.pod_standby[p]), milli


def _others(viewer: Any, seen: dict[tuple[int, str, str, str], _Seen]) -> OthersRow | None:
    """The newest sum of the pool less what is the viewer's own; None for whoever sees all, and before the first."""
    scope = scope_of(viewer)
    if scope is None:
        return None
    newest = PoolSample.objects.order_by("-at").values_list("at", flat=True).first()
    if newest is None:
        return None
    whole = PoolSample.objects.filter(at=newest).aggregate(asleep=Sum("asleep_milli"), lent=Sum("lent_milli"))
    asleep = sum(one.asleep_milli for one in seen.values())
    states = (SleeperState.ASLEEP, SleeperState.WAKING)
    lent = Sleeper.objects.filter(window__tenant__in=scope, state__in=states).aggregate(lent=Sum("lent_milli"))["lent"]
    return OthersRow(max((whole["asleep"] or 0) - asleep, 0) / 1000, max((whole["lent"] or 0) - (lent or 0), 0) / 1000)


def workloads_to_mark(viewer: Any) -> list[tuple[int, str, str, str, float]]:
    """(source, its name, cluster, namespace/workload, GPUs) of the viewer's own HP workloads, by name."""
    scope = frozenset() if scope_of(viewer) is None else scope_of(viewer) or frozenset()
    sums: dict[tuple[int, str, str, str], int] = defaultdict(int)
    for reading in readings(Filters()):
        snapshot = reading.snapshot
        names = [workload_name(spec) or "" for spec in snapshot.pod_specs]
        wanted = {index for index, name in enumerate(snapshot.tenants) if name in scope}
        chosen = snapshot.pod_live & ~snapshot.pod_lp & ~snapshot.pod_agent & (snapshot.pod_gpus > 0)
        for p in chosen.nonzero()[0].tolist():
            name = names[int(snapshot.pod_spec[p])]
            if int(snapshot.pod_tenant[p]) in wanted and name:
                space = snapshot.namespaces[int(snapshot.pod_namespace[p])]
                where = reading.observation.source, snapshot.clusters[int(snapshot.pod_cluster[p])].name
                key = where[0].pk, where[0].name, where[1], f"{space}/{name}"
                sums[key] += int(snapshot.pod_gpus[p]) * int(snapshot.pod_gpu_milli[p])
    return [(*key, milli / 1000) for key, milli in sorted(sums.items(), key=lambda item: item[0][1:])]
