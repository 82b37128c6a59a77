"""Node and pod lists of OpenB: their quirks, and faults that name file, line and field."""

from dataclasses import dataclass

import pytest

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import Document
from scheduler.worlds.openb import read_openb, read_shapes

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,65536,0,\nn1,64000,262144,2,P100\nn2,96000,393216,8,G2\n"
HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"


@dataclass(frozen=True)
class Loaded:
    document: Document

    def home(self, name: str) -> str | None:
        return next(p.node for p in self.document.pods if p.name == name)


def load(*rows: str, share: float = 1.0, lock: float = 0.0, header: str = HEADER, nodes: str = NODES) -> Loaded:
    pods = "\n".join((header, *rows)) + "\n"
    return Loaded(read_openb(nodes.encode(), pods.encode(), load=share, seed=0, lock=lock))


def test_cpu_only_nodes_have_no_model_and_take_no_gpu_pod() -> None:
    loaded = load("a,1000,1,1,1000,,LS,Running,0,9,0", "b,1000,1,0,0,,LS,Running,1,9,1")
    assert (loaded.document.nodes[0].gpu_model, loaded.document.nodes[0].gpus) == ("", 0)
    assert (loaded.home("a"), loaded.home("b")) == ("n1", "n0")


@pytest.mark.parametrize(
    ("qos", "tier"), [("LS", "HP"), ("Guaranteed", "HP"), ("BE", "LP"), ("Burstable", "LP"), ("", "HP")]
)
def test_tier_follows_qos(qos: str, tier: str) -> None:
    assert load(f"a,1,1,1,1000,,{qos},Running,0,9,0").document.pods[0].tier == tier


def test_spec_lists_repeat_models_and_bind() -> None:
    loaded = load("a,1,1,1,1000,G2|V100M32|G2,LS,Running,0,9,0", "b,1,1,1,1000,G2,LS,Running,0,9,0")
    assert [p.gpu_model for p in loaded.document.pods] == [["G2", "V100M32"], "G2"]
    assert loaded.home("a") == loaded.home("b") == "n2"


def test_last_phases_do_not_matter_and_pods_come_in_order_of_creation() -> None:
    loaded = load(
        *("late,1,1,2,1000,,LS,Succeeded,50,60,51", "early,1,1,2,1000,,BE,Failed,3,5,4"),
        "never,1,1,1,1000,,LS,Pending,70,80,",
    )
    assert [p.name for p in loaded.document.pods] == ["early", "late", "never"]
    assert (loaded.home("early"), loaded.home("late"), loaded.home("never")) == ("n1", "n2", "n2")
    assert [p.started_s for p in loaded.document.pods] == [4, 51, 70]
    assert loaded.document.now_s == 70


def test_shares_lie_on_the_fullest_device_and_name_it() -> None:
    rows = [f"p{i},1,1,1,{milli},,LS,Running,{i},9,{i}" for i, milli in enumerate((600, 500, 300, 400, 1000))]
    pods = load(*rows).document.pods
    assert [(p.node, p.devices) for p in pods] == [("n1", [0]), ("n1", [1]), ("n1", [0]), ("n1", [1]), ("n2", [])]


def test_a_pod_that_fits_nowhere_waits() -> None:
    loaded = load("a,1,1,1,1000,T4,LS,Running,0,9,0", "b,999000,1,1,1000,,LS,Running,1,9,1")
    assert [(p.node, p.started_s) for p in loaded.document.pods] == [(None, None), (None, None)]


def test_load_counts_the_gpus_asked_for() -> None:
    rows = [f"p{i},1,0,1,500,,LS,Running,{i},9,{i}" for i in range(30)]
    assert len(load(*rows, share=0.5).document.pods) == 10
    assert len(load(*rows, share=0.54).document.pods) == 10
    assert len(load(*rows, share=2.0).document.pods) == 30


def test_five_columns_are_enough() -> None:
    loaded = load("a,1000,1,1,460", header="name,cpu_milli,memory_mib,num_gpu,gpu_milli")
    pod = loaded.document.pods[0]
    assert (pod.node, pod.gpu_milli, pod.tier, pod.started_s, pod.labels) == ("n1", 460, "HP", None, {})


def test_lock_share_is_of_the_placed_pods() -> None:
    rows = [f"p{i},1,0,1,1000,,LS,Running,{i},9,{i}" for i in range(14)]
    pods = load(*rows, lock=0.4, share=10.0).document.pods
    assert sum(p.locked for p in pods) == 4
    assert not any(p.locked for p in pods if p.node is None)


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ("a,x,1,1,1000,,LS,Running,0,9,0", "pods line 2, cpu_milli"),
        ("a,1,-5,1,1000,,LS,Running,0,9,0", "pods line 2, memory_mib"),
        ("a,1,1,1.5,1000,,LS,Running,0,9,0", "pods line 2, num_gpu"),
        ("a,1,1,1,1001,,LS,Running,0,9,0", "pods line 2, gpu_milli"),
        ("a,1,1,1,0,,LS,Running,0,9,0", "pods line 2, gpu_milli"),
        (",1,1,1,1000,,LS,Running,0,9,0", "pods line 2, name"),
        ("a,1,1,1,1000,,Best,Running,0,9,0", "pods line 2, qos"),
        ("a,1,1,1,1000,,LS,Running,,9,0", "pods line 2, creation_time"),
        ("a,1,1,1,1000,,LS,Running,0,9,0,7", "pods line 2"),
        ("a,1,1,1,1000,,LS,Running,0,9,0\n\na,1,1,1,1000,,LS,Running,0,9,0", "pods line 4, name"),
    ],
)
def test_faulty_pods_are_named(row: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        load(row)
    assert caught.value.path == place


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ("n1,1,1,1,T4", "nodes line 5, sn"),
        ("n9,1,1,1,", "nodes line 5, model"),
        ("n9,1,,1,T4", "nodes line 5, memory_mib"),
        ("n9,1,1,99999,T4", "nodes line 5, gpu"),
    ],
)
def test_faulty_nodes_are_named(row: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        load("a,1,1,1,1000,,LS,Running,0,9,0", nodes=NODES + row + "\n")
    assert caught.value.path == place


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InputError, match="gpu_milli"):
        load("a,1,1,1", header="name,cpu_milli,memory_mib,num_gpu")


@pytest.mark.parametrize(
    ("field", "arguments"), [("load", (0.0, 0, 0.4)), ("seed", (0.9, -1, 0.4)), ("lock", (0.9, 0, 1.1))]
)
def test_bad_arguments_are_named(field: str, arguments: tuple[float, int, float]) -> None:
    share, seed, lock = arguments
    with pytest.raises(InputError) as caught:
        read_openb(NODES.encode(), HEADER.encode(), load=share, seed=seed, lock=lock)
    assert caught.value.path == field


def test_shapes_are_one_per_pod() -> None:
    shapes = read_shapes(f"{HEADER}\na,7,8,1,460,,LS,Running,0,9,0\nb,1,2,0,0,,LS,Running,0,9,0\n".encode())
    assert [(s.gpus, s.gpu_milli, s.cpu_milli, s.memory_mib) for s in shapes] == [(1, 460, 7, 8), (0, 1000, 1, 2)]
    with pytest.raises(InputError):
        read_shapes(f"{HEADER}\nb,1,2,0,0,,LS,Running,0,9,0\n".encode())
