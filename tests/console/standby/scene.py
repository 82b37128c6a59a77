"""A simulated cluster under a clock that tests turn by hand, with a service of two pods that may sleep."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.connectors import registry
from console.connectors.choices import Kind
from console.connectors.simulated import SimulatedConnector, establish
from console.connectors.tide import Tide
from console.inventory import planning
from console.inventory.models import Source
from console.standby import execution, services
from console.standby.models import Recall, Sleeper, Window
from scheduler.cluster import codec
from scheduler.cluster.records import PodRecord
from scheduler.plan.operations import Launch, LaunchedPod
from tests.builders.fleets import read
from tests.builders.people import tenant
from tests.builders.worlds import World, world
from tests.console.connectors.worlds import HandClock

CALM = Tide(nodes_per_minute=0.0, fail=0.0, startup_s=(0, 0), resume_s=(4, 4))
WHERE: dict[str, Any] = {"cluster": "default", "namespace": "jobs", "workload": "serve"}


def service(**fields: Any) -> World:
    """``serve`` of team-a has a node of eight GPUs for each of its pods; ``other`` is team-b's."""
    built = world().nodes("n1", "n2", "n3", gpu_memory_mib=80_000)
    for name, node in (("s1", "n1"), ("s2", "n2")):
        given = {"tenant": "team-a", "workload": "serve", "class": "online", "memory_mib": 1024, **fields}
        built.pod(name, node, gpus=8, **given)
    return built.pod("o1", "n3", gpus=8, tenant="team-b", workload="other", memory_mib=1024)


@dataclass
class Scene:
    clock: HandClock
    source: Source

    @property
    def cluster(self) -> SimulatedConnector:
        return SimulatedConnector(self.source.config["cluster"], self.clock)

    def turn(self, seconds: int = 0) -> int:
        """Time passes, the cluster is read, and the beat comes."""
        self.clock.forward(seconds)
        assert planning.observe(self.source.pk) is not None
        self.source.refresh_from_db()
        return execution.act()

    def window(self, hours: float = 2.0, before_s: int = 60, **fields: Any) -> Window:
        """On since a minute, for two hours from then."""
        begins_at = self.clock.now - timedelta(seconds=before_s)
        given = {"begins_at": begins_at, "ends_at": begins_at + timedelta(hours=hours), **WHERE, **fields}
        return services.make_window(tenant("team-a"), source_id=self.source.pk, **given)

    def asleep(self) -> Window:
        """A window is on, and both pods sleep under it."""
        row = self.window()
        self.turn()
        assert [one.state for one in Sleeper.objects.all()] == ["asleep"] * 2
        return row

    def lend(self, *seats: tuple[str, str], lease: str = "l1", **fields: Any) -> None:
        """Pods of a lease borrow four GPUs each: (their name, the sleeper's)."""
        nodes = {"s1": "n1", "s2": "n2"}
        pods = tuple(LaunchedPod(name=name, node=nodes[lender], lent_by=f"jobs/{lender}") for name, lender in seats)
        asked = Launch(
            cluster="default", namespace="lp", lease=lease, tenant="team-b", workload=lease, pods=pods, gpus=4,
            cpu_milli=1000, memory_mib=512, **fields,
        )  # fmt: skip
        outcome = self.cluster.execute(asked, f"launch {seats}")
        assert outcome.state != "failed", outcome
        self.turn(1)

    def pod(self, name: str) -> PodRecord | None:
        return next((pod for pod in self.cluster.observe().pods if pod.name == name), None)

    def states(self) -> list[str]:
        return list(Sleeper.objects.order_by("pod").values_list("state", flat=True))


def scene(monkeypatch: pytest.MonkeyPatch, built: World | None = None, tide: Tide = CALM) -> Scene:
    clock = HandClock()
    monkeypatch.setattr(timezone, "now", clock)
    wire = lambda config: SimulatedConnector(config["cluster"], clock)  # noqa: E731
    monkeypatch.setitem(registry._KINDS, Kind.SIMULATED, wire)
    document = codec.parse((built or service()).json()).document
    uid = establish("sim", document, seed=1, tide=tide, clock=clock)
    source = Source.objects.create(name="sim", kind="simulated", config={"cluster": uid}, period_s=2)
    read(source)
    return Scene(clock, source)


def recalled() -> Recall:
    return Recall.objects.get()


def at(scene: Scene, seconds: float) -> datetime:
    return scene.clock.now + timedelta(seconds=seconds)
