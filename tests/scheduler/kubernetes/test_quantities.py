"""Resource quantities: the table of C06, and exactness."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster.errors import InputError
from scheduler.kubernetes.quantities import cpu_milli, memory_bytes, memory_mib, nano, parse
from tests.scheduler.kubernetes.things import node, pod, read

CPU = {
    "1500m": 1500,
    "0.5": 500,
    "2": 2000,
    "1e3": 1_000_000,
    "100u": 1,
    "2500000n": 3,
    "1k": 1_000_000,
    ".5": 500,
    "5.": 5000,
    "+1": 1000,
}
MEMORY = {
    "128974848": 128_974_848,
    "129e6": 129_000_000,
    "129M": 129_000_000,
    "128974848000m": 128_974_848,
    "123Mi": 128_974_848,
    "1Ki": 1024,
    "100M": 100_000_000,
    "2.85Gi": 3_060_164_199,
    "1E": 10**18,
    "1E3": 1000,
    "1Ei": 2**60,
    "0.5Gi": 2**29,
    "1k": 1000,
}
INVALID = [
    "1K",
    "1 Gi",
    "1,5Gi",
    "",
    "NaN",
    "Infinity",
    "0x10",
    "1e",
    "-1Gi",
    "1Gib",
    "１Gi",
    "1_000",
    ".",
    "e3",
    "1e99",
]


@pytest.mark.parametrize(("text", "milli"), CPU.items())
def test_cpu(text: str, milli: int) -> None:
    assert cpu_milli(text) == milli


@pytest.mark.parametrize(("text", "size"), MEMORY.items())
def test_memory(text: str, size: int) -> None:
    assert memory_bytes(text) == size


@pytest.mark.parametrize("text", INVALID)
def test_what_is_no_quantity_names_pod_and_field(text: str) -> None:
    (bad,) = read(node("n1"), pod("p", requests={"memory": text})).bad
    assert (bad.kind, bad.namespace, bad.name) == ("pods", "ml", "p")
    assert bad.path == "$.spec.containers[0].resources.requests.memory"


@pytest.mark.parametrize("text", INVALID)
def test_what_is_no_quantity_names_node_and_field(text: str) -> None:
    (bad,) = read(node("n1", allocatable={"memory": text})).bad
    assert (bad.kind, bad.name, bad.path) == ("nodes", "n1", "$.status.allocatable.memory")


def test_what_there_is_rounds_down_and_what_is_asked_rounds_up() -> None:
    assert (cpu_milli("1500500u"), cpu_milli("1500500u", down=True)) == (1501, 1500)
    assert (memory_mib("1500Ki"), memory_mib("1500Ki", down=True)) == (2, 1)


def test_numbers_are_read_as_they_are_written() -> None:
    assert (parse("9"), cpu_milli(9), cpu_milli(0.1)) == (9, 9000, 100)


def test_a_negative_amount_is_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        nano("-1m", "$.x", "cpu")


@given(st.integers(0, 10**12), st.integers(0, 9), st.sampled_from(["", "m", "k", "Ki", "Gi", "M"]))
def test_decimals_are_exact(digits: int, places: int, suffix: str) -> None:
    """A plain oracle: shift the point, then multiply by the factor."""
    text = str(digits).rjust(places + 1, "0")
    written = f"{text[: len(text) - places]}.{text[len(text) - places :]}{suffix}" if places else f"{digits}{suffix}"
    factor = {"": 1, "m": Fraction(1, 1000), "k": 1000, "Ki": 1024, "Gi": 2**30, "M": 10**6}[suffix]
    assert parse(written) == Fraction(digits, 10**places) * factor
