"""May the policy start this plan by itself?  If not: why, and whether it waits or is left to people."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from console.automation.choices import Standing
from console.automation.selectors.pools import node_models, pools_of, touched_models
from console.automation.selectors.scorecards import Scorecard, allowed_sentence, cards_of
from console.plans import selectors as plans
from console.plans.choices import State
from console.plans.models import NodeLock, Plan, Step
from console.policies.choices import AUTOMATIC, AUTOMATION, Merge
from console.policies.models import Setting
from console.policies.selectors import Resolved, policy_for, resolved_from, rows_of
from console.ui.figures import number, plural

LEFT, WAITS = "left to people", "waits"
NEEDED = ("policies.set_policy", "plans.approve_plan", "plans.run_plan")  # of the person whose word it is
BAR = tuple(one.name for one in AUTOMATION if one.name != "automatic_days")  # how much a pool must show, and how large
PASSING = frozenset({"fresh", "freeze", "window", "rested", "held"})  # checks that may hold again by themselves


@dataclass(frozen=True, slots=True)
class Allowance:
    """Who allowed the level for all that a plan touches.  ``without`` leaves out what its proposer allowed."""

    level: Resolved
    without: Resolved
    rows: tuple[Setting, ...]  # that say automatic, by somebody else who may

    @property
    def by(self) -> Any:
        """The person whose word starts the plan: of the decision that counts, the most careful there is."""
        said = self.without.said
        return next((row.by for row in self.rows if said is not None and row.place == said.place), None)

    @property
    def words(self) -> str:
        return ", ".join(f"version {row.version} of {row.place.words}" for row in self.rows)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``words`` say why not; "" if the policy may start the plan."""

    words: str
    allowance: Allowance
    cards: tuple[Scorecard, ...] = field(default=())


def allowance_of(cluster: str, pools: Iterable[str], tenants: Iterable[str], owner: Any) -> Allowance:
    """What is decided of the level there; nobody allows it for plans that they ask for themselves."""
    models, names = list(pools), list(tenants)
    rows = rows_of("autonomy", cluster, models, names)
    trusted = [row for row in rows if row.value != AUTOMATIC or _may_allow(row, owner)]
    return Allowance(
        level=resolved_from("autonomy", rows, models, names),
        without=resolved_from("autonomy", trusted, models, names),
        rows=tuple(row for row in trusted if row.value == AUTOMATIC),
    )


def _may_allow(row: Setting, owner: Any) -> bool:
    return bool(row.by_id != owner.pk and row.by.is_active and all(row.by.has_perm(name) for name in NEEDED))


def verdict(plan: Plan) -> Verdict:
    """Of a plan that a routine opened and that awaits its approval.  Asks everything but the judge."""
    tenants = [row["tenant"] for row in plan.impact]
    models = touched_models(plan, node_models(plan))
    allowed = allowance_of(plan.cluster, models, tenants, plan.proposer)
    words = _not_allowed(allowed, plan)
    if words:
        return Verdict(f"{LEFT}: {words}", allowed)
    cards = tuple(cards_of(pools_of(plan, models)))
    words = _not_earned(cards) or _too_large(plan, cards) or _lowered(plan, cards) or _in_hands(plan)
    if words:
        return Verdict(f"{LEFT}: {words}", allowed, cards)
    return Verdict(_not_now(plan, allowed), allowed, cards)


def _not_allowed(allowed: Allowance, plan: Plan) -> str:
    if allowed.level.value != AUTOMATIC:
        return f"the level is {allowed.level.words} ({allowed.level.origin})"
    if allowed.without.value != AUTOMATIC or allowed.by is None:
        return (
            f"automatic was allowed by {plan.proposer.get_username()}, who asks for this plan, or by somebody who may "
            "not any more: another approver has to allow it"
        )
    return ""


def _not_earned(cards: tuple[Scorecard, ...]) -> str:
    """The first pool that has not earned it."""
    if not cards:
        return "no pool of it is known"
    for card in cards:
        if not card.pool.gpu_model:
            return "it touches nodes of no known GPU model, which can earn nothing"
        if card.standing != Standing.EARNED:
            return f"{card.pool.words}: {allowed_sentence(card)}"
    return ""


def _too_large(plan: Plan, cards: tuple[Scorecard, ...]) -> str:
    moves = int(plan.headline.get("moves", 0))
    tightest = min((card.most_moves for card in cards), key=lambda one: one.value or 0)
    if moves > (tightest.value or 0):
        return f"{plural(moves, 'move')}, more than {number(tightest.value)} ({tightest.origin})"
    needed, why = plans.needed_for(plan.headline, plans.rules_of(plan))
    if max(needed, plan.approvals_needed) > 1:
        return f"two people must approve it: {why or 'the policy asked for them when it was proposed'}"
    return ""


def _lowered(plan: Plan, cards: tuple[Scorecard, ...]) -> str:
    """Nobody makes it easier for the plans that they ask for themselves."""
    for model in (card.pool.gpu_model for card in cards):
        policy = policy_for(plan.cluster, [model])
        for counts in (policy[name] for name in BAR):
            if _eased(counts) and _set_by(plan.proposer, counts, plan.cluster, model):
                label = counts.setting.label.lower()
                return f"{plan.proposer.get_username()}, who asks for this plan, set “{label}” to {counts.words}"
    return ""


def _eased(counts: Resolved) -> bool:
    """Less careful than what is built in."""
    value, usual = counts.value or 0, counts.setting.default or 0
    return value < usual if counts.setting.merge == Merge.MOST else value > usual


def _set_by(user: Any, counts: Resolved, cluster: str, model: str) -> bool:
    place = None if counts.said is None else counts.said.place
    rows = rows_of(counts.setting.name, cluster, [model], [])
    return any(row.place == place and row.by_id == user.pk for row in rows)


def _in_hands(plan: Plan) -> str:
    """Somebody has taken it up already, however long ago."""
    glass = plan.overrides.select_related("user").first()
    if glass is not None:
        return f"{glass.user.get_username()} broke the glass for it"
    decision = plan.decisions.first()
    return f"{decision.user.get_username()} has {decision.verdict} it" if decision is not None else ""


def _not_now(plan: Plan, allowed: Allowance) -> str:
    """The checks of every approval and start, asked as of the person who allowed it."""
    if plan.state != State.PROPOSED:
        return f"{LEFT}: it is {plan.get_state_display().lower()}"
    gate = plans.gate_of(plan)
    if not gate.open:
        return f"{WAITS}: closed: {gate.why}; {gate.words}"
    for check in plans.approval_checks(allowed.by, plan):
        if not check.holds:
            word = WAITS if check.code in PASSING else LEFT
            return f"{word}: {check.reason.rstrip('.')}"
    lock = _lock(plan)
    return "" if lock is None else f"{WAITS}: node {lock.node} is locked by plan {lock.plan_id}"


def _lock(plan: Plan) -> NodeLock | None:
    rows = NodeLock.objects.filter(
        source_id=plan.source_id, cluster=plan.cluster, expires_at__gt=timezone.now()
    ).exclude(plan=plan)
    if not rows.exists():
        return None
    pairs = Step.objects.filter(plan=plan).values_list("source_node", "target_node")
    nodes = {node for pair in pairs for node in pair}
    return next((row for row in rows.order_by("node") if row.node in nodes), None)
