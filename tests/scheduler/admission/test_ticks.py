"""Worlds of the public case list that unfold over ticks: what is recommended is carried out here, tick by tick."""

from typing import Any

from scheduler.admission.claims import claimed
from scheduler.admission.planner import explain
from scheduler.admission.reasons import FITS_NOW
from tests.builders.worlds import World, pod_key, world

GRACE_S = 60
Row = dict[str, Any]


class Cluster:
    """Binds who would start, ends victims with their grace, and makes those who ended wait again."""

    def __init__(self, built: World) -> None:
        self.world, self.evicted, self.words = built, list[str](), dict[str, str]()

    def row(self, key: str) -> Row:
        return next(row for row in self.world.rows["pods"] if pod_key(row) == f"jobs/{key}")

    def tick(self, now_s: int) -> None:
        self.world.top["now_s"] = now_s
        for row in self.world.rows["pods"]:
            if row.get("terminating") and row["deleted_at_s"] + GRACE_S <= now_s:
                for field in ("terminating", "deleted_at_s", "grace_s", "node"):
                    row.pop(field)
        self._start()
        for key in [key for key, word in self.words.items() if word != FITS_NOW]:
            self._evict(key, now_s)

    def _start(self) -> None:
        found = explain(self.world.snapshot())
        self.words = {row.key.partition("/")[2]: row.reason.word for row in found.rows}
        for one in found.starts:
            assert one.seats is not None
            for _, node, pods in one.seats.placed:
                for p in pods:
                    self.row(found.snapshot.pod_name[p])["node"] = found.snapshot.node_name[node]

    def _evict(self, key: str, now_s: int) -> None:
        found = explain(self.world.snapshot())
        row = found.row(f"jobs/{key}")
        assert row is not None
        for victim in claimed(found.snapshot, row.job, found.book).victims.victims:
            name = found.snapshot.pod_name[victim.pod]
            self.row(name).update(terminating=True, deleted_at_s=now_s, grace_s=GRACE_S)
            self.evicted.append(name)


def test_case_c03_no_second_victim_while_the_first_is_leaving() -> None:
    built = (
        world().nodes("n1", "n2").pod("h", gpus=8, tenant="t2", priority=100).pod("l", gpus=8, tenant="t3", tier="LP")
    )
    built.pod("v1", "n1", 8, tier="LP", started_s=0, checkpoint_s=990)
    cluster = Cluster(built.pod("v2", "n2", 8, tier="LP", started_s=0, checkpoint_s=900))
    cluster.tick(1000)
    for now_s in (1005, 1020, 1059):
        cluster.tick(now_s)
        assert cluster.words["h"] == "waiting_for_victims" and cluster.row("h").get("node") is None
    cluster.tick(1060)
    assert cluster.evicted == ["v1"]
    assert (cluster.row("h")["node"], cluster.row("v2")["node"]) == ("n1", "n2")
    assert cluster.row("l").get("node") is None and cluster.row("v1").get("node") is None


def test_case_c17_freed_gpus_belong_to_the_claimant() -> None:
    built = world(0).node("n1").tenant("q1", guarantee_gpus=3, cohort="c").tenant("q2", guarantee_gpus=5, cohort="c")
    built.pod("pod1", "n1", 4, tenant="q1", tier="LP", started_s=0).pod("pod2", "n1", 1, tenant="q2")
    cluster = Cluster(built.pod("pod3", gpus=4, tenant="q2"))
    for tick in range(10):
        cluster.tick(60 * tick)
        assert (cluster.row("pod3").get("node") == "n1") is (tick >= 1)
    assert cluster.evicted == ["pod1"]
    assert cluster.words == {"pod1": "capacity"}


def test_cases_c19_and_c38_nobody_is_evicted_for_nothing() -> None:
    best_effort = world().node("n1")
    for name in "xy":
        best_effort.tenant(name, weight=0, guarantee_gpus=0, cohort="c")
        best_effort.pod(f"{name}1", "n1", 4, tenant=name, tier="LP").pod(f"{name}2", gpus=4, tenant=name, tier="LP")
    hopeless = world().nodes("n1", "n2", "n3").pod("l1", "n1", 8, tier="LP").pod("l2", "n2", 8, tier="LP")
    hopeless.pod("l3", "n3", 4, tier="LP").pod("k", "n3", 4, priority=100, labels={"app": "db"})
    hopeless.pod("h1", gpu_model="H100-PCIe-80GB", priority=100).pod("h2", gpus=16, priority=100)
    hopeless.pod("h3", gpus=4, priority=100, anti_affinity=["app=db"], only_node="n3")
    for built in (best_effort, hopeless):
        cluster = Cluster(built)
        for tick in range(10):
            cluster.tick(1000 + 60 * tick)
        assert cluster.evicted == [] and FITS_NOW not in cluster.words.values()


def test_case_c24_a_node_is_given_away_when_its_pods_are_gone() -> None:
    built = world().nodes("n1", "n2").pod("v", "n2", 8, priority=100, locked=True).pod("p", gpus=8, priority=100)
    built.pod("t", "n1", 8, tier="LP", terminating=True, deleted_at_s=1000, grace_s=GRACE_S)
    cluster = Cluster(built)
    cluster.tick(1010)
    assert cluster.words == {"p": "waiting_for_victims"} and cluster.evicted == []
    cluster.tick(1060)
    assert cluster.row("p")["node"] == "n1" and cluster.evicted == []


def test_case_c14_own_low_priority_pods_make_room_under_the_cap() -> None:
    built = world().node("n1").tenant("t1", cap_gpus=3).tenant("t2", cap_gpus=8)
    built.pod("l1", "n1", 2, tier="LP", started_s=0, checkpoint_s=0).pod("h", gpus=2, priority=100)
    built.pod("l2", "n1", 1, tier="LP", started_s=0, checkpoint_s=0)
    cluster = Cluster(built.pod("o1", "n1", 2, tenant="t2", tier="LP", started_s=0, checkpoint_s=999))
    cluster.tick(1000)
    cluster.tick(1030)
    assert cluster.words == {"h": "waiting_for_victims"}
    cluster.tick(1060)
    assert cluster.evicted == ["l1"] and cluster.row("h")["node"] == "n1"
    cluster.tick(1120)
    assert cluster.words == {"l1": "quota"}
