"""Addresses for machines that watch the console."""

import hmac

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from console.rest import health


@login_not_required
@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 if this process can do its work, else 503; says which part fails, not how."""
    parts = {part: state == "ok" for part, state in health.checks().items()}
    return JsonResponse({"ok": all(parts.values()), "parts": parts}, status=200 if all(parts.values()) else 503)


@login_not_required
@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus with the bearer token METRICS_TOKEN, and for people who may read the audit book."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    token_fits = bool(settings.METRICS_TOKEN) and hmac.compare_digest(given.encode(), settings.METRICS_TOKEN.encode())
    if not token_fits and not request.user.has_perm("audit.view_entries"):
        raise PermissionDenied(
            "Metrics need the bearer token of METRICS_TOKEN, or a person who may read the audit log."
        )
    return HttpResponse(health.metrics(), content_type=CONTENT_TYPE_LATEST)
