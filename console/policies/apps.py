from collections.abc import Collection
from typing import Any

from django.apps import AppConfig
from django.utils.module_loading import import_string

from console.live import topics
from console.tenancy import prices
from console.ui.shell import Entry, register_entry


class PoliciesConfig(AppConfig):
    name = "console.policies"
    label = "policies"

    def ready(self) -> None:
        may_view = "policies.view_policy"
        register_entry(Entry("policies", "Policies", "policies:list", "adjustments", order=80, permission=may_view))
        topics.register("policies", lambda user, topic: bool(user.has_perm(may_view)))
        prices.register("policies", _cents_of)


def _cents_of(clusters: Collection[str]) -> Any:
    """By name: selectors read models, which exist only when somebody asks."""
    return import_string("console.policies.selectors.gpu_hour_cents")(clusters)
