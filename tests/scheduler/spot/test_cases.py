"""Cases C01, C03, C12, C37 and C38 of the public list as kinds: over time, and on worlds drawn at random."""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.admission.claims import Claimed, claimed
from scheduler.admission.jobs import pending_jobs
from scheduler.admission.planner import explain
from scheduler.admission.quota import book_of
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.promised import Promise, respecting
from scheduler.cluster.room import faults
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.performance.stopping import stops_of
from scheduler.placement.planner import place, request_of
from scheduler.placement.victims import Victims, claim_of, find_victims
from tests.builders.worlds import World, world

HP: dict[str, Any] = {"tenant": "t2", "priority": 100}
GRACE_S = 60


@dataclass
class Ticks:
    """A scheduler that acts only on what the planners say: notices, kills at the end of grace, binds."""

    built: World
    promises: list[Promise] = field(default_factory=list)
    noticed: list[tuple[int, str]] = field(default_factory=list)
    bound: dict[str, str] = field(default_factory=dict)

    def row(self, name: str) -> dict[str, Any]:
        return next(row for row in self.built.rows["pods"] if row["name"] == name)

    def snapshot(self, now_s: int) -> Snapshot:
        self.built.top["now_s"] = now_s
        return self.built.snapshot()

    def claim(self, name: str, now_s: int) -> Victims:
        """Ask for victims for a waiting pod; whoever is named is told at once, and the room is promised."""
        snapshot = self.snapshot(now_s)
        seen = respecting(snapshot, self.promises, but=f"jobs/{name}")
        claim = claim_of(seen, f"jobs/{name}")
        assert claim is not None
        found = find_victims(seen, claim)
        for victim in found.victims:
            self.noticed.append((now_s, snapshot.pod_name[victim.pod]))
            self.row(snapshot.pod_name[victim.pod]).update(terminating=True, deleted_at_s=now_s, grace_s=GRACE_S)
        if found.victims:
            ((pod, node),) = found.placed
            self.promises.append(
                Promise(cluster="default", node=snapshot.node_name[node], claimant=f"jobs/{name}",
                        gpu_milli=int(snapshot.pod_gpus[pod]) * 1000)
            )  # fmt: skip
        return found

    def start(self, name: str, now_s: int) -> None:
        """Bind a waiting pod where it has room now that nobody else was promised."""
        snapshot = self.snapshot(now_s)
        seen = respecting(snapshot, self.promises, but=f"jobs/{name}")
        where = place(seen, request_of(seen, f"jobs/{name}"))
        if where.ok:
            ((_, node),) = where.assignment
            self.row(name).update(node=node, started_s=now_s)
            self.bound[name] = node
            self.promises = [one for one in self.promises if one.claimant != f"jobs/{name}"]

    def gone(self, name: str) -> None:
        """It has left, and asks again."""
        row = self.row(name)
        for word in ("node", "terminating", "deleted_at_s", "grace_s", "started_s"):
            row.pop(word, None)


@pytest.mark.parametrize("order", [("h", "l", "v1"), ("v1", "l", "h"), ("l", "h", "v1")])
def test_c03_one_victim_in_all_ticks_and_its_room_goes_to_the_claimant(order: tuple[str, ...]) -> None:
    built = world(1000).nodes("n1", "n2")
    built.pod("v1", "n1", 8, tier="LP", started_s=0, checkpoint_s=990)
    built.pod("v2", "n2", 8, tier="LP", started_s=0, checkpoint_s=900)
    built.pod("h", gpus=8, **HP).pod("l", gpus=8, tier="LP", tenant="t3")
    ticks = Ticks(built)
    assert [v.loss_milli for v in ticks.claim("h", 1000).victims] == [80_000]
    for now in (1005, 1020, 1059):
        ticks.start("l", now)
        found = ticks.claim("h", now)
        assert found.ok and found.victims == () and found.held_until_s == 1060
        assert [ticks.snapshot(now).pod_name[p] for p in found.leaving] == ["v1"]
    ticks.gone("v1")
    for name in order:
        ticks.start(name, 1060)
    assert ticks.noticed == [(1000, "v1")] and ticks.bound == {"h": "n1"}


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_c03_on_any_world_nobody_is_told_twice_and_every_claimant_gets_its_room(seed: int) -> None:
    dice, built = random.Random(seed), world(1000)
    for n in range(3):
        built.node(f"n{n}")
        for i, size in enumerate(dice.choice([(8,), (4, 4), (4, 2, 2), (2, 2, 2, 2)])):
            built.pod(f"v{n}{i}", f"n{n}", size, tier="LP", started_s=0, checkpoint_s=dice.randint(500, 1000))
    claimants = [f"h{i}" for i in range(3)]
    for name in claimants:
        built.pod(name, gpus=dice.choice([2, 4, 8]), **HP)
    built.pod("l", gpus=2, tier="LP", tenant="t3")
    ticks, leaves = Ticks(built), dict[str, int]()
    for now in range(1000, 1150, 10):
        for name, at in list(leaves.items()):
            if at <= now:
                ticks.gone(name)
                del leaves[name]
        for name in dice.sample([*claimants, "l"], 4):
            if name not in ticks.bound and not leaves:
                ticks.start(name, now)
        for name in claimants:
            if name not in ticks.bound:
                told = len(ticks.noticed)
                ticks.claim(name, now)
                leaves |= {one: now + dice.choice([5, 20, 60]) for _, one in ticks.noticed[told:]}
    names = [name for _, name in ticks.noticed]
    assert len(names) == len(set(names))
    assert set(ticks.bound) >= {one.claimant.removeprefix("jobs/") for one in ticks.promises} - set(claimants)
    waiting = set(claimants) - set(ticks.bound)
    assert not waiting or sum(int(ticks.row(n)["gpus"]) for n in claimants) > 8 * 3 - 8


