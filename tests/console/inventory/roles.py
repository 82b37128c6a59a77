from datetime import timedelta

from django.utils import timezone

from console.inventory import planning, services
from console.inventory.ledgers import comparison_key
from console.inventory.models import OwnerLock, Source
from tests.builders.fleets import kubernetes_source, observed
from tests.builders.people import operator
from tests.builders.worlds import world
from tests.console.role_matrix import FLEET, OPERATORS, SIGNED_IN, Arguments, Route

CLUSTER = {"name": "k8s", "way": "kubeconfig", "period_s": 10, "levels": "auto"}
TELEMETRY = {"url": "https://prometheus.example", "means": "none", "idle_below": 5}
NO_URL = {"url": "ftp://x", "means": "none", "idle_below": 5}  # refused before anything is sent
FILE = {"kind": "snapshot", "name": "x", "behaviour": "file"}


def _fleet() -> Arguments:
    observed(world().asw("asw-1").node("n1").pod("a", "n1", tenant="theirs"))
    return {}


def _revision() -> Arguments:
    _fleet()
    return {"revision": "latest"}


def _layout() -> Arguments:
    observation = observed(world().node("n1"))
    return {"digest": observation.fleet_layout_id}


def _node() -> Arguments:
    _fleet()
    return {"cluster": "default", "name": "n1"}


def _pod() -> Arguments:
    _fleet()
    return {"cluster": "default", "name": "jobs/a"}


def _compared() -> Arguments:
    """The map of what changed between two readings."""
    then, now = (observed(world(now_s).node("n1")) for now_s in (1, 2))
    services.ask_for_comparisons([(then.digest, now.digest)])
    planning.compare(comparison_key(then.digest, now.digest))
    return {"pairs": f"{then.revision}-{now.revision}"}


def _workload() -> Arguments:
    observed(world().node("n1").pod("a", "n1", tenant="theirs", workload="w"))
    return {"cluster": "default", "name": "jobs/w"}


def _no_arguments_after_a_workload() -> Arguments:
    _workload()
    return {}


def _source() -> Arguments:
    _fleet()
    return {"source_id": Source.objects.get().pk}


def _cluster() -> Arguments:
    return {"source_id": kubernetes_source().pk}


def _no_upload() -> Arguments:
    return {"upload_id": 1}


def _lock() -> Arguments:
    """A lock of a tenant to which the matrix's tenants do not belong."""
    observed(world().node("n1").pod("a", "n1", locked=True, workload="w", tenant="theirs"))
    return {"lock_id": OwnerLock.objects.get().pk}


def _question() -> Arguments:
    """To a tenant to which none of the matrix's people belongs, so that those who may answer find nothing."""
    lock, now = OwnerLock.objects.get(pk=_lock()["lock_id"]), timezone.now()
    row = services.ask_release(operator("asker"), lock, now, now + timedelta(hours=1), "night")
    return {"release_id": row.pk}


def _no_arguments_after_a_question() -> Arguments:
    _question()
    return {}


