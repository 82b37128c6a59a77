"""Leases are asked for by tenants and seen by their own; who sees the pool sees everybody's and acts on none."""

from django.utils import timezone

from console.spot import services
from console.spot.models import Estimate
from console.spot.services.forecasting import keep_backtest
from console.tenancy.choices import Role
from tests.builders.fleets import observed
from tests.builders.people import person, tenant
from tests.builders.worlds import GPU_MODEL
from tests.console.role_matrix import FLEET, SIGNED_IN, Arguments, Route
from tests.console.spot.scene import CLUSTER, priced, room

TENANTS = frozenset({"tenant_user", "tenant_admin"})
OWN = SIGNED_IN  # their own, or everybody's


def _fleet() -> Arguments:
    priced()
    observed(room())
    return {}


def _judged() -> Arguments:
    keep_backtest(timezone.now(), {}, "a back-test needs a week")
    return {}


def _asked(draft: bool = False) -> Arguments:
    priced()
    source = observed(room()).source_id
    person(Role.TENANT_ADMIN, tenants=("team-a",))
    row, _ = services.make_lease(
        tenant("team-a"), source_id=source, cluster=CLUSTER, tenant="team-a", asked={"gpu_models": [GPU_MODEL]},
        draft=draft,
    )  # fmt: skip
    return {"lease_id": row.pk}


def _draft() -> Arguments:
    return _asked(draft=True)


def _estimated() -> Arguments:
    _asked()
    return {"estimate_id": Estimate.objects.get().pk}


def _withdrawn() -> Arguments:
    return {**_asked(), "action": "withdraw"}


BODY = {"source": 1, "cluster": "nowhere", "gpu_models": ["none"]}
ROUTES = (
    Route("spot:capacity", TENANTS, make=_fleet),
    Route("spot:ask", TENANTS, "post", 400, _fleet),
    Route("spot:estimate", TENANTS, "post", 200, _fleet),
    Route("spot:estimate-part", TENANTS, make=_estimated),
    Route("spot:calibration", OWN, make=_fleet),
    Route("spot:forecast", OWN, make=_fleet),
    Route("spot:overview", FLEET, make=_fleet),
    Route("spot:lease", OWN, make=_asked),
    Route("spot:act", TENANTS, "post", 302, _withdrawn),
    Route("spot:reclaims", OWN, make=_fleet),
    Route("spot:reclaims-csv", OWN, make=_fleet),
    Route("spot:bills", OWN, make=_fleet),
    Route("api:spot-forecasts", OWN, make=_fleet),
    Route("api:spot-quotas", OWN, make=_fleet),
    Route("api:spot-backtest", FLEET, make=_judged),
    Route("api:leases", OWN, make=_fleet),
    Route("api:leases", TENANTS, "post", 400, _fleet, BODY),
    Route("api:lease", OWN, make=_asked),
    Route("api:lease", TENANTS, "patch", 428, _draft),
    Route("api:lease-ask", TENANTS, "post", 428, _draft),
    Route("api:lease-withdraw", TENANTS, "post", 428, _asked),
    Route("api:lease-give-back", TENANTS, "post", 428, _asked),
    Route("api:lease-changes", OWN, make=_asked),
    Route("api:lease-estimates", TENANTS, "post", 400, _fleet, BODY),
    Route("api:lease-estimate", OWN, make=_estimated),
    Route("api:reclaims", OWN, make=_fleet),
    Route("api:reclaims-csv", OWN, make=_fleet),
    Route("api:spot-calibration", OWN, make=_fleet),
    Route("api:spot", OWN, make=_fleet),
    Route("api:spot-bills", OWN, make=_fleet),
)
TOPICS = {"leases": OWN, "lease": frozenset(), "spot": OWN}
