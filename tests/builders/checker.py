"""An independent judge of consolidation plans.

Written from the text of the format alone, on plain dictionaries; it shares no code with ``scheduler``, so that a
mistake in the planner's idea of feasibility cannot hide in the judge's.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from tests.builders.goals import goal_faults
from tests.builders.layout import cpu_of, memory_of, mig_of, overfull

Row = dict[str, Any]


class Judge:
    """One cluster of a document, and the rules for moving its pods.  ``faults`` returns what a plan does wrong."""

    def __init__(self, document: Row, cluster: str = "default") -> None:
        self.nodes: dict[str, Row] = {n["name"]: n for n in _of(document, "nodes", cluster)}
        self.domains: dict[str, Row] = {d["name"]: d for d in _of(document, "domains", cluster)}
        self.gangs = {(g.get("namespace", "default"), g["name"]): g for g in _of(document, "gangs", cluster)}
        self.budgets = _of(document, "pdbs", cluster)
        self.rows = _of(document, "pods", cluster)
        self.pods: dict[str, Row] = {key(p): p for p in self.rows if _live(p) and p["node"] in self.nodes}
        self.place = {name: pod["node"] for name, pod in self.pods.items()}

    # ---- what the words mean -------------------------------------------------------------------------------------
    def counted(self, node: Row) -> bool:
        """Whether empty, slack and full are said of it."""
        allocatable = min(node["gpus"], node.get("allocatable_gpus", node["gpus"]))
        return node.get("ready", True) and not node.get("cordoned", False) and allocatable > 0

    def on(self, node: str, place: dict[str, str] | None = None) -> list[Row]:
        return [self.pods[name] for name, where in (place or self.place).items() if where == node]

    def empty(self, place: dict[str, str]) -> set[str]:
        busy = {where for name, where in place.items() if not _agent(self.pods[name])}
        return {name for name, node in self.nodes.items() if self.counted(node) and name not in busy}

    def immovable(self, name: str) -> str | None:
        pod = self.pods[name]
        lenders = {p["lent_by"] for p in self.pods.values() if p.get("lent_by")}
        checks = {
            "agent": _agent(pod),
            "terminating": pod.get("terminating", False),
            "locked": pod.get("locked", False),
            "move never": pod.get("move") == "never",
            "names a lender": name in lenders,
            "budget": any(self.budget_left(b) <= 0 for b in self.budgets if _covers(b, pod)),
        }
        return next((reason for reason, holds in checks.items() if holds), None)

    def budget_left(self, budget: Row) -> int:
        covered = [p for p in self.pods.values() if _covers(budget, p)]
        leaving = sum(bool(p.get("terminating")) for p in covered)
        if "max_unavailable" in budget:
            return int(budget["max_unavailable"]) - leaving
        return len(covered) - leaving - int(budget["min_available"])

    def level_domain(self, node: Row, level: str) -> str | None:
        """The node's domain at a level, walking up; None where nobody knows."""
        if node.get("asw"):
            asw = node["asw"]
            if level == "asw":
                return str(asw)
            name = self.domains.get(asw, {}).get("parent")
        else:
            name = node.get("domain")
        while name is not None and name in self.domains:
            if self.domains[name]["level"] == level:
                return str(name)
            name = self.domains[name].get("parent")
        return None

    # ---- one pod against one node ----------------------------------------------------------------------------------
    def unfit(self, pod: Row, node: Row) -> Iterator[str]:
        """Rules that do not depend on who else is there."""
        if not node.get("ready", True) or node.get("cordoned", False):
            yield "target is not ready or cordoned"
        if not _model_ok(pod, node):
            yield "target has another GPU model"
        if any(node.get("labels", {}).get(k) != v for k, v in pod.get("node_selector", {}).items()):
            yield "node selector is not met"
        if pod.get("only_node") not in (None, node["name"]):
            yield "pod may run on one other node only"
        if any(not _tolerated(t, pod.get("tolerations", [])) for t in node.get("taints", [])):
            yield "taint is not tolerated"
        if pod.get("volume_zone") and pod["volume_zone"] != _zone(node):
            yield "volume is in another zone"
        if pod["gpus"] and pod.get("gpu_memory_mib", 0) > node.get("gpu_memory_mib", 0):
            yield "device memory is too small or unknown"

    def crowded(self, node: Row, there: list[Row]) -> Iterator[str]:
        """Rules of a node that receives, over all copies on it."""
        if cpu_of(there) > node.get("cpu_milli", 0):
            yield "CPU exceeded"
        if memory_of(there) > node.get("memory_mib", 0):
            yield "memory exceeded"
        if overfull(node, there):
            yield "GPUs exceeded"
        if _short_of(node, there):
            yield "resources"
        if any(count > mig_of(node).get(profile, 0) for profile, count in _mig_used(there).items()):
            yield "MIG slices exceeded"
        if len(there) > node.get("max_pods", len(there)):
            yield "pod limit exceeded"
        if any(_same_port(*two) for two in combinations(there, 2)):
            yield "host port taken twice"

    def repelled(self, pod: Row, there: Iterable[Row]) -> bool:
        """Anti-affinity, in both directions."""
        return any(_refuses(pod, other) or _refuses(other, pod) for other in there if key(other) != key(pod))

    def attracted(self, pod: Row, there: list[Row]) -> bool:
        others = [p for p in there if key(p) != key(pod) and _space(p) == _space(pod)]
        return all(any(_has(p, entry) for p in others) for entry in pod.get("affinity", []))

    # ---- the plan --------------------------------------------------------------------------------------------------
    def faults(self, answer: Row) -> list[str]:
        """All violations of an answer in the shape of ``slackline consolidate --json``."""
        moves: list[Row] = answer["moves"]
        place = dict(self.place)
        found = self.steps(moves, place)
        return found or list(self._outcome(moves, place, set(answer["emptied_nodes"]), answer.get("goal")))

    def steps(self, moves: list[Row], place: dict[str, str]) -> list[str]:
        """What is wrong on the way, whatever the moves are good for; ``place`` becomes where the pods end."""
        found = list(self._shape(moves))
        for wave in sorted({m["wave"] for m in moves}) if not found else ():
            found += self._wave([m for m in moves if m["wave"] == wave], place)
        return found

    def _shape(self, moves: list[Row]) -> Iterator[str]:
        waves = [m["wave"] for m in moves]
        if waves != sorted(waves) or (waves and waves[0] != 0):
            yield "moves are not sorted by wave from 0"
        if len({m["pod"] for m in moves}) != len(moves):
            yield "a pod moves twice"
        for i, move in enumerate(moves):
            if move["pod"] not in self.pods or move["to"] not in self.nodes:
                yield f"move {i}: unknown pod or node"
            elif self.place[move["pod"]] != move["from"] or move["from"] == move["to"]:
                yield f"move {i}: the pod is not on the source, or does not change its node"
            elif any(moves[a]["wave"] >= move["wave"] for a in move["after"]):
                yield f"move {i}: waits for a move that is not in an earlier wave"

    def _wave(self, moves: list[Row], place: dict[str, str]) -> list[str]:
        """Judge one wave with both copies counted, then end the old copies (``place`` changes)."""
        found = [f"{m['pod']}: {why}" for m in moves if (why := self.immovable(m["pod"]))]
        leaving = {m["pod"] for m in moves}
        for budget in self.budgets:
            used = sum(_covers(budget, self.pods[m["pod"]]) for m in moves)
            if used > max(0, self.budget_left(budget)):
                found.append(f"budget {budget['selector']} exceeded in one wave")
        for name in {m["to"] for m in moves}:
            node, before = self.nodes[name], self.on(name, place)
            new = [self.pods[m["pod"]] for m in moves if m["to"] == name]
            found += [f"{name}: {why}" for why in self.crowded(node, before + new)]
            for pod in new:
                found += [f"{key(pod)} to {name}: {why}" for why in self.unfit(pod, node)]
                if self.repelled(pod, before + new):
                    found.append(f"{key(pod)} to {name}: anti-affinity")
                if not self.attracted(pod, [p for p in before if key(p) not in leaving]):
                    found.append(f"{key(pod)} to {name}: affinity is not met")
        place.update({m["pod"]: m["to"] for m in moves})
        found += self._scattered(moves, place)
        return found

    def _scattered(self, moves: list[Row], place: dict[str, str]) -> Iterator[str]:
        """Required topology: after every wave the members of a gang that moved stand in one known domain."""
        for move in moves:
            pod = self.pods[move["pod"]]
            gang = self.gangs.get((_space(pod), pod.get("gang", "")), {})
            level = (gang.get("topology") or pod.get("topology") or {}).get("required")
            if level:
                members = [
                    n
                    for n, p in self.pods.items()
                    if p.get("gang") and p["gang"] == pod.get("gang") and _space(p) == _space(pod)
                ]
                homes = {self.level_domain(self.nodes[place[n]], level) for n in members or [move["pod"]]}
                if len(homes) != 1 or None in homes:
                    yield f"{move['pod']}: gang leaves its {level}"

    def _outcome(
        self, moves: list[Row], place: dict[str, str], emptied: set[str], goal: Row | None = None
    ) -> Iterator[str]:
        before, after = self.empty(self.place), self.empty(place)
        if emptied != after - before:
            yield f"emptied_nodes says {sorted(emptied)}, the moves empty {sorted(after - before)}"
        if goal is not None and goal["kind"] != "nodes":
            yield from goal_faults(self, goal, moves, place)
            return
        if moves and len(after) <= len(before):
            yield "moves without a gain"
        receiving = {m["to"]: m["wave"] for m in moves}
        for node in emptied & set(receiving):
            yield f"{node}: an emptied node receives"
        for move in moves:
            if move["from"] not in emptied and receiving.get(move["from"], -1) <= move["wave"]:
                yield f"{move['pod']}: leaves a node that is not emptied, for nobody"


