"""Which policy holds for a plan: how many people must approve it, and how fast it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.plans.choices import Verdict
from console.plans.models import Decision, Plan
from console.plans.selectors.lists import WaveRow
from console.plans.selectors.passing import glass_of
from console.policies.choices import SETTINGS
from console.policies.selectors import Policy, Resolved, policy_for
from console.ui.figures import number

# What can end a wave (scheduler.plan.pace.WORDS) and the setting that says how much is too much.
SETTING_OF = {
    "first": "first_wave_per_cent",
    "wave": "moves_per_wave",
    "node": "moves_per_node",
    "asw": "moves_per_asw",
    "owner": "moves_per_owner",
    "tenant": "moves_per_tenant",
    "store": "store_gib_per_wave",
    "switch": "switch_gib_per_wave",
}
SHOWN_WAVES = 12


@dataclass(frozen=True, slots=True)
class Approvals:
    """Of one digest: who has said yes, how many must, and why so many."""

    needed: int
    given: tuple[Decision, ...]
    why: str

    @property
    def words(self) -> str:
        return f"{len(self.given)} of {self.needed} approvals"

    @property
    def missing(self) -> int:
        return max(0, self.needed - len(self.given))


def rules_of(plan: Plan) -> Policy:
    """What counts for all that the plan touches; where it says several things, the most careful of them."""
    return rules_for(plan.cluster, plan.headline, plan.impact)


def rules_for(cluster: str, headline: dict[str, Any], impact: list[dict[str, Any]]) -> Policy:
    """The same for an answer that is not stored yet."""
    return policy_for(cluster, headline.get("models", []), [row["tenant"] for row in impact])


def approvals_of(plan: Plan, policy: Policy | None = None) -> Approvals:
    """As the policy says now, but never fewer than when the plan was proposed: lifting a limit helps later plans."""
    rules = rules_of(plan) if policy is None else policy
    needed, why = needed_for(plan.headline, rules)
    if plan.approvals_needed > needed:
        needed, why = plan.approvals_needed, "the policy asked for them when it was proposed"
    if needed > 1 and glass_of(plan) is not None:
        needed, why = 1, ""
    given = tuple(one for one in plan.decisions.all() if one.verdict == Verdict.APPROVED and one.digest == plan.digest)
    return Approvals(needed, given, why)


def level_of(plan: Plan, policy: Policy | None = None) -> Resolved:
    """How much may happen without a person: the most careful level of all that the plan touches."""
    return (rules_of(plan) if policy is None else policy)["autonomy"]


def needed_for(headline: dict[str, Any], policy: Policy) -> tuple[int, str]:
    """(how many people must approve, why more than one)."""
    moves = policy["two_approvers_above_moves"]
    gpus = policy["two_approvers_above_gpus"]
    moved = -(-headline.get("moved_milli", 0) // 1000)
    if _above(headline.get("moves", 0), moves):
        return 2, f"{number(headline['moves'])} moves, more than {moves.words} ({moves.origin})"
    if _above(moved, gpus):
        return 2, f"{number(moved)} GPUs moved, more than {gpus.words} ({gpus.origin})"
    return 1, ""


def _above(amount: int, limit: Resolved) -> bool:
    return limit.value is not None and amount > limit.value


# --- pace ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class LimitRow:
    """One limit of the pace that is in force, and where it was decided."""

    label: str
    words: str
    origin: str


@dataclass(frozen=True, slots=True)
class PaceRow:
    """One wave as it is run: how large it is, and what kept more moves out of it."""

    number: int  # from 1
    moves: int
    binds: list[str]


@dataclass(frozen=True, slots=True)
class Pace:
    limits: list[LimitRow]
    rows: list[PaceRow]  # the first of them
    hidden: int
    largest: int  # moves of the largest wave shown

    @property
    def held(self) -> list[PaceRow]:
        """Of those shown, the waves that a limit has kept smaller."""
        return [row for row in self.rows if row.binds]


def pace_of(plan: Plan, waves: Sequence[WaveRow]) -> Pace | None:
    """None of plans from before there was a policy."""
    said = plan.pace
    if not said:
        return None
    binds = said["binds"]
    shown = list(waves)[:SHOWN_WAVES]
    rows = [PaceRow(one.number, one.moves, [_bind(bind) for bind in binds[one.number - 1]]) for one in shown]
    limits = [
        LimitRow(SETTINGS[name].label, SETTINGS[name].said(one["value"]), one["origin"])
        for word, name in SETTING_OF.items()
        if (one := said["limits"].get(word)) and one["value"] is not None  # plans outlive the list of limits
    ]
    limits += [
        LimitRow(f"Tenant {tenant}", SETTINGS["moves_per_tenant"].said(most), f"tenant {tenant}")
        for tenant, most in sorted(said["tenants"].items())
    ]
    return Pace(limits, rows, len(waves) - len(shown), max((row.moves for row in rows), default=0))


def _bind(bind: dict[str, str]) -> str:
    """What ended the wave, in words."""
    word, name = bind["limit"], bind["object"]
    label = SETTINGS[SETTING_OF[word]].label.lower()
    return f"{label}: {name}" if name else label
