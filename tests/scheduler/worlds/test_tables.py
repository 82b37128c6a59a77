"""The CSV twin: odd but valid files (case C46), every field there and back, faults with file, line and field."""

import msgspec
import pytest

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import (
    DeviceRecord,
    MigRecord,
    NodeRecord,
    OwnerRecord,
    ParallelismRecord,
    PodRecord,
    ReplicasRecord,
    TaintRecord,
    TolerationRecord,
    TopologyRecord,
    UtilisationRecord,
)
from scheduler.worlds.generate import generate
from scheduler.worlds.tables import read_node_table, read_pod_table, read_tables, write_node_table, write_pod_table

ODD = (
    b"\xef\xbb\xbfname,gpu_model,gpus,cpu_milli,memory_mib,asw,comment,wombat\r\n"
    b"\r\n"
    b'n-1,H100-SXM5-80GB,8,128000,1048576,asw-1,"rack ""blue"", left\r\nsecond line",x\r\n'
    b"\r\n"
    b'"n-2",H100-SXM5-80GB,8,128000,1048576,asw-1,,\r\n'
    b'n\xc5\x93ud-3,L40S,4,64000,524288,,"a,b",\r\n'
    b"   \r\n"
)


def test_an_odd_file_of_a_spreadsheet_is_read() -> None:
    table = read_node_table(ODD)
    assert [(n.name, n.gpus, n.asw) for n in table.records] == [
        ("n-1", 8, "asw-1"),
        ("n-2", 8, "asw-1"),
        ("nœud-3", 4, None),
    ]
    assert table.records[0].labels == {"comment": 'rack "blue", left\r\nsecond line', "wombat": "x"}
    assert table.records[1].labels == {}
    assert any("wombat" in warning for warning in table.warnings)


def test_an_export_of_an_odd_file_reads_back() -> None:
    nodes = read_node_table(ODD).records
    assert read_node_table(write_node_table(nodes)).records == nodes


def test_line_numbers_count_physical_lines() -> None:
    with pytest.raises(InputError) as caught:
        read_node_table(ODD.replace(b'"n-2",H100-SXM5-80GB,8', b'"n-2",H100-SXM5-80GB,eight'), "up.csv")
    assert (caught.value.path, caught.value.value) == ("up.csv line 6, gpus", "eight")


NODES = [
    NodeRecord(name="plain", gpus=0),
    NodeRecord(
        name="full",
        gpus=8,
        gpu_model="[odd]",
        cpu_milli=1,
        memory_mib=2,
        cluster="east",
        domain="d",
        allocatable_gpus=0,
        gpu_memory_mib=81_920,
        max_pods=110,
        zone="z",
        labels={"a": "b", "empty": "", "hostile": "x;y=z|w", " edge": " v "},
        resources={"hugepages-2Mi": 1024},
        taints=[TaintRecord(key="k"), TaintRecord(key="l", value="v", effect="NoExecute")],
        cordoned=True,
        ready=False,
        devices=[DeviceRecord(index=0), DeviceRecord(index=1, health="failed", numa=1)],
        power_watts=700,
    ),
    NodeRecord(
        name="deep",
        gpus=1,
        asw="asw-1",
        devices=[
            DeviceRecord(
                index=0,
                nvlink_group=3,
                nics=["eth0", "eth1"],
                mig=[MigRecord(profile="1g.10gb", count=2)],
                utilisation=UtilisationRecord(sm=5),
            ),
            DeviceRecord(index=1, nvlink_group="3"),
        ],
    ),
]
PODS = [
    PodRecord(name="plain", gpus=0),
    PodRecord(name="plain", gpus=1, namespace="other", gpu_model="A"),
    PodRecord(
        name="full",
        gpus=1,
        gpu_milli=250,
        cpu_milli=1,
        memory_mib=2,
        cluster="east",
        uid="u",
        tenant="t",
        node="full",
        mig={"1g.10gb": 2},
        devices=[0, 3],
        gpu_memory_mib=4,
        gpu_model=["A", "B"],
        priority=-5,
        tier="LP",
        standby_until_s=-1,
        lent_by="ns/p",
        work_class="training",
        locked=True,
        locked_by="me",
        lock_reason='because, "so"',
        locked_until_s=9,
        owner=OwnerRecord(kind="Job", name="j"),
        workload="w",
        move="never",
        labels={"app": "x"},
        node_selector={"zone": "a"},
        only_node="full",
        tolerations=[TolerationRecord(operator="Exists"), TolerationRecord(key="k", value="v")],
        affinity=["app=x"],
        anti_affinity=["app=y", "app=z"],
        topology=TopologyRecord(required="asw"),
        host_ports=[80, 443, "10.0.0.1:53/UDP"],
        volume_zone="z",
        gang="g",
        phase="Running",
        terminating=True,
        deleted_at_s=1,
        grace_s=60,
        started_s=0,
        checkpoint_s=1,
        checkpoint_interval_s=2,
        min_runtime_s=3,
        replicas=ReplicasRecord(min=1, max=4),
        parallelism=ParallelismRecord(dp=2, tp=4),
        resources={"ephemeral-storage": 10, "vpc.amazonaws.com/efa": 4},
    ),
    PodRecord(name="v6", gpus=0, host_ports=["[fd00::1]:53/UDP", 53]),
    PodRecord(name="odd", gpus=1, gpu_model="A|B", owner="Static", standby=True),
    PodRecord(name="odder", gpus=1, gpu_model=["A"], owner="a=b;c", affinity=["k=a|b"], anti_affinity=["[x]=y"]),
]


