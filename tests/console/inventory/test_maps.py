"""The map's bytes: small, shared, the same for everybody, and never of another revision than the address says."""

import gzip
import json
import struct
from typing import Any

import brotli
import numpy as np
import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from console.inventory import planning, selectors
from console.inventory.choices import Measure
from console.inventory.models import Observation
from console.inventory.selectors import maps
from scheduler.cluster.build import build
from scheduler.worlds.generate import generate
from tests.builders.fleets import file_source, observed, read
from tests.builders.people import viewer
from tests.builders.worlds import World, world

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    cache.clear()


@pytest.fixture
def client() -> Client:
    found = Client()
    found.force_login(viewer())
    return found


def _get(client: Client, name: str, *args: Any, query: str = "", **headers: str) -> Any:
    return client.get(reverse(f"inventory:{name}", args=args) + query, headers=headers)


def _two_models() -> World:
    built = world().asw("s2").node("z").asw("s1").node("b", gpus=4).node("a")
    return built.asw(None).node("c", ready=False).node("cpu", gpus=0).pod("p", "a", gpus=4).pod("q", "b", gpus=4)


def _header(content: bytes) -> tuple[Any, ...]:
    return struct.unpack_from("<4sIIBBH", content)


def test_a_full_map_is_a_header_and_two_columns(client: Client) -> None:
    observation = observed(_two_models())
    answer = _get(client, "map-nodes", observation.revision, query="?measure=free")
    assert _header(answer.content) == (b"SLM1", observation.revision, 5, 0, 2, 0)
    values, health = np.frombuffer(answer.content[16:], np.uint8).reshape(2, 5).tolist()
    # In cell order: ASW s1 (a, b), s2 (z), unlabelled (c), then nodes without a model.
    assert (values, health) == ([50, 0, 100, 100, 255], [0, 0, 0, 2, 4])
    assert answer["Cache-Control"].endswith("immutable")


def test_cells_follow_cluster_model_asw_and_name_with_the_unlabelled_last(client: Client) -> None:
    observation = observed(_two_models())
    layout = json.loads(_get(client, "map-layout", observation.fleet_layout_id).content)
    names = _get(client, "map-names", observation.fleet_layout_id).content.decode().split("\n")
    assert names == ["a", "b", "z", "c", "cpu"]
    models = layout["groups"][0]["models"]
    assert [(m["model"] is not None, [(a["asw"], a["count"]) for a in m["asws"]]) for m in models] == [
        (True, [("s1", 2), ("s2", 1), (None, 1)]),
        (False, [(None, 1)]),
    ]
    assert models[0]["asws"][0]["gpus"] == [[8, 1], [4, 1]] and layout["nodes"] == 5


def test_cells_keep_their_place_whatever_the_order_of_the_file() -> None:
    one = observed(world().asw("s").node("a").node("b"), "x")
    other = observed(world().asw("s").node("b").node("a").pod("p", "a"), "x")
    assert one.layout_id == other.layout_id and one.digest != other.digest


MANY = [f"n{number:02d}" for number in range(40)]


def _two_revisions() -> tuple[Observation, Observation]:
    first = observed(world().nodes(*MANY))
    return first, observed(world().nodes(*MANY).pod("p", "n01", gpus=2).pod("q", "n03", gpus=8))


def test_a_delta_names_the_cells_that_changed(client: Client) -> None:
    first, second = _two_revisions()
    answer = _get(client, "map-nodes", second.revision, query=f"?measure=free&from={first.revision}")
    assert _header(answer.content) == (b"SLM1", second.revision, 40, 1, 2, 0)
    assert struct.unpack_from("<III", answer.content, 16) == (2, 1, 3)
    assert list(answer.content[28:]) == [75, 0, 0, 0] and second.changed == 2


def test_old_map_and_delta_make_the_new_map(client: Client) -> None:
    first, second = _two_revisions()
    old = bytearray(_get(client, "map-nodes", first.revision).content)
    new = _get(client, "map-nodes", second.revision).content
    delta = _get(client, "map-nodes", second.revision, query=f"?from={first.revision}").content
    (count,) = struct.unpack_from("<I", delta, 16)
    cells = struct.unpack_from(f"<{count}I", delta, 20)
    for column in range(2):
        for place, cell in enumerate(cells):
            old[16 + column * len(MANY) + cell] = delta[20 + 4 * count + column * count + place]
    assert bytes(old[16:]) == new[16:]


def test_a_delta_that_is_no_smaller_is_sent_whole(client: Client) -> None:
    first, second = observed(world().node("a")), observed(world().node("a").pod("p", "a"))
    content = _get(client, "map-nodes", second.revision, query=f"?from={first.revision}").content
    assert _header(content)[3] == 0


