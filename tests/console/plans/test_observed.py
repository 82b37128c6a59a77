"""A cluster that is only observed: plans are computed for it, and every door says why none can be run."""

from dataclasses import dataclass

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from console.connectors.protocol import Outcome, Told
from console.inventory import planning as inventory
from console.inventory import services as readings
from console.inventory.models import Observation, Source
from console.plans import selectors, services
from console.plans.models import Plan
from console.plans.services import Conflict
from scheduler.cluster import codec
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.plan.operations import Operation
from tests.builders.fleets import kubernetes_source
from tests.builders.people import approver, operator
from tests.console.plans.scene import Scene, move, two_nodes

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "this cluster is only observed"


@dataclass
class _Wire:
    """What a feed would tell."""

    document: Document
    acts = False

    def version(self) -> str:
        return "1"

    def observe(self) -> Told:
        return Told(self.document, ())

    def read_pod(self, key: str, cluster: str | None = None) -> PodRecord | None:
        raise NotImplementedError

    def read_node(self, name: str, cluster: str | None = None) -> NodeRecord | None:
        raise NotImplementedError

    def execute(self, operation: Operation, key: str, *, released: bool = False) -> Outcome:
        raise AssertionError("nothing may be asked of a cluster that is only observed")


@pytest.fixture
def source() -> Source:
    source = kubernetes_source()
    wire = _Wire(codec.parse(two_nodes().json()).document)
    assert readings.observe(source.pk, inventory.encode, wire) is not None
    return Source.objects.get(pk=source.pk)


@pytest.fixture
def plan(source: Source) -> Plan:
    return Scene(source).plan(move("a", "n1", "n2", 0))


def test_it_is_neither_approved_nor_started(plan: Plan) -> None:
    with pytest.raises(Conflict, match=WHY):
        services.approve_plan(approver(), plan.pk, plan.digest, "good", start=True)
    signed = {
        "state": "approved",
        "approved_digest": plan.digest,
        "approver": approver(),
        "approved_at": timezone.now(),
    }
    Plan.objects.filter(pk=plan.pk).update(**signed)
    with pytest.raises(Conflict, match=WHY):
        services.start_plan(operator(), plan.pk)
    assert Plan.objects.get(pk=plan.pk).started_at is None


def test_the_page_and_the_form_say_why(plan: Plan) -> None:
    client = Client()
    client.force_login(approver())
    page = client.get(reverse("plans:detail", args=[plan.pk])).content.decode()
    assert WHY in page and "only observed: cannot be run" in page
    assert "Take the moves from the CSV or JSON" in page and "Only a source that can act would change that" in page
    assert "Approve 1 move" not in page
    form = client.get(reverse("consolidation:new")).content.decode()
    assert "k8s (only observed)" in form and "cannot be approved or run here" in form


def test_an_observed_plan_waits_for_nobody(plan: Plan) -> None:
    """Nothing on its page asks for an approval, and the navigation does not count it."""
    client = Client()
    client.force_login(approver())
    page = client.get(reverse("plans:detail", args=[plan.pk])).content.decode()
    assert "Observed plan" in page
    for words in ("Awaiting approval", "data-countdown", "Ask an approver", "Verify"):
        assert words not in page, words
    assert [stage.label for stage in selectors.stages(plan, [])] == ["Computed", "Checked", "Ready", "Observed plan"]
    assert not selectors.plans_awaiting_approval(approver()).exists()
    assert not selectors.plans_to_decide(approver()).exists()
    assert "Awaiting approval" not in client.get(reverse("plans:list")).content.decode().split("<tbody", 1)[1]


def test_the_api_says_why(plan: Plan) -> None:
    client = APIClient()
    client.force_authenticate(approver())
    assert client.get(reverse("api:plan", args=[plan.pk])).json()["acts"] is False
    where = reverse("api:plan-approve", args=[plan.pk])
    answer = client.post(where, {"digest": plan.digest, "reason": "good"}, "json")
    assert answer.status_code == 409 and WHY in answer.json()["errors"][0]["detail"]


def test_a_reading_of_a_watched_cluster_is_drawn(source: Source) -> None:
    found = Observation.objects.get(source=source)
    assert found.columns is not None and found.unheld is not None and found.unheld.total == 0
