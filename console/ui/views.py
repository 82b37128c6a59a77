"""The palette's answers, the API page and what a person sees when something is wrong."""

from dataclasses import asdict

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.ui.shell import SHELL

FRAME_PARTS = ("navigation", "tools", "banners")
PALETTE_LIMIT = 8  # shown of each kind
PALETTE_COUNTED = 100
LONGEST_QUERY = 200


@require_safe
def palette(request: HttpRequest) -> HttpResponse:
    """JSON {"hits": [{kind, label, url, icon, detail}], "total", "more"}: what `q` finds and this person may see.

    ``total`` counts what matches, ``more`` says that a kind has so many matches that nobody counted on.
    """
    words = request.GET.get("q", "").strip()[:LONGEST_QUERY]
    found = [list(source(request, words, PALETTE_COUNTED)) for source in SHELL.hits.values()] if words else []
    return JsonResponse(
        {
            "hits": [asdict(hit) for hits in found for hit in hits[:PALETTE_LIMIT]],
            "total": sum(map(len, found)),
            "more": any(len(hits) >= PALETTE_COUNTED for hits in found),
        }
    )


@require_safe
def frame(request: HttpRequest, part: str) -> HttpResponse:
    """A part of the frame as it is now, for pages that stay open while plans and freezes come and go."""
    if part not in FRAME_PARTS:
        raise Http404("There is no such part of the frame.")
    return render(request, f"ui/{part}.html", {"section": request.GET.get("section", "")})


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    return render(request, "ui/api_docs.html", {"section": "api"})


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "400.html", status=400)


def denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403 with the reason, where the code that refused gave one."""
    return render(request, "403.html", {"reason": str(exception or "")}, status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "404.html", status=404)


def conflict(request: HttpRequest, reason: str, changes: object = ()) -> HttpResponse:
    """409: somebody or something was faster. `changes` are rows with object, field, was, now where known."""
    return render(request, "409.html", {"reason": reason, "changes": changes}, status=409)


def broken(request: HttpRequest) -> HttpResponse:
    """500: asks nothing of the database, which may be what is broken."""
    return render(None, "500.html", status=500)
