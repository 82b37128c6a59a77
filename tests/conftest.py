"""What all tests share: a Redis-compatible server, people, and the rule that a test which did not run has failed."""

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.test import TransactionTestCase
from hypothesis import settings as hypothesis_settings

from console.demo.redis_server import RedisServer
from console.live import services as live_services
from tests import settings as test_settings

REAL_PROCESSES = ("faults", "kubernetes", "live")

_server: Any = None

# The gate looks at the same examples each time, so that a red one has one cause: the change. Elsewhere chance goes on.
# No example has a deadline: a busy machine is no fault.
hypothesis_settings.register_profile("house", deadline=None)
hypothesis_settings.register_profile("gate", deadline=None, derandomize=True)
hypothesis_settings.load_profile("gate" if os.environ.get("CI") else "house")


def pytest_sessionstart(session: pytest.Session) -> None:
    global _server
    if test_settings.OWN_REDIS_PORT is not None and not hasattr(session.config, "workerinput"):
        _server = RedisServer.plan(test_settings.SCRATCH, test_settings.OWN_REDIS_PORT, password="").start()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of real processes that are killed, lost and found again may be tried twice; the report says which were."""
    for item in items:
        if item.path.parent.name in REAL_PROCESSES:
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Skipped and deselected tests fail the run: what was not tried is not known to work."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and exitstatus == pytest.ExitCode.OK:
        unrun = len(reporter.stats.get("skipped", []))
        if os.environ.get("CI"):
            unrun += len(reporter.stats.get("deselected", []))
        if unrun:
            reporter.write_line(f"{unrun} tests did not run: that is a failure", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    if _server is not None:
        _server.terminate()
        _server.wait()


_append_only = import_module("console.audit.migrations.0002_append_only")
_flush_all = TransactionTestCase._fixture_teardown


def _flush_with_audit(self: TransactionTestCase) -> None:
    """Emptying all tables after a test is the one thing that the audit book's triggers must not stop."""
    with connection.schema_editor() as editor:
        _append_only.allow_changes(None, editor)
    try:
        _flush_all(self)
    finally:
        with connection.schema_editor() as editor:
            _append_only.forbid_changes(None, editor)


TransactionTestCase._fixture_teardown = _flush_with_audit  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _fresh_live_connection() -> Iterator[None]:
    """A connection that another test has left broken must not reach the next one."""
    yield
    live_services.forget_connection()
