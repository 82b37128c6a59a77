"""Random documents of the format: names that look alike, fields left out, null and blank ones, unknown ones."""

import random
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
Draw = Callable[[random.Random], Any]
NAMES = ("a", "b", "n-1", "n-10", "œ", "a b", "<b>", "\u202ex", "0")
WORDS = ("", "x", "y", "Z", " padded ")
NOTHING = (None, "", "  ", [])
UNKNOWN = (1, "w", [1, {"x": None}], {"y": 2}, 1.5)
LISTS = ("domains", "nodes", "pods", "gangs", "pdbs", "tenants")


def one_of(*choices: Any) -> Draw:
    return lambda dice: dice.choice(choices)


def up_to(high: int, low: int = 0) -> Draw:
    return lambda dice: dice.randint(low, high)


def some(draw: Draw, most: int = 2) -> Draw:
    return lambda dice: [draw(dice) for _ in range(dice.randint(0, most))]


def row(**fields: Draw) -> Draw:
    """Some of the fields, some of those absent in one of the ways to be absent, and now and then an unknown one."""

    def draw(dice: random.Random) -> Row:
        chosen = {name: field(dice) for name, field in fields.items() if dice.random() < 0.4}
        blank = {name: dice.choice(NOTHING) for name in fields if dice.random() < 0.1}
        odd = {"wombat": dice.choice(UNKNOWN)} if dice.random() < 0.1 else {}
        return {name.rstrip("_"): value for name, value in {**chosen, **blank, **odd}.items()}

    return draw


def table(keys: tuple[str, ...], value: Draw) -> Draw:
    return lambda dice: {key: value(dice) for key in keys if dice.random() < 0.4}


name, word, flag, amount, time = one_of(*NAMES), one_of(*WORDS), one_of(True, False), up_to(1 << 40), up_to(10_000, -10)
labels = table(("app", "zone", "k=v", ""), word)
topology = row(required=one_of("asw", "agg"), preferred=name)
DEVICE = row(
    health=one_of("ok", "degraded", "failed"),
    memory_mib=up_to(90_000),
    nvlink_group=one_of(0, 1, "x"),
    nics=some(name),
    mig=some(lambda dice: {"profile": name(dice), "count": dice.randint(0, 7)}),
    utilisation=row(sm=up_to(100)),
)
MODELS = ("H100", "A10")
QUOTA = row(nominal=up_to(9), borrowing_limit=up_to(9))
NODE = row(
    gpu_model=one_of(*MODELS),
    allocatable_gpus=up_to(10),
    gpu_memory_mib=up_to(90_000),
    cpu_milli=amount,
    memory_mib=amount,
    max_pods=up_to(200),
    zone=word,
    labels=labels,
    taints=some(lambda dice: {"key": name(dice), "effect": "NoExecute", "value": word(dice)}),
    cordoned=flag,
    ready=flag,
    power_watts=up_to(10_000),
    resources=table(NAMES[:2], up_to(90)),
)
POD = {
    "gpu_milli": up_to(1000, 1),
    "uid": word,
    "tenant": name,
    "node": name,
    "mig": table(NAMES[:2], up_to(7)),
    "resources": table(NAMES[:2], up_to(9)),
    "gpu_model": one_of("H100", ["H100", "A10"], ["A10"]),
    "priority": up_to(100, -100),
    "tier": one_of("HP", "LP"),
    "class_": one_of("training", "dev", "online", "offline"),
    "owner": one_of("Job", {"kind": "Job"}, {"kind": "DaemonSet", "name": "x"}),
    "move": one_of("copy", "restart", "never"),
    "labels": labels,
    "node_selector": labels,
    "only_node": name,
    "tolerations": some(lambda dice: {"key": name(dice), "value": word(dice)}),
    "affinity": one_of(["app=x"], []),
    "anti_affinity": one_of(["app="], []),
    "topology": topology,
    "host_ports": some(one_of(1, 53, 65_535, "*:53/TCP", "10.0.0.1:53/UDP", "[fd00::1]:53/UDP")),
    "volume_zone": word,
    "phase": one_of("Running", "Succeeded", "Failed", "Pending"),
    "replicas": row(min=up_to(9)),
    "parallelism": row(dp=up_to(9)),
    **dict.fromkeys(("cpu_milli", "memory_mib"), amount),
    **dict.fromkeys(("gpu_memory_mib", "grace_s", "checkpoint_interval_s", "min_runtime_s"), up_to(90_000)),
    **dict.fromkeys(("standby_until_s", "locked_until_s", "deleted_at_s", "started_s", "checkpoint_s"), time),
    **dict.fromkeys(("standby", "locked", "terminating"), flag),
}


