"""Windows are the tenants' own; who sees the pool sees everybody's, and operators may recall."""

from typing import Any

from django.utils import timezone

from console.standby import services
from console.standby.models import Sleeper
from console.tenancy.choices import Role
from tests.builders.fleets import read, simulated_source
from tests.builders.people import person, tenant
from tests.console.role_matrix import FLEET, OPERATORS, SIGNED_IN, Arguments, Route
from tests.console.standby.scene import WHERE, service

TENANTS = frozenset({"tenant_user", "tenant_admin"})
RECALLERS = TENANTS | OPERATORS
WEEKLY: dict[str, Any] = {"days": [0, 1], "from_minute": 60, "until_minute": 360}


def _fleet() -> Arguments:
    """All tenants' people of the matrix belong to team-a."""
    read(simulated_source(service()))
    tenant("team-a")
    person(Role.TENANT_ADMIN, tenants=("team-a",))
    return {}


def _window() -> Arguments:
    _fleet()
    source = simulated_source(service(), "second")
    read(source)
    row = services.make_window(tenant("team-a"), source_id=source.pk, **WHERE, **WEEKLY)
    return {"window_id": row.pk}


def _asleep() -> Arguments:
    made = _window()
    now = timezone.now()
    Sleeper.objects.create(
        window_id=made["window_id"], pod="jobs/s1", node="n1", gpu_milli=8000, memory_mib=1, begins_at=now,
        until_at=now, state="asleep", told=True, slept_at=now,
    )  # fmt: skip
    return made


def _recalled() -> Arguments:
    made = _asleep()
    (row,) = services.recall_window(tenant("team-a"), made["window_id"], "now")
    return {"recall_id": row.pk}


def _part(name: str) -> Any:
    def made() -> Arguments:
        _fleet()
        return {"part": name}

    return made


SAID = {"reason": "because"}
# An empty body is refused by its fields: 400 is the answer of those who may.
ROUTES = (
    Route("standby:part", SIGNED_IN, make=_part("windows")),
    Route("standby:part", FLEET, make=_part("storms")),
    Route("standby:new", TENANTS, make=_fleet),
    Route("standby:new", TENANTS, "post", 400, _fleet),
    Route("standby:edit", TENANTS, make=_window),
    Route("standby:edit", TENANTS, "post", 400, _window),
    Route("standby:end", TENANTS, "post", 302, _window, SAID),
    Route("standby:recall-window", RECALLERS, "post", 302, _asleep, SAID),
    Route("api:standby-windows", SIGNED_IN, make=_fleet),
    Route("api:standby-windows", TENANTS, "post", 400, _fleet),
    Route("api:standby-preview", TENANTS, "post", 400, _fleet),
    Route("api:standby-window", SIGNED_IN, make=_window),
    Route("api:standby-window", TENANTS, "put", 428, _window, WEEKLY),
    Route("api:standby-window-end", TENANTS, "post", 200, _window, SAID),
    Route("api:standby-window-recall", RECALLERS, "post", 201, _asleep, SAID),
    Route("api:standby-recalls", SIGNED_IN, make=_fleet),
    Route("api:standby-recalls", RECALLERS, "post", 400, _fleet),
    Route("api:standby-recall-figures", SIGNED_IN, make=_fleet),
    Route("api:standby-recall", SIGNED_IN, make=_recalled),
    Route("api:standby-pool", SIGNED_IN, make=_fleet),
    Route("api:standby-storms", FLEET, make=_fleet),
)
TOPICS = {"standby": SIGNED_IN}
