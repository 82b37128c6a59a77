"""What this app hangs into the frame of every page."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from console.inventory import selectors
from console.inventory.addresses import node_address, pod_address
from console.inventory.selectors import Filters
from console.inventory.spans import default_span, presets
from console.ui.shell import Entry, Hit, Mark, register_entry, register_hits, register_marks

LEAST = 2  # letters before names are searched


def register() -> None:
    own, fleet = "inventory.view_own", "inventory.view_fleet"
    register_entry(Entry("since", "Changes", "inventory:since", "arrows-diff", order=25, permission=own))
    register_entry(Entry("nodes", "Nodes", "inventory:nodes", "server", order=12, permission=own))
    register_entry(Entry("pods", "Pods", "inventory:pods", "box", order=15, permission=own))
    register_entry(Entry("idle", "Idle", "inventory:idle", "zzz", order=27, permission=own))
    # For those who answer; operators come from their plans, and their bar is full.
    answers = "inventory.answer_release"
    register_entry(
        Entry("owner-locks", "Locks", "inventory:owner-locks", "lock", order=28, permission=answers, count=to_answer)
    )
    register_entry(Entry("sources", "Sources", "inventory:sources", "database", order=70, permission=fleet))
    register_hits("nodes and pods", hits)
    register_hits("sources and clusters", source_hits)
    register_hits("changes", change_hits)
    register_marks("simulated", marks)


def to_answer(request: HttpRequest) -> int | None:
    """Questions of releases that wait for this person; no figure for people who answer for no tenant."""
    if not request.user.has_perm("inventory.answer_release"):
        return None
    return selectors.releases_to_answer(request.user).count()


def marks(request: HttpRequest) -> list[Mark]:
    """A simulated cluster says so on every page: nobody may take its moves for real ones."""
    names = selectors.simulated_sources()
    title = f"{', '.join(names)}: a simulated cluster. Nothing that moves there is real."
    return [Mark("Simulated", title)] if names else []


def hits(request: HttpRequest, words: str, limit: int) -> list[Hit]:
    """Nodes and pods whose name holds the words, of those that the person may see."""
    if len(words) < LEAST or not request.user.has_perm("inventory.view_own"):
        return []
    return list(_search(request.user, words, limit))[:limit]


def _search(viewer: Any, words: str, limit: int) -> Iterator[Hit]:
    filters = Filters(text=words)
    for node in selectors.node_rows(viewer, filters, size=limit).rows:
        where = node_address(node.cluster, node.name, node.source)
        yield Hit("node", node.name, where, "server", f"{node.cluster}, {node.gpu_model or 'no GPUs'}")
    for pod in selectors.pod_rows(viewer, filters, sort="namespace", size=limit).rows:
        where = pod_address(pod.cluster, pod.key, pod.source)
        yield Hit("pod", pod.key, where, "box", f"{pod.cluster}, {pod.node or 'waiting'}")


def source_hits(request: HttpRequest, words: str, limit: int) -> list[Hit]:
    """Sources, and clusters under names of their own, whose name holds the words; for who sees the whole fleet."""
    wanted = words.casefold()
    rows = selectors.source_states(request.user) if len(words) >= LEAST else ()
    found = [
        Hit("source", row.name, reverse("inventory:source", args=[row.id]), "database", row.kind_label)
        for row in rows
        if wanted in row.name.casefold()
    ]
    for row in rows:
        fleet = reverse("overview:fleet")
        for name in row.clusters:
            if wanted in name.casefold() and name != row.name:
                where = f"{fleet}?{urlencode({'source': row.name, 'cluster': name})}"
                found.append(Hit("cluster", name, where, "topology-star", row.name))
    return found[:limit]


def change_hits(request: HttpRequest, words: str, limit: int) -> list[Hit]:
    """What changed since a moment, under the words that one would type for it."""
    if len(words) < LEAST or not request.user.has_perm("inventory.view_own"):
        return []
    now, where = timezone.now(), reverse("inventory:since")
    offers = ((f"What changed: {each.label}", each.query) for each in presets(now, default_span(now, None), {}))
    wanted = words.casefold().split()
    found = [(label, query) for label, query in offers if all(word in label.casefold() for word in wanted)]
    return [Hit("page", label, f"{where}?{query}", "arrows-diff") for label, query in found[:limit]]
