from collections.abc import Iterator
from typing import Any

import pytest

from console.live import topics


@pytest.fixture(autouse=True)
def _topics(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Topics of the tests' own: "open" for all accounts, "staff" by permission, "own" by name."""
    own: dict[str, Any] = {
        "open": lambda user, topic: True,
        "staff": lambda user, topic: user.has_perm("plans.approve_plan"),
        "own": lambda user, topic: topic == f"own:{user.get_username()}",
    }
    monkeypatch.setattr(topics, "_allowed", {**topics._allowed, **own})
    yield
