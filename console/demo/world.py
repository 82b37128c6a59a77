"""What the demo consists of: its processes, their environment, and what must be done before they start."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from console.demo.children import Child
from console.demo.redis_server import RedisServer

ROOT = Path(__file__).resolve().parent.parent.parent
HOST = "127.0.0.1"
QUEUES = ("observe", "plan", "execute", "simulate")
WORKER_STOP_SECONDS = 8.0  # an idle worker may take five to notice
SLOW_TO_STOP = (*QUEUES, "watch")
_QUIET = ["--without-gossip", "--without-mingle", "--loglevel", "WARNING"]


@dataclass(frozen=True, slots=True)
class Demo:
    """``data``: where the database, the logs and the lock lie.  ``server`` is None where REDIS_URL names one."""

    port: int
    nodes: int
    data: Path
    server: RedisServer | None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"

    def environment(self) -> dict[str, str]:
        own = {
            "SLACKLINE_DEMO": "1",
            "SLACKLINE_DATA_DIR": str(self.data),
            "SLACKLINE_URL": os.environ.get("SLACKLINE_URL") or self.url,
            "DJANGO_SETTINGS_MODULE": "console.settings",
            "PYTHONUNBUFFERED": "1",
            "LOG_LEVEL": os.environ.get("LOG_LEVEL", "WARNING"),
            # Two planners with a thread per core would starve the page that watches them.
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        if self.server is not None:
            own["REDIS_URL"] = self.server.url
        return {**os.environ, **own}

    def preparations(self) -> list[tuple[str, list[str]]]:
        """(what it is, command) in order; each must succeed."""
        return [("database, people and world", _manage("prepare_demo", "--nodes", str(self.nodes)))]

    def children(self) -> list[Child]:
        """In the order in which they start; they stop in the opposite order."""
        environment = self.environment()
        web = [sys.executable, "-m", "uvicorn", "console.asgi:application", "--host", HOST, "--port", str(self.port)]
        web += ["--lifespan", "off", "--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "2"]
        # Notices are small; compressing them would keep some 300 kB for every open tab.
        web += ["--ws-per-message-deflate", "false"]
        commands = {
            "web": web,
            **{queue: _worker(queue) for queue in QUEUES},
            "watch": _manage("watch"),
            "beat": [
                *_celery("beat"),
                "--schedule",
                str(self.data / "beat-schedule"),
                "--pidfile",
                "",
                "-l",
                "WARNING",
            ],
        }
        if self.server is not None:
            commands = {"redis": self.server.command, **commands}
        return [
            Child(name, command, environment, self.log(name), WORKER_STOP_SECONDS if name in SLOW_TO_STOP else 5.0)
            for name, command in commands.items()
        ]

    def log(self, name: str) -> Path:
        return self.data / "log" / f"{name}.log"


def _manage(*words: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *words]


def _celery(command: str) -> list[str]:
    return [sys.executable, "-m", "celery", "-A", "console", command]


def _worker(queue: str) -> list[str]:
    command = [*_celery("worker"), "-Q", queue, "-n", f"{queue}@%h", "--concurrency", "1", *_QUIET]
    # Studies take what others leave: nobody waits for a page because somebody simulates.
    return ["nice", "-n", "15", *command] if queue == "simulate" else command
