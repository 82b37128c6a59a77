"""The same questions to the player and to a real Prometheus; both must give the same cluster.

The real one runs where a binary ``prometheus`` is found (or named by PROMETHEUS); PROMETHEUS_URL is asked as it is.
"""

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from console.connectors.prometheus import Endpoint, Prometheus
from console.connectors.prometheus_probe import probe_endpoint
from scheduler.cluster.records import DeviceRecord, Document, NodeRecord, UtilisationRecord
from scheduler.telemetry.exporters import Options
from scheduler.telemetry.merging import merge
from tests.telemetry.exposition import exposition
from tests.telemetry.player import playing
from tests.telemetry.real import BINARY, running

URL = os.environ.get("PROMETHEUS_URL", "")
THERE = ["player", *(["prometheus"] if BINARY else [])]


@pytest.fixture(scope="module", params=THERE)
def url(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[str]:
    if request.param == "player":
        with playing(exposition(), {"DCGM_FI_DEV_THERMAL_VIOLATION": 0.5e9}) as player:
            yield player.url
        return
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
    with running(tmp_path_factory.mktemp("prometheus"), port) as real:
        yield real


def test_a_cluster_is_measured(url: str) -> None:
    nodes = [NodeRecord(name=name, gpus=2) for name in ("a", "b", "c")]
    document = Document(taken_at="2026-11-29T10:00:00Z", nodes=nodes, pods=[])
    merged = merge(document, Prometheus(Endpoint(url), Options()).measure())
    a, b, c = merged.document.nodes
    assert a.devices == [
        DeviceRecord(index=0, uuid="GPU-a-0", utilisation=UtilisationRecord(sm=75, memory=75)),
        DeviceRecord(index=1, uuid="GPU-a-1", health="degraded", utilisation=UtilisationRecord(sm=1)),
    ]
    assert b.devices == [DeviceRecord(index=0, uuid="GPU-b-0", health="failed")]
    assert c.devices == [DeviceRecord(index=0, uuid="GPU-c-0", health="degraded")]
    assert merged.reasons[("c", 0)] == "throttled 100 % of the time"
    assert (a.power_watts, b.power_watts) == (491, None)
    assert (merged.devices, merged.unplaced) == (4, 0)
    assert merged.reasons[("b", 0)] == "XID 79"
    assert merged.reasons[("a", 1)].startswith("throttled")


def test_matchers_leave_other_series_out(url: str) -> None:
    found = Prometheus(Endpoint(url), Options(matchers=(("hostname", "b"),))).measure()
    assert list(found.nodes) == ["b"]


def test_a_dry_test_tells_exporters_and_nodes(url: str) -> None:
    found = probe_endpoint(Endpoint(url), Options(), ("a", "b", "c", "d"))
    assert (found.ok, found.named, found.matched, found.of_nodes) == (True, 3, 3, 4)
    assert (found.strangers, found.silent) == ((), ("d",))
    [exporter] = found.exporters
    assert exporter.name == "NVIDIA DCGM" and exporter.series == 15
    assert "DCGM_FI_PROF_SM_ACTIVE" in exporter.metrics and "DCGM_FI_DEV_GPU_UTIL" in exporter.missing


def test_a_dry_test_tells_why_nothing_is_measured(url: str) -> None:
    strangers = probe_endpoint(Endpoint(url), Options(), ("n1",))
    assert (strangers.word, strangers.matched, strangers.strangers) == ("no match", 0, ("a", "b", "c"))
    assert probe_endpoint(Endpoint(url), Options(node_labels=("nodename",)), None).word == "no nodes"
    elsewhere = probe_endpoint(Endpoint(url), Options(matchers=(("cluster", "x"),)), None)
    assert (elsewhere.word, elsewhere.reason) == ("matchers", "no series with cluster=x")
    assert probe_endpoint(Endpoint(f"{url}/elsewhere"), Options(), None).word == "foreign"


if URL:

    def test_a_dry_test_of_the_endpoint_of_this_installation() -> None:
        found = probe_endpoint(Endpoint(URL), Options(), None)
        assert found.ok or found.word in ("no series", "no nodes")

    def test_the_endpoint_of_this_installation_answers_every_question() -> None:
        found = Prometheus(Endpoint(URL), Options()).measure()
        assert found.samples >= 0
        assert found.old == 0