def key(pod: Row) -> str:
    return f"{_space(pod)}/{pod['name']}"


def _space(pod: Row) -> str:
    return str(pod.get("namespace", "default"))


def _of(document: Row, kind: str, cluster: str) -> list[Row]:
    return [row for row in document.get(kind, []) if row.get("cluster", "default") == cluster]


def _live(pod: Row) -> bool:
    return bool(pod.get("node")) and pod.get("phase") not in ("Succeeded", "Failed")


def _agent(pod: Row) -> bool:
    owner = pod.get("owner") or {}
    return (owner if isinstance(owner, str) else owner.get("kind")) in ("DaemonSet", "Static")


def _has(pod: Row, entry: str) -> bool:
    name, _, value = entry.partition("=")
    return bool(pod.get("labels", {}).get(name) == value)


def _covers(budget: Row, pod: Row) -> bool:
    return bool(budget["namespace"] == _space(pod)) and _has(pod, budget["selector"])


def _refuses(pod: Row, other: Row) -> bool:
    return _space(pod) == _space(other) and any(_has(other, entry) for entry in pod.get("anti_affinity", []))


def _model_ok(pod: Row, node: Row) -> bool:
    wanted = pod.get("gpu_model")
    if not wanted:
        return not pod["gpus"] or bool(node.get("gpu_model"))
    return node.get("gpu_model", "") in ([wanted] if isinstance(wanted, str) else wanted)


