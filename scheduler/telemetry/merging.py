"""Samples laid over the records: use, health and power of devices and nodes.

Nothing is filled in that no series tells: a device without samples keeps what the document says of it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from scheduler.cluster.records import (
    DeviceRecord,
    Document,
    NodeRecord,
    PodRecord,
    UtilisationRecord,
)
from scheduler.telemetry.exporters import METRICS, Exporter, Metric, Options, Signal
from scheduler.telemetry.health import Judgement, judge, worse
from scheduler.telemetry.holding import kept_devices
from scheduler.telemetry.vectors import Sample

SHOWN = 20  # names of what could not be placed


@dataclass(slots=True)
class Measured:
    """One device as series name it: by ``uuid``, by ``index`` (None where they do not say), or both."""

    uuid: str
    index: int | None
    signs: dict[Signal, float] = field(default_factory=dict)

    @property
    def sm(self) -> int | None:
        """Percent; the share of time in which anything ran, where the share of busy SMs is not exported."""
        found = self.signs.get("sm", self.signs.get("busy"))
        return None if found is None else round(found)

    @property
    def memory(self) -> int | None:
        """Percent of the device's memory in use."""
        used, free = self.signs.get("memory_used"), self.signs.get("memory_free")
        if "memory" in self.signs:
            return round(self.signs["memory"])
        whole = self.signs.get("memory_total")
        if whole is None and used is not None and free is not None:
            whole = used + free
        return round(100 * used / whole) if used is not None and whole and used <= whole else None

    @property
    def judgement(self) -> Judgement | None:
        return judge(self.signs)


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What was measured, by the name that series give the node.  ``old``: samples past their time."""

    nodes: Mapping[str, Sequence[Measured]]
    samples: int
    old: int
    nameless: int  # samples that name no node or no device


@dataclass(frozen=True, slots=True)
class Merged:
    """``document`` has the measurements; ``devices`` were placed, ``unplaced`` were not, of which some are named."""

    document: Document
    devices: int
    unplaced: int
    named: tuple[str, ...]
    reasons: Mapping[tuple[str, int], str]  # (node, device) -> why it is not ok


class Gathering:
    """Samples by node and device, answer by answer, so that no answer must be held until the next one is read.

    Unknown values are dropped, and where two series differ the worse one counts.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._found: dict[str, dict[tuple[str, int | None], Measured]] = {}
        self._count = self._old = self._nameless = 0

    def add(self, samples: Sequence[Sample], now_s: float | None = None) -> None:
        """One answer.  Without ``now_s``, ages are by the newest sample, so that another clock makes none old."""
        now_s = max((sample.at_s for sample in samples), default=0.0) if now_s is None else now_s
        for sample in samples:
            known = METRICS.get(sample.metric)
            if known is not None and _is_whole(known[0], sample.labels):
                self._count += 1
                self._place(sample, known[1], now_s)

    def _place(self, sample: Sample, metric: Metric, now_s: float) -> None:
        options = self._options
        if now_s - sample.at_s > options.max_age_s:
            self._old += 1
            return
        node, uuid, index = node_of(sample, options), _first(sample, options.uuid_labels), _index(sample, options)
        if not node or not (uuid or index is not None):
            self._nameless += 1
            return
        device = self._found.setdefault(node, {}).setdefault((uuid, index), Measured(uuid, index))
        _note(device.signs, metric, sample.value)

    def telemetry(self) -> Telemetry:
        nodes = {node: tuple(devices.values()) for node, devices in self._found.items()}
        return Telemetry(nodes, self._count, self._old, self._nameless)


def _is_whole(exporter: Exporter, labels: Mapping[str, str]) -> bool:
    return all(labels.get(label, "") in ("", *values) for label, values in exporter.whole.items())


def _first(sample: Sample, names: Sequence[str]) -> str:
    return next((sample.labels[name] for name in names if sample.labels.get(name)), "")


def node_of(sample: Sample, options: Options) -> str:
    """The name that a series gives its node, "" where it gives none.  A port is of the exporter, not of the name."""
    name = _first(sample, options.node_labels)
    head, colon, port = name.rpartition(":")
    return head if colon and port.isdigit() else name


def _index(sample: Sample, options: Options) -> int | None:
    text = _first(sample, options.index_labels)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _note(signs: dict[Signal, float], metric: Metric, value: float | None) -> None:
    if value is None or not 0 <= value * metric.scale <= metric.high:
        return
    scaled = min(value * metric.scale, 100.0) if metric.signal == "throttled" else value * metric.scale
    pick = min if metric.signal == "well" else max
    signs[metric.signal] = pick(signs.get(metric.signal, scaled), scaled)


@dataclass(frozen=True, slots=True)
class Laid:
    """One node before and after, so that it need not be done again while its record is the very same."""

    before: NodeRecord
    after: NodeRecord
    devices: int
    lost: tuple[str, ...]
    reasons: tuple[tuple[int, str], ...]
    holders: dict[tuple[str, str], tuple[PodRecord, PodRecord]] = field(default_factory=dict, compare=False)

    @property
    def failed(self) -> bool:
        return any(device.health == "failed" for device in self.after.devices)


