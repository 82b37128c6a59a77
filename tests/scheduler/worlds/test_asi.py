"""The worlds after the study: published shares, at any size, and the fleet at its own."""

from collections import Counter, defaultdict
from statistics import mean, median

import pytest

from scheduler.cluster.records import Document, OwnerRecord
from scheduler.worlds.generate import generate
from scheduler.worlds.marginals import MODELS, STANDBY_PEAK, standby_share
from tests.scheduler.worlds.audit import Audit


@pytest.fixture(scope="module")
def asi() -> Audit:
    return Audit(generate("asi", nodes=2000, seed=1))


@pytest.fixture(scope="module")
def uniform() -> Audit:
    return Audit(generate("uniform8", nodes=1000, seed=1))


@pytest.fixture(scope="module")
def fleet() -> Audit:
    return Audit(generate("fleet", nodes=None, seed=1))


@pytest.fixture(params=["asi", "uniform", "fleet"])
def world(request: pytest.FixtureRequest) -> Audit:
    found: Audit = request.getfixturevalue(request.param)
    return found


def test_the_fleet_has_the_published_size(fleet: Audit) -> None:
    nodes = fleet.document.nodes
    assert (len(nodes), fleet.gpus) == (37_707, 155_410)
    assert len({n.cluster for n in nodes}) == len(fleet.document.clusters) == 17
    assert {n.gpu_model for n in nodes} == {m.name for m in MODELS}
    assert len(MODELS) == 12
    assert sum(n.domain is None for n in nodes) / len(nodes) == pytest.approx(0.551, abs=0.0005)


def test_the_demo_world_has_the_fleets_shape(asi: Audit) -> None:
    nodes = asi.document.nodes
    assert asi.gpus / len(nodes) == pytest.approx(155_410 / 37_707, abs=0.01)
    assert len({n.cluster for n in nodes}) >= 3
    assert sum(n.domain is None for n in nodes) / len(nodes) == pytest.approx(0.551, abs=0.005)
    asws = Counter(n.domain for n in nodes if n.domain)
    assert len(asws) > 50
    assert max(asws.values()) > 12


def test_one_model_and_one_cluster_under_one_switch(world: Audit) -> None:
    under = defaultdict(set)
    for node in world.document.nodes:
        if node.domain or node.asw:
            under[node.domain or node.asw].add((node.cluster, node.gpu_model))
    assert under
    assert all(len(kinds) == 1 for kinds in under.values())


def test_hp_and_lp_hold_the_published_shares(world: Audit) -> None:
    own = [p for p in world.placed if p.lent_by is None]
    assert world.share(p for p in own if p.tier == "HP") == pytest.approx(0.68, abs=0.005)
    assert world.share(own) == pytest.approx(0.93, abs=0.006)


def test_sleeping_gpus_are_lent_to_lp_on_the_same_node(world: Audit) -> None:
    sleepers = {(p.cluster, f"{p.namespace}/{p.name}"): p for p in world.placed if p.standby}
    borrowers = [p for p in world.placed if p.lent_by]
    assert world.share(sleepers.values()) == pytest.approx(STANDBY_PEAK, abs=0.002)
    assert world.share(borrowers) / world.share(sleepers.values()) == pytest.approx(0.90, abs=0.01)
    for pod in borrowers:
        lender = sleepers[pod.cluster, pod.lent_by or ""]
        assert (pod.tier, lender.tier, pod.node) == ("LP", "HP", lender.node)
        assert pod.gpus <= lender.gpus
        assert pod.cpu_milli <= lender.cpu_milli


def test_standby_peaks_at_midnight() -> None:
    asleep = [
        world.share(p for p in world.placed if p.standby)
        for world in (Audit(generate("asi", nodes=400, seed=1, hour=hour)) for hour in (0, 6, 12, 18))
    ]
    assert asleep[0] > asleep[1] > asleep[2] < asleep[3] < asleep[0]
    assert max(range(24), key=standby_share) == 0
    assert standby_share(1) == standby_share(23)


def test_forty_percent_of_the_tasks_are_locked(world: Audit) -> None:
    pods = world.document.pods
    assert sum(p.locked for p in pods) / len(pods) == pytest.approx(0.40, abs=0.005)


@pytest.mark.parametrize(("name", "share"), [("asi", 0.80), ("fleet", 0.80), ("uniform", 0.77)])
def test_cpu_only_work_dominates_most_nodes(name: str, share: float, request: pytest.FixtureRequest) -> None:
    """On uniform nodes of eight GPUs some have no room for more CPU-only work than GPU work."""
    world: Audit = request.getfixturevalue(name)
    dominant = sum(
        sum(p.cpu_milli for p in pods if not p.gpus) > sum(p.cpu_milli for p in pods if p.gpus and not p.lent_by)
        for pods in world.pods_on.values()
    )
    assert dominant / len(world.nodes) == pytest.approx(share, abs=0.03)


