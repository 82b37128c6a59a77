"""The console's settings as the tests run them: a file of their own, a server of their own, cheap passwords.

Tests may run in several processes (pytest-xdist).  The first process starts the Redis-compatible server and owns the
scratch folder; each worker has a numbered database in the server, a folder and a database file of its own.
"""

import atexit
import os
import shutil
import socket
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _numbered(url: str, worker: str) -> str:
    """The server's URL with a database for this worker: gw0 has 1, gw1 has 2; 0 is the first process's."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{int(worker.removeprefix('gw')) + 1}"))


WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
_owns_scratch = "SLACKLINE_TESTS_SCRATCH" not in os.environ
SCRATCH = Path(os.environ.get("SLACKLINE_TESTS_SCRATCH") or tempfile.mkdtemp(prefix="slackline-tests-"))
os.environ["SLACKLINE_TESTS_SCRATCH"] = str(SCRATCH)
if _owns_scratch:
    atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)
if WORKER and SCRATCH.name != WORKER:
    # Kept in the environment: processes that this worker starts use its folder and its database of the server.
    SCRATCH = SCRATCH / WORKER
    SCRATCH.mkdir(exist_ok=True)
    os.environ["SLACKLINE_TESTS_SCRATCH"] = str(SCRATCH)
    os.environ["REDIS_URL"] = _numbered(os.environ["REDIS_URL"], WORKER)
os.environ["SLACKLINE_DEMO"] = "1"
os.environ["SLACKLINE_DATA_DIR"] = str(SCRATCH)
OWN_REDIS_PORT = None if "REDIS_URL" in os.environ else _free_port()
if OWN_REDIS_PORT is not None:
    os.environ["REDIS_URL"] = f"redis://127.0.0.1:{OWN_REDIS_PORT}/0"
os.environ["SLACKLINE_LIVE_PREFIX"] = f"slackline-tests-{os.getpid()}"

from console.settings import *  # noqa: E402, F403
from console.settings import DATABASES, STORAGES  # noqa: E402

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, not memory: threads and processes of one test must meet the same locks as in earnest.
    DATABASES["default"]["TEST"] = {"NAME": str(SCRATCH / "tests.sqlite3")}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
LOGGING["root"]["level"] = "WARNING"  # noqa: F405
