"""What a campaign decides: never more out of service than allowed, whatever happens in whatever order."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.campaigns import pace
from console.campaigns.choices import GroupState as G
from console.campaigns.choices import Refused
from console.campaigns.choices import State as C
from console.campaigns.forecast import forecast, quantile

BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
NEXT_PLAN = {  # what may become of a plan
    "planning": ("proposed", "nothing_to_do", "failed"),
    "proposed": ("approved", "rejected", "stale", "expired", "cancelled"),
    "approved": ("executing", "stale", "expired"),
    "executing": ("succeeded", "halted", "aborted", "failed", "paused"),
    "halted": ("executing", "aborted"),
    "paused": ("executing", "aborted"),
}


@dataclass
class Play:
    """A cluster, a campaign on it, and the last reading of both; events are drawn, instructions carried out."""

    groups: list[pace.Group]
    limits: pace.Limits
    acts: bool
    truth: dict[str, pace.Node] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)  # other nodes out of service
    read: dict[str, pace.Node] = field(default_factory=dict)
    read_elsewhere: frozenset[str] = frozenset()
    state: C = C.ACTIVE
    now: datetime = BEGAN
    turn: int = 0
    ran: set[int] = field(default_factory=set)  # groups of which a plan ran, or that somebody let be taken out
    stale: tuple[int, list[pace.Instruction]] | None = None  # what a slow worker has decided, and at which turn

    def __post_init__(self) -> None:
        self.truth = {node.name: node for group in self.groups for node in group.nodes}
        self.look_at_cluster()

    def look_at_cluster(self) -> None:
        self.read, self.read_elsewhere = dict(self.truth), frozenset(self.elsewhere)

    def moment(self) -> pace.Moment:
        groups = tuple(replace(g, nodes=tuple(self._seen(node) for node in g.nodes)) for g in self.groups)
        out = {name for name, node in self.read.items() if node.cordoned and node.there} | self.read_elsewhere
        return pace.Moment(self.state, groups, self.limits, self.now, frozenset(out), self.acts)

    def _seen(self, node: pace.Node) -> pace.Node:
        """The campaign's own marks are rows; the rest is as it was read."""
        seen = self.read[node.name]
        return replace(node, there=seen.there, busy=seen.busy, cordoned=seen.cordoned, renewed=seen.renewed)

    def apply(self, todo: list[pace.Instruction], at_turn: int) -> None:
        if at_turn != self.turn or not todo:
            return
        self.turn += 1
        moment = self.moment()
        for one in todo:
            self._one(one, moment)

    def _one(self, one: pace.Instruction, moment: pace.Moment) -> None:
        if isinstance(one, pace.Become):
            self.state = one.state
            return
        i = next(i for i, group in enumerate(self.groups) if group.pk == one.group)
        group = self.groups[i]
        match one:
            case pace.Go():
                self._check_end(group, one)
                change = {"state": one.state, "again_at": one.again_at}
                self.groups[i] = replace(group, **change, outcome=one.outcome or group.outcome)  # type: ignore[arg-type]
            case pace.LeaveOut():
                nodes = tuple(replace(n, left_out=True) if n.name == one.node else n for n in group.nodes)
                self.groups[i] = replace(group, nodes=nodes)
            case pace.Ask():
                self._check_ask(group, one, moment)
                self.groups[i] = replace(group, state=G.ASKED, plan="planning", asks=group.asks + 1, reached=False)
            case pace.Take():
                assert self.acts and group.pk in self.ran, "a node is taken out of service without anybody's yes"
                nodes = tuple(replace(n, ours=True) if n.name == one.node else n for n in group.nodes)
                self.groups[i] = replace(group, nodes=nodes)
                self.truth[one.node] = replace(self.truth[one.node], cordoned=not one.back)

    def _check_ask(self, group: pace.Group, one: pace.Ask, moment: pace.Moment) -> None:
        assert group.state in (G.WAITING, G.AGAIN) and group.plan not in NEXT_PLAN, "two plans at once"
        assert one.nodes and all(self.read[name].there and not self.read[name].renewed for name in one.nodes)
        if group.state == G.WAITING:
            held = {n.name for g in moment.groups if g.under_way for n in g.live}
            before = moment.out | held
            assert len(before | set(one.nodes)) <= self.limits.nodes or before | set(one.nodes) == before

    def _check_end(self, group: pace.Group, one: pace.Go) -> None:
        if one.state in pace.OVER and self.acts:
            assert not any(self.truth[n.name].cordoned and self.truth[n.name].there for n in group.nodes if n.ours)

    def check(self) -> None:
        held = [group for group in self.groups if group.under_way]
        assert len(held) <= self.limits.groups
        for i, group in enumerate(held):
            assert not any(group.domains & other.domains for other in held[i + 1 :])
        ours = {n.name for g in self.groups for n in g.nodes if n.ours and self.truth[n.name].cordoned}
        assert len(ours) <= self.limits.nodes
        assert all(g.under_way for g in self.groups for n in g.nodes if n.ours and n.name in ours)

    # --- events ------------------------------------------------------------------------------------------------------
    def happen(self, kind: str, pick: int) -> None:
        names = sorted(self.truth)
        name, i = names[pick % len(names)], pick % len(self.groups)
        group, node = self.groups[i], self.truth[name]
        match kind:
            case "look":
                self.apply(pace.decide(self.moment())[0], self.turn)
            case "read":
                self.look_at_cluster()
                self.apply(pace.decide(self.moment())[0], self.turn)
            case "decide slowly":
                self.stale = self.turn, pace.decide(self.moment())[0]
            case "act late" if self.stale is not None:
                self.apply(self.stale[1], self.stale[0])
            case "plan" if group.plan in NEXT_PLAN and group.under_way:
                self._plan(i, NEXT_PLAN[group.plan][pick // 7 % len(NEXT_PLAN[group.plan])])
            case "mark" if group.state == G.WORK:
                self.groups[i], self.turn = replace(group, marked=True), self.turn + 1
            case "allow" if group.state == G.APPROVAL and group.plan == "nothing_to_do":
                self.groups[i], self.turn = replace(group, allowed=True), self.turn + 1
                self.ran.add(group.pk)
            case "ask anew" if group.state == G.AGAIN and group.plan not in NEXT_PLAN:  # a person, before it is time
                self.groups[i], self.turn = replace(group, plan="planning", reached=False), self.turn + 1
            case "time":
                self.now += timedelta(minutes=pick % 9)
            case "elsewhere":
                self.elsewhere ^= {f"x{pick % 3}"}
            case "gone" | "renewed" | "busy" | "by hand":
                field_ = {"gone": "there", "renewed": "renewed", "busy": "busy", "by hand": "cordoned"}[kind]
                if kind != "by hand" or not self.acts:
                    self.truth[name] = replace(node, **{field_: not getattr(node, field_)})  # type: ignore[arg-type]
            case "person":
                self.state, self.turn = self._decided(pick), self.turn + 1

    def _plan(self, i: int, state: str) -> None:
        group = self.groups[i]
        if state == "executing":
            self.ran.add(group.pk)
        if state == "succeeded":
            for node in group.live:
                self.truth[node.name] = replace(self.truth[node.name], busy=False)
        clear = not any(self.truth[n.name].busy for n in group.live)
        self.groups[i] = replace(group, plan=state, reached=state == "nothing_to_do" and clear)

    def _decided(self, pick: int) -> C:
        if self.state in (C.DONE, C.ENDED, C.ENDING):
            return self.state
        if pick % 11 == 0:
            for i, group in enumerate(self.groups):
                if group.state == G.WAITING:
                    self.groups[i] = replace(group, state=G.SKIPPED)
                elif group.plan in NEXT_PLAN:
                    self.groups[i] = replace(group, plan="cancelled")
            return C.ENDING
        return C.PAUSED if self.state == C.ACTIVE else C.ACTIVE


EVENTS = ("look", "read", "read", "plan", "plan", "plan", "mark", "allow", "time", "decide slowly", "act late",
          "ask anew", "elsewhere", "gone", "renewed", "busy", "by hand", "person")  # fmt: skip


@st.composite
def plays(draw: st.DrawFn) -> Play:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    protect = draw(st.booleans())
    busy = st.booleans()
    groups = [
        pace.Group(
            pk=pk, name=f"g{pk}", state=G.WAITING,
            nodes=tuple(pace.Node(f"n{pk}{k}", busy=draw(busy)) for k in range(size)),
            domains=frozenset({draw(st.sampled_from(["", "a", "b"]))} if protect else ()),
        )
        for pk, size in enumerate(sizes)
    ]  # fmt: skip
    limits = pace.Limits(
        groups=draw(st.integers(1, 3)), nodes=draw(st.integers(1, 6)), failed=draw(st.integers(1, 3)),
        asks=draw(st.integers(1, 3)), refused=draw(st.sampled_from(list(Refused))),
    )  # fmt: skip
    return Play(groups, limits, acts=draw(st.booleans()))


@settings(max_examples=250, deadline=None)
@given(plays(), st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 200)), max_size=80))
def test_no_order_of_events_takes_more_out_of_service_than_is_allowed(
    play: Play, events: list[tuple[str, int]]
) -> None:
    for kind, pick in events:
        play.happen(kind, pick)
        play.check()


