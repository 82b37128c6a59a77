from collections.abc import Iterator

import pytest

from console.plans import keeping


@pytest.fixture(autouse=True)
def _one_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The thread that renews leases would wait for the very transaction that its test holds open."""
    monkeypatch.setattr(keeping, "EVERY_S", 3600.0)
    yield
