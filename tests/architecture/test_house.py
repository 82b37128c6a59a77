"""The rules of the house that can be counted."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import ROOMS, ROOT, files, trees

LONGEST_FILE, LONGEST_FUNCTION = 400, 50
BANNED = {"utils", "helpers", "common", "misc", "base", "core", "manager", "handler", "processor", "data", "info"}
MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
ESCAPES = re.compile(r"pytest\.(mark\.)?(skip|xfail|importorskip)|assert True\b|unittest\.skip")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def test_there_is_something_to_count() -> None:
    assert len(files()) > 50
    assert all(any(name.startswith(room) for name in files()) for room in ROOMS[:3])


def test_files_stay_short() -> None:
    lengths = {name: text.count("\n") for name, text in files().items()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_functions_stay_short() -> None:
    long = [
        f"{name}:{function.lineno} {function.name} {(function.end_lineno or 0) - function.lineno + 1}"
        for name, tree in trees().items()
        for function in _functions(tree)
        if (function.end_lineno or 0) - function.lineno + 1 > LONGEST_FUNCTION
    ]
    assert long == []


def test_no_room_has_a_name_that_says_nothing() -> None:
    folders = {str(path.relative_to(ROOT)) for room in ROOMS[:2] for path in (ROOT / room).rglob("*") if path.is_dir()}
    names = [*files(), *folders]
    assert [name for name in names if Path(name).stem in BANNED] == []


def test_nothing_is_imported_inside_a_function() -> None:
    inside = [
        f"{name}:{node.lineno}"
        for name, tree in trees().items()
        if not name.endswith("_child.py")  # programs that tests start: Django must be set up before the apps load
        for function in _functions(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert inside == []


def test_no_signals_carry_business() -> None:
    """Django's model signals hide who does what; the frameworks' own life-cycle signals are not meant."""
    hidden = re.compile(r"\b(pre|post)_(save|delete|init)\b|\bm2m_changed\b")
    assert [name for name, text in files().items() if name.startswith("console/") and hidden.search(text)] == []


def test_no_marks_are_left() -> None:
    own = "tests/architecture/"
    assert [name for name, text in files().items() if not name.startswith(own) and MARKS.search(text)] == []


def test_no_test_can_excuse_itself() -> None:
    tests = {name: text for name, text in files().items() if name.startswith("tests/")}
    own = "tests/architecture/"
    assert [name for name, text in tests.items() if not name.startswith(own) and ESCAPES.search(text)] == []


def test_every_test_asserts_something() -> None:
    """A test without an assertion, an expected exception or a checker of its own cannot fail for a reason."""
    empty = [
        f"{name}:{function.lineno} {function.name}"
        for name, tree in trees().items()
        if name.startswith("tests/")
        for function in _functions(tree)
        if function.name.startswith("test_") and not _asserts(function)
    ]
    assert empty == []


def _asserts(function: Function) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("pytest.raises", "pytest.fail") or re.search(
                r"(^|[._])(assert|check|expect|require)", called
            ):
                return True
    return False


def test_import_contracts_hold() -> None:
    """Run as its users run it, so that what is tested is what they see."""
    program = Path(sys.executable).with_name("lint-imports")
    outcome = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout[-4000:]


def test_the_lock_names_no_host_and_pins_every_file() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    packages = re.findall(r"(?m)^([a-z0-9_.\-\[\]]+)==", lock)
    assert len(packages) > 50
    blocks = re.split(r"(?m)^(?=[a-z0-9])", lock)
    assert [block.split()[0] for block in blocks if "==" in block and "--hash=sha256:" not in block] == []
    assert '"resolved"' not in (ROOT / "package-lock.json").read_text()
