"""The scorecard of a pool: what its runs did, how far that is from what the policy asks for, and what came of it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from console.automation.choices import Standing, Turn
from console.automation.models import PoolRun, PoolTurn
from console.automation.selectors.pools import Pool
from console.plans.choices import State
from console.plans.models import EmptiedNode, Plan
from console.policies.choices import AUTOMATIC
from console.policies.selectors import Policy, Resolved, policy_for
from console.ui.figures import plural

MILLI = 1000


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over the runs that count.  None is not known; what is not known is counted apart and never as good."""

    runs: int
    by_policy: int
    whole: int  # approved by people, run whole, all of it known
    moves: int
    as_predicted: int
    late: int
    unknown: int
    failed: int
    not_run: int
    surprises: int
    halts: int
    refused: int
    refused_before: int  # approved plans that did not hold any more before they ran
    aborts: int
    expected_s: float | None
    took_s: float | None
    expected_gpu_s: float | None
    doubled_gpu_s: float | None
    promised: int  # of runs of which it is known what was kept
    kept: int
    promise_unknown: int  # runs
    followed: int  # nodes that were looked at for a day, or refilled before
    still_empty: int
    requests_asked: int | None  # of services of moved pods while these moved, in runs of which all are counted
    requests_lost: int | None
    requests_unknown: int  # runs of which some move's requests nobody counted

    @property
    def known(self) -> int:
        return self.moves - self.unknown

    @property
    def per_mille(self) -> int | None:
        return self.as_predicted * MILLI // self.known if self.known else None

    @property
    def took_each_s(self) -> float | None:
        """Of moves of which both are known, on average."""
        known = self.as_predicted + self.late
        return self.took_s / known if known and self.took_s is not None else None

    @property
    def expected_each_s(self) -> float | None:
        known = self.as_predicted + self.late
        return self.expected_s / known if known and self.expected_s is not None else None

    @property
    def doubled_gpu_hours(self) -> float | None:
        return None if self.doubled_gpu_s is None else self.doubled_gpu_s / 3600

    @property
    def expected_gpu_hours(self) -> float | None:
        return None if self.expected_gpu_s is None else self.expected_gpu_s / 3600

    @property
    def kept_per_cent(self) -> int | None:
        return self.kept * 100 // self.promised if self.promised else None


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that has to be so; ``have`` None: not known, which never holds."""

    name: str  # of the setting
    label: str
    have: int | None
    need: int
    words: str

    @property
    def holds(self) -> bool:
        return self.have is not None and self.have >= self.need


@dataclass(frozen=True, slots=True)
class Scorecard:
    pool: Pool
    level: Resolved  # what the policy allows in this pool
    standing: Standing
    since: datetime  # runs count from then on
    figures: Figures
    criteria: tuple[Criterion, ...]
    newest: PoolTurn | None  # the last turn
    most_moves: Resolved

    @property
    def allowed(self) -> bool:
        return self.level.value == AUTOMATIC

    @property
    def automatic(self) -> bool:
        """Allowed and earned."""
        return self.allowed and self.standing == Standing.EARNED

    @property
    def words(self) -> str:
        return sentence(self)


def cards_of(pools: Sequence[Pool], now: datetime | None = None) -> list[Scorecard]:
    """In the order of ``pools``; three queries and one for the policy of each."""
    at = now or timezone.now()
    if not pools:
        return []
    where = Q(source__in={pool.source_id for pool in pools}, cluster__in={pool.cluster for pool in pools})
    longest = at - timedelta(days=365)
    runs = _by_pool(PoolRun.objects.filter(where, ended_at__gt=longest))
    turns = _by_pool(PoolTurn.objects.filter(where).select_related("by", "plan"))
    return [_card(pool, runs.get(_key(pool), []), turns.get(_key(pool), []), at) for pool in pools]


def card_of(pool: Pool, now: datetime | None = None) -> Scorecard:
    return cards_of([pool], now)[0]


def _key(row: Any) -> tuple[int, str, str]:
    return row.source_id, row.cluster, row.gpu_model


def _by_pool[Row](rows: Iterable[Row]) -> dict[tuple[int, str, str], list[Row]]:
    found: dict[tuple[int, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault(_key(row), []).append(row)
    return found


def _card(pool: Pool, runs: list[PoolRun], turns: list[PoolTurn], now: datetime) -> Scorecard:
    """``turns`` newest first."""
    policy = policy_for(pool.cluster, [pool.gpu_model])
    newest = turns[0] if turns else None
    given = next((turn.at for turn in turns if turn.turn == Turn.GIVEN_BACK), None)
    days = now - timedelta(days=policy["automatic_days"].value or 0)
    since = days if given is None else max(days, given)
    figures = _figures(pool, [run for run in runs if run.ended_at > since], since, now)
    lost_at = max((turn.happened_at for turn in turns if turn.turn == Turn.LOST), default=None)
    criteria = _criteria(policy, figures, lost_at, now)
    standing = _standing(newest, criteria) if pool.gpu_model else Standing.EARNING
    return Scorecard(
        pool, policy["autonomy"], standing, since, figures, criteria, newest, policy["automatic_moves"]
    )  # fmt: skip


def _standing(newest: PoolTurn | None, criteria: tuple[Criterion, ...]) -> Standing:
    """After a loss nothing counts until somebody gives it back; what was earned stays while it meets what is asked."""
    if newest is not None and newest.turn == Turn.LOST:
        return Standing.LOST
    if all(one.holds for one in criteria):
        return Standing.EARNED
    if newest is not None and newest.turn == Turn.EARNED and _still(newest.figures, criteria):
        return Standing.EARNED
    return Standing.EARNING


def _still(reached: dict[str, Any], criteria: tuple[Criterion, ...]) -> bool:
    """What had been reached when it was earned is enough for what is asked today."""
    return all(isinstance(reached.get(one.name), int) and reached[one.name] >= one.need for one in criteria)


def _criteria(policy: Policy, figures: Figures, lost_at: datetime | None, now: datetime) -> tuple[Criterion, ...]:
    plans, predicted, kept, clean = (
        policy[name].value or 0
        for name in ("automatic_plans", "automatic_as_predicted", "automatic_emptied", "automatic_clean_days")
    )
    ago = 36_500 if lost_at is None else max(0, (now - lost_at).days)
    per_mille, per_cent = figures.per_mille, figures.kept_per_cent
    return (
        Criterion("automatic_plans", "Plans run whole", figures.whole, plans,
                  f"{figures.whole:,} of {plural(plans, 'plan')}" if figures.whole < plans
                  else f"{plural(figures.whole, 'plan')}, {plans:,} needed"),
        Criterion("automatic_as_predicted", "Moves as predicted", per_mille, predicted,
                  "no move with an expectation yet" if per_mille is None
                  else f"{per_mille:,} of 1,000 moves as predicted, {predicted:,} needed"),
        Criterion("automatic_emptied", "Promise kept", per_cent, kept,
                  "no promise was looked at yet" if per_cent is None
                  else f"{per_cent:,} % of what was promised, {kept:,} % needed"),
        Criterion("automatic_clean_days", "Without a failed check", ago, clean,
                  "no failed check" if lost_at is None
                  else f"last failed check {plural(ago, 'day')} ago, {plural(clean, 'day')} needed"),
    )  # fmt: skip


# --- sums ------------------------------------------------------------------------------------------------------------
_COUNTS = (
    "moves", "as_predicted", "late", "unknown", "failed", "not_run", "surprises", "halts", "refused", "aborts",
)  # fmt: skip
_AMOUNTS = ("expected_s", "took_s", "expected_gpu_s", "doubled_gpu_s", "requests_asked", "requests_lost")


def _figures(pool: Pool, runs: list[PoolRun], since: datetime, now: datetime) -> Figures:
    looked = [run for run in runs if run.promised is not None and run.kept is not None]
    followed, still = _followed(runs, now)
    sums: dict[str, Any] = {name: sum(getattr(run, name) for run in runs) for name in _COUNTS}
    sums |= {name: _sum([getattr(run, name) for run in runs]) for name in _AMOUNTS}
    return Figures(
        runs=len(runs),
        by_policy=sum(run.by_policy for run in runs),
        whole=sum(run.whole and not run.by_policy for run in runs),
        refused_before=_refused_before(pool, since),
        promised=sum(run.promised or 0 for run in looked),
        kept=sum(min(run.kept or 0, run.promised or 0) for run in looked),
        promise_unknown=len(runs) - len(looked),
        requests_unknown=sum(run.requests_lost is None for run in runs),
        followed=followed,
        still_empty=still,
        **sums,
    )


def _sum(values: list[float | None]) -> float | None:
    """Of the runs that know it; a run that knows neither side of a pair knows none of it."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _followed(runs: list[PoolRun], now: datetime) -> tuple[int, int]:
    """(nodes of which it is known whether they were empty after a day, those that were)."""
    mine = {(run.plan_id, node) for run in runs for node in run.nodes}
    if not mine:
        return 0, 0
    rows = EmptiedNode.objects.filter(plan__in={run.plan_id for run in runs}, gone_at__isnull=True)
    told = Q(refilled_at__isnull=False) | Q(plan__followed_until__lte=now)
    found = [row for row in rows.filter(told) if (row.plan_id, row.node) in mine]
    return len(found), sum(row.refilled_at is None for row in found)


