"""Simulated clusters with a clock that a test turns by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

from console.connectors import simulated
from console.connectors.simulated import SimulatedConnector, establish
from console.connectors.tide import QUIET, Tide
from scheduler.cluster import codec
from scheduler.plan.operations import Migrate
from tests.builders.worlds import World

BEGAN = datetime(2026, 11, 1, 10, tzinfo=UTC)


class HandClock:
    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)


def live_cluster(built: World, clock: HandClock, tide: Tide = QUIET, seed: int = 1) -> SimulatedConnector:
    """The simulated cluster that starts as ``built``."""
    document = codec.parse(built.json()).document
    return SimulatedConnector(establish("sim", document, seed=seed, tide=tide, clock=clock), clock)


def as_another_process(connector: SimulatedConnector, clock: HandClock) -> SimulatedConnector:
    """The same cluster as a process sees it that has just started: nothing is remembered."""
    simulated._WORLDS.clear()
    return SimulatedConnector(str(connector._uid), clock)


def move(pod: str, source: str, target: str, **fields: Any) -> Migrate:
    given: dict[str, Any] = {"cluster": "default", "uid": "", "mode": "copy", "drains": source, "chain": 0, "depth": 0}
    return Migrate(pod=pod, source=source, target=target, **{**given, **fields})


def places(connector: SimulatedConnector) -> dict[str, str | None]:
    """Every pod's node, copies under a short name."""
    found = connector.observe()
    return {_short(pod.name): pod.node for pod in found.pods}


def _short(name: str) -> str:
    head, copy, _ = name.partition("-copy-")
    return f"{head} (copy)" if copy else head
