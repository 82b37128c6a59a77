"""What stopping a run means for each of its moves: said before the button is pressed, and after it what came of it."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.plans.choices import State, StepState
from console.plans.models import Plan, Step, Stop
from console.tenancy.services import require
from console.ui.figures import plural

_PAUSED = ("Its locks stay until they run out. Next step: resume it, which checks what is left on a new reading, or "
           "abort it.")  # fmt: skip
NAMED = 12  # nodes and moves that the words name one by one; the API names all
_FIELDS = ("index", "run_wave", "chain", "drains", "pod", "source_node", "target_node", "mode", "state", "detail",
           "issued_at", "ended_at")  # fmt: skip


@dataclass(frozen=True, slots=True)
class FlightRow:
    """A move that is in flight, or was when the run was stopped."""

    number: int  # from 1
    pod: str
    source: str
    target: str
    mode: str
    state: str
    detail: str
    since: datetime | None
    ended_at: datetime | None
    words: str  # what becomes of it, or what became

    @property
    def took_s(self) -> float | None:
        return None if self.since is None or self.ended_at is None else (self.ended_at - self.since).total_seconds()


@dataclass(frozen=True, slots=True)
class ChainState:
    """What a chain has done of its work if nothing new begins; its moves in flight are counted as ending well."""

    number: int  # from 1
    node: str  # that it empties
    done: int
    in_flight: int
    open: int  # not begun, failed, or not run

    @property
    def words(self) -> str:
        return f"{self.node} ({self.done + self.in_flight} of {self.done + self.in_flight + self.open})"


@dataclass(frozen=True, slots=True)
class Stopping:
    """How things stand if the run is stopped now; of an ended run, how they were left."""

    waiting: int
    in_flight: list[FlightRow]
    whole: int  # chains with all of their moves done or in flight
    half: list[ChainState]  # with some of them
    untouched: int  # with none
    returnable: int  # moves that a rollback could take back
    left: list[str]  # plain sentences about the chains
    pause: list[str]
    abort: list[str]


def stopping(viewer: Any, plan: Plan) -> Stopping:
    """One query, whatever the size of the plan."""
    require(viewer, "plans.view_plan")
    steps = list(Step.objects.filter(plan=plan).only(*_FIELDS).order_by("index"))
    states = Counter(step.state for step in steps)
    flight = [_flight(step) for step in steps if step.state == StepState.ISSUED]
    chains = _chains(steps)
    half = [chain for chain in chains if chain.open and chain.done + chain.in_flight]
    whole = sum(chain.open == 0 for chain in chains)
    returnable = states[StepState.SUCCEEDED] + states[StepState.ISSUED]
    untouched = len(chains) - whole - len(half)
    left = _left(plan, whole, half, untouched, len(flight))
    waiting = states[StepState.WAITING]
    return Stopping(
        waiting, flight, whole, half, untouched, returnable, left,
        pause=[*_now(waiting, flight, "waits", "wait"), _PAUSED],
        abort=[*_now(waiting, flight, "is never run", "are never run"), *left, _afterwards(returnable)],
    )  # fmt: skip


def _chains(steps: list[Step]) -> list[ChainState]:
    found: dict[int, Counter[str]] = {}
    node: dict[int, str] = {}
    for step in steps:
        found.setdefault(step.chain, Counter())[step.state] += 1
        node[step.chain] = step.drains
    return [
        ChainState(
            chain + 1, node[chain], states[StepState.SUCCEEDED], states[StepState.ISSUED],
            states[StepState.WAITING] + states[StepState.FAILED] + states[StepState.DROPPED],
        )
        for chain, states in sorted(found.items())
    ]  # fmt: skip


def _now(waiting: int, flight: list[FlightRow], one: str, many: str) -> list[str]:
    """What becomes of moves that have not begun and of those that have; ``one`` and ``many`` say it of the former."""
    have, fate = ("has", one) if waiting == 1 else ("have", many)
    first = f"{plural(waiting, 'move')} that {have} not begun {fate}." if waiting else "No move is waiting."
    if not flight:
        return [first, "Nothing is in flight."]
    ends = "runs to its end" if len(flight) == 1 else "run to their end"
    return [first, f"{plural(len(flight), 'move')} in flight {ends}: a copy half made helps nobody."]


def _left(plan: Plan, whole: int, half: list[ChainState], untouched: int, in_flight: int) -> list[str]:
    """How the nodes are left, counting moves in flight as ending well."""
    back = plan.undoes_id is not None
    when = "Once those in flight have ended well: " if in_flight else ""
    done = "got all their pods back" if back else "are empty"
    words = [f"{when}{plural(whole, 'node')} {done}, {untouched:,} not begun."]
    if half:
        names = ", ".join(chain.words for chain in half[:NAMED])
        more = f" and {len(half) - NAMED:,} more" if len(half) > NAMED else ""
        what = "filled again in part" if back else "drained in part"
        words.append(f"{plural(len(half), 'node')} {what} (moves done of all): {names}{more}.")
    return words


def _afterwards(returnable: int) -> str:
    if returnable == 0:
        return "Abort is final. Next step: a new plan."
    return f"Abort is final. Next step: a new plan, or roll back {plural(returnable, 'move')} by a plan of its own."


def _flight(step: Step) -> FlightRow:
    return FlightRow(
        number=step.index + 1,
        pod=step.pod,
        source=step.source_node,
        target=step.target_node,
        mode=step.mode,
        state=step.state,
        detail=step.detail,
        since=step.issued_at,
        ended_at=step.ended_at,
        words=_fate(step),
    )


def _fate(step: Step) -> str:
    match step.state:
        case StepState.SUCCEEDED:
            return f"ended well: it runs on {step.target_node}"
        case StepState.FAILED:
            return f"failed, so it is where it was: {step.detail}" if step.detail else "failed, so it is where it was"
    if step.mode == "restart":
        return f"is stopped on {step.source_node} until it runs on {step.target_node}"
    return f"stands on {step.source_node} and {step.target_node} until its copy is up, then the old one ends"


@dataclass(frozen=True, slots=True)
class StopRow:
    """One time that the run was stopped, and what became of what was in flight."""

    state: str
    actor: str
    reason: str
    at: datetime
    waiting: int
    in_flight: list[FlightRow]

    @property
    def title(self) -> str:
        return State(self.state).label

    @property
    def words(self) -> str:
        flight, ended = len(self.in_flight), sum(row.ended_at is not None for row in self.in_flight)
        begun = f"{plural(self.waiting, 'move')} not begun"
        if flight == 0:
            return f"{begun}, nothing in flight"
        well = sum(row.state == StepState.SUCCEEDED for row in self.in_flight)
        open_words = f", {flight - ended:,} still in flight" if ended < flight else ""
        return f"{begun}, {flight:,} in flight: {well:,} ended well, {ended - well:,} failed{open_words}"


def stops(viewer: Any, plan: Plan) -> list[StopRow]:
    """Oldest first; two queries."""
    require(viewer, "plans.view_plan")
    rows = list(Stop.objects.filter(plan=plan).order_by("pk"))
    wanted = {index for row in rows for index in row.in_flight}
    steps = Step.objects.filter(plan=plan, index__in=sorted(wanted)[:500]).only(*_FIELDS) if wanted else []
    flight = {step.index: _flight(step) for step in steps}
    return [
        StopRow(
            row.state, row.actor, row.reason, row.at, row.waiting, [flight[i] for i in row.in_flight if i in flight]
        )
        for row in rows
    ]
