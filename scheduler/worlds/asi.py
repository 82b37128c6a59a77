"""The worlds asi, fleet and uniform8: the study's fleet, or its work on uniform hardware.

How the published shares are read: HP pods, awake or asleep, hold 68 % of all GPUs; with LP pods on idle GPUs 93 % are
touched; LP pods on the GPUs of sleeping services come on top of that and share devices with their lenders.
"""

import numpy as np

from scheduler.cluster.records import ClusterRecord, Document
from scheduler.worlds import marginals
from scheduler.worlds.cpu_work import add_cpu_work
from scheduler.worlds.description import NOW_S, budgets, domains, gangs, node_records, pods, tenants
from scheduler.worlds.fill import Free
from scheduler.worlds.incidents import Incidents, befall, lock_at_random, lock_by_workload
from scheduler.worlds.jobs import fill_pools
from scheduler.worlds.lending import put_to_sleep
from scheduler.worlds.site import Site, asi_site, uniform_site
from scheduler.worlds.workload import World


def asi_world(nodes: int, seed: int, hour: int, taken_at: str) -> Document:
    """The fleet's shape at ``nodes`` nodes; at 37,707 nodes it is the fleet itself."""
    rng = np.random.default_rng(seed)
    world = _working_world(asi_site(nodes, rng), rng, hour)
    incidents = befall(world)
    lock_by_workload(world, marginals.LOCKED_SHARE)
    return _document(world, incidents, hour, taken_at)


def uniform_world(nodes: int, seed: int, hour: int, taken_at: str) -> Document:
    """``nodes`` 8-GPU nodes in one cluster with the same mix of work and random locks."""
    rng = np.random.default_rng(seed)
    world = _working_world(uniform_site(nodes), rng, hour)
    incidents = befall(world)
    lock_at_random(world, marginals.LOCKED_SHARE)
    return _document(world, incidents, hour, taken_at)


def _working_world(site: Site, rng: np.random.Generator, hour: int) -> World:
    world = World(site, Free(site.gpus, site.cpu_milli, site.memory_mib), rng)
    fill_pools(world)
    put_to_sleep(world, hour)
    add_cpu_work(world)
    return world


def _document(world: World, incidents: Incidents, hour: int, taken_at: str) -> Document:
    return Document(
        taken_at=taken_at,
        now_s=NOW_S,
        clusters=[ClusterRecord(name=name) for name in world.site.clusters],
        domains=domains(world.site),
        nodes=node_records(world.site, incidents),
        pods=pods(world, incidents, hour),
        gangs=gangs(world),
        pdbs=budgets(world),
        tenants=tenants(),
    )
