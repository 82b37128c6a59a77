"""Locks by owners: what is held, what only a lock keeps, each node once, hour by hour, and for whom."""

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
from console.inventory.models import LockSlot, Observation, OwnerLock, Source
from console.inventory.selectors import OwnerLockFilters
from console.inventory.services import owner_locks, retention
from console.inventory.services.owner_locks import Holder, tally
from scheduler.cluster.snapshot import Snapshot
from tests.builders.fleets import file_source, read
from tests.builders.people import operator, tenant, viewer
from tests.builders.worlds import World, world

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def whose(workload: str, of: str = "t1", share: str = "workload") -> Holder:
    return Holder("default", of, "jobs" if share == "workload" else "", workload, share)


def locked(name: str, node: str, gpus: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "node": node, "gpus": gpus, "locked": True, "workload": name, **more}


def built(*pods: dict[str, Any], nodes: int = 2) -> World:
    made = world().nodes(*(f"n{place}" for place in range(nodes)))
    for one in pods:
        made.pod(**one)
    return made


CASES: dict[str, tuple[tuple[dict[str, Any], ...], dict[Holder, tuple[int, int, int, int]]]] = {
    # pods, held_milli, kept nodes, stranded GPUs
    "alone": ((locked("a", "n0", 2),), {whose("a"): (1, 2000, 1, 6)}),
    "others may leave": ((locked("a", "n0", 2), {"name": "b", "node": "n0"}), {whose("a"): (1, 2000, 1, 5)}),
    "full: nothing is stranded": ((locked("a", "n0", 8),), {whose("a"): (1, 8000, 0, 0)}),
    "two nodes of one workload": (
        (locked("a", "n0"), locked("b", "n1", workload="a")),
        {whose("a"): (2, 2000, 2, 14)},
    ),
    "another reason keeps it, too": (
        (locked("a", "n0"), {"name": "b", "node": "n0", "move": "never"}),
        {whose("a"): (1, 1000, 0, 0)},
    ),
    "two of one tenant": (
        (locked("a", "n0"), locked("b", "n0")),
        {whose("a"): (1, 1000, 0, 0), whose("b"): (1, 1000, 0, 0), whose("", share="tenant"): (0, 0, 1, 6)},
    ),
    "two tenants": (
        (locked("a", "n0"), locked("b", "n0", tenant="t2")),
        {whose("a"): (1, 1000, 0, 0), whose("b", "t2"): (1, 1000, 0, 0), whose("", "", "mixed"): (0, 0, 1, 6)},
    ),
    "a lock without GPUs keeps a node as well": ((locked("a", "n0", 0),), {whose("a"): (1, 0, 1, 8)}),
    "an agent goes with its node": (({**locked("a", "n0"), "owner": {"kind": "DaemonSet"}},), {}),
    "who waits locks nothing": (({"name": "a", "locked": True},), {}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_lock_keeps(case: tuple[Any, dict[Holder, tuple[int, int, int, int]]]) -> None:
    pods, wanted = case
    found = tally(built(*pods).snapshot())
    assert {key: (one.pods, one.held_milli, one.kept_nodes, one.stranded_gpus) for key, one in found.items()} == wanted


def test_a_node_out_of_service_is_kept_by_no_lock() -> None:
    made = world().node("n0", cordoned=True).node("n1", ready=False)
    found = tally(made.pod(**locked("a", "n0")).pod(**locked("b", "n1")).snapshot())
    assert {one.kept_nodes for one in found.values()} == {0}


def test_ends_and_words_of_all_pods_are_told() -> None:
    first = locked("a", "n0", locked_by="ann", lock_reason="paper", locked_until_s=4600)
    second = locked("b", "n1", workload="a", locked_by="bob", lock_reason="paper", locked_until_s=8200)
    (held,) = tally(built(first, second).snapshot()).values()
    assert (held.locked_by, held.reasons, held.open_ended) == (("ann", "bob"), ("paper",), False)
    assert held.until == datetime(2026, 11, 1, 2, tzinfo=UTC)  # 7200 s after taken_at
    (open_ended,) = tally(built(first, locked("b", "n1", workload="a")).snapshot()).values()
    assert open_ended.open_ended and open_ended.until is not None


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from(["t1", "t2"]), st.booleans()), max_size=9)
)
def test_no_node_and_no_gpu_counts_twice(drawn: list[tuple[int, int, str, bool]]) -> None:
    """Each kept node is in one row, and is in use, holds a lock and has free GPUs."""
    pods = []
    used = [0] * 4
    for place, (node, gpus, of, lock) in enumerate(drawn):
        if used[node] + gpus <= 8:
            used[node] += gpus
            pods.append({**locked(f"w{place}", f"n{node}", gpus), "tenant": of, "locked": lock})
    found = tally(built(*pods, nodes=4).snapshot())
    keeping = [n for n in range(4) if used[n] < 8 and any(one["locked"] and one["node"] == f"n{n}" for one in pods)]
    assert sum(one.kept_nodes for one in found.values()) == len(keeping)
    assert sum(one.stranded_gpus for one in found.values()) == sum(8 - used[n] for n in keeping)
    assert sum(one.held_milli for one in found.values()) == 1000 * sum(one["gpus"] for one in pods if one["locked"])


