"""Allocated but idle: what is summed up, for whom, and what is left out because nobody knows it."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from console.inventory import archive, selectors
from console.inventory.models import IdleSlot, Observation, Source
from console.inventory.selectors import IdleFilters
from console.inventory.services import idling, retention
from console.inventory.services.idling import Owner, tally
from scheduler.cluster.build import build
from scheduler.cluster.records import DeviceRecord, Document, NodeRecord, PodRecord, UtilisationRecord
from scheduler.cluster.snapshot import Snapshot
from tests.builders.people import operator, tenant

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def devices(*sms: int | None) -> list[DeviceRecord]:
    return [
        DeviceRecord(index=place, utilisation=UtilisationRecord(sm=sm) if sm is not None else None)
        for place, sm in enumerate(sms)
    ]


def cluster(*pods: PodRecord, sms: tuple[int | None, ...] = (0, 80, None, 3), gpus: int = 4) -> Snapshot:
    node = NodeRecord(name="n1", gpus=gpus, cpu_milli=64_000, memory_mib=1 << 20, devices=devices(*sms))
    return build(Document(taken_at="2026-11-29T12:00:00Z", nodes=[node], pods=list(pods)))


def pod(name: str, *held: int, gpus: int = 0, **more: Any) -> PodRecord:
    said = {"tenant": "t1", "workload": name, **more}
    return PodRecord(name=name, gpus=gpus or len(held), devices=list(held), node="n1", **said)


def owner(name: str, of: str = "t1") -> Owner:
    return Owner("default", of, "default", name)


def test_only_devices_whose_use_and_holder_are_known_are_observed() -> None:
    found = tally(cluster(pod("a", 0, 1), pod("b", 2)), below=5)
    assert found == {owner("a"): (2, 2, 1), owner("b"): (1, 0, 0)}


def test_a_holder_that_is_not_known_is_allocated_and_not_observed() -> None:
    found = tally(cluster(pod("a", gpus=1), pod("b", gpus=1)), below=5)
    assert found == {owner("a"): (1, 0, 0), owner("b"): (1, 0, 0)}


def test_the_threshold_is_below_and_not_at() -> None:
    assert tally(cluster(pod("a", 3)), below=3)[owner("a")].idle == 0
    assert tally(cluster(pod("a", 3)), below=4)[owner("a")].idle == 1


def test_shares_count_as_shares() -> None:
    halves = [pod(name, 0, gpu_milli=500) for name in ("a", "b")]
    assert tally(cluster(*halves), below=5) == {owner("a"): (0.5, 0.5, 0.5), owner("b"): (0.5, 0.5, 0.5)}


def test_who_is_asleep_is_not_idle() -> None:
    assert tally(cluster(pod("a", 0, standby=True)), below=5) == {}


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from([500, 1000])), max_size=4, unique_by=lambda x: x[0]
    ),
    st.tuples(*[st.none() | st.integers(0, 100)] * 4),
    st.integers(1, 100),
)
def test_allocated_is_at_least_observed_is_at_least_idle(
    held: list[tuple[int, bool, int]], sms: tuple[int | None, ...], below: int
) -> None:
    pods = [pod(f"p{at}", at, gpu_milli=milli) if told else pod(f"p{at}", gpus=1) for at, told, milli in held]
    found = tally(cluster(*pods, sms=sms), below)
    assert (
        sum(one.allocated for one in found.values()) == sum(milli if told else 1000 for _, told, milli in held) / 1000
    )
    assert all(one.allocated >= one.observed >= one.idle >= 0 for one in found.values())


# --- the ledger -----------------------------------------------------------------------------------------------------
@pytest.fixture
def source(db: None) -> Source:
    return Source.objects.create(name="k8s", kind="file", config={"telemetry": {"idle_below": 5}}, period_s=10)


def reading(source: Source, snapshot: Snapshot, begun: datetime, confirmed: datetime | None = None) -> Observation:
    archive.store(snapshot)
    return Observation.objects.create(
        revision=Observation.objects.count() + 1,
        source=source,
        digest=snapshot.digest,
        taken_at=begun,
        begun_at=begun,
        observed_at=confirmed or begun,
    )


def seconds(**named: Any) -> list[tuple[float, float, float]]:
    rows = IdleSlot.objects.filter(**named).order_by("began_at")
    return [(row.allocated_gpu_s, row.observed_gpu_s, row.idle_gpu_s) for row in rows]


def test_what_held_at_a_reading_held_until_the_next_hour_by_hour(source: Source) -> None:
    seen = cluster(pod("a", 0, 1))
    first = reading(source, seen, NOON - timedelta(seconds=20))
    idling.add_up(first, reading(source, seen, NOON + timedelta(seconds=30)))
    assert seconds(workload="a") == [(40, 40, 20), (60, 60, 30)]


def test_sums_add_up_over_readings(source: Source) -> None:
    seen = cluster(pod("a", 0, 1))
    rows = [reading(source, seen, NOON + timedelta(seconds=10 * place)) for place in range(4)]
    for before, after in pairwise(rows):
        idling.add_up(before, after)
    assert seconds() == [(60, 60, 30)]


def test_nothing_is_known_of_a_gap(source: Source) -> None:
    seen = cluster(pod("a", 0))
    first = reading(source, seen, NOON, confirmed=NOON + timedelta(seconds=30))
    idling.add_up(first, reading(source, seen, NOON + timedelta(hours=5)))
    assert seconds() == [(30, 30, 30)]


def test_a_cluster_without_measurements_has_no_ledger(source: Source) -> None:
    source.config = {}
    source.save()
    seen = cluster(pod("a", 0), sms=(None, None, None, None))
    idling.add_up(reading(source, seen, NOON), reading(source, seen, NOON + timedelta(seconds=10)))
    assert not IdleSlot.objects.exists()


def test_rows_are_bounded_and_nothing_is_lost(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idling, "MOST", 2)
    pods = [pod(f"p{place}", place, tenant=f"t{place}") for place in range(8)]
    seen = cluster(*pods, sms=(0,) * 8, gpus=8)
    for place in range(2):
        begun = NOON + timedelta(seconds=20 * place)
        idling.add_up(reading(source, seen, begun), reading(source, seen, begun + timedelta(seconds=10)))
    assert IdleSlot.objects.count() == 5  # two of their own, two by tenant, one for everybody else
    assert sum(row[0] for row in seconds()) == 160


def test_old_hours_are_dropped(source: Source) -> None:
    now = timezone.now()
    for days in (1, 9):
        IdleSlot.objects.create(source=source, began_at=now - timedelta(days=days), cluster="c")
    retention.sweep()
    assert IdleSlot.objects.count() == 1


# --- who sees what --------------------------------------------------------------------------------------------------
@pytest.fixture
def ledger(source: Source) -> None:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for name, of, idle in (("mine", "t1", 1), ("secret", "t2", 2), ("other", "t2", 3)):
        said = {"cluster": "c1", "tenant": of, "namespace": "jobs", "workload": name}
        IdleSlot.objects.create(
            source=source, began_at=hour, allocated_gpu_s=36_000, observed_gpu_s=18_000, idle_gpu_s=3600 * idle, **said
        )
    IdleSlot.objects.create(source=source, began_at=hour - timedelta(hours=30), cluster="c1", tenant="t1", idle_gpu_s=9)


@pytest.mark.usefixtures("ledger")
def test_rows_by_workload_and_by_tenant_in_each_order() -> None:
    rows = selectors.idle_rows(operator(), IdleFilters()).rows
    assert [(row.workload, row.idle_gpu_h, row.idle_percent) for row in rows] == [
        ("other", 3, 60),
        ("secret", 2, 40),
        ("mine", 1, 20),
    ]
    by_tenant = selectors.idle_rows(operator(), IdleFilters(by="tenant"), sort="tenant").rows
    assert [(row.tenant, row.allocated_gpu_h, row.idle_gpu_h) for row in by_tenant] == [("t1", 10, 1), ("t2", 20, 5)]
    assert selectors.idle_rows(operator(), IdleFilters(), sort="workload").rows[0].workload == "mine"


def test_idle_is_unknown_where_nothing_was_observed(source: Source) -> None:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    IdleSlot.objects.create(source=source, began_at=hour, cluster="c1", tenant="t1", allocated_gpu_s=3600)
    (row,) = selectors.idle_rows(operator(), IdleFilters()).rows
    assert (row.allocated_gpu_h, row.observed_gpu_h, row.idle_gpu_h, row.idle_percent) == (1, 0, None, None)


@pytest.mark.usefixtures("ledger")
def test_windows_and_filters() -> None:
    assert selectors.idle_rows(operator(), IdleFilters(window="7d")).total == 4
    assert selectors.idle_rows(operator(), IdleFilters(tenant="t1")).total == 1
    assert selectors.idle_rows(operator(), IdleFilters(text="SECR")).rows[0].workload == "secret"
    page = selectors.idle_rows(operator(), IdleFilters(), size=2)
    assert (len(page.rows), page.total) == (2, 3)
    assert [row.workload for row in selectors.idle_rows(operator(), IdleFilters(), cursor=page.next or "").rows]


@pytest.mark.usefixtures("ledger")
def test_a_tenant_sees_its_own_and_no_trace_of_others() -> None:
    client, mine = Client(), tenant("t1")
    client.force_login(mine)
    for query in ("", "?by=tenant", "?tenant=t2", "?text=secret"):
        answer = client.get(reverse("inventory:idle") + query)
        assert answer.status_code == 200
        assert b"secret<" not in answer.content
        assert b"other<" not in answer.content
        assert b'value="t2"' not in answer.content
    lines = client.get(reverse("inventory:idle-csv")).getvalue().decode().splitlines()
    assert len(lines) == 2
    api = APIClient()
    api.force_authenticate(mine)
    assert [row["workload"] for row in api.get("/api/v1/fleet/idle/").json()["results"]] == ["mine"]
    assert selectors.idle_total(mine, IdleFilters(tenant="t2")) is None


@pytest.mark.usefixtures("ledger")
def test_the_page_links_to_workloads_and_says_unknown_where_nothing_is() -> None:
    client = Client()
    client.force_login(operator())
    body = client.get(reverse("inventory:idle")).content.decode()
    assert "/fleet/workloads/c1/jobs/other?source=k8s" in body
    part = client.get(reverse("inventory:idle"), headers={"HX-Request": "true"}).content.decode()
    assert "sl-age" in part
    assert part.lstrip().startswith("<section") and "Unhealthy devices" not in part
    for word in ("tiles", "sick"):
        live = client.get(reverse("inventory:idle") + f"?part={word}", headers={"HX-Request": "true"}).content.decode()
        assert live.lstrip().startswith("<section")
        assert "<html" not in live
    empty = client.get(reverse("inventory:idle") + "?text=nothing-of-that-name").content.decode()
    assert "Nothing fits." in empty and "0.0" not in empty
    assert client.get(reverse("inventory:idle") + "?cursor=x").status_code == 404
