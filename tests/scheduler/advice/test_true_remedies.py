"""A remedy that is said to be found is true: applied to the world that it was found in, the job would start."""

import re
from collections import Counter

from scheduler.admission.planner import Explained, Explanation, explain
from scheduler.advice.remedy import FOUND, MODEL, QUOTA_MORE, SHAPE, VICTIMS, WAIT, Remedy
from scheduler.advice.unblock import Limits, unblock
from tests.builders.tiny_worlds import tiny_world
from tests.builders.worlds import World

STARTS = {"fits_now", "queued"}
RAISED = (
    r"(?i:raise) the cap of (\S+) by|(?i:raise) the borrowing limit of (\S+) on (\S+) by"
    r"|(?i:give) (\S+) more quota of (\S+) by"
)


def test_a_remedy_that_is_found_is_true_when_it_is_applied() -> None:
    told: Counter[str] = Counter()
    for seed in range(100):
        found = explain(tiny_world(seed).snapshot())
        for row in found.rows:
            for remedy in unblock(found, row, limits=Limits(moves=False)):
                if remedy.outcome != FOUND or remedy.kind == "budget":
                    continue
                after = explain(_applied(tiny_world(seed), found, row, remedy).snapshot())
                words = {one.reason.word for one in after.rows}
                assert words <= STARTS | ({"waiting_for_victims"} if remedy.kind != WAIT else set()), (
                    seed, remedy, [one.reason for one in after.rows],
                )  # fmt: skip
                told[remedy.kind] += 1
    assert all(told[kind] for kind in (QUOTA_MORE, VICTIMS, SHAPE, MODEL, WAIT)), told


def _applied(built: World, found: Explained, row: Explanation, remedy: Remedy) -> World:
    rows, numbers = built.rows, remedy.numbers
    mine = [pod for pod in rows["pods"] if "node" not in pod or pod["node"] is None]
    if remedy.kind == QUOTA_MORE:
        for told in re.findall(rf"(?:{RAISED}) (\d+) GPU", remedy.detail):
            _raised(built, *told)
    elif remedy.kind == VICTIMS:
        return built.without(*str(numbers["named"]).split(", "))
    elif remedy.kind == MODEL:
        for pod in mine:
            pod |= {"gpu_model": numbers["model"]} if pod.get("gpu_model") else {}
    elif remedy.kind == WAIT:
        gone = [pod for pod in rows["pods"] if pod.get("terminating")]
        assert numbers["start_s"] == max(pod["deleted_at_s"] + pod["grace_s"] for pod in gone)
        return built.without(*(f"jobs/{pod['name']}" for pod in gone))
    else:
        size, pods, one = int(str(numbers["gpus_per_pod"])), int(str(numbers["pods"])), mine[0]
        rows["pods"] = [pod for pod in rows["pods"] if pod not in mine]
        for i in range(pods):
            part = {"gpus": size, "cpu_milli": -(-one["cpu_milli"] * size // one["gpus"])}
            rows["pods"].append(one | part | {"name": f"s{i}"})
        for gang in rows["gangs"]:
            gang["min_members"] = pods
    return built


def _raised(built: World, cap: str, limited: str, on: str, given: str, of: str, gpus: str) -> None:
    """One of the limits that the sentence names: a cap, a borrowing limit, or a quota."""
    name, model, tenants = cap or limited or given, on or of, built.rows["tenants"]
    if name not in {one["name"] for one in tenants}:
        built.tenant(name, quotas=[])
    tenant = next(one for one in tenants if one["name"] == name)
    if cap:
        tenant["cap_gpus"] += int(gpus)
        return
    word = "borrowing_limit" if limited else "nominal"
    quota = next((one for one in tenant["quotas"] if one["gpu_model"] == model), None)
    if quota is None:
        quota = {"gpu_model": model}
        tenant["quotas"].append(quota)
    quota[word] = (quota.get(word) or 0) + int(gpus)
