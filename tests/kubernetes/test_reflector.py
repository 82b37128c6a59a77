"""The reflector against an API that Hypothesis thinks up: whatever it did, once it is honest the state is its own."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.connectors.kubernetes.health import is_known
from console.connectors.kubernetes.reflector import Reflector
from console.connectors.kubernetes.steps import (
    Changed,
    Ended,
    Input,
    Item,
    List,
    Lost,
    Marked,
    Opened,
    Paged,
    Phase,
    Put,
    Refused,
    Wait,
    Watch,
    Woke,
)
from tests.kubernetes.thought_up import ACTIONS, HOURLY, INCOMPLETE, LIMITS, NAMES, Api


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    actions=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1000)), max_size=120),
    needed=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_ends_in_the_state_of_the_api(actions: list[tuple[str, int]], needed: bool, seed: int) -> None:
    api = Api(needed, seed, limits=HOURLY if {action for action, _ in actions} & set(INCOMPLETE) else LIMITS)
    for name in NAMES[:4]:
        api.change("create", name)
    for action, draw in actions:
        api.act(action, draw)
    api.be_honest()
    assert api.state == dict(api.truth)
    assert api.reflector.ready
    assert api.reflector.suspicion is None
    assert len(api.reflector.ledger) == len(api.truth)


def _following() -> Api:
    api = Api(True, 1)
    for name in NAMES[:4]:
        api.change("create", name)
    while not isinstance(api.wire, Watch):
        api.page()
    assert api.watched()
    return api


def _empty_lists(api: Api) -> list[int]:
    """Seconds at which an API says that nothing is there, until it is believed."""
    began, asked = api.now, []
    api.hear(Refused(410, "gone"))
    while not api.reflector.believed:
        api.now += api.wire.seconds if isinstance(api.wire, Wait) else 0
        api.hear(Woke())
        api.page("empty")
        asked.append(round(api.now - began))
        assert api.reflector.believed or (len(api.state) == 4 and api.reflector.suspicion is not None)
    assert api.state == {}
    return asked


def test_empty_list_is_held_until_several_say_so_over_minutes() -> None:
    asked = _empty_lists(_following())
    assert len(asked) >= LIMITS.empty_lists
    assert asked[-1] - asked[0] >= LIMITS.empty_s * 0.9


def test_empty_list_is_believed_sooner_where_the_others_are_empty_too() -> None:
    api = _following()
    api.reflector.all_gone = lambda: True
    asked = _empty_lists(api)
    assert len(asked) == 2
    assert asked[-1] - asked[0] < 2 * LIMITS.grace_s


def test_empty_list_that_was_a_lie_leaves_no_trace() -> None:
    api = _following()
    api.hear(Refused(410, "gone"))
    for _ in range(3):
        api.now += api.wire.seconds if isinstance(api.wire, Wait) else 0
        api.hear(Woke())
        api.page("empty")
        assert len(api.state) == 4
    api.be_honest()
    assert api.state == dict(api.truth)
    assert api.reflector.suspicion is None


def test_list_after_a_gap_is_told_at_once() -> None:
    """No reading shows half of the old state and half of the new one."""
    api = _following()
    before = dict(api.state)
    for name, action in (("p0", "modify"), ("p1", "delete"), ("p4", "create"), ("p5", "create")):
        api.change(action, name)
    api.hear(Refused(410, "gone"))
    api.hear(Woke())
    api.page()
    assert isinstance(api.wire, List)
    assert api.wire.token
    assert api.state == before
    api.page()
    assert api.state == dict(api.truth) != before


def test_first_list_is_held_when_somebody_saw_more() -> None:
    api = Api(True, 1)
    api.reflector.expected = 20_000
    api.page("empty")
    assert not api.reflector.ready
    assert api.reflector.suspicion is not None
    while not api.reflector.ready:
        api.now += LIMITS.grace_s
        api.hear(Woke())
        api.page("empty")
    assert api.now >= LIMITS.empty_s * 0.9


def test_watch_resumes_a_little_before_its_end() -> None:
    api = _following()
    began = api.version
    for _ in range(3):
        api.now += 10
        api.change("modify", NAMES[0])
        api.deliver()
    api.now += 4
    api.change("modify", NAMES[1])
    api.deliver()
    api.hear(Lost("cut", "cut"))
    assert isinstance(api.wire, Watch)
    assert began < int(api.wire.version) < api.version
    before = dict(api.state)
    api.be_honest()
    assert {name: api.state[name] for name in NAMES[1:4]} == {name: before[name] for name in NAMES[1:4]}
    assert api.reflector.errors["out of order"] == 0


@pytest.mark.parametrize("what", ["bookmark", "event"])
def test_stream_that_goes_back_is_doubted_and_said(what: str) -> None:
    """Once listed anew, at most once a minute; a stream that was opened again may tell of what is known."""
    api = _following()
    old = api.history[-1]
    api.change("modify", NAMES[0])
    api.deliver()
    lists = api.reflector.lists
    back: Input = Marked(str(api.version - 1)) if what == "bookmark" else Changed(*old)
    api.hear(back)
    reason = f"the watch went back from version {api.version} to {api.version - 1}"
    assert (api.reflector.errors["watch went back"], api.reflector.reason) == (1, reason)
    assert isinstance(api.wire, Watch), "the last list is too young"
    assert api.watched()
    api.hear(Changed(*api.history[-1]))
    assert api.reflector.errors["watch went back"] == 1
    api.now += LIMITS.doubt_s
    api.hear(Marked(str(api.version)))
    assert isinstance(api.wire, List)
    api.be_honest()
    assert api.reflector.lists == lists + 1
    assert (api.reflector.reason, api.state) == ("", dict(api.truth))


def test_retry_after_is_kept_and_bounded() -> None:
    api = Api(True, 1)
    api.hear(Refused(429, "busy", 17.0))
    assert isinstance(api.wire, Wait)
    assert 17 <= api.wire.seconds <= 17 * 1.2
    api.hear(Woke())
    api.hear(Refused(429, "busy", 1e9))
    assert isinstance(api.wire, Wait)
    assert api.wire.seconds <= LIMITS.longest_asked_s * 1.2


def test_waits_grow_and_differ() -> None:
    waits = {}
    for seed in range(5):
        api = Api(True, seed)
        found = []
        for _ in range(9):
            api.hear(Lost("unreachable", "no route"))
            assert isinstance(api.wire, Wait)
            found.append(api.wire.seconds)
            api.hear(Woke())
        assert found[0] <= LIMITS.first_wait_s < found[4] < found[8] <= LIMITS.longest_wait_s
        waits[tuple(found)] = seed
    assert len(waits) == 5


def test_absent_kind_is_asked_for_rarely_and_forbidden_one_is_said() -> None:
    for status, phase in ((404, Phase.ABSENT), (403, Phase.FORBIDDEN)):
        api = Api(False, 1)
        api.hear(Refused(status, "no"))
        assert api.reflector.phase == phase
        assert api.reflector.ready
        assert isinstance(api.wire, Wait)
        assert (api.wire.seconds >= 60) is (status == 404)


def test_who_is_forbidden_asks_again_soon_then_ever_more_rarely() -> None:
    """As a server that has just started forbids everything until it has read its roles."""
    reflector, waits = Reflector(random.Random(0), True, LIMITS), []
    reflector.start()
    for turn in range(40):
        (wait,) = reflector.step(Refused(403, "no"), float(turn))
        assert isinstance(wait, Wait)
        waits.append(wait.seconds)
        reflector.step(Woke(), turn + 0.5)
    assert sum(waits[:4]) < 20 * LIMITS.first_wait_s
    assert all(0.8 * LIMITS.forbidden_s <= seconds <= 1.2 * LIMITS.forbidden_s for seconds in waits[10:])
    reflector.step(LISTED, 50.0)
    reflector.step(Opened(), 51.0)
    (again,) = reflector.step(Refused(403, "no"), 52.0)
    assert isinstance(again, Wait)
    assert again.seconds <= 1.2 * LIMITS.first_wait_s


@pytest.mark.parametrize("version", ["9" * 5_000, "007", "-1", "1e3", "\u0661\u0662", "abc", " 5"])
def test_versions_that_are_no_numbers_order_nothing(version: str) -> None:
    """Arrival counts then; nothing of it is a mistake of ours."""
    reflector = Reflector(random.Random(0), False, LIMITS)
    reflector.start()
    assert reflector.step(Paged((Item("a", "u", version, 1),), version, ""), 0.0)[-1].version == version  # type: ignore[union-attr]
    reflector.step(Opened(), 1.0)
    told = reflector.step(Changed("MODIFIED", Item("b", "v", version, 2)), 2.0)
    assert told[0] == Put("b", 2)
    assert (reflector.step(Marked(version), 3.0), reflector.errors) == ([], {})


STALE_S = 300.0
LISTED, EMPTY = Paged((Item("a", "u", "5", 1),), "5", ""), Paged((), "6", "")
NO_RIGHT, FAILING, ABSENT = Refused(403, "no"), Refused(500, "no"), Refused(404, "no")
KNOWN = {
    "listed and watched": ([LISTED, Opened()], 0.0, True),
    "forbidden from the first": ([NO_RIGHT], 0.0, False),
    "forbidden, while it is asked again": ([NO_RIGHT, Woke()], 0.0, False),
    "forbidden, then failing": ([NO_RIGHT, Woke(), FAILING], 0.0, False),
    "the right was given": ([NO_RIGHT, Woke(), LISTED, Opened()], 0.0, True),
    "the right was taken": ([LISTED, Opened(), Ended(), NO_RIGHT, Woke()], 0.0, False),
    "it may be listed and not watched": ([LISTED, NO_RIGHT, Woke(), LISTED], 0.0, False),
    "failing for a moment": ([LISTED, Opened(), Ended(), FAILING, Woke(), FAILING], STALE_S / 2, True),
    "failing for long": ([LISTED, Opened(), Ended(), FAILING, Woke(), FAILING], STALE_S + 1, False),
    "never answered": ([FAILING], 0.0, False),
    "not installed": ([ABSENT], LIMITS.absent_s * 1.2, True),
    "not installed, then failing": ([ABSENT, Woke(), FAILING], 2 * LIMITS.absent_s + STALE_S + 1, False),
    "installed, then failing": ([ABSENT, Woke(), EMPTY, Opened(), Ended(), FAILING], STALE_S + 1, False),
}


@pytest.mark.parametrize("case", KNOWN)
def test_what_nobody_confirms_is_unknown(case: str) -> None:
    """Whatever a kind is doing at the moment: budgets that are unknown must hold all pods, all the time."""
    inputs, later_s, known = KNOWN[case]
    reflector = Reflector(random.Random(0), False, LIMITS)
    reflector.start()
    for told in inputs:
        reflector.step(told, 1000.0)
    assert is_known(reflector, 1000.0 + later_s, STALE_S) is known
