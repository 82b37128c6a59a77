"""Sending what was encoded once: compression as the browser takes it, and caching as the address allows."""

import re

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.cache import patch_vary_headers

from console.inventory.selectors.maps import Body

FOREVER = "private, max-age=31536000, immutable"
ASK_AGAIN = "private, no-cache"
_QUALITY = re.compile(r"^\s*q\s*=\s*0(\.0*)?\s*$")


def encoding_for(request: HttpRequest) -> str:
    """``br`` before ``gzip``; "" where the browser takes neither."""
    taken = set()
    for offer in request.headers.get("Accept-Encoding", "").split(","):
        name, _, quality = offer.partition(";")
        if not _QUALITY.match(quality):
            taken.add(name.strip().lower())
    return next((name for name in ("br", "gzip") if name in taken), "")


def send(request: HttpRequest, body: Body, content_type: str, *, fixed: bool) -> HttpResponse:
    """``fixed``: the address names one revision or digest and never answers anything else."""
    etag = f'"{body.etag}"'
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")]
    response = HttpResponseNotModified() if etag in known else HttpResponse(body.content, content_type=content_type)
    if body.encoding and response.status_code == 200:
        response["Content-Encoding"] = body.encoding
    if not body.encoding:
        # Already as small as it gets: the general compression must not try again for every viewer.
        response["Content-Encoding"] = "identity"
    response["ETag"] = etag
    response["Cache-Control"] = FOREVER if fixed else ASK_AGAIN
    if body.layout:
        response["Slackline-Layout"] = body.layout
        response["Slackline-Revision"] = str(body.revision)
    patch_vary_headers(response, ["Accept-Encoding"])
    return response
