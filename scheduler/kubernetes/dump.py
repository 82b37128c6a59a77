"""The output of ``kubectl get nodes,pods,... -A -o json`` as a snapshot document."""

from datetime import datetime
from typing import Any

import msgspec

from scheduler.cluster.errors import InputError
from scheduler.kubernetes.objects import Bad, kind_of, of_plain
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.reader import Reader, Reading


def read_dump(data: bytes, *, cluster: str, taken_at: str, options: Options | None = None) -> Reading:
    """One list of objects of any kinds; those of kinds that are not read are passed over.  Raises ``InputError``.

    A List of kubectl, or the NodeList that the API itself gives, whose items do not say again what they are.

    ``taken_at`` = the instant of the observation as in RFC 3339.
    """
    now_s = _seconds(taken_at)
    reader = Reader(options)
    for item in _items(data):
        kind = kind_of(str(item.get("apiVersion")), str(item["kind"]))
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
        return [_typed(item, i, whole) for i, item in enumerate(whole["items"])]
    raise InputError("$.items", None, "expected a List of Kubernetes objects, as kubectl get -o json prints it")


def _typed(item: Any, index: int, whole: dict[str, Any]) -> dict[str, Any]:
    """The item with the kind that it has or that its list is of; one of no kind must not be lost in silence."""
    if not isinstance(item, dict):
        raise InputError(f"$.items[{index}]", item, "expected a Kubernetes object")
    if isinstance(item.get("kind"), str) and item["kind"]:
        return item
    word = str(whole.get("kind") or "").removesuffix("List")
    if not word:
        reason = "expected the kind of the object, or a list that says its own, such as NodeList"
        raise InputError(f"$.items[{index}].kind", item.get("kind"), reason)
    return item | {"kind": word, "apiVersion": whole.get("apiVersion")}
