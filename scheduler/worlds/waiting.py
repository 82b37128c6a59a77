"""Jobs that wait in generated worlds, one for each of the usual reasons, as every queue of a shared fleet holds them.

They are sized by what is free in the pool that they ask for, so that each waits for its reason at any size of the world
and for as long as little changes; a pool without switches or with too little free gets fewer of them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from scheduler.cluster.records import (
    WHOLE_GPU_MILLI,
    Document,
    GangRecord,
    NodeRecord,
    OwnerRecord,
    PodRecord,
    QuotaRecord,
    TenantRecord,
    TopologyRecord,
)

NODE_GPUS = 8
SMALL = 2  # GPUs of a pod of the job that wants one switch
CORES_MILLI, MEMORY_MIB = 8_000, 65_536  # for each GPU [O]
PRIORITY = 100
REQUIRED = TopologyRecord(required="asw")


@dataclass(frozen=True, slots=True)
class _Pool:
    """Nodes of one model, and what no pod touches on each."""

    cluster: str
    model: str
    nodes: list[NodeRecord]
    free: dict[str, int]
    users: list[tuple[str, int]]  # tenants and the GPUs of their HP pods here, most first

    def under(self, node: NodeRecord) -> str | None:
        return node.domain or node.asw

    def by_switch(self, gpus: int) -> Counter[str]:
        """Pods of so many GPUs that find room under each switch."""
        found: Counter[str] = Counter()
        for node in self.nodes:
            switch = self.under(node)
            if switch is not None:
                found[switch] += self.free[node.name] // gpus
        return found


@dataclass(frozen=True, slots=True)
class _Job:
    name: str
    tenant: str
    pods: int
    gpus: int
    topology: TopologyRecord | None = None
    lp: bool = False  # of no quota: what it waits for is room alone


def with_waiting(document: Document) -> Document:
    """The same world with a few gangs that wait."""
    pool = _pool(document)
    if pool is None:
        return document
    jobs = list(_jobs(pool))
    gangs = [GangRecord(name=job.name, namespace=f"{job.tenant}-a", cluster=pool.cluster, min_members=job.pods,
                        topology=job.topology) for job in jobs]  # fmt: skip
    pods = [pod for job in jobs for pod in _pods(pool, job)]
    return replace(
        document,
        gangs=[*document.gangs, *gangs],
        pods=[*document.pods, *pods],
        tenants=[_with_quota(pool, record) for record in document.tenants],
    )


def _pool(document: Document) -> _Pool | None:
    """The largest one of whole nodes of which several switches are known and that several tenants use."""
    pools: defaultdict[tuple[str, str], list[NodeRecord]] = defaultdict(list)
    for node in document.nodes:
        if node.gpus == NODE_GPUS and node.gpu_model and node.ready and not node.cordoned:
            pools[node.cluster, node.gpu_model].append(node)
    for (cluster, model), nodes in sorted(pools.items(), key=lambda one: (-len(one[1]), one[0])):
        switches = {node.domain or node.asw for node in nodes} - {None}
        held, users = _held(document, cluster, {node.name for node in nodes})
        if len(switches) > 1 and len(users) > 1:
            free = {node.name: max(0, node.gpus - held[node.name]) for node in nodes}
            return _Pool(cluster, model, nodes, free, users)
    return None


def _held(document: Document, cluster: str, nodes: set[str]) -> tuple[Counter[str], list[tuple[str, int]]]:
    held: Counter[str] = Counter()
    users: Counter[str] = Counter()
    for pod in document.pods:
        if pod.cluster == cluster and pod.node in nodes:
            gpus = -(-pod.gpus * pod.gpu_milli // WHOLE_GPU_MILLI)
            held[pod.node] += gpus
            if pod.tier == "HP" and pod.tenant is not None and gpus:
                users[pod.tenant] += gpus
    return held, sorted(users.items(), key=lambda one: (-one[1], one[0]))


def _jobs(pool: _Pool) -> Iterator[_Job]:
    (holder, _), (other, _) = pool.users[:2]
    whole = sum(free == NODE_GPUS for free in pool.free.values())
    all_free = sum(pool.free.values())
    yield _Job("wait-quota", holder, 2, SMALL)
    wide = max(Counter(pool.under(node) for node in pool.nodes if pool.under(node)).values())
    yield _Job("wait-oversized", other, wide + 1, NODE_GPUS, REQUIRED)
    yield _Job("wait-capacity", other, all_free // NODE_GPUS + 2, NODE_GPUS, lp=True)
    if all_free >= (whole + 1) * NODE_GPUS:
        yield _Job("wait-pieces", other, whole + 1, NODE_GPUS)
    slots = pool.by_switch(SMALL)
    switch, best = max(slots.items(), key=lambda one: (one[1], one[0]))
    size = sum(pool.under(node) == switch for node in pool.nodes) * NODE_GPUS
    if sum(free // SMALL for free in pool.free.values()) > best and (best + 1) * SMALL <= size:
        yield _Job("wait-topology", other, best + 1, SMALL, REQUIRED)


def _pods(pool: _Pool, job: _Job) -> Iterator[PodRecord]:
    for member in range(job.pods):
        yield PodRecord(
            name=f"{job.name}-{member}",
            namespace=f"{job.tenant}-a",
            cluster=pool.cluster,
            uid=f"u-{job.name}-{member}",
            tenant=job.tenant,
            gpus=job.gpus,
            gpu_model=pool.model,
            cpu_milli=CORES_MILLI * job.gpus,
            memory_mib=MEMORY_MIB * job.gpus,
            priority=0 if job.lp else PRIORITY,
            tier="LP" if job.lp else "HP",
            work_class="training",
            owner=OwnerRecord(kind="Job"),
            workload=job.name,
            gang=job.name,
            phase="Pending",
        )


def _with_quota(pool: _Pool, record: TenantRecord) -> TenantRecord:
    """Who uses most of the pool has no more than that in quota."""
    holder, used = pool.users[0]
    if record.name != holder or record.quotas:
        return record
    return replace(record, quotas=[QuotaRecord(gpu_model=pool.model, nominal=used)])