def _claims(snapshot: Snapshot) -> dict[str, Claimed]:
    book = book_of(snapshot)
    jobs = pending_jobs(snapshot, eligibility(snapshot).pod_class)
    return {job.key: claimed(snapshot, job, book) for job in jobs}


def test_c38_ten_ticks_and_nobody_is_stopped_for_who_cannot_run() -> None:
    built = world(1000).nodes("n1", "n2", "n3")
    for name, node, gpus in (("l1", "n1", 8), ("l2", "n2", 8), ("l3", "n3", 4)):
        built.pod(name, node, gpus, tier="LP", started_s=0)
    built.pod("k", "n3", 4, priority=100, labels={"app": "db"})
    built.pod("h1", gpu_model="H100-PCIe-80GB", **HP).pod("h2", gpus=16, **HP)
    built.pod("h3", gpus=4, anti_affinity=["app=db"], only_node="n3", **HP)
    ticks = Ticks(built)
    for now in range(1000, 1600, 60):
        snapshot = ticks.snapshot(now)
        found = _claims(snapshot)
        assert [len(one.victims.victims) for one in found.values()] == [0, 0, 0]
        assert not any(one.victims.ok for one in found.values())
        for name in ("h1", "h2", "h3"):
            assert ticks.claim(name, now).victims == ()
            ticks.start(name, now)
        said = {row.key: row.reason.sentence for row in explain(snapshot).rows}
        assert "H100-PCIe-80GB" in said["jobs/h1"] and "16" in said["jobs/h2"]
        assert "jobs/k" in found["jobs/h3"].victims.detail
    assert ticks.noticed == [] and ticks.bound == {}


def _drawn(seed: int) -> World:
    """LP pods, some of them in gangs over several nodes, and an HP pod that waits."""
    dice, built = random.Random(seed), world(1000)
    members: dict[str, int] = {}
    for n in range(4):
        built.node(f"n{n}")
        for i, size in enumerate(dice.choice([(8,), (4, 4), (4, 2, 2), (5, 2, 1), (2, 2, 2, 2)])):
            gang = f"g{dice.randrange(2)}" if dice.random() < 0.5 else None
            members[gang or ""] = members.get(gang or "", 0) + 1
            fields: dict[str, Any] = {"gang": gang} if gang else {}
            kind = {"tier": "LP"} if dice.random() < 0.85 else {"priority": 100}
            built.pod(f"p{n}{i}", f"n{n}", size, started_s=0, checkpoint_s=dice.randint(0, 1000), **kind, **fields)
    for k in range(2):
        built.gang(f"g{k}", max(1, members.get(f"g{k}", 1) - dice.randint(0, 1)))
    return built.pod("h", gpus=dice.choice([1, 3, 6, 8]), **HP)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000))
def test_c01_and_c37_whole_gangs_each_counted_once_and_nobody_too_many(seed: int) -> None:
    snapshot = _drawn(seed).snapshot()
    claim = claim_of(snapshot, "jobs/h")
    assert claim is not None
    found = find_victims(snapshot, claim)
    if not found.ok:
        return
    named = [one.pod for one in found.victims]
    assert len(named) == len(set(named)) and snapshot.pod_lp[named].all()
    for gang in {int(snapshot.pod_gang[p]) for p in named} - {UNKNOWN}:
        live = np.flatnonzero(snapshot.pod_live & (snapshot.pod_gang == gang)).tolist()
        left = len(live) - len(set(live) & set(named))
        assert left == 0 or left >= snapshot.gangs[gang].min_members  # all of it, or it goes on
    age = {p: 1000 - int(snapshot.pod_checkpoint_s[p]) for p in named}
    assert found.gpu_seconds == sum(int(snapshot.pod_gpus[p]) * age[p] for p in named)
    ((pod, node),) = found.placed
    units: dict[int, list[int]] = {}
    for one in found.victims:
        units.setdefault(int(snapshot.pod_gang[one.pod]) if one.part == "gang" else -2 - one.pod, []).append(one.pod)
    here = np.flatnonzero(snapshot.pod_live & (snapshot.pod_node == node)).tolist()
    for unit in [[], *units.values()]:  # with all of them gone it fits, with any of them kept it does not
        stay = [p for p in here if p not in named or p in unit]
        assert (next(faults(snapshot, node, stay, [pod]), None) is None) == (not unit)


def test_c12_a_pod_made_anew_inherits_neither_age_nor_checkpoint() -> None:
    """The same name with another uid is another pod: what it would lose counts from its own start."""
    first = world(1000).nodes("n1", "n2").pod("a", "n1", 8, uid="u1", tier="LP", started_s=100, checkpoint_s=500)
    second = world(1000).nodes("n1", "n2").pod("a", "n2", 4, uid="u2", tier="LP", started_s=900)
    before, after = (stops_of(built.snapshot(), 1000, 1_800) for built in (first, second))
    assert (before.age_s[0], before.assumed[0]) == (500, False)
    assert (after.age_s[0], after.assumed[0]) == (100, True)
    assert second.snapshot().digest == second.snapshot().digest  # read again, nothing changes
