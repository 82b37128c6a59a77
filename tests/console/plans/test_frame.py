"""What plans and freezes hang into the frame is there again for a page that stayed open."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console.live import topics
from console.plans import selectors, services
from console.plans.filters import PlanFilter
from console.plans.frozen import Freeze
from tests.builders.pages import squeezed
from tests.builders.people import operator, tenant, viewer
from tests.console.plans.scene import move, scene, three_nodes

pytestmark = pytest.mark.django_db


def _part(user: Any, part: str, query: str = "") -> str:
    client = Client()
    client.force_login(user)
    answer = client.get(reverse("ui:frame", args=[part]) + query)
    assert answer.status_code == 200
    return squeezed(answer.content.decode())


def _freeze() -> None:
    until = timezone.now() + timedelta(hours=1)
    services.set_freeze(operator(), scope="fleet", reason="Power works", expires_at=until)


def test_a_freeze_is_in_the_banners_and_in_the_tools_at_once() -> None:
    assert "sl-banner " not in _part(operator(), "banners")
    assert "Freeze: off" in _part(operator(), "tools")
    _freeze()
    assert "Power works" in _part(operator(), "banners")
    assert "Freeze: on" in _part(operator(), "tools")


def test_the_navigation_counts_what_waits_and_marks_where_one_is() -> None:
    scene(three_nodes()).plan(move("a", "n1", "n3", 0))
    page = _part(operator(), "navigation", "?section=plans")
    assert '<span class="sl-count">1</span>' in page
    assert page.count('aria-current="page"') == 1


def test_only_who_may_hear_of_plans_follows_them() -> None:
    parts = ("navigation", "tools", "banners")
    assert all('data-live="plans freeze prices"' in _part(viewer(), part) for part in parts)
    assert all('data-live="freeze prices"' in _part(tenant(), part) for part in parts)


def test_everybody_who_sees_banners_may_hear_of_freezes_and_a_tenant_of_nothing_else() -> None:
    for topic, heard in (("freeze", True), ("plans", False), ("plan:1", False)):
        assert topics.may_listen(tenant(), topic) is heard
        assert topics.may_listen(viewer(), topic) is True


def test_a_freeze_that_runs_out_is_told_once(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    told: list[tuple[str, str]] = []
    monkeypatch.setattr("console.live.services._send", lambda topic, kind, revision, fields: told.append((topic, kind)))

    def swept() -> list[tuple[str, str]]:
        told.clear()
        with django_capture_on_commit_callbacks(execute=True):
            services.sweep()
        return [*told]

    _freeze()
    assert swept() == []
    Freeze.objects.update(since=timezone.now() - timedelta(hours=2), expires_at=timezone.now() - timedelta(seconds=1))
    assert swept() == [("freeze", "freeze.ended")]
    assert "sl-banner " not in _part(operator(), "banners")
    assert swept() == []


def test_a_freeze_that_was_lifted_has_no_second_end(django_capture_on_commit_callbacks: Any) -> None:
    _freeze()
    services.lift_freeze(operator(), Freeze.objects.get().pk, "over")
    Freeze.objects.update(since=timezone.now() - timedelta(hours=2), expires_at=timezone.now() - timedelta(seconds=1))
    with django_capture_on_commit_callbacks() as callbacks:
        services.sweep()
    assert callbacks == []


def test_a_tenant_is_not_told_why() -> None:
    _freeze()
    page = _part(tenant(), "banners")
    assert "Frozen" in page and "Power works" not in page


def test_a_number_that_is_no_rows_finds_nothing() -> None:
    assert list(selectors.find_plans(viewer(), "9" * 5000)) == []
    assert list(PlanFilter({"q": "9" * 5000}, selectors.plans(viewer())).qs) == []


def test_there_are_no_other_parts() -> None:
    client = Client()
    client.force_login(operator())
    assert client.get(reverse("ui:frame", args=["name"])).status_code == 404
