"""What helps a job whose tenant has spent its budget: a larger one, or waiting until it is free again."""

from collections.abc import Iterator

from scheduler.admission.planner import Explained, Explanation
from scheduler.admission.reasons import SPENT
from scheduler.admission.spending import USD, WHOLE, amount, over_s
from scheduler.advice.remedy import BUDGET_MORE, FOUND, NONE, UNSTATED, WAIT, Remedy


def without(row: Explanation, word: str) -> list[str]:
    """What else is in its way."""
    return [one for one in (row.reason.word, *(other.word for other in row.others)) if one != word]


def budget_remedies(found: Explained, row: Explanation) -> Iterator[Remedy]:
    """Raise every spent budget of its line, or wait until none of them is spent any more."""
    spent = found.book.spent(row.job.tenant, row.job.charged_at(found.snapshot), row.job.gpu_milli)
    if not spent:
        return
    rest = without(row, SPENT)
    outcome = FOUND if not rest else NONE
    then = "it would start" if not rest else f"it would still wait: {rest[0].replace('_', ' ')}"
    each = [
        f"that of {one.budget.tenant} ({one.budget.period}) by {amount(one.missing_milli, one.budget.unit)}"
        + ("" if one.hour_milli is not None else ", and what it costs, of which nobody says the price")
        for one in spent
    ]
    who = next((f" {one.budget.raised_by} may do so." for one in spent if one.budget.raised_by), "")
    first = spent[0]
    yield Remedy(
        BUDGET_MORE, outcome, first.missing_milli / WHOLE, "USD" if first.budget.unit == USD else "GPU-hours",
        f"Raise the budget: {'; '.join(each)}, which pays for its first hour, and {then}.{who}",
        {
            "at": first.budget.tenant, "period": first.budget.period, "spent_budgets": len(spent),
            f"missing_milli_{first.budget.unit}": first.missing_milli,
            f"hour_milli_{first.budget.unit}": first.hour_milli,
        },
    )  # fmt: skip
    end = over_s(spent)
    if end is None:
        detail = "Nobody knows when the budget is free again."
        yield Remedy(WAIT, UNSTATED, None, "seconds", detail, {"for": "budget"})
        return
    until = max((one.budget for one in spent), key=lambda budget: budget.over_s or 0).until
    detail = f"Its budget is free again {until or f'in {end - found.now_s} s'} at the earliest; then {then}."
    yield Remedy(WAIT, outcome, max(0, end - found.now_s), "seconds", detail, {"start_s": end, "for": "budget"})
