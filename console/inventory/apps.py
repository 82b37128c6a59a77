from typing import Any

from django.apps import AppConfig
from django.utils.module_loading import import_string

from console.live import topics


class InventoryConfig(AppConfig):
    name = "console.inventory"
    label = "inventory"

    def ready(self) -> None:
        topics.register("fleet", _may_listen)
        topics.register("readings", _may_hear_of_news)
        topics.register("source", _may_listen)
        # By name: the frame reads models, which exist only now.
        import_string("console.inventory.frame.register")()


def _may_listen(user: Any, topic: str) -> bool:
    """Notices carry counts over all tenants, so only people who see the whole fleet get them."""
    fleet = topic == "fleet" or topic.partition(":")[0] == "source"
    return fleet and bool(user.has_perm("inventory.view_fleet"))


def _may_hear_of_news(user: Any, topic: str) -> bool:
    """That there is a newer reading, and nothing of what is in it."""
    return topic == "readings" and bool(user.has_perm("inventory.view_own"))
