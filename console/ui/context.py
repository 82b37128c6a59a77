"""The context of the frame: navigation, tools, banners, server time."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from console.ui.shell import SHELL, Banner, Entry, Mark, Tool, allowed_entries, allowed_topics

BAR_ENTRIES, BOTTOM_ENTRIES = 8, 4


def _entry(request: HttpRequest, entry: Entry) -> dict[str, Any]:
    return {
        "section": entry.section,
        "label": entry.label,
        "short": entry.short or entry.label,
        "icon": entry.icon,
        "url": reverse(entry.url_name),
        "count": entry.count(request) if entry.count else None,
    }


def _navigation(request: HttpRequest) -> list[dict[str, Any]]:
    return [_entry(request, entry) for entry in allowed_entries(request)]


def _tools(request: HttpRequest) -> list[Tool]:
    return [tool for source in SHELL.tools.values() for tool in source(request)]


def _banners(request: HttpRequest) -> list[Banner]:
    return [banner for source in SHELL.banners.values() for banner in source(request)]


def _marks(request: HttpRequest) -> list[Mark]:
    return [mark for source in SHELL.marks.values() for mark in source(request)]


def page(request: HttpRequest) -> dict[str, Any]:
    """Everything is lazy: a partial that draws no frame asks for none of it."""
    signed_in = getattr(request, "user", None) is not None and request.user.is_authenticated
    shell: dict[str, Any] = {"navigation": [], "tools": [], "banners": [], "marks": [], "topics": ""}
    if signed_in:
        shell = {
            "navigation": SimpleLazyObject(lambda: _navigation(request)),
            "tools": SimpleLazyObject(lambda: _tools(request)),
            "banners": SimpleLazyObject(lambda: _banners(request)),
            "marks": SimpleLazyObject(lambda: _marks(request)),
            "topics": SimpleLazyObject(lambda: " ".join(allowed_topics(request))),
        }
    return {
        "shell": shell,
        "bar_entries": f":{BAR_ENTRIES}",
        "bar_tail": f"{BAR_ENTRIES}:",
        "bottom_entries": f":{BOTTOM_ENTRIES}",
        "bottom_tail": f"{BOTTOM_ENTRIES}:",
        "server_now": timezone.now(),
        "signed_in": signed_in,
    }
