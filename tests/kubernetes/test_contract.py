"""What a Kubernetes API must do for us, tried on whatever KUBECONFIG points to, else on the player.

The very same tests run on both.  They only read: what changes in a real cluster meanwhile is what others do there.
``make test-kubernetes`` runs them and says on what.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from console.connectors.kubernetes.access import ALLOWABLE, Access, log_in, read_kubeconfig
from console.connectors.kubernetes.feed import ClusterFeed
from console.connectors.kubernetes.probe import probe
from console.connectors.kubernetes.steps import List, Refused, Watch
from console.connectors.kubernetes.wire import Api, Patience, Trouble
from scheduler.cluster.build import build
from scheduler.kubernetes.objects import KINDS, Kind, Page, decode_event, decode_list
from scheduler.worlds.generate import generate
from tests.kubernetes.following import access_of, until
from tests.kubernetes.generator import clusters_of
from tests.kubernetes.player.server import Player

KUBECONFIG = os.environ.get("KUBECONFIG", "")
NODES, PODS, NAMESPACES = KINDS["nodes"], KINDS["pods"], KINDS["namespaces"]
PATIENT = Patience(connect_s=10, answer_s=30, page_s=60, silent_s=100)


@pytest.fixture(scope="module")
def access() -> Iterator[Access]:
    if KUBECONFIG:
        # Whoever runs the tests chose the file, so that it may ask for anything.
        yield log_in(
            read_kubeconfig(Path(KUBECONFIG).read_bytes(), os.environ.get("CONTEXT", ""), frozenset(ALLOWABLE))
        )
        return
    cluster = clusters_of(generate("uniform8", nodes=40, seed=5), bookmark_s=0.3)["default"]
    with Player({"one": cluster}) as player:
        yield access_of(player)


@pytest.fixture
def api(access: Access) -> Api:
    return Api(access, PATIENT)


def _all(api: Api, kind: Kind, limit: int) -> list[Page]:
    pages = [decode_list(kind.name, api.page(kind, List(limit)))]
    while pages[-1].continue_token:
        pages.append(decode_list(kind.name, api.page(kind, List(limit, pages[-1].continue_token))))
    return pages


def test_says_its_version(api: Api) -> None:
    assert msgspec.json.decode(api.version())["gitVersion"].startswith("v1.")


def test_pages_show_one_version_and_all_objects(api: Api) -> None:
    pages = _all(api, PODS, 3)
    assert {page.resource_version for page in pages} == {pages[0].resource_version}
    assert len(pages) > 1
    keys = [thing.key for page in pages for thing in page.items]
    assert len(set(keys)) == len(keys)
    whole = decode_list("pods", api.page(PODS, List(0)))
    if whole.resource_version == pages[0].resource_version:
        assert sorted(keys) == sorted(thing.key for thing in whole.items)


def test_pages_say_how_many_are_left(api: Api) -> None:
    page = decode_list("pods", api.page(PODS, List(1)))
    assert page.continue_token
    assert page.remaining
    assert page.remaining >= 1


def test_all_objects_have_identity_and_can_be_read(api: Api) -> None:
    for kind in (NODES, PODS, NAMESPACES):
        for page in _all(api, kind, 500):
            assert page.bad == ()
            assert all(thing.metadata.uid and thing.metadata.resource_version.isdigit() for thing in page.items)


def test_watch_begins_after_a_list_and_ends_in_time(api: Api) -> None:
    """Everything that comes is newer than the list; the server closes the stream by itself."""
    version = decode_list("pods", api.page(PODS, List(1))).resource_version
    began = time.monotonic()
    with api.watch(PODS, Watch(version, 2)) as stream:
        events = [decode_event("pods", line) for lines in stream for line in lines]
    assert time.monotonic() - began < PATIENT.silent_s
    assert all(int(event.resource_version) > int(version) for event in events if event.type != "BOOKMARK")


def test_watch_of_a_version_of_long_ago_is_gone(api: Api) -> None:
    """As a status, or as an event in the stream: both are known."""
    version = decode_list("nodes", api.page(NODES, List(1))).resource_version
    code = 0
    try:
        with api.watch(NODES, Watch("1", 2)) as stream:
            for lines in stream:
                event = decode_event("nodes", lines[0])
                code = event.status.code if event.status is not None else 0
                break
    except Trouble as trouble:
        assert isinstance(trouble.told, Refused)
        code = trouble.told.status
    assert code == 410, f"the history of this server reaches back to its beginning; it is at {version}"


def test_watch_of_a_version_to_come_is_refused_or_brings_nothing(api: Api) -> None:
    """As after a restore.  A server of 1.20 holds such a stream open and says nothing: silence has to raise doubt."""
    version = decode_list("nodes", api.page(NODES, List(1))).resource_version
    try:
        with api.watch(NODES, Watch(str(int(version) + 10**9), 1)) as stream:
            assert [line for lines in stream for line in lines] == []
    except Trouble as trouble:
        assert isinstance(trouble.told, Refused)
        assert trouble.told.status in (504, 400, 410)


def test_unknown_kind_is_not_found(api: Api) -> None:
    """Or forbidden: rights are looked at before what there is, and the least ones name no unknown group."""
    with pytest.raises(Trouble) as caught:
        api.page(replace(NODES, name="nothings.example.org", group="example.org", plural="nothings"), List(1))
    assert isinstance(caught.value.told, Refused)
    assert caught.value.told.status in ((403, 404) if KUBECONFIG else (404,))


def test_continue_token_of_nobody_is_refused(api: Api) -> None:
    with pytest.raises(Trouble) as caught:
        api.page(PODS, List(7, "bm8tdG9rZW4"))
    assert isinstance(caught.value.told, Refused)
    assert caught.value.told.status in (400, 410)


def test_probe_reads_what_is_needed(access: Access) -> None:
    found = probe(access)
    assert found.ok, found
    assert {one.kind for one in found.kinds if one.state == "readable"} >= {"nodes", "pods"}


def test_feed_reads_a_snapshot(access: Access) -> None:
    feed = ClusterFeed("contract", Api(access, PATIENT))
    feed.start()
    try:
        until(lambda: all(kind.ready for kind in feed.health().kinds), "all kinds are read")
        reading = feed.document()
        health = feed.health()
    finally:
        feed.stop()
    assert reading.bad == ()
    snapshot = build(reading.document)
    assert len(snapshot.node_name) == len(reading.document.nodes) > 0
    assert {kind.kind: kind.objects for kind in health.kinds}["nodes"] == len(snapshot.node_name)