TENANTS = frozenset({"tenant_user", "tenant_admin"})
NO = {"yes": "no", "reason": "r"}
SOON = {"begins_at": "2020-01-01T00:00", "ends_at": "2020-01-01T01:00", "why": "w"}  # is over: refused
ROUTES = (
    Route("inventory:owner-locks", SIGNED_IN, make=_fleet),
    Route("inventory:owner-locks-csv", SIGNED_IN, make=_fleet),
    Route("inventory:owner-lock", FLEET, make=_lock, denied=404),
    Route("inventory:release-ask", OPERATORS, method="post", make=_lock, body=SOON, ok=400),
    Route(
        "inventory:release-answer", TENANTS, method="post", make=_question, body={"yes": "no", "reason": "r"}, ok=404
    ),
    Route("inventory:release-take-back", TENANTS, method="post", make=_question, body={"reason": "r"}, ok=404),
    Route("inventory:release-withdraw", OPERATORS, method="post", make=_question, body={"reason": "r"}, ok=302),
    Route("api:owner-locks", SIGNED_IN, make=_fleet),
    Route("api:owner-lock", FLEET, make=_lock, denied=404),
    Route("api:release-ask", OPERATORS, method="post", make=_lock, body=SOON, ok=400),
    Route("api:releases", SIGNED_IN, make=_no_arguments_after_a_question),
    Route("api:release-answer", TENANTS, method="post", make=_question, body=NO, ok=404),
    Route("api:release-take-back", TENANTS, method="post", make=_question, body={"reason": "r"}, ok=404),
    Route("api:release-withdraw", OPERATORS, method="post", make=_question, body={"reason": "r"}),
    Route("inventory:nodes", SIGNED_IN, make=_fleet),
    Route("inventory:nodes-csv", SIGNED_IN, make=_fleet),
    Route("inventory:node", FLEET, make=_node, denied=404),  # nothing of the tenant's is on it
    Route("inventory:node-named", SIGNED_IN, ok=404),  # names nothing
    Route("inventory:node-why", FLEET, make=_node, denied=404),
    Route("inventory:pods", SIGNED_IN, make=_fleet),
    Route("inventory:pods-csv", SIGNED_IN, make=_fleet),
    Route("inventory:pod", FLEET, make=_pod, denied=404),
    Route("inventory:pod-named", SIGNED_IN, ok=404),
    Route("inventory:workload", FLEET, make=_workload, denied=404),
    Route("inventory:workload-named", SIGNED_IN, ok=404),
    Route("inventory:idle", SIGNED_IN, make=_fleet),
    Route("inventory:idle-csv", SIGNED_IN, make=_fleet),
    Route("inventory:telemetry", OPERATORS, make=_cluster),
    Route("inventory:telemetry", OPERATORS, method="post", make=_cluster, body=TELEMETRY, ok=302),
    Route("inventory:telemetry-test", OPERATORS, method="post", make=_cluster, body=NO_URL, ok=400),
    Route("inventory:telemetry-remove", OPERATORS, method="post", make=_cluster, ok=302),
    Route("api:fleet-idle", SIGNED_IN, make=_fleet),
    Route("api:fleet-unhealthy", SIGNED_IN, make=_fleet),
    Route("api:fleet-watts", FLEET, make=_fleet),
    Route("api:cluster-telemetry", FLEET, make=_cluster, ok=404),  # it has none yet
    Route("api:cluster-telemetry", OPERATORS, method="put", make=_cluster, body=TELEMETRY),
    Route("api:cluster-telemetry", OPERATORS, method="delete", make=_cluster, ok=204),
    Route("api:cluster-telemetry-test", OPERATORS, method="post", make=_cluster, body=NO_URL, ok=400),
    Route("inventory:map-nodes", FLEET, make=_revision),
    Route("inventory:map-gpus", FLEET, make=_revision),
    Route("inventory:map-layout", FLEET, make=_layout),
    Route("inventory:map-names", FLEET, make=_layout),
    Route("inventory:since", SIGNED_IN, make=_fleet, query="?from=2026-01-01T00:00:00Z&to=now"),
    Route("inventory:since-csv", SIGNED_IN, make=_fleet, query="?from=2026-01-01T00:00:00Z"),
    Route("inventory:since-map", FLEET, make=_compared),
    Route("inventory:since-layout", FLEET, make=_compared),
    Route("inventory:since-names", FLEET, make=_compared),
    Route("inventory:sources", FLEET, make=_fleet),
    Route("inventory:load", OPERATORS),
    Route("inventory:load", OPERATORS, method="post", body=FILE, ok=400),  # without a file
    Route("inventory:upload", OPERATORS, make=_no_upload, ok=404),
    Route("inventory:source", FLEET, make=_cluster),
    Route("inventory:source-unheld-csv", FLEET, make=_cluster),
    Route("inventory:cluster-role", OPERATORS),
    Route("inventory:cluster-add", OPERATORS),
    Route("inventory:cluster-add", OPERATORS, method="post", body=CLUSTER, ok=400),  # without a kubeconfig
    Route("inventory:cluster-test", OPERATORS, method="post", body=CLUSTER, ok=400),
    Route("inventory:cluster-change", OPERATORS, make=_cluster),
    Route("inventory:cluster-change", OPERATORS, method="post", make=_cluster, body=CLUSTER, ok=302),
    Route("inventory:source-test", OPERATORS, method="post", make=_cluster),  # the server is not there; that is told
    Route("api:clusters", FLEET, make=_fleet),
    Route("api:clusters", OPERATORS, method="post", body=CLUSTER, ok=400),
    Route("api:cluster-test", OPERATORS, method="post", body=CLUSTER, ok=400),
    Route("api:cluster-role", OPERATORS),
    Route("api:cluster", FLEET, make=_cluster),
    Route("api:cluster", OPERATORS, method="patch", make=_cluster, body={"period_s": 20}),
    Route("api:cluster", OPERATORS, method="delete", make=_cluster, query="?reason=old", ok=204),
    Route("api:cluster-test-known", OPERATORS, method="post", make=_cluster),
    Route("api:cluster-follow-anew", OPERATORS, method="post", make=_cluster, ok=204),
    Route("api:cluster-unheld", FLEET, make=_cluster),
    Route("inventory:source-retry", OPERATORS, method="post", make=_source, ok=302),
    Route("inventory:source-rename", OPERATORS, method="post", make=_source, body={"name": "other"}, ok=302),
    Route("inventory:source-remove", OPERATORS, method="post", make=_source, body={"reason": "old"}, ok=302),
    Route("api:sources", FLEET, make=_fleet),
    Route("api:sources", OPERATORS, method="post", body=FILE, ok=400),
    Route("api:source-name", OPERATORS, method="put", make=_source, body={"name": "other"}),
    Route("api:upload", OPERATORS, make=_no_upload, ok=404),
    Route("api:observations", FLEET, make=_fleet),
    Route("api:nodes", SIGNED_IN, make=_fleet),
    Route("api:node", FLEET, make=_fleet, query="?cluster=default&name=n1", denied=404),
    Route("api:pods", SIGNED_IN, make=_fleet),
    Route("api:pod", FLEET, make=_fleet, query="?cluster=default&name=jobs/a", denied=404),
    Route(
        "api:workload",
        FLEET,
        make=_no_arguments_after_a_workload,
        query="?cluster=default&name=jobs/w",
        denied=404,
    ),
    Route("api:fleet-headline", SIGNED_IN, make=_fleet),
    Route("api:fleet-layout", FLEET, make=_fleet),
    Route("api:fleet-pools", SIGNED_IN, make=_fleet),
    Route("api:fleet-shapes", SIGNED_IN, make=_fleet),
    Route("api:fleet-waterfall", SIGNED_IN, make=_fleet),
    Route("api:fleet-fits", SIGNED_IN, make=_fleet),
    Route("api:fleet-since", SIGNED_IN, make=_fleet, query="?from=2026-01-01T00:00:00Z"),
    Route("api:fleet-standby", FLEET, make=_fleet),
)
TOPICS = {"source": FLEET, "fleet": FLEET, "readings": SIGNED_IN}