def test_every_field_of_a_node_survives() -> None:
    assert read_node_table(write_node_table(NODES)).records == NODES


def test_every_field_of_a_pod_survives() -> None:
    written = {field for pod in PODS for field in msgspec.to_builtins(pod)}
    assert written == {field.encode_name for field in msgspec.structs.fields(PodRecord)}
    assert read_pod_table(write_pod_table(PODS)).records == PODS


def test_a_whole_world_survives() -> None:
    world = generate("asi", nodes=300, seed=4)
    document, warnings = read_tables(
        write_node_table(world.nodes), write_pod_table(world.pods), taken_at=world.taken_at
    )
    assert (document.nodes, document.pods, warnings) == (world.nodes, world.pods, ())


def test_lists_and_pairs_have_the_stated_marks() -> None:
    table = read_pod_table(
        b"name,gpus,gpu_model,devices,node_selector,affinity,tolerations,locked\n"
        b"p,2,H100|H200,0|1,zone=a;disk=ssd,app=x|app=y,key=k;operator=Exists|operator=Exists,TRUE\n"
    )
    assert table.records == [
        PodRecord(
            name="p",
            gpus=2,
            gpu_model=["H100", "H200"],
            devices=[0, 1],
            node_selector={"zone": "a", "disk": "ssd"},
            affinity=["app=x", "app=y"],
            tolerations=[TolerationRecord(key="k", operator="Exists"), TolerationRecord(operator="Exists")],
            locked=True,
        )
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b"", "f"),
        (b"gpus\n1\n", "f, header"),
        (b"name,gpus,name\na,1,b\n", "f line 1"),
        (b"name,gpus\na,1\n\na,2\n", "f line 4, name"),
        (b"name,gpus\n,1\n", "f line 2, name"),
        (b"name,gpus\na,\n", "f line 2, gpus"),
        (b"name,gpus\na,1_0\n", "f line 2, gpus"),
        (b"name,gpus\na,-1\n", "f line 2, gpus"),
        (b"name,gpus\na,99999999999999999999\n", "f line 2, gpus"),
        (b"name,gpus,tier\na,1,MP\n", "f line 2, tier"),
        (b"name,gpus,locked\na,1,maybe\n", "f line 2, locked"),
        (b"name,gpus,labels\na,1,novalue\n", "f line 2, labels"),
        (b"name,gpus,labels\na,1,a=1;a=2\n", "f line 2, labels"),
        (b"name,gpus,devices\na,1,0|x\n", "f line 2, devices"),
        (b"name,gpus,affinity\na,1,[1\n", "f line 2, affinity"),
        (b"name,gpus,replicas\na,1,min=few\n", "f line 2, replicas"),
        (b"name,gpus\na,1,2\n", "f line 2"),
        (b"name,gpus\n\n\xff,1\n", "f line 3"),
        (b"name,gpus\na\x00,1\n", "f line 2"),
        (b'name,gpus\n"a,1\n', "f line 2"),
    ],
)
def test_faults_name_file_line_and_field(text: bytes, path: str) -> None:
    with pytest.raises(InputError) as caught:
        read_pod_table(text, "f")
    assert caught.value.path == path
