"""What `make install` says where this machine lacks the Python that we need."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _bring(tmp_path: Path, venv: str, find: str) -> subprocess.CompletedProcess[str]:
    """The script with a uv whose two commands do as told."""
    uv = tmp_path / "uv"
    uv.write_text(f'#!/bin/sh\ncase "$1" in venv) {venv};; python) {find};; esac\n')
    uv.chmod(0o755)
    command = [str(ROOT / "scripts" / "bring-python"), str(uv), "3.13", str(tmp_path / ".venv")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_one_sentence_where_no_python_can_be_had(tmp_path: Path) -> None:
    outcome = _bring(tmp_path, "echo 'error: Failed to download' >&2; exit 2", "exit 2")
    assert outcome.returncode == 1
    (said,) = outcome.stderr.splitlines()
    assert said.startswith("Python 3.13 is not on this machine")
    assert "python3.13 on the PATH" in said


@pytest.mark.parametrize(
    ("venv", "find", "code", "said"),
    [("exit 0", "exit 2", 0, ""), ("echo 'error: disk full' >&2; exit 2", "exit 0", 1, "error: disk full\n")],
)
def test_other_troubles_are_told_as_uv_tells_them(tmp_path: Path, venv: str, find: str, code: int, said: str) -> None:
    outcome = _bring(tmp_path, venv, find)
    assert (outcome.returncode, outcome.stderr) == (code, said)
