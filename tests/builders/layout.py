"""How pods lie on the devices of one node, for the independent judge: written from the format's text alone.

Listed devices bind; then pods of whole devices; then shares by first-fit decreasing, ties by identity.  A sleeping pod
and its borrowers together use the larger of its request and theirs.  Pods on one device share its memory where that is
known.
"""

from collections import Counter
from typing import Any

Row = dict[str, Any]
WHOLE = 1000


def overfull(node: Row, pods: list[Row]) -> bool:
    """Whether the devices of the node cannot hold all these pods."""
    rest = device_rests(node, pods)
    return rest is None


def device_rests(node: Row, pods: list[Row]) -> list[int] | None:
    """Free thousandths of each usable device, or None where the pods do not fit."""
    rest = [WHOLE] * _devices(node)
    memory = [_device_memory(node)] * len(rest)
    own, lent = _split(pods)
    for pod in own:
        for index in pod.get("devices", []):
            if index >= len(rest) or rest[index] < _milli(pod) or memory[index] < _memory(pod):
                return None
            rest[index] -= _milli(pod)
            memory[index] -= _memory(pod)
    loose = [p for p in own if not p.get("devices")]
    whole = sum(p["gpus"] for p in loose if _milli(p) == WHOLE) + sum(lent)
    free = [i for i, r in enumerate(rest) if r == WHOLE]
    if whole > len(free) or any(_memory(p) > _device_memory(node) for p in loose):
        return None
    for index in free[:whole]:
        rest[index] = 0
    return _shares(rest, memory, [p for p in loose if _milli(p) < WHOLE])


def _shares(rest: list[int], memory: list[float], pods: list[Row]) -> list[int] | None:
    for pod in sorted(pods, key=lambda p: (-_milli(p), p.get("namespace", "default"), p["name"])):
        good = [i for i, r in enumerate(rest) if r >= _milli(pod) and memory[i] >= _memory(pod)]
        if len(good) < pod["gpus"]:
            return None
        for index in good[: pod["gpus"]]:
            rest[index] -= _milli(pod)
            memory[index] -= _memory(pod)
    return rest


def _split(pods: list[Row]) -> tuple[list[Row], list[int]]:
    """Pods that stand for themselves, and per lending group the whole devices that borrowers need beyond the lender's.

    Generated worlds lend whole devices only; a borrower of shares is outside what this judge can say.
    """
    here = {_key(p): p for p in pods}
    groups: Counter[str] = Counter()
    own = []
    for pod in pods:
        lender = here.get(pod.get("lent_by") or "")
        if lender is None:
            own.append(pod)
        else:
            assert _milli(pod) == WHOLE and _milli(lender) == WHOLE, "judge knows whole-device lending only"
            groups[_key(lender)] += pod["gpus"]
    return own, [max(0, total - here[name]["gpus"]) for name, total in groups.items()]


def cpu_of(pods: list[Row]) -> int:
    """Milli-cores in use: a lender and its borrowers count the larger of the two."""
    here = {_key(p): p for p in pods}
    borrowed: Counter[str] = Counter()
    total = 0
    for pod in pods:
        lender = pod.get("lent_by") or ""
        if lender in here:
            borrowed[lender] += pod.get("cpu_milli", 0)
        else:
            total += pod.get("cpu_milli", 0)
    return total + sum(max(0, cpu - here[name].get("cpu_milli", 0)) for name, cpu in borrowed.items())


def memory_of(pods: list[Row]) -> int:
    return sum(p.get("memory_mib", 0) for p in pods)


def mig_of(node: Row) -> Counter[str]:
    """Slices by profile over the devices of a node."""
    found: Counter[str] = Counter()
    for device in node.get("devices", []):
        for slice_ in device.get("mig", []):
            found[slice_["profile"]] += slice_["count"]
    return found


def _devices(node: Row) -> int:
    failed = sum(d.get("health") == "failed" or bool(d.get("mig")) for d in node.get("devices", []))
    return int(min(node["gpus"] - failed, node.get("allocatable_gpus", node["gpus"])))


def _device_memory(node: Row) -> float:
    """MiB of each device; nothing known limits nothing."""
    return float(node.get("gpu_memory_mib") or "inf")


def _memory(pod: Row) -> int:
    """MiB that the pod holds on each device that it lies on; a pod without GPUs lies on none."""
    return int(pod.get("gpu_memory_mib", 0)) if pod["gpus"] else 0


def _milli(pod: Row) -> int:
    return int(pod.get("gpu_milli", WHOLE))


def _key(pod: Row) -> str:
    return f"{pod.get('namespace', 'default')}/{pod['name']}"
