"""What could be lent of each GPU model, hour by hour, from the measurements that are kept.  No viewer: for workers."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.inventory.models import Measurement
from console.inventory.packed import unpack_json

HOUR = timedelta(hours=1)
HELD = ("allocated_hp", "allocated_lp", "standby", "unhealthy", "fractional")  # causes that are no free whole GPU


@dataclass(frozen=True, slots=True)
class Lendable:
    """One GPU model in one hour, thousandths: asleep and not lent, held by LP pods, and free."""

    standby_milli: int
    lp_milli: int
    free_milli: int

    def __add__(self, other: "Lendable") -> "Lendable":
        return Lendable(
            self.standby_milli + other.standby_milli, self.lp_milli + other.lp_milli, self.free_milli + other.free_milli
        )

    @property
    def total_milli(self) -> int:
        return self.standby_milli + self.lp_milli + self.free_milli


def lendable_by_hour(start: datetime, end: datetime) -> dict[str, list[Lendable | None]]:
    """Per model as many hours as there are from ``start`` to ``end``, each as the hour's last reading has it.

    None: of a source that has the model nothing is kept of that hour.  Two queries, and one report per source and hour.
    """
    hours = int((end - start) / HOUR)
    marks = _marks(start, end, hours)
    found: dict[int, dict[str, list[Lendable | None]]] = defaultdict(dict)
    reports = Measurement.objects.filter(observation__in=set(marks.values())).only("observation_id", "report")
    pools = {row.observation_id: _by_model(unpack_json(row.report)["pools"]) for row in reports}
    for (source, hour), revision in marks.items():
        for model, one in pools.get(revision, {}).items():
            found[source].setdefault(model, [None] * hours)[hour] = one
    return _summed(found, hours)


def _marks(start: datetime, end: datetime, hours: int) -> dict[tuple[int, int], int]:
    """(source, hour) -> the last measured reading that stood in it."""
    kept = Measurement.objects.filter(observation__begun_at__lt=end, observation__observed_at__gte=start)
    spans = kept.values_list(
        "observation__source", "observation_id", "observation__begun_at", "observation__observed_at"
    )
    found: dict[tuple[int, int], int] = {}
    for source, revision, begun, confirmed in spans.order_by("observation_id"):
        first = max(0, int((begun - start) / HOUR))
        for hour in range(first, min(hours - 1, int((confirmed - start) / HOUR)) + 1):
            found[source, hour] = revision
    return found


def _by_model(pools: list[dict[str, object]]) -> dict[str, Lendable]:
    found: dict[str, Lendable] = {}
    for pool in pools:
        model, shapes = pool["gpu_model"], pool["shapes"]
        if not isinstance(model, str) or not model or not isinstance(shapes, list) or not shapes:
            continue
        causes = shapes[0]["causes"]
        free = shapes[0]["usable"] + sum(milli for cause, milli in causes.items() if cause not in HELD)
        one = Lendable(causes["standby"], causes["allocated_lp"], free)
        found[model] = found[model] + one if model in found else one
    return found


def _summed(found: dict[int, dict[str, list[Lendable | None]]], hours: int) -> dict[str, list[Lendable | None]]:
    """Over sources; a gap of one that has the model is a gap of the sum."""
    summed: dict[str, list[Lendable | None]] = {}
    for by_model in found.values():
        for model, row in by_model.items():
            before = summed.get(model)
            summed[model] = row if before is None else [_plus(a, b) for a, b in zip(before, row, strict=True)]
    return summed


def _plus(one: Lendable | None, other: Lendable | None) -> Lendable | None:
    return None if one is None or other is None else one + other
