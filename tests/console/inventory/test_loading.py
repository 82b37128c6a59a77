"""Files are taken whole or not at all; a refusal names path, value and reason."""

import base64
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from console.audit.models import Entry
from console.connectors.models import SimulatedCluster, StoredDocument
from console.inventory import planning, services
from console.inventory.models import Source, Upload
from console.inventory.services import loading
from tests.builders.fleets import read
from tests.builders.pages import squeezed
from tests.builders.people import operator, viewer
from tests.builders.worlds import world

pytestmark = pytest.mark.django_db
NODES_OPENB = (
    b"sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0000,64000,262144,2,P100\nopenb-node-0001,96000,393216,8,G2\n"
)
PODS_OPENB = (
    b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    b"openb-pod-0000,12000,16384,1,1000,,LS,Running,0,12537496,0\n"
    b"openb-pod-0001,6000,12288,1,460,,BE,Running,427061,12902960,427061\n"
)
ODD_NODES = base64.b64decode(
    "77u/bmFtZSxncHVfbW9kZWwsZ3B1cyxjcHVfbWlsbGksbWVtb3J5X21pYixhc3csY29tbWVudCx3b21iYXQNCg0Kbi0xLEgxMDAtU1hNNS04MEdC"
    "LDgsMTI4MDAwLDEwNDg1NzYsYXN3LTEsInJhY2sgIiJibHVlIiIsIGxlZnQNCnNlY29uZCBsaW5lIix4DQoNCiJuLTIiLEgxMDAtU1hNNS04MEdC"
    "LDgsMTI4MDAwLDEwNDg1NzYsYXN3LTEsLA0KbsWTdWQtMyxMNDBTLDQsNjQwMDAsNTI0Mjg4LCwiYSxiIiwNCiAgIA0K"
)


def _post(content: bytes, kind: str = "snapshot", **fields: Any) -> Any:
    client = Client()
    client.force_login(operator())
    given = {"kind": kind, "name": "up", "behaviour": "file", **fields}
    if kind == "snapshot":
        given["snapshot"] = SimpleUploadedFile("snap.json", content)
    return client.post(reverse("inventory:load"), given)


def _nothing_is_kept() -> bool:
    rows = (Source, Upload, StoredDocument, SimulatedCluster, Entry)
    return not any(model.objects.exists() for model in rows)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["pods"][1].update(gpus=1.5), ["$.pods[1].gpus", "1.5"]),
        (lambda d: d["nodes"].append(dict(d["nodes"][0])), ["$.nodes[1]", "n1"]),
        (lambda d: d["pods"][0].update(gang="ghosts"), ["$.pods[0].gang", "ghosts"]),
        (lambda d: d.update(schema="slackline/snapshot/v9"), ["$.schema", "slackline/snapshot/v9"]),
        (lambda d: d["nodes"][0].update(gpus="<script>x</script>"), ["$.nodes[0].gpus", "&lt;script&gt;"]),
    ],
)
def test_a_file_with_an_error_is_refused_and_nothing_of_it_is_kept(change: Any, words: list[str]) -> None:
    document = world().node("n1").pod("a", "n1").pod("b", "n1").document()
    change(document)
    answer = _post(json.dumps(document).encode())
    page = answer.content.decode()
    assert answer.status_code == 400 and all(word in page for word in words), page
    assert "<script>x" not in page and _nothing_is_kept()


def test_the_api_refuses_with_path_and_reason() -> None:
    client = APIClient()
    client.force_authenticate(operator())
    file = SimpleUploadedFile("x.json", world().node("n1", gpus=-1).json())
    answer = client.post(reverse("api:sources"), {"name": "x", "snapshot": file}, format="multipart")
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["attr"]) == (400, "$.nodes[0].gpus") and "-1" in error["detail"]
    assert _nothing_is_kept()


@pytest.mark.parametrize("content", [b"", b"   ", b"\x00\xff\xfe", b"[]", b"{", b'{"schema": 1}', b"nodes: []"])
def test_odd_files_are_refused_in_words(content: bytes) -> None:
    answer = _post(content)
    assert answer.status_code == 400 and "Refused" in answer.content.decode() and _nothing_is_kept()


