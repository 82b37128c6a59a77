"""On-call on the pages of other rooms."""

from collections.abc import Mapping
from typing import Any

from django import template

from console.oncall import pages, selectors

register = template.Library()


@register.inclusion_tag("oncall/on_plan.html", takes_context=True)
def oncall_of(context: Mapping[str, Any], plan: Any) -> dict[str, Any]:
    """Who is on call for a plan, and what was done about its alerts; nothing where there is neither."""
    user = context["request"].user
    if not user.has_perm("oncall.view_rota"):
        return {"on_call": None, "histories": []}
    alert = selectors.open_alert_of(user, plan.pk)
    return {**pages.alert_part(user, plan, alert), "plan": plan, "csrf_token": context.get("csrf_token")}


@register.inclusion_tag("oncall/on_campaign.html", takes_context=True)
def oncall_of_campaign(context: Mapping[str, Any], row: Any) -> dict[str, Any]:
    """Who is on call where a campaign goes on, and what was done about its alerts."""
    user = context["request"].user
    if not user.has_perm("oncall.view_rota"):
        return {"on_call": None, "alerts": []}
    return {**pages.campaign_part(user, row), "csrf_token": context.get("csrf_token")}


@register.inclusion_tag("oncall/names.html", takes_context=True)
def oncall_names(context: Mapping[str, Any]) -> dict[str, Any]:
    """Who is on call now, place by place, in one line."""
    user = context["request"].user
    return {"found": selectors.words_now(user) if user.has_perm("oncall.view_rota") else []}