def test_another_layout_or_a_forgotten_revision_gives_the_whole_map(client: Client) -> None:
    first = observed(world().nodes("a", "b"))
    second = observed(world().nodes("a", "b", "c"))
    for since in (first.revision, 999_999):
        content = _get(client, "map-nodes", second.revision, query=f"?from={since}").content
        assert _header(content)[2:4] == (3, 0)


def test_gpus_lie_in_cell_order(client: Client) -> None:
    observation = observed(world().asw("s").node("b", gpus=2).node("a", gpus=4).pod("p", "a", gpus=3))
    content = _get(client, "map-gpus", "latest").content
    assert _header(content) == (b"SLG1", observation.revision, 6, 0, 1, 0)
    assert list(content[16:]) == [1, 1, 1, 0, 0, 0]


def test_compression_as_the_browser_takes_it(client: Client) -> None:
    built = world()
    for n in range(400):
        built.node(f"n{n:03d}")
    observation = observed(built)
    plain = _get(client, "map-nodes", observation.revision).content
    zipped = _get(client, "map-nodes", observation.revision, **{"Accept-Encoding": "gzip"})
    small = _get(client, "map-nodes", observation.revision, **{"Accept-Encoding": "gzip, br"})
    assert zipped["Content-Encoding"] == "gzip" and gzip.decompress(zipped.content) == plain
    assert small["Content-Encoding"] == "br" and brotli.decompress(small.content) == plain
    assert len({answer["ETag"] for answer in (zipped, small)}) == 2 and "Accept-Encoding" in zipped["Vary"]


def test_who_has_it_is_told_so(client: Client) -> None:
    observed(world().node("a"))
    first = _get(client, "map-nodes", "latest")
    again = _get(client, "map-nodes", "latest", **{"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"") and "no-cache" in first["Cache-Control"]


def test_one_encoding_serves_all_viewers(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    observation = observed(world().node("a"))
    drawn = []
    draw = maps._draw_nodes
    monkeypatch.setattr(maps, "_draw_nodes", lambda *given: drawn.append(given) or draw(*given))
    for _ in range(3):
        assert _get(client, "map-nodes", observation.revision).status_code == 200
    assert len(drawn) == 1


@pytest.mark.parametrize(
    ("name", "address", "status", "words"),
    [
        ("map-nodes", "12345", 404, "not kept"),
        ("map-nodes", "latest", 404, "Nothing was observed"),
        ("map-nodes", "newest", 404, "is a number"),
        ("map-gpus", "12345", 404, "not kept"),
        ("map-layout", "f" * 64, 404, "no such layout"),
        ("map-names", "f" * 64, 404, "no such layout"),
    ],
)
def test_what_is_not_there_says_why(client: Client, name: str, address: str, status: int, words: str) -> None:
    answer = _get(client, name, address)
    assert answer.status_code == status and words in answer.content.decode()


def test_unknown_measures_are_refused(client: Client) -> None:
    observed(world().node("a"))
    assert _get(client, "map-nodes", "latest", query="?measure=wombats").status_code == 400


def test_a_fleet_of_sources_is_one_map(client: Client) -> None:
    observed(world().nodes("n1", "n2"), "west")
    second = observed(world().nodes("n3"), "east")
    layout = json.loads(_get(client, "map-layout", second.fleet_layout_id).content)
    assert [(group["source"], group["count"]) for group in layout["groups"]] == [("east", 1), ("west", 2)]
    assert _get(client, "map-names", second.fleet_layout_id).content == b"n3\nn1\nn2"
    assert _header(_get(client, "map-nodes", second.revision).content)[2] == 3


def test_an_empty_cluster_is_a_map_without_cells(client: Client) -> None:
    observation = observed(world())
    assert _header(_get(client, "map-nodes", observation.revision).content)[2] == 0
    assert _header(_get(client, "map-gpus", observation.revision).content)[2] == 0


def test_bytes_of_a_large_fleet_stay_within_the_budget() -> None:
    """20,000 nodes: at most 20 kB for a whole map, at most 1 kB for each percent of nodes that changed."""
    encoded = planning.encode(build(generate("uniform8", nodes=20_000, seed=2)))
    columns = encoded.columns
    full = maps._pack(maps.encode_full(b"SLM1", 7, maps.pick(columns, Measure.FREE)), "br")[0]
    after = columns.copy()
    chosen = np.random.default_rng(1).choice(20_000, 200, replace=False)
    after[0, chosen] = (after[0, chosen] + 25) % 101
    shown = (maps.pick(columns, Measure.FREE), maps.pick(after, Measure.FREE))
    delta = maps._pack(maps.encode_delta(b"SLM1", 8, *shown), "br")[0]
    assert len(full) <= 20_000 and len(delta) <= 1_000, (len(full), len(delta))


def test_the_newest_revision_is_that_of_the_map() -> None:
    source = file_source(world().node("a"))
    assert selectors.newest_map_revision() is None
    assert selectors.newest_map_revision() != read(source).revision == selectors.newest_map_revision()
