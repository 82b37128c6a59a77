"""Filters of the lists, the same for pages, CSV and API; all of their state is in the URL."""

from typing import Any, ClassVar

import django_filters as filters
from django import forms
from django.db.models import Q, QuerySet

from console.plans.choices import State, StepState
from console.plans.models import KeptNode, NodeLock, Plan, Step


class PlanFilter(filters.FilterSet):
    """Plans by state, cluster, proposer and words of the title."""

    state = filters.MultipleChoiceFilter(choices=State.choices)
    cluster = filters.CharFilter()
    proposer = filters.CharFilter(field_name="proposer__username")
    q = filters.CharFilter(method="words", label="Words")

    class Meta:
        model = Plan
        fields: ClassVar = ["state", "cluster", "proposer", "q"]

    def words(self, rows: QuerySet[Plan], name: str, value: str) -> QuerySet[Plan]:
        found = Q(title__icontains=value) | Q(cluster__icontains=value)
        is_row = value.isascii() and value.isdigit() and len(value) <= 18
        return rows.filter(found | Q(pk=int(value)) if is_row else found)


class MoveFilter(filters.FilterSet):
    """Moves by wave (from 1, as run), tenant, state, how, node, pod, and whether they still hold."""

    wave = filters.NumberFilter(method="by_wave", label="Wave", min_value=1)
    tenant = filters.CharFilter(method="by_tenant", label="Tenant")
    state = filters.ChoiceFilter(choices=StepState.choices)
    mode = filters.ChoiceFilter(choices=[("copy", "copy"), ("restart", "stops first")])
    node = filters.CharFilter(method="by_node", label="Node")
    pod = filters.CharFilter(lookup_expr="icontains")
    stale = filters.BooleanFilter(method="by_stale", label="Changed only", widget=forms.CheckboxInput)

    class Meta:
        model = Step
        fields: ClassVar = ["wave", "tenant", "state", "mode", "node", "pod", "stale"]

    def __init__(self, *args: Any, stale_moves: frozenset[int] = frozenset(), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stale_moves = stale_moves

    def by_wave(self, rows: QuerySet[Step], name: str, value: Any) -> QuerySet[Step]:
        return rows.filter(run_wave=int(value) - 1)

    def by_tenant(self, rows: QuerySet[Step], name: str, value: str) -> QuerySet[Step]:
        return rows.filter(tenant="" if value == "unassigned" else value)

    def by_node(self, rows: QuerySet[Step], name: str, value: str) -> QuerySet[Step]:
        return rows.filter(Q(source_node=value) | Q(target_node=value) | Q(drains=value))

    def by_stale(self, rows: QuerySet[Step], name: str, value: bool) -> QuerySet[Step]:
        # The list of changes names at most what the page can show; more would not fit a query.
        return rows.filter(index__in=sorted(self.stale_moves)[:500]) if value else rows


class LockFilter(filters.FilterSet):
    """Locks by cluster, node and the plan that holds them."""

    cluster = filters.CharFilter()
    node = filters.CharFilter(lookup_expr="icontains")
    plan = filters.NumberFilter(field_name="plan_id")

    class Meta:
        model = NodeLock
        fields: ClassVar = ["cluster", "node", "plan"]


class KeptFilter(filters.FilterSet):
    """Nodes that stay, by first reason and by name."""

    reason = filters.CharFilter()
    node = filters.CharFilter(lookup_expr="icontains")

    class Meta:
        model = KeptNode
        fields: ClassVar = ["reason", "node"]
