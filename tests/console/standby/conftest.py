from collections.abc import Iterator

import pytest

from console.connectors import leaving
from console.standby import floors
from tests.console.standby.scene import Scene, scene


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Scene:
    return scene(monkeypatch)


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the next exit hooks take."""
    wanted: list[float] = []
    monkeypatch.setattr(leaving, "exit_seconds", lambda law, u: wanted.pop(0))
    return wanted


@pytest.fixture
def floor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forty cents a GPU-hour, whatever the model."""
    monkeypatch.setattr(floors, "_registered", [lambda model: 40])
    yield
