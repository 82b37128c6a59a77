"""Processes that watch, here and beside, and what they have seen."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

from console.inventory import planning, services
from console.inventory.models import Observation, Source


@contextmanager
def watching(most: int = 50) -> Iterator[services.Watcher]:
    """A watcher in a thread of this process."""
    watcher = services.Watcher(planning.encode, most=most)

    def run() -> None:
        try:
            watcher.run()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield watcher
    finally:
        watcher.stop()
        thread.join(30)
        assert not thread.is_alive()


class WatchProcess:
    """``manage.py watch`` in a process of its own, on the database of the test."""

    def __init__(self) -> None:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.faults.process_settings",
            "SLACKLINE_TEST_DATABASE": str(connection.settings_dict["NAME"]),
            "SLACKLINE_KUBECONFIG_ALLOW": "plain-http",
            "REDIS_URL": settings.REDIS_URL,
        }
        command = [sys.executable, "manage.py", "watch"]
        self.process = subprocess.Popen(
            command, env=environment, cwd=settings.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        """kill -9: nothing is cleaned up."""
        self.process.kill()
        self.process.communicate()

    def end(self) -> tuple[int, str]:
        """SIGTERM; its exit code and everything that it wrote."""
        self.process.send_signal(signal.SIGTERM)
        written, _ = self.process.communicate(timeout=60)
        return self.process.returncode, written.decode()


def newest(source: Source) -> Observation | None:
    return Observation.objects.filter(source=source).first()


def pods_seen(source: Source) -> int | None:
    found = newest(source)
    return None if found is None else int(found.counts["pods"])
