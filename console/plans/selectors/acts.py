"""Who brought a plan into its state, when and in which words."""

from dataclasses import dataclass
from datetime import datetime

from console.audit.selectors import last_of
from console.plans.choices import State
from console.plans.models import Plan
from console.ui.figures import clock

_SAID_OF = {  # in the words of the page
    State.APPROVED: "approved",
    State.EXECUTING: "resumed",
    State.PAUSED: "paused",
    State.HALTED: "halted",
    State.REJECTED: "rejected",
    State.CANCELLED: "cancelled",
    State.ABORTED: "aborted",
}
HELD = "plan.held"  # paused as well: it waited for its window and no longer goes on by itself


@dataclass(frozen=True, slots=True)
class Act:
    """The last step of a plan's life.  ``actor`` is "" where no person took it; ``reason`` as it was typed."""

    verb: str
    actor: str
    at: datetime
    reason: str

    @property
    def words(self) -> str:
        """As decisions are told: who, what, when and why; what the console did is told by its reason alone."""
        if not self.actor:
            return f"{self.verb.capitalize()} {clock(self.at)}{self._because}."
        return f"{self.actor} {self.verb} {clock(self.at)}{self._because}"

    @property
    def _because(self) -> str:
        if not self.reason:
            return ""
        return f": “{self.reason}”" if self.actor else f": {self.reason.rstrip('.')}"


def because(plan: Plan) -> str:
    """Why it is in its state, in brackets behind the word for it; "" where nothing was said."""
    act = last_act(plan)
    told = act.words if act is not None and act.actor else plan.reason
    return f" ({told.rstrip('.')})" if told else ""


def last_act(plan: Plan) -> Act | None:
    """What brought it into its present state; None for a state that has no such act."""
    state = State(plan.state)
    if state not in _SAID_OF:
        return None
    actions = [f"plan.{state.value}", *([HELD] if state == State.PAUSED else [])]
    entry = last_of("plan", plan.pk, actions)
    if entry is None:
        return None
    verb = "held" if entry.action == HELD else "started" if "moves" in entry.detail else _SAID_OF[state]
    return Act(verb, entry.actor if entry.actor_uid is not None else "", entry.at, entry.reason)
