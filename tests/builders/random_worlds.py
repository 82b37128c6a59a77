"""Small random worlds that use every constraint of the format, from a seed.

Pods are placed where the independent judge finds room, so that most worlds start legal; a few start over-committed,
which the format allows.
"""

import random
from typing import Any

from tests.builders.checker import Judge, key
from tests.builders.worlds import World, world

Fields = dict[str, Any]
MODELS = ("H100", "H20")
APPS = ("db", "web", "train", "solo")


def random_world(seed: int, *, plain: bool = False, scarce: bool = False) -> World:
    """A world of 3-9 nodes and up to 30 pods; ``plain``: whole GPUs and locks; ``scarce``: resources, addresses."""
    dice = random.Random(seed)
    other = random.Random(-1 - seed)  # so that worlds without resources stay what they are
    made = world()
    made.domain("agg-0", "agg").domain("asw-0", "asw", "agg-0").domain("asw-1", "asw", "agg-0")
    for index in range(dice.randint(3, 9)):
        _node(made, dice, index, plain)
        if scarce and other.random() < 0.8:
            made.rows["nodes"][-1]["resources"] = {"disk": other.choice([40, 100, 400]), "nic": other.randint(0, 4)}
    if not plain:
        _groups(made, dice)
    judge = Judge(made.document())
    for index in range(dice.randint(3, 30)):
        _place(made, judge, dice, _pod(dice, index, plain) | (_resources(other) if scarce else {}))
    if not plain:
        _lending(made, dice)
        _finishers(made, dice)
    return made


def _node(made: World, dice: random.Random, index: int, plain: bool) -> None:
    fields: Fields = {"gpu_model": MODELS[0] if plain else dice.choice(MODELS)}
    gpus = 8 if plain else dice.choice([1, 4, 8, 8, 8])
    if not plain:
        fields |= _odd_node(dice)
    made.asw(dice.choice([None, "asw-0", "asw-1"])).node(
        f"n{index}", gpus, cpu_milli=dice.choice([32, 64, 128]) * 1000, **fields
    )


def _odd_node(dice: random.Random) -> Fields:
    fields: Fields = {"labels": {"zone": dice.choice(["z1", "z2"])} if dice.random() < 0.8 else {}}
    if dice.random() < 0.15:
        fields["taints"] = [
            {"key": "dedicated", "value": "infer", "effect": dice.choice(["NoSchedule", "PreferNoSchedule"])}
        ]
    if dice.random() < 0.1:
        fields["cordoned"] = True
    if dice.random() < 0.1:
        fields["ready"] = False
    if dice.random() < 0.2:
        fields["max_pods"] = dice.randint(2, 5)
    if dice.random() < 0.3:
        fields["gpu_memory_mib"] = dice.choice([40_000, 80_000])
    return fields


def _groups(made: World, dice: random.Random) -> None:
    for app in APPS:
        if dice.random() < 0.4:
            made.budget(f"app={app}", max_unavailable=dice.randint(0, 2))
    made.budget("app=web", min_available=dice.randint(1, 4)) if dice.random() < 0.2 else None
    made.gang("g", dice.randint(1, 3), topology={dice.choice(["required", "preferred"]): "asw"})


def _pod(dice: random.Random, index: int, plain: bool) -> Fields:
    pod: Fields = {"name": f"p{index}", "namespace": "jobs", "tenant": "t1", "gpus": dice.choice([1, 1, 1, 2, 2, 4, 8])}
    pod |= {"cpu_milli": dice.choice([1, 4, 8, 16]) * 1000, "memory_mib": dice.choice([1, 8, 64]) << 10}
    if dice.random() < 0.25:
        pod["locked"] = True
    return pod if plain else pod | _share(dice) | _wishes(dice)


def _resources(dice: random.Random) -> Fields:
    menu: tuple[dict[str, int], ...] = ({}, {"disk": dice.choice([1, 20, 60])}, {"nic": 1}, {"disk": 10, "nic": 2})
    chosen, port = (
        dice.choice(menu),
        dice.choice(["", "", "*:80/TCP", "*:80/UDP", "10.0.0.1:80/TCP", "10.0.0.2:80/TCP"]),
    )
    return ({"resources": chosen} if chosen else {}) | ({"host_ports": [port]} if port else {})


def _share(dice: random.Random) -> Fields:
    chance = dice.random()
    if chance < 0.3:
        return {"gpus": 1, "gpu_milli": dice.choice([100, 250, 400, 500, 600, 700])}
    if chance < 0.34:
        return {"gpus": 2, "gpu_milli": 500}
    return {"gpus": 0} if chance < 0.42 else {}


def _wishes(dice: random.Random) -> Fields:
    menu: list[Fields] = [
        {"labels": {"app": dice.choice(APPS)}},
        {"labels": {"app": "db"}, "anti_affinity": ["app=db"]},
        {"labels": {"app": "web"}, "affinity": ["app=db"]},
        {"anti_affinity": ["app=solo"]},
        {"gpu_model": dice.choice(MODELS)},
        {"gpu_model": list(MODELS)},
        {"node_selector": {"zone": "z1"}},
        {"volume_zone": dice.choice(["z1", "z2"])},
        {"tolerations": [{"key": "dedicated", "operator": dice.choice(["Exists", "Equal"]), "value": "infer"}]},
        {"host_ports": [dice.choice([80, 8476])]},
        {"move": dice.choice(["restart", "never"])},
        {"gang": "g"},
        {"topology": {"required": "asw"}},
        {"gpu_memory_mib": 40_000},
        {"owner": {"kind": "DaemonSet", "name": "agent"}, "gpus": 0},
        {"terminating": True},
        {"tier": "LP"},
    ]
    return dict(dice.choice(menu)) if dice.random() < 0.5 else {}


def _place(made: World, judge: Judge, dice: random.Random, pod: Fields) -> None:
    """Bind the pod where there is room, seldom where there is none; else it stays pending."""
    for name in dice.sample(sorted(judge.nodes), len(judge.nodes)):
        node, there = judge.nodes[name], judge.on(name)
        crowded = list(judge.crowded(node, [*there, pod]))
        if (not crowded and not judge.repelled(pod, there)) or dice.random() < 0.005:
            made.rows["pods"].append({**pod, "node": name})
            judge.pods[key(pod)], judge.place[key(pod)] = made.rows["pods"][-1], name
            return
    made.rows["pods"].append(pod)


def _lending(made: World, dice: random.Random) -> None:
    """Put one whole-device pod to sleep and lend its GPUs to a borrower on the same node."""
    whole = [
        p for p in made.rows["pods"] if p.get("node") and p["gpus"] and "gpu_milli" not in p and p.get("tier") != "LP"
    ]
    if whole and dice.random() < 0.3:
        lender = dice.choice(whole)
        lender["standby"] = True
        made.pod("borrower", lender["node"], lender["gpus"], tier="LP", lent_by=key(lender), cpu_milli=1000)


def _finishers(made: World, dice: random.Random) -> None:
    for pod in made.rows["pods"]:
        if dice.random() < 0.03 and not pod.get("standby") and pod["name"] != "borrower":
            pod["phase"] = dice.choice(["Succeeded", "Failed"])
    if dice.random() < 0.2:
        made.pod("orphan", "gone-7", 4)
