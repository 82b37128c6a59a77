"""The player against the official client: typed lists, pages, watches and errors of API version 1.37."""

import json
from collections.abc import Iterator

import pytest
import urllib3
from kubernetes.client import ApiClient, Configuration, CoreV1Api, V1APIResourceList, V1Status, VersionApi
from kubernetes.client.exceptions import ApiException
from kubernetes.watch import Watch

from scheduler.worlds.generate import generate
from tests.kubernetes import worlds
from tests.kubernetes.generator import clusters_of
from tests.kubernetes.player.server import Player

NODES = 12


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    cluster = clusters_of(generate("uniform8", nodes=NODES, seed=2), bookmark_s=0.2)["default"]
    with Player({"one": cluster}) as found:
        yield found


@pytest.fixture
def client(player: Player) -> ApiClient:
    configuration = Configuration()
    configuration.host = player.url()
    return ApiClient(configuration)


def test_typed_lists_and_pages(player: Player, client: ApiClient) -> None:
    api = CoreV1Api(client)
    assert len(api.list_node().items) == NODES
    first = api.list_pod_for_all_namespaces(limit=5)
    assert (first.kind, first.api_version, len(first.items)) == ("PodList", "v1", 5)
    total = len(player.clusters["one"].store.resources[worlds.PODS].objects)
    assert first.metadata.remaining_item_count == total - 5
    assert VersionApi(client).get_code().git_version == "v1.37.0-player"


def test_typed_watch(player: Player, client: ApiClient) -> None:
    api, cluster = CoreV1Api(client), player.clusters["one"]
    version = api.list_pod_for_all_namespaces(limit=1).metadata.resource_version
    player.apply(lambda: cluster.store.put(worlds.PODS, worlds.pod("new", on="n1")))
    player.apply(lambda: cluster.store.delete(worlds.PODS, ("team", "new")))
    stream = Watch().stream(
        api.list_pod_for_all_namespaces, resource_version=version, timeout_seconds=1, allow_watch_bookmarks=True
    )
    events = [(event["type"], event["raw_object"]["metadata"].get("name")) for event in stream]
    assert events[:2] == [("ADDED", "new"), ("DELETED", "new")]
    assert {what for what, _ in events[2:]} == {"BOOKMARK"}


def test_errors_are_statuses(player: Player, client: ApiClient) -> None:
    cluster = player.clusters["one"]
    player.apply(lambda: cluster.forbidden.add(worlds.BUDGETS))
    for path, code in ((worlds.BUDGETS, 403), (f"{worlds.PODS}?limit=1&continue=none", 400)):
        answer = urllib3.request("GET", player.url() + path)
        status = V1Status.from_dict(json.loads(answer.data))
        assert status is not None
        assert (answer.status, status.code, status.status) == (code, code, "Failure")
    with pytest.raises(ApiException) as caught:
        CoreV1Api(client).create_namespace({"metadata": {"name": "x"}})
    assert caught.value.status == 405
    assert cluster.used["create", "/api/v1/namespaces"] == 1


def test_discovery(player: Player) -> None:
    answer = urllib3.request("GET", player.url() + "/api/v1")
    found = V1APIResourceList.from_dict(json.loads(answer.data))
    assert found is not None
    assert {resource.name for resource in found.resources} == {"nodes", "pods", "namespaces"}
