"""What the settings refuse, and what they say when they do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from console.connectors.choices import Kind

ROOT = Path(__file__).resolve().parents[2]
GOOD = {"SECRET_KEY": "a long random text of a real installation 0123456789"}


def _start(tmp_path: Path, show: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {"SLACKLINE_DATA_DIR": str(tmp_path), "PATH": os.environ["PATH"], **variables}
    program = f"from django.conf import settings; print({show})"
    command = [sys.executable, "-c", program]
    environment = {**own, "DJANGO_SETTINGS_MODULE": "console.settings"}
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


REFUSED = [
    ({}, "SECRET_KEY is not set"),
    ({"SECRET_KEY": "31 characters are not enough .."}, "SECRET_KEY has 31 characters"),
    ({**GOOD, "SLACKLINE_CONNECTORS": "file,kubernets"}, "SLACKLINE_CONNECTORS names 'kubernets'"),
    ({"SLACKLINE_DEMO": "1", "SLACKLINE_CONNECTORS": "file;openb"}, "which is no kind of source"),
    ({**GOOD, "DEBUG": "1"}, "DEBUG is on outside the demo"),
    ({**GOOD, "SLACKLINE_CONNECTORS": "file,simulated"}, "names the simulated cluster outside the demo"),
]


@pytest.mark.parametrize(("variables", "words"), REFUSED)
def test_refused(tmp_path: Path, variables: dict[str, str], words: str) -> None:
    outcome = _start(tmp_path, "settings.DEBUG", **variables)
    assert outcome.returncode != 0
    assert words in outcome.stderr


ALLOWED = [
    ({**GOOD}, "settings.CONNECTORS", "['file', 'openb', 'kubernetes']"),
    ({"SECRET_KEY": "32 characters are just as needed"}, "len(settings.SECRET_KEY)", "32"),
    ({"SLACKLINE_ALLOW_DEFAULT_KEY": "1"}, "settings.DEMO", "False"),
    ({**GOOD, "DEBUG": "1", "SLACKLINE_ALLOW_DEBUG": "1"}, "settings.DEBUG", "True"),
    (
        {**GOOD, "SLACKLINE_CONNECTORS": "file,simulated", "SLACKLINE_ALLOW_SIMULATED": "1"},
        "settings.CONNECTORS",
        "['file', 'simulated']",
    ),
    ({"SLACKLINE_DEMO": "1"}, "settings.CONNECTORS", "['file', 'openb', 'kubernetes', 'simulated']"),
    ({**GOOD}, "settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE", "True True"),
    (
        {**GOOD, "DATABASE_URL": "postgres://a@h/d"},
        "settings.DATABASES['default']['ENGINE']",
        "django.db.backends.postgresql",
    ),
    (
        {**GOOD, "DATABASE_URL": "postgres://a@h/d", "DATABASE_POOL": "8"},
        "settings.DATABASES['default']['OPTIONS']['pool']",
        "{'min_size': 1, 'max_size': 8}",
    ),
    ({**GOOD}, "settings.DATABASES['default']['CONN_MAX_AGE']", "0"),
]


@pytest.mark.parametrize(("variables", "show", "printed"), ALLOWED)
def test_allowed(tmp_path: Path, variables: dict[str, str], show: str, printed: str) -> None:
    outcome = _start(tmp_path, show, **variables)
    assert outcome.stderr == ""
    assert outcome.stdout.strip() == printed


def test_the_settings_know_every_kind_of_connector() -> None:
    assert sorted(settings.KNOWN_CONNECTORS) == sorted(Kind.values)


def test_deployment_checks_have_nothing_to_say_but_of_tls(tmp_path: Path) -> None:
    """Redirect to https and HSTS are the proxy's business; the rest of Django's list is ours."""
    command = [sys.executable, "manage.py", "check", "--deploy"]
    environment = {"SLACKLINE_DATA_DIR": str(tmp_path), "PATH": os.environ["PATH"], **GOOD}
    outcome = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    warned = {
        word.strip("()")
        for line in outcome.stderr.splitlines()
        for word in line.split()
        if word.startswith("(security")
    }
    assert {name.rstrip("):") for name in warned} <= {"security.W004", "security.W008", "security.W009"}
