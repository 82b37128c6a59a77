from django.apps import AppConfig

from console.live import topics
from console.ui.shell import Entry, register_entry


class PoliciesConfig(AppConfig):
    name = "console.policies"
    label = "policies"

    def ready(self) -> None:
        may_view = "policies.view_policy"
        register_entry(Entry("policies", "Policies", "policies:list", "adjustments", order=80, permission=may_view))
        topics.register("policies", lambda user, topic: bool(user.has_perm(may_view)))
