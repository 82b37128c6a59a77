"""A cluster that is watched with a Prometheus beside it: measured, and read on when that one dies."""

from typing import Any

import pytest

from console.inventory import planning, services
from console.inventory.models import IdleSlot, Source, Watch
from console.inventory.services import TelemetryAsked
from scheduler.cluster.snapshot import Snapshot
from tests.builders.fleets import kubernetes_source
from tests.builders.people import operator
from tests.kubernetes import worlds
from tests.kubernetes.following import until
from tests.kubernetes.player.on_port import PlayerOnPort
from tests.kubernetes.watched import newest, pods_seen, watching
from tests.telemetry.player import playing

pytestmark = pytest.mark.django_db(transaction=True)
COUNTER = "DCGM_FI_DEV_THERMAL_VIOLATION"
TEXT = "\n".join(
    f'DCGM_FI_PROF_SM_ACTIVE{{gpu="{gpu}",UUID="GPU-{gpu}",hostname="n0"}} 0.01\n'
    f'DCGM_FI_DEV_POWER_USAGE{{gpu="{gpu}",UUID="GPU-{gpu}",hostname="n0"}} 100'
    for gpu in range(8)
)


@pytest.fixture(autouse=True)
def _quick(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.KUBECONFIG_ALLOW = frozenset({"plain-http"})
    monkeypatch.setattr("console.inventory.services.watching.HEALTH_EVERY_S", 0.2)


def _snapshot(source: Source) -> Snapshot | None:
    observation = newest(source)
    return services.snapshot_of(observation.pk) if observation is not None else None


def _uses(source: Source) -> list[int | None]:
    snapshot = _snapshot(source)
    devices = snapshot.node_devices.get(0, ()) if snapshot is not None else ()
    return [one.utilisation.sm if one.utilisation is not None else None for one in devices]


def _told(source: Source) -> dict[str, Any]:
    row = Watch.objects.filter(source=source).values_list("telemetry", flat=True).first()
    return row or {}


def test_devices_are_measured_and_what_is_idle_is_summed_up() -> None:
    cluster = worlds.cluster(nodes=1, pods=0)
    cluster.store.put(worlds.PODS, worlds.pod("whole", on="n0", gpus=8))
    with playing(TEXT, {COUNTER: 0.0}) as prometheus, PlayerOnPort({"one": cluster}) as player, watching():
        source = kubernetes_source(server=player.url())
        services.set_telemetry(operator(), source, TelemetryAsked(prometheus.url))
        until(lambda: _uses(source) == [1] * 8, "all devices are measured")
        until(lambda: _told(source).get("devices") == 8, "how the endpoint fares is told")
        snapshot = _snapshot(source)
        assert snapshot is not None and int(snapshot.node_power_watts[0]) == 800
        first = newest(source)
        assert first is not None
        planning.measure(first.pk)
        player.apply(lambda: cluster.store.put(worlds.PODS, worlds.pod("waits")))
        until(lambda: pods_seen(source) == 2, "another reading")
        second = newest(source)
        assert second is not None
        planning.measure(second.pk)
    (row,) = IdleSlot.objects.filter(source=source)
    passed_s = (second.begun_at - first.begun_at).total_seconds()
    assert row.allocated_gpu_s == row.observed_gpu_s == row.idle_gpu_s == pytest.approx(8 * passed_s)
    assert row.tenant == "team"


def test_a_hanging_endpoint_holds_up_no_reading_and_is_named() -> None:
    with playing(TEXT) as prometheus, PlayerOnPort({"one": worlds.cluster(nodes=1, pods=2)}) as player, watching():
        prometheus.trouble = "silent"
        source = kubernetes_source(server=player.url())
        services.set_telemetry(operator(), source, TelemetryAsked(prometheus.url))
        until(lambda: pods_seen(source) == 2 and bool(prometheus.asked), "read while the endpoint hangs")
        assert _uses(source) == []
        assert _told(source).get("state", "waiting") == "waiting"


def test_an_endpoint_that_is_not_there_is_named_and_the_cluster_is_live() -> None:
    with PlayerOnPort({"one": worlds.cluster(nodes=1, pods=2)}) as player, watching():
        source = kubernetes_source(server=player.url())
        services.set_telemetry(operator(), source, TelemetryAsked("http://127.0.0.1:1"))
        until(lambda: _told(source).get("state") == "unknown", "the reason is told")
        assert _told(source)["error"] == "the endpoint cannot be reached: nothing listens at that port"
        until(lambda: pods_seen(source) == 2, "the cluster is read")
        assert Source.objects.get(pk=source.pk).state == "live"
