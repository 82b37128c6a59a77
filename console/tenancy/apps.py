from typing import Any

from django.apps import AppConfig
from django.utils.module_loading import import_string

from console.live import topics


class TenancyConfig(AppConfig):
    name = "console.tenancy"
    label = "tenancy"

    def ready(self) -> None:
        topics.register("tenants", _may_hear)
        # By name: the frame reads models, which exist only now.
        import_string("console.tenancy.frame.register")()


def _may_hear(user: Any, topic: str) -> bool:
    """That the book has a new version, and nothing of what is in it."""
    return topic == "tenants" and bool(user.has_perm("tenancy.view_own"))
