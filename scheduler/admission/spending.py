"""Budgets: what a tenant with its teams may spend in a period, and what of it is spent.  Nothing here knows a clock.

A budget that is spent stops everything that would be charged to it, HP and LP alike; what runs is left alone.
Amounts are thousandths of the unit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scheduler.admission.reasons import SPENT, Reason
from scheduler.admission.tree import Tree

GPU_HOURS, USD = "gpu_hours", "usd"
WHOLE = 1000

Place = tuple[str, str, bool]  # cluster, GPU model, whether LP


@dataclass(frozen=True, slots=True)
class Budget:
    """One limit of a tenant with its teams.

    ``over_s``: the earliest instant on the snapshot's clock at which it is not spent any more though nobody raises it:
    its period ends, or enough leaves a rolling window; None: nobody knows.
    """

    tenant: str
    unit: str  # GPU_HOURS or USD
    period: str  # in words, such as "this month"
    limit_milli: int
    spent_milli: int
    over_s: int | None = None
    until: str = ""  # that instant in words
    raised_by: str = ""  # who may raise it, in words
    prices: Mapping[Place, int] = field(default_factory=dict)  # of USD: thousandths for an hour of a GPU

    @property
    def spent(self) -> bool:
        return self.spent_milli >= self.limit_milli

    def hour_milli(self, place: Place, gpu_milli: int) -> int | None:
        """What an hour of so much costs there; None: nobody says a price."""
        rate = WHOLE if self.unit == GPU_HOURS else self.prices.get(place)
        return None if rate is None else rate * gpu_milli // WHOLE


@dataclass(frozen=True, slots=True)
class Spending:
    """A spent budget in a job's way.  ``missing_milli``: what is overspent and one hour of the job.

    ``hour_milli`` None: nobody says what an hour costs, which is then left out of ``missing_milli``.
    """

    budget: Budget
    missing_milli: int
    hour_milli: int | None


def budgets_of(rows: Iterable[Budget]) -> dict[str, tuple[Budget, ...]]:
    """By tenant, in one order."""
    found: dict[str, list[Budget]] = {}
    for row in sorted(rows, key=lambda one: (one.tenant, one.period, one.unit)):
        found.setdefault(row.tenant, []).append(row)
    return {name: tuple(mine) for name, mine in found.items()}


def spent_of(
    tree: Tree, budgets: Mapping[str, tuple[Budget, ...]], tenant: str | None, place: Place, gpu_milli: int
) -> tuple[Spending, ...]:
    """The spent budgets of the tenant and of those above it, the closest first; what asks for no GPU has none."""
    if tenant is None or not gpu_milli:
        return ()
    line = [account.name for account in tree.line(tenant)] or [tenant]
    found = []
    for budget in (one for name in line for one in budgets.get(name, ()) if one.spent):
        hour = budget.hour_milli(place, gpu_milli)
        found.append(Spending(budget, max(1, budget.spent_milli - budget.limit_milli + (hour or 0)), hour))
    return tuple(found)


def over_s(spent: Sequence[Spending]) -> int | None:
    """When none of them is spent any more; None: nobody knows."""
    ends = [one.budget.over_s for one in spent]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def spent_reason(tenant: str, spent: Sequence[Spending]) -> Reason:
    """Of the closest one; the others are counted."""
    one, more = spent[0], len(spent) - 1
    budget = one.budget
    whose = "its budget" if budget.tenant == tenant else f"the budget of {budget.tenant}, to which it belongs,"
    until = f" until {budget.until}" if budget.until else ""
    sentence = (
        f"{tenant} may start nothing more{until}: {whose} of {amount(budget.limit_milli, budget.unit)} {budget.period}"
        f" is spent, {amount(budget.spent_milli, budget.unit)} in all."
    )
    sentence += f" {budget.raised_by} may raise it." if budget.raised_by else ""
    sentence += f" {more} more of its line {'is' if more == 1 else 'are'} spent, too." if more else ""
    return Reason(SPENT, sentence, {
        "tenant": tenant, "at": budget.tenant, "unit": budget.unit, "period": budget.period,
        f"spent_milli_{budget.unit}": budget.spent_milli, f"limit_milli_{budget.unit}": budget.limit_milli,
        f"missing_milli_{budget.unit}": one.missing_milli, "over_s": over_s(spent), "until": budget.until or None,
        "raised_by": budget.raised_by or None, "spent_budgets": len(spent),
    })  # fmt: skip


def amount(milli: int, unit: str) -> str:
    """As people read it: "40,120 GPU-hours", "1,250.50 USD"."""
    if unit == USD:
        return f"{milli / WHOLE:,.2f} USD"
    return f"{milli / WHOLE:,.1f}".removesuffix(".0") + " GPU-hours"