# --- the ledger -----------------------------------------------------------------------------------------------------
@pytest.fixture
def source(db: None) -> Source:
    return Source.objects.create(name="k8s", kind="file", period_s=10)


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


def followed(source: Source, *steps: tuple[int, World]) -> list[Observation]:
    """Readings so many seconds from noon, each followed as a worker does it."""
    rows = [reading(source, made.snapshot(), NOON + timedelta(seconds=second)) for second, made in steps]
    for before, after in pairwise([None, *rows]):
        assert after is not None
        owner_locks.follow(before, after)
    return rows


def hours(workload: str = "a") -> list[tuple[int, float]]:
    rows = LockSlot.objects.filter(lock__workload=workload).order_by("began_at")
    return [(row.began_at.hour, row.stranded_gpu_s) for row in rows]


def test_gpu_seconds_are_summed_hour_by_hour(source: Source) -> None:
    followed(source, (-20, built(locked("a", "n0", 2))), (30, built(locked("a", "n0", 3))), (50, built(nodes=3)))
    assert hours() == [(11, 20 * 6.0), (12, 30 * 6.0 + 20 * 5.0)]


def test_since_when_and_until_it_was_lifted(source: Source) -> None:
    followed(source, (0, built(locked("a", "n0"))), (10, built(locked("a", "n0"), locked("b", "n1"))))
    a, b = OwnerLock.objects.order_by("workload")
    assert (a.since, a.since_known, b.since, b.since_known) == (NOON, False, NOON + timedelta(seconds=10), True)
    followed(source, (20, built(locked("b", "n1"))))
    a.refresh_from_db()
    assert (a.ended_at, a.pods, a.kept_nodes, a.stranded_gpus) == (NOON + timedelta(seconds=20), 0, 0, 0)
    followed(source, (40, built(locked("a", "n0"), locked("b", "n1"))))
    a.refresh_from_db()
    assert (a.since, a.since_known, a.ended_at) == (NOON + timedelta(seconds=40), True, None)


def test_nothing_is_known_of_a_gap_or_of_a_snapshot_that_is_gone(source: Source) -> None:
    first = reading(source, built(locked("a", "n0")).snapshot(), NOON, confirmed=NOON + timedelta(seconds=30))
    owner_locks.follow(None, first)
    second = reading(source, built(locked("a", "n0", 2)).snapshot(), NOON + timedelta(hours=5))
    owner_locks.follow(first, second)
    assert hours() == [(12, 30 * 7.0)]
    lost = Observation(revision=99, source=source, digest="0" * 64, begun_at=NOON, observed_at=NOON)
    owner_locks.follow(second, lost)
    assert OwnerLock.objects.get().kept_nodes == 1


def test_rows_are_bounded_and_nothing_is_lost(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_locks, "MOST", 2)
    pods = [locked(f"w{place}", f"n{place}", tenant=f"t{place}") for place in range(8)]
    followed(source, (0, built(*pods, nodes=8)), (10, built(*pods, nodes=9)))
    assert OwnerLock.objects.count() == 5  # two of their own, two by tenant, one for everybody else
    assert sum(row.stranded_gpus for row in OwnerLock.objects.all()) == 56
    assert sum(row.stranded_gpu_s for row in LockSlot.objects.all()) == 560


def test_old_hours_and_lifted_locks_are_dropped(source: Source) -> None:
    now = timezone.now()
    for days, name in ((1, "young"), (9, "old")):
        ended = now - timedelta(days=days)
        row = OwnerLock.objects.create(
            source=source, cluster="c", workload=name, share="workload", since=ended, since_known=True, ended_at=ended,
            revision=1,
        )  # fmt: skip
        LockSlot.objects.create(lock=row, began_at=ended)
    retention.sweep()
    assert [row.workload for row in OwnerLock.objects.all()] == ["young"]
    assert LockSlot.objects.count() == 1


# --- who sees what --------------------------------------------------------------------------------------------------
@pytest.fixture
def fleet(db: None) -> None:
    """As workers read and measure it: a strands 7 GPUs, secret 6 and one of its tenant's, both together 5."""
    pods = [locked("a", "n0"), locked("secret", "n1", 2, tenant="t2"), locked("c", "n2", 2, tenant="t2")]
    pods += [locked("d", "n2", 1, tenant="t1", lock_reason="the paper", locked_until_s=5000)]
    read(file_source(built(*pods, nodes=3)))


