"""What is said of a waiting job is true: every way to seat it in a small world is tried, by code that shares nothing
with the planner's.
"""

import random
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

from scheduler.admission.planner import Explanation, explain
from scheduler.advice.remedy import FOUND, MOVES, QUOTA_MORE
from scheduler.advice.unblock import Limits, unblock
from tests.builders.worlds import World, world

Row = dict[str, Any]
MODELS = ("A100", "H20")


def _drawn(seed: int) -> World:
    """Two to four nodes of two models, up to nine pods there, and one job: GPUs of one shape, and pods without any."""
    dice, built = random.Random(seed), world()
    for i in range(dice.randint(2, 4)):
        gpus = dice.choice([0, 4, 4, 4])
        taints = [{"key": "k", "effect": "NoSchedule"}] if dice.random() < 0.25 else []
        built.asw(dice.choice(["a", "b", "b", None])).node(
            f"n{i}", gpus, gpu_model=dice.choice(MODELS) if gpus else "", taints=taints,
            cpu_milli=dice.choice([8, 16, 32]) * 1000, memory_mib=dice.choice([32, 64]) << 10,
        )  # fmt: skip
    for i in range(dice.randint(2, 9)):
        _stand(built, {"name": f"r{i}", "gpus": dice.choice([0, 1, 2]), **_beside(dice), "tenant": "t2"}, dice)
    wish = {"topology": {"required": "asw"}} if dice.random() < 0.4 else {}
    built.gang("h", 1, **wish)
    shape = {"gpus": dice.choice([0, 1, 2, 2, 3, 4]), **_beside(dice)}
    if dice.random() < 0.3:
        shape["gpu_model"] = dice.choice([*MODELS, *MODELS, *MODELS, "L4"])
    for i in range(dice.randint(1, 2)):
        built.pod(f"h-{i}", gang="h", **shape)
    if dice.random() < 0.3:
        built.pod("h-cpu", gang="h", gpus=0, **_beside(dice))
    if dice.random() < 0.6:
        built.tenant("t1", quotas=[{"gpu_model": model, "nominal": dice.choice([0, 1, 2, 4])} for model in MODELS])
    return built


def _beside(dice: random.Random) -> Row:
    return {"cpu_milli": dice.choice([1, 4, 8]) * 1000, "memory_mib": dice.choice([1, 8, 24]) << 10}


def _stand(built: World, pod: Row, dice: random.Random) -> None:
    for node in dice.sample(built.rows["nodes"], len(built.rows["nodes"])):
        there = [row for row in built.rows["pods"] if row.get("node") == node["name"]]
        if not node["taints"] and _holds(node, [*there, pod]):
            built.rows["pods"].append({"namespace": "jobs", "node": node["name"], **pod})
            return


def _holds(node: Row, pods: list[Row]) -> bool:
    return all(sum(pod[axis] for pod in pods) <= node[axis] for axis in ("gpus", "cpu_milli", "memory_mib"))


def _seated(built: World, may: Callable[[Row, Row], bool], *, empty: bool = False, level: bool = True) -> bool:
    """Whether any way seats all of the job: ``may(pod, node)`` beside room, one model for GPUs, and one switch."""
    waiting = [pod for pod in built.rows["pods"] if pod.get("gang")]
    wanted = level and built.rows["gangs"][0].get("topology")
    good = [[node for node in built.rows["nodes"] if _names(pod, node) and may(pod, node)] for pod in waiting]
    for nodes in product(*good):
        models = {node["gpu_model"] for pod, node in zip(waiting, nodes, strict=True) if pod["gpus"]}
        if len(models) > 1 or (wanted and (len({node.get("asw") for node in nodes}) > 1 or not nodes[0].get("asw"))):
            continue
        there = {node["name"]: [] if empty else _standing(built, node) for node in nodes}
        for pod, node in zip(waiting, nodes, strict=True):
            there[node["name"]].append(pod)
        if all(_holds(node, there[node["name"]]) for node in nodes):
            return True
    return False