def _refused_before(pool: Pool, since: datetime) -> int:
    rows = Plan.objects.filter(
        source_id=pool.source_id, cluster=pool.cluster, state=State.STALE, approved_at__isnull=False,
        started_at__isnull=True, ended_at__gt=since,
    )  # fmt: skip
    return sum(pool.gpu_model in headline.get("models", []) for headline in rows.values_list("headline", flat=True))


# --- words -----------------------------------------------------------------------------------------------------------
def sentence(card: Scorecard) -> str:
    """How the pool stands, in one sentence."""
    if not card.allowed:
        return "automatic is not allowed here"
    return allowed_sentence(card)


def allowed_sentence(card: Scorecard) -> str:
    """How it stands where automatic is allowed, here or for a tenant."""
    until = card.level.setting.words[AUTOMATIC - 1]
    if card.standing == Standing.EARNED:
        return "automatic is allowed and earned"
    if card.standing == Standing.LOST and card.newest is not None:
        by = "" if card.newest.plan_id is None else f" by plan {card.newest.plan_id}"
        return (
            f"automatic is allowed and was lost on {card.newest.happened_at:%F %R} UTC{by}: {card.newest.reason}; "
            f"until an approver gives it back: {until}"
        )
    missing = "; ".join(one.words for one in card.criteria if not one.holds)
    return f"automatic is allowed; earned {missing or 'nothing yet'}; until then: {until}"


def reached(criteria: Iterable[Criterion]) -> dict[str, int | None]:
    """What is kept with a turn."""
    return {one.name: one.have for one in criteria}


def told(card: Scorecard) -> dict[str, Any]:
    """JSON for the audit log."""
    names = ("source", "cluster", "gpu_model")
    return {
        "pool": {name: asdict(card.pool)[name] for name in names},
        "since": card.since.isoformat(),
        "figures": asdict(card.figures),
        "criteria": {one.name: {"have": one.have, "need": one.need} for one in card.criteria},
    }
