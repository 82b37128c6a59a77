"""The demo's first windows: one that is on, one that ends soon, one for every night."""

from collections import defaultdict
from datetime import timedelta
from typing import Any

from django.utils import timezone

from console.inventory import services as inventory
from console.inventory.models import Source
from console.standby.models import Window
from console.standby.services.pods import Found, of_tenant, reading
from console.standby.services.windows import make_window

SOON, LATER = timedelta(minutes=12), timedelta(hours=3)


def ensure_windows(user: Any, tenant: str) -> int:
    """For workloads of ``tenant`` that sleep in the demo's world, once; how many windows were made."""
    source = next((one for one in Source.objects.order_by("pk") if one.lends), None)
    if source is None or Window.objects.exists():
        return 0
    if reading(source) is None:
        inventory.observe(source.pk)
    snapshot = reading(source)
    if snapshot is None:
        return 0
    now = timezone.now()
    begins_at = now - timedelta(minutes=30)
    times: list[dict[str, Any]] = [
        {"begins_at": begins_at, "ends_at": now + SOON, "reason": "Quiet until the next campaign"},
        {"begins_at": begins_at, "ends_at": now + LATER, "reason": "Nobody asks it at this time"},
        {"days": list(range(7)), "from_minute": 22 * 60, "until_minute": 6 * 60, "reason": "Its users sleep"},
    ]
    made = 0
    for when, (cluster, namespace, workload) in zip(times, _workloads(of_tenant(snapshot, tenant)), strict=False):
        make_window(user, source_id=source.pk, cluster=cluster, namespace=namespace, workload=workload, **when)
        made += 1
    return made


def _workloads(pods: list[Found]) -> list[tuple[str, str, str]]:
    """Those that lend most already first, then those with most GPUs; services before others."""
    sums: dict[tuple[str, str, str], int] = defaultdict(int)
    for one in pods:
        if one.workload:
            sums[one.cluster, one.namespace, one.workload] += one.gpu_milli + 1000 * one.lent_milli
    return sorted(sums, key=lambda key: (-sums[key], key))