def _standing(built: World, node: Row) -> list[Row]:
    return [row for row in built.rows["pods"] if row.get("node") == node["name"]]


def _names(pod: Row, node: Row) -> bool:
    return pod.get("gpu_model") in (None, node["gpu_model"])


def _anywhere(pod: Row, node: Row) -> bool:
    return True


def _tolerated(pod: Row, node: Row) -> bool:
    return not node["taints"]


def _in_quota(built: World) -> Callable[[Row, Row], bool]:
    asked = sum(pod["gpus"] for pod in built.rows["pods"] if pod.get("gang"))
    nominal = {row["gpu_model"]: row["nominal"] for tenant in built.rows["tenants"] for row in tenant["quotas"]}
    return lambda pod, node: not pod["gpus"] or asked <= nominal.get(node["gpu_model"], asked)


def test_every_reason_holds_and_every_remedy_of_quota_and_moves_is_one() -> None:
    told: Counter[str] = Counter()
    for seed in range(120):
        built = _drawn(seed)
        row = explain(built.snapshot()).rows[0]
        words = {row.reason.word, *(other.word for other in row.others)}
        told.update(words)
        _true(built, row, words, seed)
        told.update(f"remedy {kind}" for kind in (_remedied(built, seed) if "quota" in words else ()))
    assert min(told[word] for word in (*TOLD, f"remedy {QUOTA_MORE}")) >= 2, told


TOLD = ("fits_now", "quota", "misconfigured", "no_such_model", "constraint", "fragmentation", "capacity")


def _true(built: World, row: Explanation, words: set[str], seed: int) -> None:
    open_models = _in_quota(built)
    room = _seated(built, _tolerated)
    starts = _seated(built, lambda pod, node: _tolerated(pod, node) and open_models(pod, node))
    assert ("fits_now" in words) == starts, (seed, row.reason)
    lawful = _seated(built, _tolerated, empty=True)
    assert ("misconfigured" in words) != lawful or "no_such_model" in words, (seed, row.reason)
    if room and not starts:
        assert row.reason.word == "quota", (seed, row.reason)
    if "constraint" in words:
        assert _seated(built, open_models if words.isdisjoint({"quota"}) else _anywhere), (seed, row.reason)
    if "topology" in words:
        assert _seated(built, _tolerated, level=False), (seed, row.reason)
    for reason in (row.reason, *row.others):
        if reason.numbers.get("cause") == "stranded":
            each = max(pod["gpus"] for pod in built.rows["pods"] if pod.get("gang"))
            free = [node["gpus"] - sum(pod["gpus"] for pod in _standing(built, node)) for node in built.rows["nodes"]]
            assert any(0 < gpus < each or gpus % max(each, 1) for gpus in free), (seed, reason)


def _remedied(built: World, seed: int) -> list[str]:
    """The remedies that are said to help, which are carried out here."""
    found = explain(built.snapshot())
    helped = []
    for one in unblock(found, found.rows[0], limits=Limits(moves=seed % 6 == 0)):
        if one.outcome != FOUND or one.kind not in (QUOTA_MORE, MOVES):
            continue
        helped.append(one.kind)
        after = _drawn(seed)
        if one.plan is not None or one.numbers.get("together_with"):
            plan = one.plan or next(other.plan for other in unblock(found, found.rows[0]) if other.plan)
            assert plan.moves, seed
            to = {move.pod: move.target for move in plan.moves}
            for pod in after.rows["pods"]:
                pod["node"] = to.get(f"jobs/{pod['name']}", pod.get("node"))
        if one.kind == QUOTA_MORE:
            quota = next(q for q in after.rows["tenants"][0]["quotas"] if q["gpu_model"] == one.numbers["model"])
            quota["nominal"] += int(one.cost or 0)
        assert explain(after.snapshot()).rows[0].reason.word == "fits_now", (seed, one)
    return helped
