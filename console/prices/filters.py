"""Filters of proposals, the same for the page and the API; all of their state is in the address."""

from typing import ClassVar

import django_filters as filters
from django.db.models import QuerySet

from console.prices.choices import State
from console.prices.models import Line, Proposal


class ProposalFilter(filters.FilterSet):
    """By state and by a GPU model that is in it."""

    state = filters.MultipleChoiceFilter(choices=State.choices)
    gpu_model = filters.CharFilter(method="with_model", label="GPU model")

    class Meta:
        model = Proposal
        fields: ClassVar = ["state", "gpu_model"]

    def with_model(self, rows: QuerySet[Proposal], name: str, value: str) -> QuerySet[Proposal]:
        return rows.filter(pk__in=Line.objects.filter(gpu_model=value).values("proposal"))