@settings(max_examples=60, deadline=None)
@given(plays())
def test_with_willing_people_every_campaign_comes_to_its_end(play: Play) -> None:
    """Each plan is approved and runs, and all work is marked done: nothing waits for ever but for the limit."""
    for _ in range(40 * len(play.groups)):
        play.happen("read", 0)
        play.now += timedelta(minutes=3)
        for i, group in enumerate(play.groups):
            busy = any(play.truth[n.name].busy for n in group.live)
            if group.plan == "planning":
                play._plan(i, "proposed" if busy else "nothing_to_do")
            elif group.plan in ("proposed", "approved", "executing"):
                play._plan(i, {"proposed": "approved", "approved": "executing", "executing": "succeeded"}[group.plan])
            for event in ("mark", "allow"):
                play.happen(event, i)
            if not play.acts:
                cordon = group.state == G.DRAINED
                for node in group.nodes:
                    if cordon or group.state == G.RETURNING:
                        play.truth[node.name] = replace(play.truth[node.name], cordoned=cordon)
        play.check()
    too_large = [g for g in play.groups if len(g.nodes) > play.limits.nodes]
    assert all(g.state == (G.WAITING if g in too_large else G.BACK) for g in play.groups)
    assert play.state == (C.ACTIVE if too_large else C.DONE)