def _keys(dice: random.Random, most: int, *tables: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(tuple(map(dice.choice, tables)) for _ in range(dice.randint(0, most))))


def _node(dice: random.Random, cluster: str, called: str, domains: list[str]) -> Row:
    gpus = dice.randint(0, 9)
    listed = dice.sample(range(gpus), dice.randint(0, gpus)) if dice.random() < 0.3 else []
    places = [{}, {"asw": name(dice)}, *({"domain": domain} for domain in domains if cluster == "default")]
    devices = [{"index": index, **DEVICE(dice)} for index in listed]
    return {"name": called, "cluster": cluster, "gpus": gpus, "devices": devices, **NODE(dice), **dice.choice(places)}


def _pod(dice: random.Random, key: tuple[str, ...], gangs: list[tuple[str, ...]], pods: list[tuple[str, ...]]) -> Row:
    cluster, namespace, called = key
    lenders = [f"{other[1]}/{other[2]}" for other in pods if other[0] == cluster and other != key]
    mates = [gang[2] for gang in gangs if gang[:2] == key[:2]]
    joins = row(lent_by=one_of("default/nobody", *lenders), **({"gang": one_of(*mates)} if mates else {}))
    identity = {"name": called, "namespace": namespace, "cluster": cluster, "gpus": dice.randint(0, 4)}
    return {**identity, **row(**POD)(dice), **joins(dice)}


def document(seed: int) -> Row:
    """A good document, with everything in it that the format allows."""
    dice = random.Random(seed)
    clusters, spaces = ("default", "c2"), ("default", "jobs")
    switches = [key[0] for key in _keys(dice, 2, NAMES)]
    domains = [{"name": "top", "level": "agg"}, *({"name": s, "level": "asw", "parent": "top"} for s in switches)]
    gangs, pods = _keys(dice, 2, clusters, spaces, NAMES), _keys(dice, 8, clusters, spaces, NAMES)
    selectors = [dice.choice(({"max_unavailable": 1}, {"min_available": 2})) for _ in range(dice.randint(0, 2))]
    return {
        "schema": "slackline/snapshot/v1",
        "taken_at": "2026-11-01T00:00:00Z",
        "now_s": dice.choice((None, 77)),
        "domains": domains,
        "nodes": [_node(dice, *key, domains=[*switches, "top"]) for key in _keys(dice, 5, clusters, NAMES)],
        "pods": [_pod(dice, key, gangs, pods) for key in pods],
        "gangs": [
            {"cluster": c, "namespace": s, "name": n, "min_members": dice.randint(0, 4), "topology": topology(dice)}
            for c, s, n in gangs
        ],
        "pdbs": [{"namespace": "jobs", "selector": "app=x", **limit} for limit in selectors],
        "tenants": [
            {
                "name": key[0],
                "cap_gpus": 4,
                "quotas": [{"gpu_model": m[0], **QUOTA(dice)} for m in _keys(dice, 2, MODELS)],
            }
            for key in _keys(dice, 2, NAMES)
        ],
        **({"wombat": dice.choice(UNKNOWN)} if dice.random() < 0.2 else {}),
    }
