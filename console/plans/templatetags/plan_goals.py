"""What a plan is for, on its page and in lists."""

from typing import Any

from django import template

from console.plans.selectors.goals import CHAINS, GoalWords, goal_words, short_words
from console.plans.templatetags.plan_figures import short_words as short_words_of

register = template.Library()


@register.filter(name="goal_words")
def goal_words_of(headline: dict[str, Any]) -> GoalWords | None:
    return goal_words(headline.get("goal"), headline.get("moves", 0))


@register.filter
def goal_short(goal: dict[str, Any]) -> str:
    return short_words(goal)


@register.filter
def chain_verb(goal: dict[str, Any]) -> str:
    """What a chain of the plan does to its node."""
    return CHAINS[goal["kind"]]


@register.filter
def missing_words(row: dict[str, Any]) -> str:
    """What the nearest node is short of; "" where the reason has no amount."""
    return "" if row["missing"] is None else short_words_of({**row, "gpu_milli": 0})