def _zone(node: Row) -> str | None:
    labels = node.get("labels", {})
    return node.get("zone") or labels.get("topology.kubernetes.io/zone") or labels.get("zone")


def _tolerated(taint: Row, tolerations: list[Row]) -> bool:
    effect = taint.get("effect", "NoSchedule")
    if effect not in ("NoSchedule", "NoExecute"):
        return True
    for t in tolerations:
        key_ok = t.get("key") == taint["key"] or (not t.get("key") and t.get("operator") == "Exists")
        value_ok = t.get("operator") == "Exists" or (t.get("value") or "") == (taint.get("value") or "")
        if key_ok and value_ok and t.get("effect") in (None, "", effect):
            return True
    return False


def _same_port(pod: Row, other: Row) -> bool:
    """Whether the two listen on one port, by a protocol and at an address that both have."""

    def apart(port: int | str) -> tuple[str, str, str]:
        head, _, protocol = str(port).partition("/")
        address, _, number = head.rpartition(":")
        return number, protocol, "" if address in ("*", "0.0.0.0") else address

    pairs = ((apart(a), apart(b)) for a in pod.get("host_ports", []) for b in other.get("host_ports", []))
    return any(a[0] == b[0] and all(x == y or "" in (x, y) for x, y in zip(a, b, strict=True)) for a, b in pairs)


def _short_of(node: Row, pods: list[Row]) -> bool:
    """Whether pods ask for more of some counted resource than the node has."""
    asked: Counter[str] = Counter()
    for pod in pods:
        asked.update(pod.get("resources", {}))
    return any(amount > node.get("resources", {}).get(name, 0) for name, amount in asked.items())


def _mig_used(pods: list[Row]) -> Counter[str]:
    used: Counter[str] = Counter()
    for pod in pods:
        used.update(pod.get("mig", {}))
    return used
