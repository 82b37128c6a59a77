from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.db import connections

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


@pytest.fixture(autouse=True)
async def _no_connection_is_left() -> AsyncIterator[None]:
    """PostgreSQL does not drop a test's database while the consumers' thread still holds a connection to it."""
    yield
    await database_sync_to_async(connections.close_all)()