def test_jobs_are_small_in_the_median_and_large_in_the_mean(fleet: Audit) -> None:
    jobs: Counter[tuple[str, str, str | None]] = Counter()
    classes = {}
    for pod in fleet.document.pods:
        if pod.gpus and pod.lent_by is None:
            jobs[pod.cluster, pod.namespace, pod.workload] += pod.gpus
            classes[pod.cluster, pod.namespace, pod.workload] = pod.work_class
    assert median(jobs.values()) == 2
    assert 8 <= mean(jobs.values()) <= 12
    assert Counter(classes.values())["online"] / len(classes) > 0.5
    pinned = [isinstance(p.gpu_model, str) for p in fleet.document.pods if p.gpus]
    assert sum(pinned) / len(pinned) > 0.99


def test_nothing_is_overfull_or_misplaced(world: Audit) -> None:
    assert (world.overfull(), world.crowded_groups(), world.misplaced()) == ([], [], [])


def test_gangs_are_whole_and_required_topology_holds(world: Audit) -> None:
    members = Counter((p.cluster, p.namespace, p.gang) for p in world.document.pods if p.gang)
    places = defaultdict(set)
    for pod in world.placed:
        home = world.nodes[pod.cluster, pod.node or ""]
        places[pod.cluster, pod.namespace, pod.gang].add(home.domain or home.asw)
    assert world.document.gangs
    wishes = set()
    for gang in world.document.gangs:
        who = (gang.cluster, gang.namespace, gang.name)
        assert members.pop(who) == gang.min_members
        wishes.add((gang.topology.required, gang.topology.preferred) if gang.topology else None)
        if gang.topology and gang.topology.required:
            assert len(places[who]) == 1
            assert None not in places[who]
    assert not members
    assert {None, (None, "asw")} <= wishes


def test_budgets_leave_something_and_cover_real_pods(world: Audit) -> None:
    labelled = Counter((p.cluster, p.namespace, f"app={p.labels['app']}") for p in world.placed if "app" in p.labels)
    assert world.document.pdbs
    for budget in world.document.pdbs:
        covered = labelled[budget.cluster, budget.namespace, budget.selector]
        spare = budget.max_unavailable if budget.max_unavailable is not None else covered - (budget.min_available or 0)
        assert 1 <= spare < covered


def test_a_fleet_is_untidy(asi: Audit) -> None:
    nodes, pods = asi.document.nodes, asi.document.pods
    assert 0 < sum(n.cordoned for n in nodes) < 0.02 * len(nodes)
    assert 0 < sum(not n.ready for n in nodes) < 0.02 * len(nodes)
    assert {d.health for n in nodes for d in n.devices} == {"ok", "degraded", "failed"}
    assert any(n.taints for n in nodes)
    assert any(p.terminating for p in pods)
    assert 0 < sum(p.node is None for p in pods) < 0.02 * len(pods)
    agents = [p for p in pods if isinstance(p.owner, OwnerRecord) and p.owner.kind == "DaemonSet"]
    assert 0 < len(agents) <= 0.02 * len(nodes)
    assert any(p.gpus and p.gpu_milli < 1000 for p in pods)
    trainers = [p for p in pods if p.work_class == "training" and p.node]
    assert any(p.checkpoint_s is not None for p in trainers)


def test_a_failed_device_has_no_pod(asi: Audit) -> None:
    for where, node in asi.nodes.items():
        failed = sum(d.health == "failed" for d in node.devices)
        used = sum(p.gpus * p.gpu_milli for p in asi.pods_on[where] if p.lent_by is None) if failed else 0
        assert used <= 1000 * (node.gpus - failed)


def test_departments_are_81_and_of_very_different_size(fleet: Audit) -> None:
    gpus: Counter[str] = Counter()
    for pod in fleet.placed:
        if pod.tenant:
            gpus[pod.tenant] += pod.gpus
    listed = {t.name for t in fleet.document.tenants}
    assert len(listed) == 81
    assert set(gpus) <= listed
    assert gpus.most_common(1)[0][1] > 10 * median(gpus.values())


def test_names_tie_the_records_together(asi: Audit) -> None:
    document: Document = asi.document
    domains = {(d.cluster, d.name): d for d in document.domains}
    for node in document.nodes:
        if node.domain:
            assert domains[node.cluster, node.domain].level == "asw"
    for domain in document.domains:
        assert domain.level == "agg" or domains[domain.cluster, domain.parent or ""].level == "agg"
    keys = Counter((p.cluster, p.namespace, p.name) for p in document.pods)
    assert max(keys.values()) == 1