def test_a_file_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_BYTES", 100)
    assert _post(world().node("n1").json()).status_code == 400 and _nothing_is_kept()


def test_unknown_fields_are_named_where_they_stand_in_the_file() -> None:
    _post(world().node("z", wombat=3).nodes("a", "b").json())
    assert Upload.objects.get().report["unknown_fields"] == ["$.nodes[0].wombat"]


def test_a_good_file_becomes_a_source_with_one_entry_in_the_book() -> None:
    answer = _post(world().node("n1", wombat=3).pod("a", "n1", colour="blue").json())
    upload = Upload.objects.get()
    assert answer.status_code == 302 and upload.state == "loaded"
    assert upload.report["unknown_fields"] == ["$.nodes[0].wombat", "$.pods[0].colour"]
    assert [entry.action for entry in Entry.objects.all()] == ["source.loaded"]
    client = Client()
    client.force_login(operator())
    page = squeezed(client.get(answer["Location"]).content.decode())
    assert "$.nodes[0].wombat" in page and "Show its nodes" in page
    assert read(Source.objects.get()).counts["nodes"] == 1


def test_only_people_who_may_load_can() -> None:
    with pytest.raises(Exception, match="may not load a cluster"):
        services.load_snapshot_file(viewer(), "x", world().node("n1").json())
    assert _nothing_is_kept()


def test_a_file_can_become_a_cluster_that_acts() -> None:
    _post(world().node("n1").json(), behaviour="quiet", name="acts")
    source = Source.objects.get()
    assert source.acts and read(source).counts["nodes"] == 1
    again = _post(world().node("n1").json(), name="acts")
    assert again.status_code == 400 and "is not replaced" in again.content.decode()


def test_an_openb_pair_is_read_by_a_worker() -> None:
    files = {"nodes": SimpleUploadedFile("n.csv", NODES_OPENB), "pods": SimpleUploadedFile("p.csv", PODS_OPENB)}
    answer = _post(b"", "openb", load="0.9", lock="0", seed="1", **files)
    assert answer.status_code == 302, answer.content.decode()
    upload = Upload.objects.get()
    planning.read_upload(upload.pk)
    planning.read_upload(upload.pk)
    upload.refresh_from_db()
    assert upload.state == "loaded" and upload.source is not None and upload.source.kind == "openb"
    assert read(upload.source).counts["pods"] == 2
    assert Entry.objects.count() == 1


def test_refused_tables_leave_nothing_but_the_refusal() -> None:
    files = {"nodes": SimpleUploadedFile("n.csv", NODES_OPENB.replace(b",8,", b",eight,"))}
    files["pods"] = SimpleUploadedFile("p.csv", PODS_OPENB)
    answer = _post(b"", "openb", load="0.9", lock="0", seed="1", **files)
    planning.read_upload(Upload.objects.get().pk)
    upload = Upload.objects.get()
    assert upload.state == "refused" and upload.refusal["value"] == "eight" and "n.csv" in upload.refusal["path"]
    assert not (Source.objects.exists() or StoredDocument.objects.exists() or Entry.objects.exists())
    client = Client()
    client.force_login(operator())
    page = client.get(answer["Location"]).content.decode()
    assert "eight" in page and "n.csv" in page


def test_odd_but_valid_csv() -> None:
    """Case C46: BOM, CRLF, quotes, a line break in a cell, blank lines, a column that nobody knows."""
    _post(b"", "tables", nodes=SimpleUploadedFile("nodes.csv", ODD_NODES))
    planning.read_upload(Upload.objects.get().pk)
    upload = Upload.objects.get()
    assert upload.state == "loaded", upload.refusal
    assert any("wombat" in word for word in upload.report["warnings"])
    assert upload.source is not None
    client = Client()
    client.force_login(viewer())
    read(upload.source)
    rows = client.get(reverse("inventory:nodes-csv")).getvalue().decode()
    assert "n-1" in rows and "n-2" in rows and "nœud-3" in rows
    page = client.get(reverse("inventory:node", args=["default", "n-1"])).content.decode()
    assert "rack &quot;blue&quot;, left" in page and "second line" in page