def merge(document: Document, telemetry: Telemetry, kept: dict[str, Laid] | None = None) -> Merged:
    """The document with what was measured; records of nodes without measurements are the very same objects.

    ``kept``, of earlier merges with the same telemetry, saves the work for nodes that did not change; it is filled.
    """
    kept = {} if kept is None else kept
    nodes, laid = [], []
    for node in document.nodes:
        measured = telemetry.nodes.get(node.name)
        if not measured:
            nodes.append(node)
            continue
        one = kept.get(node.name)
        if one is None or one.before is not node:
            one = kept[node.name] = _laid(node, measured)
        nodes.append(one.after)
        laid.append(one)
    elsewhere = sorted(telemetry.nodes.keys() - {node.name for node in document.nodes})
    lost = [name for one in laid for name in one.lost]
    return Merged(
        document=msgspec.structs.replace(document, nodes=nodes, pods=_pods(document.pods, laid)),
        devices=sum(one.devices for one in laid),
        unplaced=len(lost) + sum(len(telemetry.nodes[name]) for name in elsewhere),
        named=tuple([*lost, *(f"node {name}" for name in elsewhere)][:SHOWN]),
        reasons={(one.before.name, place): why for one in laid for place, why in one.reasons},
    )


def _pods(pods: list[PodRecord], laid: Sequence[Laid]) -> list[PodRecord]:
    """Pods keep the devices that fail under them; all others stay the very same objects."""
    broken = {(one.after.cluster, one.after.name): one for one in laid if one.failed}
    if not broken:
        return pods
    beside: dict[tuple[str, str], list[PodRecord]] = defaultdict(list)
    for pod in pods:
        if (pod.cluster, pod.node or "") in broken:
            beside[pod.cluster, pod.node or ""].append(pod)
    held = {place: kept_devices(broken[place].after, there) for place, there in beside.items()}
    return [_holding(pod, broken, held) for pod in pods]


def _holding(
    pod: PodRecord,
    broken: Mapping[tuple[str, str], Laid],
    held: Mapping[tuple[str, str], Mapping[tuple[str, str], list[int]]],
) -> PodRecord:
    place, key = (pod.cluster, pod.node or ""), (pod.namespace, pod.name)
    devices = held.get(place, {}).get(key)
    if devices is None:
        return pod
    holders = broken[place].holders
    before, after = holders.get(key, (None, pod))
    if before is not pod or after.devices != devices:
        after = msgspec.structs.replace(pod, devices=devices)
        holders[key] = pod, after
    return after


def _laid(node: NodeRecord, measured: Sequence[Measured]) -> Laid:
    at = _places(node, measured)
    devices = {place: one for place, one in zip(at, measured, strict=True) if place is not None}
    lost = (f"{node.name} {one.uuid or one.index}" for place, one in zip(at, measured, strict=True) if place is None)
    told = ((place, one.judgement) for place, one in devices.items())
    reasons = tuple((place, word.reason) for place, word in told if word is not None and word.reason)
    return Laid(node, _measured_node(node, devices, measured), len(devices), tuple(lost), reasons)


def _places(node: NodeRecord, measured: Sequence[Measured]) -> list[int | None]:
    """The device of each: by uuid where the document knows uuids, else by index; two claims to one place are none."""
    by_uuid = {device.uuid: device.index for device in node.devices if device.uuid}
    found = [_place(node, by_uuid, one) for one in measured]
    return [place if place is not None and found.count(place) == 1 else None for place in found]


def _place(node: NodeRecord, by_uuid: Mapping[str, int], one: Measured) -> int | None:
    if by_uuid and one.uuid:
        return by_uuid.get(one.uuid)
    return one.index if one.index is not None and one.index < node.gpus else None


def _measured_node(node: NodeRecord, devices: Mapping[int, Measured], measured: Sequence[Measured]) -> NodeRecord:
    known = {device.index: device for device in node.devices}
    rows = {place: _device(known.get(place, DeviceRecord(index=place)), one) for place, one in devices.items()}
    watts = [one.signs["watts"] for one in measured if "watts" in one.signs]
    whole = len(watts) == node.gpus > 0  # a sum that lacks a device would be no sum
    power = round(sum(watts)) if whole else node.power_watts
    listed = [row for _, row in sorted({**known, **rows}.items())]
    return msgspec.structs.replace(node, devices=listed, power_watts=power)


def _device(record: DeviceRecord, one: Measured) -> DeviceRecord:
    told = one.judgement
    use = UtilisationRecord(sm=one.sm, memory=one.memory)
    return msgspec.structs.replace(
        record,
        uuid=record.uuid or one.uuid or None,
        health=worse(record.health, told.health) if told is not None else record.health,
        utilisation=use if use != UtilisationRecord() else record.utilisation,
    )
