"""Addresses of jobs.  Names from outside may hold slashes and dots, which a path would not survive."""

import re
from urllib.parse import urlencode

from django.urls import reverse

_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._:-]*")


def job_address(cluster: str, key: str, source: str = "") -> str:
    """``key`` is namespace/name; ``source`` where several may have such a job."""
    query = {"source": source} if source else {}
    namespace, _, name = key.partition("/")
    if all(_SAFE.fullmatch(piece) for piece in (cluster, namespace, name)):
        path = reverse("queue:job", args=[cluster, namespace, name])
    else:
        path = reverse("queue:job-named")
        query |= {"cluster": cluster, "name": key}
    return f"{path}?{urlencode(query)}" if query else path
