"""What nodes that stay are short of, and whose locks hold the most of them."""

from typing import Any

import msgspec
import pytest
from django.test import Client
from django.urls import reverse

from console.plans.services import staying
from console.plans.templatetags.plan_figures import short_words
from scheduler.cluster.codec import read
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan import plan as core
from tests.builders.people import viewer
from tests.builders.worlds import world
from tests.console.plans.scene import core_plan, move, scene, three_nodes


def _snapshot() -> Snapshot:
    made = world().nodes("n1", "n2", "n3", "n4")
    made = made.pod("a", "n1", 2, locked=True, tenant="ads").pod("b", "n2", 3, locked=True, tenant="ads")
    made = made.pod("c", "n3", 1, locked=True, tenant="nlp").pod("d", "n3", 1, locked=True, tenant="ads")
    return read(made.pod("e", "n4", 4, tenant="nlp").json())


def _kept(node: str, reason: str, *blockers: tuple[str, str, int | None, str | None]) -> core.Kept:
    made = tuple(core.Blocker(pod=f"jobs/{p}", constraint=c, missing=m, unit=u) for p, c, m, u in blockers)
    return core.Kept(node=node, reason=reason, blockers=made, targets={})


def _answer(snapshot: Snapshot) -> core.Plan:
    lock = ("locked", None, None)
    kept = (
        _kept("n1", "locked", ("a", *lock)),
        _kept("n2", "locked", ("b", *lock)),
        _kept("n3", "locked", ("c", *lock), ("d", *lock)),
        _kept("n4", "cpu", ("e", "cpu", 12_500, "cpu_milli")),
    )
    return msgspec.structs.replace(core_plan(snapshot, ()), kept=kept)


def test_amounts_by_first_reason() -> None:
    snapshot = _snapshot()
    found = staying.short(_answer(snapshot), snapshot)
    assert found["locked"] == {"unit": None, "missing": None, "pods": 4, "gpu_milli": 7000}
    assert found["cpu"] == {"unit": "cpu_milli", "missing": 12_500, "pods": 1, "gpu_milli": 4000}


def test_the_largest_unlock_counts_nodes_that_nothing_else_holds() -> None:
    """n3 has locks of two tenants, n4 lacks CPU: neither is freed by one tenant's locks."""
    snapshot = _snapshot()
    assert staying.largest_unlock(_answer(snapshot), snapshot) == {"tenant": "ads", "locks": 2, "nodes": 2}
    none = msgspec.structs.replace(core_plan(snapshot, ()), kept=(_answer(snapshot).kept[3],))
    assert staying.largest_unlock(none, snapshot) is None


@pytest.mark.parametrize(
    ("short", "words"),
    [
        (None, "no data"),
        ({}, "–"),
        ({"unit": None, "missing": None, "pods": 4, "gpu_milli": 7500}, "holds 7.5 GPUs"),
        ({"unit": "gpus", "missing": 1, "pods": 1, "gpu_milli": 0}, "1 GPU short"),
        ({"unit": "gpu_milli", "missing": 1500, "pods": 1, "gpu_milli": 0}, "1.5 GPUs short"),
        ({"unit": "cpu_milli", "missing": 1_412_000, "pods": 1, "gpu_milli": 0}, "1,412 cores short"),
        ({"unit": "memory_mib", "missing": 1536, "pods": 1, "gpu_milli": 0}, "1.5 GiB short"),
        ({"unit": "pods", "missing": 3, "pods": 1, "gpu_milli": 0}, "3 pods short"),
    ],
)
def test_amounts_in_words(short: dict[str, Any] | None, words: str) -> None:
    assert short_words(short) == words


@pytest.mark.django_db
def test_the_page_has_the_column_and_the_line() -> None:
    made = three_nodes().nodes("n4").pod("y", "n4", 3, locked=True, tenant="ads")
    plan = scene(made).plan(move("a", "n1", "n3", 0))
    client = Client()
    client.force_login(viewer())
    page = " ".join(client.get(reverse("plans:detail", args=[plan.pk])).content.decode().split())
    assert "Missing</th>" in page
    assert "holds" in page
    assert "Largest unlock:" in page
