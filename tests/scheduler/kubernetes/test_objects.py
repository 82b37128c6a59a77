"""Lists and watch lines off the wire: whole, partly bad, and no JSON at all."""

import re
from typing import Any

import msgspec
import pytest

from scheduler.cluster.errors import InputError
from scheduler.kubernetes.objects import KINDS, Bad, decode_event, decode_list, kind_of, of_object
from scheduler.kubernetes.seen import SeenPod
from tests.scheduler.kubernetes.things import Row, one_pod, pod, read, thing


def listed(*items: Any, **meta: Any) -> bytes:
    return msgspec.json.encode({"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": list(items)})


def line(what: str, row: Any) -> bytes:
    return msgspec.json.encode({"type": what, "object": row})


def test_the_table_names_each_kind_once_and_in_full() -> None:
    assert len({(kind.group, kind.plural) for kind in KINDS.values()}) == len(KINDS)
    for name, kind in KINDS.items():
        assert name == (f"{kind.plural}.{kind.group}" if kind.group else kind.plural)
        assert kind.why and kind.versions and kind.word
        assert all(re.fullmatch(r"v[0-9]+((alpha|beta)[0-9]+)?", version) for version in kind.versions)
    assert {name for name, kind in KINDS.items() if kind.needed} == {"nodes", "pods"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_read_from_its_bare_name(kind: str) -> None:
    found = of_object(kind, msgspec.json.encode(thing(kind, "x")))
    assert not isinstance(found, Bad)
    assert found.metadata.name == "x"
    assert kind_of(thing(kind, "x")["apiVersion"], KINDS[kind].word) is KINDS[kind]


def test_a_page() -> None:
    meta = {"resourceVersion": "12", "continue": "more", "remainingItemCount": 7}
    page = decode_list("pods", listed(pod("a"), pod("b"), **meta))
    assert [found.key for found in page.items] == [("ml", "a"), ("ml", "b")]
    assert (page.resource_version, page.continue_token, page.remaining, page.bad) == ("12", "more", 7, ())


def test_an_empty_list_may_be_null() -> None:
    page = decode_list("pods", b'{"metadata":{"resourceVersion":"3"},"items":null}')
    assert (page.items, page.continue_token, page.remaining) == ((), "", None)


@pytest.mark.parametrize(
    ("row", "bad"),
    [
        (
            {"metadata": {"name": "x", "namespace": "ml"}, "spec": {"priority": "high"}},
            Bad(
                kind="pods", namespace="ml", name="x", path="$.spec.priority", reason="expected `int | null`, got `str`"
            ),
        ),
        ({"metadata": {"name": 7}}, Bad(kind="pods", path="$.metadata.name", reason="expected `str`, got `int`")),
        ({"spec": {}}, Bad(kind="pods", path="$", reason="object missing required field `metadata`")),
        ("text", Bad(kind="pods", path="$", reason="expected `object`, got `str`")),
    ],
)
def test_one_bad_object_does_not_lose_the_others(row: Any, bad: Bad) -> None:
    page = decode_list("pods", listed(pod("a"), row, pod("b"), resourceVersion="5"))
    assert [found.metadata.name for found in page.items] == ["a", "b"]
    assert page.bad == (bad,)
    assert page.resource_version == "5"
    event = decode_event("pods", line("MODIFIED", row))
    assert (event.type, event.object, event.bad) == ("MODIFIED", None, bad)


def test_a_field_that_is_null_is_absent() -> None:
    row = pod("a", spec={"nodeSelector": None, "affinity": None, "tolerations": None, "priority": None})
    row["metadata"]["labels"] = None
    row["spec"]["containers"][0]["resources"] = {"requests": None}
    row["spec"]["containers"][0]["ports"] = None
    page = decode_list("pods", listed(row))
    assert (len(page.items), page.bad) == (1, ())
    assert one_pod(row, name="a").cpu_milli == 0


def test_a_part_that_is_of_another_type_is_named_when_it_is_read() -> None:
    (bad,) = read(pod("a", spec={"affinity": {"nodeAffinity": "everywhere"}})).bad
    assert bad.path == "$.spec.affinity.nodeAffinity"
    (bad,) = read(pod("a", requests={"cpu": ["1"]})).bad
    assert bad.path.startswith("$.spec.containers[0].resources.requests")


@pytest.mark.parametrize("data", [b"", b"[", b'{"items": [', b'{"metadata": {}}', b'{"items": {}}', b"[]", b"\xff"])
def test_what_is_no_list_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_list("pods", data)


@pytest.mark.parametrize("what", ["ADDED", "MODIFIED", "DELETED"])
def test_events(what: str) -> None:
    event = decode_event("pods", line(what, pod("a", metadata={"resourceVersion": "9"})))
    assert isinstance(event.object, SeenPod)
    assert (event.type, event.object.key, event.resource_version) == (what, ("ml", "a"), "9")


def test_a_bookmark_brings_nothing_but_a_version() -> None:
    event = decode_event("pods", line("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "77"}}))
    assert (event.type, event.object, event.resource_version) == ("BOOKMARK", None, "77")


def test_an_error_brings_a_status() -> None:
    row = {
        "kind": "Status",
        "code": 410,
        "reason": "Expired",
        "message": "too old",
        "details": {"retryAfterSeconds": 3},
    }
    status = decode_event("pods", line("ERROR", row)).status
    assert status is not None
    assert (status.code, status.reason, status.retry_after_s) == (410, "Expired", 3)


def test_an_error_without_a_status_is_an_error_all_the_same() -> None:
    event = decode_event("pods", line("ERROR", "gone"))
    assert event.type == "ERROR"
    assert event.status is not None
    assert event.status.code == 0


def test_the_version_of_a_bad_object_is_known() -> None:
    row: Row = {"metadata": {"name": 7, "resourceVersion": "8"}}
    assert decode_event("pods", line("ADDED", row)).resource_version == "8"


@pytest.mark.parametrize(
    "data", [b"", b'{"type":"ADDED","object":{"metad', b'{"type":"ADDED"}', b'{"type":"SYNC","object":{}}']
)
def test_what_is_no_event_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_event("pods", data)


@pytest.mark.parametrize(
    ("version", "word", "name"),
    [
        ("v1", "Pod", "pods"),
        ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets.policy"),
        ("scheduling.run.ai/v2", "Queue", "queues.scheduling.run.ai"),
        ("scheduling.volcano.sh/v1beta1", "Queue", "queues.scheduling.volcano.sh"),
        ("v1", "ConfigMap", None),
        ("", "Pod", None),
    ],
)
def test_what_an_object_says_it_is(version: str, word: str, name: str | None) -> None:
    kind = kind_of(version, word)
    assert (kind.name if kind is not None else None) == name


@pytest.mark.parametrize("text", ["a\0b", "\0\0", "\\u0000", "\\\0", "\\\\u0000\0", "plain"])
def test_a_nul_in_an_object_is_marked_and_loses_nothing(text: str) -> None:
    """Pods of anybody may have an annotation with one; which GPUs they hold must be known all the same."""
    row, told = pod("a", annotations={"slackline.io/tenant": text}), text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    found = [*decode_list("pods", listed(row)).items, decode_event("pods", line("ADDED", row)).object]
    found.append(of_object("pods", msgspec.json.encode(row)))  # type: ignore[arg-type]
    assert [one.metadata.annotations for one in found if isinstance(one, SeenPod)] == [
        {"slackline.io/tenant": told}
    ] * 3
    assert read(row).document.pods[0].tenant == told
    status = decode_event("pods", line("ERROR", {"code": 500, "message": text})).status
    assert status is not None
    assert status.message == told
