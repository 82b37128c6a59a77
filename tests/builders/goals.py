"""What a plan promises of its goal, judged from the text of the documents alone; shares no code with ``scheduler``."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.builders.checker import Judge

Row = dict[str, Any]


def goal_faults(judge: "Judge", goal: Row, moves: list[Row], place: dict[str, str]) -> Iterator[str]:
    """``place``: pod -> node after the last wave."""
    if moves and goal["whole"] and goal["reached"] < goal["wanted"]:
        yield "all or nothing, and not all is reached"
    if goal["kind"] in ("drain", "domain"):
        yield from _clearing(judge, goal, moves, place)
    elif goal["kind"] == "spare":
        yield from _spare(judge, goal, moves, place)
    else:
        yield from _seats(judge, goal, place)


def _busy(judge: "Judge", place: dict[str, str]) -> set[str]:
    return {node for pod, node in place.items() if not _agent(judge.pods[pod])}


def _clearing(judge: "Judge", goal: Row, moves: list[Row], place: dict[str, str]) -> Iterator[str]:
    named = set(goal["nodes"])
    if goal["kind"] == "domain":
        inside = {n for n, node in judge.nodes.items() if judge.level_domain(node, goal["level"]) == goal["name"]}
        if inside != named:
            yield f"{goal['name']} has the nodes {sorted(inside)}"
    clear, was_clear = named - _busy(judge, place), named - _busy(judge, judge.place)
    if (goal["wanted"], goal["reached"], goal["before"]) != (len(named), len(clear), len(was_clear)):
        yield f"goal says {goal['reached']} of {goal['wanted']}, {len(clear)} of {len(named)} are clear"
    for move in moves:
        if move["to"] in named:
            yield f"{move['pod']}: goes to {move['to']}, which is to be cleared"
        if move["from"] in named and move["from"] not in clear:
            yield f"{move['pod']}: leaves {move['from']}, which does not become clear"


def _spare(judge: "Judge", goal: Row, moves: list[Row], place: dict[str, str]) -> Iterator[str]:
    (failing,) = goal["nodes"]
    gangs = {_gang(p) for p in judge.on(failing) if p.get("gang") and not _agent(p)}
    members = {name for name, p in judge.pods.items() if judge.place[name] == failing and _gang(p) in gangs}
    homes = {place[name] for name in members}
    if goal["wanted"] != len(members) or goal["reached"] != (len(members) if moves else 0):
        yield f"goal says {goal['reached']} of {goal['wanted']}, {len(members)} members stand on {failing}"
    if moves and len(homes) != 1:
        yield f"the members go to {sorted(homes)}"
    held = moves and goal["level"] != "cluster"
    if held and any(judge.level_domain(judge.nodes[n], goal["level"]) != goal["name"] for n in homes | {failing}):
        yield "the spare is not under the same switch"


def _seats(judge: "Judge", goal: Row, place: dict[str, str]) -> Iterator[str]:
    seats = {seat["who"]: seat["node"] for seat in goal["seats"]}
    if len(seats) != len(goal["seats"]) or len(seats) != goal["reached"]:
        yield "seats are given twice, or not counted as they are"
    pods = _slots(goal) if goal["kind"] == "shape" else _members(judge, goal["name"])
    if len(pods) != goal["wanted"] or not set(seats) <= set(pods):
        yield f"wanted are {sorted(pods)}, seats have {sorted(seats)}"
        return
    there: dict[str, list[Row]] = defaultdict(list)
    for who, node in seats.items():
        there[node].append(pods[who])
    for name, new in there.items():
        node, before = judge.nodes[name], judge.on(name, place)
        yield from (f"{name}: {why}" for why in judge.crowded(node, before + new))
        for pod in new:
            yield from (f"{pod['name']} on {name}: {why}" for why in judge.unfit(pod, node))
            if judge.repelled(pod, before + new) or not judge.attracted(pod, before):
                yield f"{pod['name']} on {name}: affinity"
    if goal["kind"] == "gang":
        yield from _together(judge, pods, seats, place)
        yield from _alike(judge, pods, seats, place)


def _alike(judge: "Judge", pods: dict[str, Row], seats: dict[str, str], place: dict[str, str]) -> Iterator[str]:
    """One job stands on one GPU model, that of its members that run, where these share one."""
    on_gpus = [who for who in seats if pods[who]["gpus"] or pods[who].get("mig")]
    running = {
        judge.nodes[place[name]].get("gpu_model", "")
        for name, p in judge.pods.items()
        if on_gpus and p.get("gang") and _gang(p) == _gang(pods[on_gpus[0]]) and not p.get("terminating")
        and pods[on_gpus[0]].get("gang") and (p["gpus"] or p.get("mig"))
    }  # fmt: skip
    if len(running) < 2 and len(running | {judge.nodes[seats[who]].get("gpu_model", "") for who in on_gpus}) > 1:
        yield f"{on_gpus[0]}: its gang is not on one GPU model"


def _together(judge: "Judge", pods: dict[str, Row], seats: dict[str, str], place: dict[str, str]) -> Iterator[str]:
    for who, node in seats.items():
        pod = pods[who]
        gang = judge.gangs.get(_gang(pod), {})
        for level in {(w or {}).get("required") for w in (gang.get("topology"), pod.get("topology"))} - {None}:
            mates = [place[n] for n, p in judge.pods.items() if pod.get("gang") and _gang(p) == _gang(pod)]
            nodes = [node, *(mates if pod.get("gang") else []), *(seats.values() if pod.get("gang") else [])]
            homes = {judge.level_domain(judge.nodes[n], level) for n in nodes}
            if len(homes) != 1 or None in homes:
                yield f"{who}: its gang is not in one {level}"


def _slots(goal: Row) -> dict[str, Row]:
    found = re.fullmatch(r"(\d+)G(\d+)C", goal["name"])
    assert found is not None
    asked = {"gpus": int(found[1]), "cpu_milli": int(found[2]) * 1000, "gpu_model": list(goal["models"])}
    return {f"slot {i}": {"name": f"slot {i}", "namespace": "", **asked} for i in range(1, goal["wanted"] + 1)}


def _members(judge: "Judge", name: str) -> dict[str, Row]:
    """Pending pods of the gang that the name says or whose member it names; else the pod alone."""
    waiting = {
        f"{p.get('namespace', 'default')}/{p['name']}": p
        for p in judge.rows
        if not p.get("node") and p.get("phase") not in ("Succeeded", "Failed") and not p.get("terminating")
    }
    space, _, own = name.partition("/")
    key = (space, own) if (space, own) in judge.gangs else _gang(waiting[name]) if name in waiting else None
    if key in judge.gangs:
        return {who: p for who, p in waiting.items() if p.get("gang") and _gang(p) == key}
    return {who: p for who, p in waiting.items() if who == name}


def _gang(pod: Row) -> tuple[str, str]:
    return pod.get("namespace", "default"), pod.get("gang", "")


def _agent(pod: Row) -> bool:
    owner = pod.get("owner") or {}
    return (owner if isinstance(owner, str) else owner.get("kind")) in ("DaemonSet", "Static")
