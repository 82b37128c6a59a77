"""The console's settings as the tests run them: a file of their own, a server of their own, cheap passwords."""

import os
import socket
import tempfile
from pathlib import Path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


SCRATCH = Path(tempfile.mkdtemp(prefix="slackline-tests-"))
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
