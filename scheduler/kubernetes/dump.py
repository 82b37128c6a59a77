"""The output of ``kubectl get nodes,pods,... -A -o json`` as a snapshot document."""

from datetime import datetime
from typing import Any

import msgspec

from scheduler.cluster.errors import InputError
from scheduler.kubernetes.objects import Bad, kind_of, of_plain
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.reader import Reader, Reading


def read_dump(data: bytes, *, cluster: str, taken_at: str, options: Options | None = None) -> Reading:
    """One List of objects of any kinds; those of kinds that are not read are passed over.  Raises ``InputError``.

    ``taken_at`` = the instant of the observation as in RFC 3339.
    """
    now_s = _seconds(taken_at)
    reader = Reader(options)
    for item in _items(data):
        kind = kind_of(str(item.get("apiVersion")), str(item.get("kind"))) if isinstance(item, dict) else None
        if kind is None:
            continue
        found = of_plain(kind.name, item)
        if isinstance(found, Bad):
            reader.put_bad(found)
        else:
            reader.put(kind.name, found)
    return reader.document(cluster, taken_at, now_s)


def _seconds(taken_at: str) -> int:
    try:
        found = datetime.fromisoformat(taken_at)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise InputError("taken_at", taken_at, "expected an instant as in RFC 3339, such as 2026-01-31T12:00:00Z")
    return int(found.timestamp())


def _items(data: bytes) -> list[Any]:
    try:
        whole: Any = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError("$", None, f"not valid JSON: {error}") from None
    if isinstance(whole, dict) and isinstance(whole.get("items"), list):
        return list(whole["items"])
    raise InputError("$.items", None, "expected a List of Kubernetes objects, as kubectl get -o json prints it")
