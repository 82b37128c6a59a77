"""Host ports: the rule of two, and the numbers by which the planner knows it."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster.ports import Given, collide, in_conflict, port_of, tokens

ADDRESSES = ("*", "0.0.0.0", "[::]", "10.0.0.1", "10.0.0.2", "[fd00::1]")
TEXTS = [f"{a}:{n}/{p}" for a, n, p in product(ADDRESSES, (53, 80), ("TCP", "UDP"))]
PORTS = st.sampled_from([53, 80, "53/UDP", "10.0.0.1:53", *TEXTS])


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (53, 53, True),
        (53, 80, False),
        (53, "10.0.0.1:53/UDP", True),
        ("*:53/UDP", "*:53/TCP", False),
        ("*:53/UDP", "10.0.0.1:53/UDP", True),
        ("0.0.0.0:53/UDP", "10.0.0.1:53/UDP", True),
        ("[::]:53/UDP", "10.0.0.1:53/UDP", True),
        ("10.0.0.1:53/UDP", "10.0.0.2:53/UDP", False),
        ("10.0.0.1:53/UDP", "10.0.0.1:53/UDP", True),
        ("10.0.0.1:53/UDP", "10.0.0.1:53/TCP", False),
        ("10.0.0.1:53", "10.0.0.1:53/TCP", True),
        ("[FD00::1]:53/UDP", "[fd00::1]:53/UDP", True),
        ("53/SCTP", 53, True),
    ],
)
def test_two_ports(one: Given, other: Given, clash: bool) -> None:
    assert collide(one, other) is clash
    assert collide(other, one) is clash
    assert in_conflict([(0, one), (1, other)]) == ({0, 1} if clash else set())
    assert in_conflict([(0, one), (0, other)]) == set()


@pytest.mark.parametrize(
    "bad", ["", "a", "53", "10.0.0.1", "1:2:3", "fd00::1:53", "53/udp", "53/", "0", "65536", "１", "*:53 "]
)
def test_texts_that_are_no_ports(bad: str) -> None:
    with pytest.raises(ValueError, match=r"expected a port|must be from"):
        port_of(bad)


@given(st.lists(PORTS, max_size=12))
def test_two_ports_have_a_number_in_common_exactly_where_they_collide(known: list[Given]) -> None:
    found = tokens(known)
    assert set(found) == set(known)
    for one, other in product(found, found):
        assert bool(set(found[one]) & set(found[other])) is (one == other or collide(one, other))