def alone(state: G = G.WAITING, busy: bool = True, **fields: object) -> pace.Group:
    return pace.Group(1, "g", state, (pace.Node("n", busy=busy),), **fields)  # type: ignore[arg-type]


def at(*groups: pace.Group, **fields: object) -> pace.Moment:
    return pace.Moment(C.ACTIVE, groups, pace.Limits(1, 2, 1, 2, Refused.SKIP), BEGAN, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("moment", "states", "words"),
    [
        (at(alone(G.APPROVAL, plan="rejected", asks=1)), [G.RETURNING], "its plan was rejected"),
        (at(alone(G.APPROVAL, plan="expired", asks=1)), [G.AGAIN], "plan expired"),
        (at(alone(G.APPROVAL, plan="stale", asks=2)), [G.RETURNING], "asked 2 times; plan stale"),
        (at(alone(G.APPROVAL, plan="expired", asks=2, shut="closed")), [G.AGAIN], "its windows are closed"),
        (at(alone(G.ASKED, plan="nothing_to_do", asks=1)), [G.AGAIN], "plan not possible"),
        (at(alone(G.ASKED, plan="nothing_to_do", reached=True, busy=False)), [G.APPROVAL], "nothing has to move"),
        (at(alone(G.APPROVAL, plan="nothing_to_do", reached=True, asks=1)), [G.AGAIN], "pods came to n"),
        (at(alone(G.AGAIN, plan="proposed", again_at=BEGAN)), [G.APPROVAL], ""),
        (at(alone(G.AGAIN, plan="executing", again_at=BEGAN)), [G.DRAINING], ""),
        (at(alone(G.DRAINING, plan="succeeded", read_since=False)), [], ""),
        (at(alone(G.DRAINED, plan="succeeded", asks=1)), [G.AGAIN], "pods came back to n"),
        (at(alone(G.APPROVAL, plan="proposed", busy=False), acts=False), [G.DRAINED], "clear"),
        (at(alone(G.APPROVAL, plan="expired", asks=9), acts=False), [G.AGAIN], "plan expired"),
    ],
)
def test_what_follows_from_a_plan(moment: pace.Moment, states: list[G], words: str) -> None:
    found = [one for one in pace.decide(moment)[0] if isinstance(one, pace.Go)]
    assert [one.state for one in found] == states
    assert all(words in one.reason for one in found)


def test_why_no_group_begins_is_said() -> None:
    assert "at most 2 may be (2 are now)" in pace.decide(at(alone(), out=frozenset({"x", "y"})))[1]
    assert pace.decide(at(alone(), out=frozenset({"x", "y", "n"})))[1] == ""  # it takes nothing out that is in service
    assert pace.decide(at(alone(), read=False)) == ([], "the newest reading is too old")
    failed = replace(alone(G.FAILED), pk=2)
    todo, _ = pace.decide(at(failed, alone()))
    assert todo == [pace.Become(C.HALTED, "1 group failed: somebody must look before another begins")]
    assert pace.decide(replace(at(failed, alone()), forgiven=1))[0] == [pace.Ask(1, ("n",))]


def test_a_frozen_campaign_begins_nothing_and_neither_cordons_nor_gives_back() -> None:
    frozen = "Frozen: the whole fleet"
    running, returning = alone(G.DRAINING, plan="executing"), alone(G.RETURNING, outcome="back")
    held = replace(returning, nodes=(pace.Node("n", cordoned=True, ours=True),))
    for group in (running, held, alone(), alone(G.AGAIN, again_at=BEGAN)):
        assert len(pace.decide(at(group))[0]) == 1
        assert pace.decide(at(group, frozen=frozen)) == ([], frozen)


def test_the_end_is_unknown_until_two_groups_are_back_and_then_has_an_interval() -> None:
    assert forecast([600.0], [], 3, 1) is None
    found = forecast([600.0, 800.0], [100.0], 3, 1)
    assert found is not None and (found.seconds, found.mean, found.groups) == (2700.0, 700.0, 2)
    # 4 groups ahead, s² = 20,000: t(0.9; 1) · sqrt(20,000 · (4 + 16 / 2))
    assert found.high - found.seconds == pytest.approx(3.078 * (20_000 * 12) ** 0.5)
    assert forecast([600.0, 800.0], [], 4, 2) == replace(
        found, seconds=1400.0, low=pytest.approx(529.4, abs=0.1), high=pytest.approx(2270.6, abs=0.1)
    )
    assert [quantile(1), quantile(15), quantile(18), quantile(999)] == [3.078, 1.341, 1.325, 1.282]
