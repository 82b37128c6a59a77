"""One cluster as the player serves it."""

from collections import Counter
from dataclasses import dataclass, field

from tests.kubernetes.player.faults import Faults
from tests.kubernetes.player.store import Store

VERSION = {
    "major": "1", "minor": "37", "gitVersion": "v1.37.0-player", "gitCommit": "0" * 40, "gitTreeState": "clean",
    "buildDate": "2026-11-01T00:00:00Z", "goVersion": "none", "compiler": "none", "platform": "linux/amd64",
}  # fmt: skip


@dataclass(slots=True)
class Cluster:
    """``forbidden``: paths that the caller has no right to."""

    store: Store = field(default_factory=Store)
    faults: Faults = field(default_factory=Faults)
    token: str = ""  # what the caller must show; "" lets everybody in
    forbidden: set[str] = field(default_factory=set)
    bookmark_s: float = 60.0
    stuck_s: float = 30.0  # how long a silent or slow answer lasts
    drip_s: float = 0.02  # between two bytes of a slow one
    retry_after_s: int = 0
    version: dict[str, str] = field(default_factory=lambda: dict(VERSION))
    used: Counter[tuple[str, str]] = field(default_factory=Counter)  # (verb, path of the resource)
    agents: set[str] = field(default_factory=set)
