"""The first page: what it shows to whom, in which address, at what cost."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from console.inventory.models import Observation, Source
from console.overview.charts import Share, grid
from console.overview.filters import FleetView
from tests.builders.fleets import observed
from tests.builders.pages import squeezed
from tests.builders.people import operator, tenant
from tests.builders.people import viewer as the_viewer
from tests.builders.worlds import World, world

pytestmark = pytest.mark.django_db


def two_pools(nodes: int = 2) -> World:
    built = world()
    for cluster, model in (("c1", "H20"), ("c2", "A10")):
        for number in range(nodes):
            built.node(f"{cluster}-n{number}", cluster=cluster, gpu_model=model, cpu_milli=96_000)
        built.pod(f"{cluster}-p", f"{cluster}-n0", 8, cluster=cluster, tenant="team-a", cpu_milli=8_000)
    return built


def page(user: Any, address: str = "/", **headers: str) -> str:
    client = Client(headers=headers)
    client.force_login(user)
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_before_the_first_cluster_it_says_what_to_do() -> None:
    words = page(operator())
    assert "No cluster is loaded yet." in words
    assert "Load a cluster" in words
    assert "Load a cluster" not in page(the_viewer())
    assert "sl-tile__value" not in words, "nothing is shown as 0 before it is known"


def test_figures_are_in_the_page_with_their_age() -> None:
    observed(two_pools())
    words = squeezed(page(the_viewer()))
    tiles = words[words.index('id="fleet-tiles"') : words.index('id="fleet-map"')]
    assert re.search(r"GPUs</span>.*?sl-tile__value\">32<", tiles, re.DOTALL)
    assert tiles.count("data-at=") == tiles.count("sl-tile__value") == 7


def test_an_old_reading_is_stale() -> None:
    observed(two_pools())
    Observation.objects.update(observed_at=timezone.now() - timedelta(hours=2))
    tiles = page(the_viewer())
    assert tiles.count('data-state="stale"') >= 7


def test_the_refresh_is_the_board_alone_and_says_so_to_caches() -> None:
    observed(two_pools())
    client = Client()
    client.force_login(the_viewer())
    part = client.get("/?measure=lp", headers={"HX-Request": "true"})
    assert part.content.decode().lstrip().startswith('<div id="fleet-board"')
    assert "HX-Request" in part["Vary"]
    assert "no-store" in part["Cache-Control"]
    assert '"/?measure=lp"' in part.content.decode(), "the next refresh asks for the same view"


def test_the_view_is_in_the_address() -> None:
    observed(two_pools())
    words = squeezed(page(the_viewer(), "/?cluster=c1&measure=stranded&shape=1G8C&pool=H20"))
    assert re.search(r'<option value="c1" selected>', words)
    assert re.search(r'<option value="H20" selected>', words)
    assert re.search(r'measure=stranded[^>]*aria-current="true"|aria-current="true">Stranded', words)
    assert re.search(r'aria-current="true">1G8C', words)
    assert 'data-cluster="c1"' in words
    assert "c2: " not in words and "c2, A10:" not in words, "the grid keeps to the filter"


def test_a_filtered_headline_counts_what_is_left() -> None:
    observed(two_pools())
    assert ">16<" in page(the_viewer(), "/?cluster=c1")


def test_a_pool_that_is_gone_is_named_as_gone() -> None:
    observed(two_pools())
    words = page(the_viewer(), "/?pool=H999")
    assert "No such pool." in words
    assert "Show the first pool" in words


@pytest.mark.parametrize("query", ["measure=nonsense", "shape=%01", "cluster=" + "x" * 5000, "asw=-", "health=?"])
def test_odd_addresses_are_answered(query: str) -> None:
    observed(two_pools())
    assert "fleet-board" in page(the_viewer(), f"/?{query}")


def test_the_waterfall_adds_up_on_the_page() -> None:
    observed(two_pools())
    words = page(the_viewer(), "/?pool=H20&shape=8G96C")
    table = words[words.index("sl-fall__all") : words.index("sl-card__foot", words.index("sl-fall__all"))]
    figures = [float(found.replace(",", "")) for found in re.findall(r'sl-num(?: sl-zero)?">([\d.,]+)<', table)]
    assert figures[0] == sum(figures[1:]) == 16


def test_a_tenant_sees_its_own_and_no_map_and_no_other_tenant() -> None:
    built = two_pools().pod("secret-pod", "c1-n1", 2, cluster="c1", tenant="team-b")
    observed(built)
    words = page(tenant("team-a"))
    assert "Your GPUs" in words
    assert "data-map-stage" not in words
    for name in ("team-b", "secret-pod", "c1-n1"):
        assert name not in words


def test_names_cannot_bend_the_page() -> None:
    nasty = "c\u202e<b>x</b>"
    observed(world().node("n1", cluster=nasty, gpu_model="<script>alert(1)</script>"))
    words = page(the_viewer())
    shown = re.sub(r'value="[^"]*"|data-[a-z]+="[^"]*"', "", words)
    assert "\u202e" not in shown
    assert "<script>alert" not in words
    assert "[U+202E]" in words


def test_the_cost_in_queries_does_not_grow_with_the_cluster() -> None:
    person = the_viewer()
    counts = []
    for nodes in (2, 40):
        Source.objects.all().delete()
        observed(two_pools(nodes), f"world-{nodes}")
        client = Client()
        client.force_login(person)
        client.get("/")
        with CaptureQueriesContext(
            connection,
        ) as spent:
            client.get("/")
        counts.append(len(spent))
    assert counts[0] == counts[1]
    assert counts[0] <= 40


def test_a_silent_source_needs_a_decision() -> None:
    observed(two_pools())
    Source.objects.update(state="failing", last_error="Timed out after 10 s")
    words = page(operator())
    assert "Source file" in words
    assert "offline" in words
    assert reverse("inventory:source", args=[Source.objects.get().pk]) in words


def test_a_source_that_is_not_believed_needs_a_decision_and_says_what_it_told() -> None:
    observed(two_pools())
    told = "pods: all objects vanished at once"
    Source.objects.update(state="suspicious", last_error=told, last_error_at=timezone.now())
    words = page(operator())
    assert told in words
    assert "suspicious" in words


def test_what_is_not_known_is_a_question_mark_in_the_grid() -> None:
    found = grid([Share("c1", "H20", None, 8, "/x"), Share("c1", "A10", 0, 8, "/y")], "Free")
    cells = {cell.words: (cell.figure, cell.css) for row in found.rows for cell in row.cells if cell}
    assert cells == {"c1, H20: no data": ("?", "sl-hx"), "c1, A10: 0.0 % of 8 GPUs": ("0", "sl-h0")}


def test_views_keep_only_what_differs_from_the_start() -> None:
    assert FleetView.of({}).address == "/"
    view = FleetView.of({"measure": "lp", "cluster": "c 1&x"})
    assert view.address == "/?cluster=c+1%26x&measure=lp"
    assert view.with_changes(measure="free") == "/?cluster=c+1%26x"
    assert dict(view.kept) == {"measure": "lp"}


def test_all_that_the_map_needs_is_asked_for_with_the_page() -> None:
    """A module or a map that is found only by running a script costs a round trip each."""
    observed(two_pools())
    words = page(operator())
    root = Path(settings.ROOT / "static" / "console" / "js")
    wanted, waiting = set(), ["map.js"]
    while waiting:
        name = waiting.pop()
        wanted.add(name)
        waiting += set(re.findall(r'from "\./([a-z_]+\.js)"', (root / name).read_text())) - wanted
    asked = set(re.findall(r'rel="modulepreload" href="[^"]*?/js/([a-z_]+)[^"]*"', words))
    assert {f"{name}.js" for name in asked} == wanted
    revision = re.search(r'id="fleet-map" data-revision="(\d+)"', words)
    assert revision is not None
    assert f'href="/fleet/map/nodes/{revision[1]}?measure=free"' in words
    assert f'href="/fleet/map/gpus/{revision[1]}"' in page(operator(), "/?measure=gpus")
