"""A simulated cluster that lends, a price for its model, tenants, and leases that are asked for and looked at."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from console.connectors import simulated
from console.connectors.changes import Change
from console.connectors.models import SimulatedCluster
from console.inventory import services as inventory
from console.inventory.models import Source
from console.prices.models import Price
from console.spot import execution, services
from console.spot.models import Lease, Reclaim, Run, Seat
from console.spot.planning import seating
from scheduler.cluster import codec
from tests.builders.people import tenant
from tests.builders.worlds import GPU_MODEL, World, world

CLUSTER = "default"
SHIFTED: dict[Any, tuple[str, ...]] = {
    Lease: ("since", "asked_at", "looked_at", "first_started_at"),
    Run: ("launched_at", "running_at", "guaranteed_until", "billed_at"),
    Seat: ("noticed_at", "unready_at", "hook_ended_at", "checkpoint_at", "gone_at"),
    Reclaim: ("noticed_at", "kill_at", "hook_ended_at", "ended_at"),
    Price: ("since",),
}


@dataclass
class Scene:
    source: Source

    @property
    def now(self) -> datetime:
        return timezone.now()

    def wait(self, seconds: int) -> None:
        """All that has happened lies so much further back; the cluster lives through it."""
        back = timedelta(seconds=seconds)
        SimulatedCluster.objects.update(began_at=F("began_at") - back)
        for model, fields in SHIFTED.items():
            for field in fields:
                model.objects.filter(**{f"{field}__isnull": False}).update(**{field: F(field) - back})
        self.observe()

    def observe(self) -> None:
        assert inventory.observe(self.source.pk) is not None
        self.source.refresh_from_db()

    def happen(self, *changes: Change) -> None:
        """The cluster changes by itself, and is observed."""
        connector = simulated.SimulatedConnector(self.source.config["cluster"])
        with connector._held() as (row, state):
            state.apply(list(changes))
            simulated._write(row, state, row.clock_s, "tests", list(changes))
        self.observe()

    def turn(self, looks: int = 1) -> None:
        """A reading, seats, and so many looks at what runs."""
        self.observe()
        seating.look(self.now)
        for _ in range(looks):
            self.observe()
            execution.look(self.now)

    def asked(self, user: Any = None, **said: Any) -> Lease:
        given = {"gpu_models": [GPU_MODEL], "gpus_per_pod": 8, "pods": 1, "run_s": 3600, **said}
        row, _ = services.make_lease(
            user or tenant("team-a"), source_id=self.source.pk, cluster=CLUSTER, tenant="", asked=given
        )
        return row

    def started(self, user: Any = None, **said: Any) -> Lease:
        """A lease that runs."""
        row = self.asked(user, **said)
        self.turn(3)
        assert state_of(row) == "running", (row.state, row.reason, row.numbers)
        return row

    def until(self, row: Lease, state: str, looks: int = 8) -> Lease:
        """Looks and waits until it is so."""
        for _ in range(looks):
            self.turn()
            if state_of(row) == state:
                return row
            self.wait(10)
        raise AssertionError((row.state, row.reason, row.numbers))

    def pods(self) -> dict[str, Any]:
        """Of leases, as the cluster has them now."""
        document = simulated.SimulatedConnector(self.source.config["cluster"]).observe()
        return {f"{pod.namespace}/{pod.name}": pod for pod in document.pods if pod.namespace == services.NAMESPACE}


def priced(cents: int = 118, at: datetime | None = None, model: str = GPU_MODEL) -> None:
    Price.objects.create(gpu_model=model, cents=cents, since=at or timezone.now() - timedelta(days=2), why="first")


def scene(made: World | None = None, cents: int | None = 118) -> Scene:
    document = codec.parse((made or room()).json()).document
    source = inventory.establish_world("sim", document, seed=1, lively=False)
    if cents is not None:
        priced(cents)
    one = Scene(source)
    one.observe()
    return one


def room() -> World:
    """Three empty nodes of 8 GPUs under one switch."""
    return world().asw("s1").nodes("n1", "n2", "n3")


def run_of(row: Lease) -> Run:
    return Run.objects.get(lease=row, ended_at=None)


def seats_of(row: Lease) -> list[Seat]:
    return list(Seat.objects.filter(run__lease=row, run__ended_at=None))


def state_of(row: Lease) -> str:
    row.refresh_from_db()
    return row.state
