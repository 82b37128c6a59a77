from collections.abc import Iterable
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.http import HttpRequest

from console.live import topics
from console.ui.shell import Entry, Hit, register_entry, register_hits

LEAST = 2  # letters before names are searched


class InventoryConfig(AppConfig):
    name = "console.inventory"
    label = "inventory"

    def ready(self) -> None:
        topics.register("fleet", _may_listen)
        own, fleet = "inventory.view_own", "inventory.view_fleet"
        register_entry(Entry("nodes", "Nodes", "inventory:nodes", "server", order=12, permission=own))
        register_entry(Entry("pods", "Pods", "inventory:pods", "box", order=14, permission=own))
        register_entry(Entry("sources", "Sources", "inventory:sources", "database", order=70, permission=fleet))
        register_hits("nodes and pods", _hits)


def _may_listen(user: Any, topic: str) -> bool:
    """Notices carry counts over all tenants, so only people who see the whole fleet get them."""
    return topic == "fleet" and bool(user.has_perm("inventory.view_fleet"))


def _hits(request: HttpRequest, words: str, limit: int) -> Iterable[Hit]:
    """Nodes and pods whose name holds the words, of those that the person may see."""
    if len(words) < LEAST or not request.user.has_perm("inventory.view_own"):
        return []
    # Selectors need models, which are not there yet when this module is loaded.
    search = import_module("console.inventory.palette").search
    return list(search(request.user, words, limit))
