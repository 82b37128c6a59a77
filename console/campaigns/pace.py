"""What a campaign does next, decided from what is so: no clock, no database, no cluster.

``decide`` reads one moment and answers with instructions; who carries them out reads the world anew afterwards.  A
group that has begun and is not over holds all of its nodes against the limits, so that no instant has more of them out
of service than is allowed, whatever becomes of its plan.  Nodes that are out of service anyway, for whatever reason,
count as well; a group that takes none out that is in service may always begin.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.campaigns.choices import GroupState as G
from console.campaigns.choices import Refused
from console.campaigns.choices import State as C

AGAIN_AFTER = timedelta(minutes=2)
AGAIN_BY_HAND_AFTER = timedelta(minutes=10)  # where others move the pods, each of their moves changes the plan
OVER = frozenset({G.BACK, G.FAILED, G.SKIPPED})
COMPUTED, SAYS_YES, RUNS = ("requested", "planning"), ("proposed", "approved"), ("executing", "paused", "halted")
NOTHING, DONE, NO = "nothing_to_do", "succeeded", ("rejected", "cancelled")


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a group as the newest reading shows it."""

    name: str
    there: bool = True
    busy: bool = False  # carries pods other than agents
    cordoned: bool = False
    renewed: bool = False  # what is to be done there is done, by its labels
    chosen: bool = True  # the selector still means it
    ours: bool = False  # the campaign has cordoned it and not given it back
    left_out: bool = False
    was_cordoned: bool = False  # by others, when its group began


@dataclass(frozen=True, slots=True)
class Group:
    """``plan``: state of its last plan, "" where none was asked for; ``reached``: that plan found all nodes clear."""

    pk: int
    name: str
    state: G
    nodes: tuple[Node, ...]
    domains: frozenset[str] = frozenset()  # of the protected level; "" = unknown, which shares with all unknown
    asks: int = 0
    again_at: datetime | None = None
    plan: str = ""
    plan_reason: str = ""
    reached: bool = False
    read_since: bool = True  # the newest reading began after the plan had ended
    allowed: bool = False  # an approver let it be taken out without a move
    marked: bool = False  # somebody said that the work is done
    outcome: str = ""  # of a group that is given back: what it becomes
    shut: str = ""  # its plan expired, and its windows are closed until then, in words

    @property
    def live(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if not node.left_out)

    @property
    def under_way(self) -> bool:
        return self.state not in OVER and self.state != G.WAITING


@dataclass(frozen=True, slots=True)
class Limits:
    groups: int
    nodes: int
    failed: int  # groups, until a person looks
    asks: int
    refused: Refused


@dataclass(frozen=True, slots=True)
class Moment:
    """``out``: nodes out of service now, in the campaign or beside it; ``read``: the newest reading is young enough."""

    state: C
    groups: tuple[Group, ...]  # in their order
    limits: Limits
    now: datetime
    out: frozenset[str] = frozenset()
    acts: bool = True
    frozen: str = ""
    read: bool = True
    forgiven: int = 0  # failed groups at which somebody has looked