@pytest.mark.usefixtures("fleet")
def test_rows_by_workload_and_by_tenant_in_each_order() -> None:
    rows = selectors.owner_lock_rows(operator(), OwnerLockFilters(), sort="-free").rows
    assert [(row.workload, row.stranded_gpus) for row in rows] == [("a", 7), ("secret", 6), ("", 5), ("d", 0), ("c", 0)]
    assert rows[2].share == "mixed" and not rows[0].since_known
    by_tenant = selectors.owner_lock_rows(operator(), OwnerLockFilters(by="tenant"), sort="tenant").rows
    assert [(row.tenant, row.pods, row.held_milli, row.stranded_gpus) for row in by_tenant] == [
        ("", 0, 0, 5),
        ("t1", 2, 2000, 7),
        ("t2", 2, 4000, 6),
    ]
    for sort in selectors.owner_lock_orders("workload"):
        up = selectors.owner_lock_rows(operator(), OwnerLockFilters(), sort=sort)
        assert up.total == 5
    total = selectors.owner_lock_total(operator(), OwnerLockFilters())
    assert total is not None and (total.kept_nodes, total.kept_gpus, total.stranded_gpus) == (3, 24, 18)
    page = selectors.owner_lock_rows(operator(), OwnerLockFilters(), size=2)
    following = selectors.owner_lock_rows(operator(), OwnerLockFilters(), size=2, cursor=page.next or "")
    assert len({row.id for row in (*page.rows, *following.rows)}) == 4


@pytest.mark.usefixtures("fleet")
def test_what_the_newest_reading_holds_counts_while_it_stands() -> None:
    """A cluster that does not change has no new reading, and its locks go on stranding GPUs."""
    now = timezone.now()
    Observation.objects.update(begun_at=now - timedelta(hours=2), observed_at=now - timedelta(hours=1))
    rows = selectors.owner_lock_rows(viewer(), OwnerLockFilters()).rows
    assert [round(row.stranded_gpu_h, 3) for row in rows[:3]] == [7, 6, 5]
    total = selectors.owner_lock_total(viewer(), OwnerLockFilters())
    assert total is not None and round(total.known_h, 2) == 1 and round(total.stranded_gpu_h, 2) == 18


def test_nothing_measured_is_unknown_and_no_zero(db: None) -> None:
    assert selectors.owner_lock_total(operator(), OwnerLockFilters()) is None
    client = Client()
    client.force_login(operator())
    body = client.get(reverse("inventory:owner-locks")).content.decode()
    assert "nothing was measured yet" in body and "Nothing is locked." in body


@pytest.mark.usefixtures("fleet")
def test_a_tenant_sees_its_own_and_no_trace_of_others() -> None:
    client, mine = Client(), tenant("t1")
    client.force_login(mine)
    for query in ("", "?by=tenant", "?tenant=t2", "?text=secret"):
        answer = client.get(reverse("inventory:owner-locks") + query)
        assert answer.status_code == 200
        assert b"jobs/secret" not in answer.content
        assert b'value="t2"' not in answer.content
    lines = client.get(reverse("inventory:owner-locks-csv")).getvalue().decode().splitlines()
    assert len(lines) == 3
    api = APIClient()
    api.force_authenticate(mine)
    answer = api.get("/api/v1/fleet/owner-locks/").json()
    assert [row["workload"] for row in answer["results"]] == ["a", "d"]
    assert answer["sums"]["stranded_gpus"] == 7
    for other in OwnerLock.objects.exclude(tenant="t1"):
        assert client.get(reverse("inventory:owner-lock", args=[other.pk])).status_code == 404
        assert api.get(f"/api/v1/fleet/owner-locks/{other.pk}/").status_code == 404


@pytest.mark.usefixtures("fleet")
def test_pages_link_rows_and_refuse_what_is_no_page_or_order() -> None:
    client = Client()
    client.force_login(operator())
    url = reverse("inventory:owner-locks")
    part = client.get(url, headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith("<section") and "sl-age" in part and "the paper" in part
    tiles = client.get(url + "?part=tiles", headers={"HX-Request": "true"}).content.decode()
    assert tiles.lstrip().startswith("<section") and "<html" not in tiles
    assert client.get(url + "?cursor=x").status_code == 404
    assert client.get(reverse("inventory:owner-locks-csv") + "?sort=x").status_code == 400
    row = OwnerLock.objects.get(workload="d")
    body = client.get(reverse("inventory:owner-lock", args=[row.pk])).content.decode()
    assert "/fleet/workloads/default/jobs/d?source=file" in body and "the paper" in body
    api = APIClient()
    api.force_authenticate(operator())
    assert api.get("/api/v1/fleet/owner-locks/?sort=x").status_code == 400
    assert api.get("/api/v1/fleet/owner-locks/?by=tenant&sort=workload").status_code == 400