@dataclass(frozen=True, slots=True)
class Go:
    """A group changes its state."""

    group: int
    state: G
    reason: str = ""
    outcome: str = ""
    again_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A plan is to be asked for that drains these nodes."""

    group: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeaveOut:
    group: int
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Take:
    """A node is to be cordoned, or with ``back`` given back."""

    group: int
    node: str
    back: bool = False


@dataclass(frozen=True, slots=True)
class Become:
    """The campaign changes its state."""

    state: C
    reason: str


Instruction = Go | Ask | LeaveOut | Take | Become


def decide(moment: Moment) -> tuple[list[Instruction], str]:
    """(what is to be done now, why no further group begins or "")."""
    if not moment.read:
        return [], "the newest reading is too old"
    found = [one for group in moment.groups if group.under_way for one in _go_on(moment, group)]
    if found and any(isinstance(one, Go) for one in found):
        return found, ""  # what follows from it is seen at the next look
    over = _over(moment)
    if over is not None:
        return [*found, over], ""
    begun, why = _begin(moment)
    return [*found, *begun], why


def _over(moment: Moment) -> Become | None:
    under_way = any(group.under_way for group in moment.groups)
    waiting = any(group.state == G.WAITING for group in moment.groups)
    failed = sum(group.state == G.FAILED for group in moment.groups)
    if moment.state == C.ENDING:
        return None if under_way else Become(C.ENDED, "")
    if not under_way and not waiting and moment.state == C.ACTIVE:
        return Become(C.DONE, _summary(moment))
    if moment.state == C.ACTIVE and failed - moment.forgiven >= moment.limits.failed:
        return Become(C.HALTED, f"{_groups(failed - moment.forgiven)} failed: somebody must look before another begins")
    return None


def _summary(moment: Moment) -> str:
    """What did not go as asked."""
    counts = [(sum(group.state == state for group in moment.groups), state) for state in (G.FAILED, G.SKIPPED)]
    return ", ".join(f"{_groups(count)} {state.value}" for count, state in counts if count)


def _groups(count: int) -> str:
    return "1 group" if count == 1 else f"{count} groups"


# --- which group begins -----------------------------------------------------------------------------------------------
def _begin(moment: Moment) -> tuple[list[Instruction], str]:
    """The first waiting group that may begin; one at a look, so that the next look counts it."""
    if moment.state != C.ACTIVE or moment.frozen:
        return [], moment.frozen
    held = [group for group in moment.groups if group.under_way]
    if len(held) >= moment.limits.groups:
        return [], ""
    why = ""
    for group in moment.groups:
        if group.state != G.WAITING:
            continue
        out, left = _left_out(group)
        if not left:
            return [*out, Go(group.pk, G.SKIPPED, "no node of it is left to drain")], ""
        no = why_not(moment, group, left)
        if not no:
            return [*out, Ask(group.pk, left)], ""
        why = why or f"{group.name}: {no}"
    return [], why


def why_not(moment: Moment, group: Group, nodes: Sequence[str]) -> str:
    """Why this group may not begin now with these nodes, "" where it may."""
    held = [one for one in moment.groups if one.under_way]
    shared = sorted({domain for one in held for domain in one.domains & group.domains})
    if shared:
        other = next(one for one in held if one.domains & group.domains)
        place = f"domain {shared[0]}" if shared[0] else "an unknown domain"
        return f"{place} is protected, and {other.name} is under way there"
    if len(held) >= moment.limits.groups:
        return f"{_groups(len(held))} under way already"
    before = moment.out | {node.name for one in held for node in one.nodes if node.ours or not node.left_out}
    after = before | set(nodes)
    if len(after) > moment.limits.nodes and after != before:
        nodes = f"{len(after)} node{'s' if len(after) > 1 else ''}"
        return f"{nodes} would be out of service, at most {moment.limits.nodes} may be ({len(before)} are now)"
    return ""


def _left_out(group: Group) -> tuple[list[Instruction], tuple[str, ...]]:
    """(nodes that need nothing, with the reason; the others)."""
    out: list[Instruction] = []
    left = []
    for node in group.live:
        reason = _needs_nothing(node)
        if reason:
            out.append(LeaveOut(group.pk, node.name, reason))
        else:
            left.append(node.name)
    return out, tuple(left)


def _needs_nothing(node: Node) -> str:
    if not node.there:
        return "has left the cluster"
    if node.renewed:
        return "is as it is to be already"
    return "" if node.chosen else "is no longer one of those that were chosen"


# --- what becomes of a group that has begun ---------------------------------------------------------------------------
def _go_on(moment: Moment, group: Group) -> Iterator[Instruction]:
    match group.state:
        case G.ASKED | G.APPROVAL:
            yield from _with_plan(moment, group)
        case G.AGAIN:
            yield from _again(moment, group)
        case G.DRAINING:
            yield from _hold(moment, group)
            yield from _with_plan(moment, group)
        case G.DRAINED:
            yield from _drained(moment, group)
        case G.WORK:
            yield from _work(moment, group)
        case G.RETURNING:
            yield from _give_back(moment, group)


def _with_plan(moment: Moment, group: Group) -> Iterator[Instruction]:
    """What follows from the state of its plan."""
    clear = all(not node.busy for node in group.live if node.there)
    if not moment.acts and clear:
        yield Go(group.pk, G.DRAINED, "its nodes are clear")
    elif moment.state == C.ENDING and group.plan in (*COMPUTED, *SAYS_YES):
        yield _ended(group)  # what could not be cancelled is somebody else's
    elif group.plan in COMPUTED:
        if group.state != G.ASKED:
            yield Go(group.pk, G.ASKED)
    elif group.plan in SAYS_YES:
        if group.state != G.APPROVAL:
            yield Go(group.pk, G.APPROVAL)
    elif group.plan in RUNS:
        if group.state != G.DRAINING:
            yield Go(group.pk, G.DRAINING)
            yield from _hold(moment, group)
    elif group.plan == NOTHING and group.reached:
        yield from [_ended(group)] if moment.state == C.ENDING else _without_a_move(moment, group, clear)
    elif group.plan == DONE and group.read_since:
        yield Go(group.pk, G.DRAINED)
    elif group.plan in NO and moment.limits.refused == Refused.SKIP:
        yield _leave(group, G.SKIPPED, f"its plan was {group.plan}: {group.plan_reason}")
    elif group.plan != DONE:
        shut = f"; its windows are {group.shut}" if group.shut else ""
        yield _ask_again(moment, group, f"plan {_word(group.plan)}: {group.plan_reason}{shut}")


def _without_a_move(moment: Moment, group: Group, clear: bool) -> Iterator[Instruction]:
    """Nothing has to move; taking nodes out of service is still somebody's decision."""
    if not clear:
        yield _ask_again(moment, group, f"pods came to {_busy(group)}")
    elif group.allowed:
        yield Go(group.pk, G.DRAINED)
    elif group.state != G.APPROVAL:
        yield Go(group.pk, G.APPROVAL, "nothing has to move: an approver takes its nodes out of service")


def _word(state: str) -> str:
    return "not possible" if state == NOTHING else state.replace("_", " ")


def _busy(group: Group) -> str:
    return ", ".join(node.name for node in group.live if node.there and node.busy)


def _ask_again(moment: Moment, group: Group, why: str) -> Go:
    if moment.state == C.ENDING:
        return _ended(group)
    if moment.acts and group.asks >= moment.limits.asks and not group.shut:
        return _leave(group, G.FAILED, f"asked {_times(group.asks)}; {why}")
    wait = AGAIN_AFTER if moment.acts else AGAIN_BY_HAND_AFTER
    return Go(group.pk, G.AGAIN, why, again_at=moment.now + wait)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _ended(group: Group) -> Go:
    return _leave(group, G.SKIPPED, "the campaign was ended")


def _leave(group: Group, outcome: G, reason: str) -> Go:
    """Give back what it holds, then it is over."""
    return Go(group.pk, G.RETURNING, reason, outcome=outcome)


def _again(moment: Moment, group: Group) -> Iterator[Instruction]:
    if moment.state == C.ENDING:
        yield _ended(group)
        return
    if group.plan in (*COMPUTED, *SAYS_YES, *RUNS):  # people have asked before it was time: never two plans at once
        yield from _with_plan(moment, group)
        return
    if not moment.acts and all(not node.busy for node in group.live if node.there):
        yield Go(group.pk, G.DRAINED, "its nodes are clear")
        return
    if moment.state != C.ACTIVE or moment.frozen or group.again_at is None or moment.now < group.again_at:
        return
    if moment.acts and group.shut:  # the next one could not run either, and would be one of those that failed
        return
    out, left = _left_out(group)
    yield from out
    yield Ask(group.pk, left) if left else _leave(group, G.SKIPPED, "no node of it is left to drain")


def _hold(moment: Moment, group: Group) -> Iterator[Take]:
    """Keep new work off the nodes, as whoever drains them would."""
    if moment.acts and not moment.frozen:
        yield from (Take(group.pk, node.name) for node in group.live if node.there and not node.cordoned)


def _drained(moment: Moment, group: Group) -> Iterator[Instruction]:
    here = [node for node in group.live if node.there]
    if moment.state == C.ENDING:
        yield _ended(group)
    elif any(node.busy for node in here):
        yield _ask_again(moment, group, f"pods came back to {_busy(group)}")
    elif all(node.cordoned for node in here):
        yield Go(group.pk, G.WORK)
    else:
        yield from _hold(moment, group)


def _work(moment: Moment, group: Group) -> Iterator[Instruction]:
    here = [node for node in group.live if node.there]
    if group.marked:
        yield _leave(group, G.BACK, "")
    elif all(node.renewed for node in here):
        yield _leave(group, G.BACK, "its nodes are as they are to be" if here else "its nodes have left the cluster")
    else:
        yield from _hold(moment, group)


def _give_back(moment: Moment, group: Group) -> Iterator[Instruction]:
    """Nodes that others had cordoned stay as they are."""
    here = [node for node in group.nodes if node.there and node.cordoned]
    kept = [node for node in here if (node.ours if moment.acts else not (node.left_out or node.was_cordoned))]
    if not kept:
        yield Go(group.pk, G(group.outcome))
    elif moment.acts and not moment.frozen:
        yield from (Take(group.pk, node.name, back=True) for node in kept)
