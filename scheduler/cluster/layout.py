"""Which pod lies on which device of a node.

The rule: listed devices bind; then whole GPUs take the first untouched devices that have their memory, in the order of
identities; then shares go first-fit, largest first, ties by identity.  A borrower lies on devices of the sleeping pod
that lends to it first; there the larger of the two requests counts.  Failed devices and those partitioned into slices
are no whole GPUs.  Where a node allocates fewer GPUs than it has, no more devices than that are opened.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Snapshot

ABSENT_LIMIT = 2**62  # memory of a device of which nothing is known limits nothing


@dataclass(frozen=True, slots=True)
class Layout:
    """Axis g: devices of the node by index.  ``unplaced`` and ``excess`` are what is asked for beyond the devices."""

    use_milli: tuple[int, ...]  # [g] lending counted once
    pods: tuple[tuple[int, ...], ...]  # [g] pods that touch the device
    usable: tuple[bool, ...]  # [g] healthy and not partitioned
    allocatable: int
    unplaced_milli: int
    excess_milli: int
    memory_short_mib: int  # device memory asked for beyond what the devices have, where that is known

    @property
    def touched(self) -> int:
        return sum(bool(pods) and good for pods, good in zip(self.pods, self.usable, strict=True))

    @property
    def free(self) -> int:
        """Whole devices that no pod touches."""
        return max(0, self.allocatable - self.touched)

    @property
    def rest_milli(self) -> int:
        """What is left of touched devices, within what the node allocates."""
        used = [min(use, WHOLE_GPU_MILLI) for use, pods in self._touched()]
        room = WHOLE_GPU_MILLI * (self.allocatable - self.free) - sum(used)
        return max(0, min(WHOLE_GPU_MILLI * len(used) - sum(used), room))

    @property
    def rests(self) -> tuple[int, ...]:
        """What is left of each touched device that has something left."""
        return tuple(WHOLE_GPU_MILLI - use for use, _ in self._touched() if use < WHOLE_GPU_MILLI)

    @property
    def over_milli(self) -> int:
        asked = sum(use for use, _ in self._touched()) + self.unplaced_milli
        return max(self.unplaced_milli + self.excess_milli, asked - WHOLE_GPU_MILLI * self.allocatable)

    @property
    def fits(self) -> bool:
        return self.over_milli == 0 and self.memory_short_mib == 0 and self.touched <= self.allocatable

    def _touched(self) -> list[tuple[int, tuple[int, ...]]]:
        rows = zip(self.use_milli, self.pods, self.usable, strict=True)
        return [(use, pods) for use, pods, good in rows if pods and good]


@dataclass(frozen=True, slots=True)
class Resident:
    """One pod as the layout sees it; ``lender`` is a row of the snapshot, UNKNOWN where nobody lends to it here."""

    pod: int
    gpus: int
    milli: int
    memory_mib: int
    devices: tuple[int, ...]
    lender: int


@dataclass(slots=True)
class _Bench:
    """The devices while pods are laid on them."""

    usable: list[bool]
    memory_mib: list[int]
    allocatable: int
    use: list[int]
    memory: list[int]
    pods: list[list[int]]
    touched: int = 0
    unplaced: dict[int, int] = field(default_factory=dict)  # milli, by the sleeping pod of the group or UNKNOWN
    lent: dict[int, list[int]] = field(default_factory=dict)  # sleeping pod -> its use per device
    borrowed: dict[int, list[int]] = field(default_factory=dict)  # sleeping pod -> its borrowers' use per device

    def cost(self, resident: Resident, device: int) -> int:
        """What the device's use grows by; nothing where the sleeping pod already pays for it."""
        if resident.lender not in self.lent:
            return resident.milli
        lent, borrowed = self.lent[resident.lender][device], self.borrowed[resident.lender][device]
        return max(lent, borrowed + resident.milli) - max(lent, borrowed)

    def fits(self, resident: Resident, device: int) -> bool:
        opens = self.usable[device] and (bool(self.pods[device]) or self.touched < self.allocatable)
        within = self.use[device] + self.cost(resident, device) <= WHOLE_GPU_MILLI
        return opens and within and self.memory[device] + resident.memory_mib <= self.memory_mib[device]

    def untouched(self, resident: Resident, device: int) -> bool:
        opens = self.usable[device] and not self.pods[device] and self.touched < self.allocatable
        return opens and resident.memory_mib <= self.memory_mib[device]

    def put(self, resident: Resident, device: int) -> None:
        self.use[device] += self.cost(resident, device)
        if resident.pod in self.lent:
            self.lent[resident.pod][device] += resident.milli
        if resident.lender in self.borrowed:
            self.borrowed[resident.lender][device] += resident.milli
        self.touched += self.usable[device] and not self.pods[device]
        self.memory[device] += resident.memory_mib
        self.pods[device].append(resident.pod)

    def place(self, resident: Resident, good: Callable[[Resident, int], bool]) -> None:
        """Take the first good devices, those that the lender holds before all others."""
        wanted = resident.gpus
        for device in self._order(resident):
            if not wanted:
                break
            if good(resident, device):
                self.put(resident, device)
                wanted -= 1
        group = resident.pod if resident.pod in self.lent else resident.lender
        self.unplaced[group] = self.unplaced.get(group, 0) + wanted * resident.milli

    def lent_whole(self, resident: Resident, device: int) -> bool:
        """The device is untouched, or its sleeping holder lends all of it and nobody borrows it yet."""
        lent = self.lent.get(resident.lender)
        idle = lent is not None and lent[device] == WHOLE_GPU_MILLI == self.use[device]
        if idle and self.borrowed[resident.lender][device] == 0:
            return self.memory[device] + resident.memory_mib <= self.memory_mib[device]
        return self.untouched(resident, device)

    def _order(self, resident: Resident) -> Sequence[int]:
        devices = range(len(self.use))
        lent = self.lent.get(resident.lender)
        return devices if lent is None else sorted(devices, key=lambda device: lent[device] == 0)

    def missing(self, pods: Sequence[Resident]) -> int:
        """Milli that found no device; a sleeping pod and its borrowers miss no more than the larger of the two."""
        total = self.unplaced.get(UNKNOWN, 0)
        for lender, lent in self.lent.items():
            alone = self.unplaced.get(lender, 0)
            asked = max(_asked(r for r in pods if r.pod == lender), _asked(r for r in pods if r.lender == lender))
            held = sum(map(max, lent, self.borrowed[lender]))
            total += min(alone, asked - held) if asked > held else alone
        return total


def _asked(pods: Iterable[Resident]) -> int:
    return sum(r.gpus * r.milli for r in pods)


def layout(snapshot: Snapshot, node: int, pods: Sequence[int]) -> Layout:
    """Lay ``pods`` (rows of the snapshot, whatever node they are on) out on the devices of ``node``.

    A pod's listed devices bind only on the node on which it stands; a copy that arrives is laid like any other.
    """
    return lay(snapshot, node, residents(snapshot, node, pods))


def residents(snapshot: Snapshot, node: int, pods: Sequence[int]) -> list[Resident]:
    """The pods that need devices, in the order of identities."""
    here = set(pods)
    found = []
    for p in sorted(here):
        gpus = int(snapshot.pod_gpus[p])
        if gpus and not snapshot.pod_specs[snapshot.pod_spec[p]].mig:
            listed = snapshot.pod_devices.get(p, ()) if snapshot.pod_node[p] == node else ()
            memory = int(snapshot.pod_gpu_memory_mib[p])
            lender = lender_of(snapshot, p, here)
            found.append(Resident(p, gpus, int(snapshot.pod_gpu_milli[p]), memory, listed, lender))
    return found


def lender_of(snapshot: Snapshot, pod: int, here: set[int]) -> int:
    """The sleeping HP pod beside it that lends to this LP pod, or UNKNOWN; who is awake or elsewhere lends nothing."""
    lender = int(snapshot.pod_lender[pod])
    asleep = lender != UNKNOWN and snapshot.pod_standby[lender] and not snapshot.pod_lp[lender]
    return lender if asleep and snapshot.pod_lp[pod] and lender in here else UNKNOWN


def lay(snapshot: Snapshot, node: int, pods: Sequence[Resident]) -> Layout:
    """The layout of pods that are given in the order of identities."""
    bench = _bench(snapshot, node)
    for lender in {r.lender for r in pods if r.lender != UNKNOWN}:
        bench.lent[lender] = [0] * len(bench.use)
        bench.borrowed[lender] = [0] * len(bench.use)
    # Owners before borrowers, because a borrower's place and cost depend on where its lender lies.
    for resident in sorted(pods, key=lambda r: r.lender != UNKNOWN):
        for device in resident.devices:
            bench.put(resident, device)
    for resident in sorted((r for r in pods if not r.devices), key=_turn):
        whole = resident.milli == WHOLE_GPU_MILLI
        bench.place(resident, bench.lent_whole if whole else bench.fits)
    return _result(bench, bench.missing(pods))


def _turn(resident: Resident) -> tuple[bool, bool, int, int]:
    share = resident.milli if resident.milli < WHOLE_GPU_MILLI else 0
    return share > 0, resident.lender != UNKNOWN, -share, resident.pod


def _bench(snapshot: Snapshot, node: int) -> _Bench:
    count = int(snapshot.node_gpus[node])
    known = int(snapshot.node_gpu_memory_mib[node])
    usable, memory = [True] * count, [ABSENT_LIMIT if known == ABSENT else known] * count
    for device in snapshot.node_devices.get(node, ()):
        usable[device.index] = device.health != "failed" and not device.mig
        if device.memory_mib is not None:
            memory[device.index] = device.memory_mib
    return _Bench(
        usable=usable,
        memory_mib=memory,
        allocatable=int(snapshot.node_allocatable[node]),
        use=[0] * count,
        memory=[0] * count,
        pods=[[] for _ in range(count)],
    )


def _result(bench: _Bench, unplaced: int) -> Layout:
    over = (use - WHOLE_GPU_MILLI for use, good in zip(bench.use, bench.usable, strict=True) if good)
    short = (used - limit for used, limit in zip(bench.memory, bench.memory_mib, strict=True))
    return Layout(
        use_milli=tuple(bench.use),
        pods=tuple(map(tuple, bench.pods)),
        usable=tuple(bench.usable),
        allocatable=bench.allocatable,
        unplaced_milli=unplaced,
        excess_milli=sum(max(0, excess) for excess in over),
        memory_short_mib=sum(max(0, missing) for missing in short),
    )


@dataclass(frozen=True, slots=True)
class Slices:
    """MIG slices of one node by profile; ``free`` is never negative."""

    total: dict[str, int]
    used: dict[str, int]

    @property
    def free(self) -> dict[str, int]:
        return {profile: max(0, count - self.used.get(profile, 0)) for profile, count in self.total.items()}

    @property
    def short(self) -> dict[str, int]:
        """Slices asked for beyond those there are."""
        over = {profile: used - self.total.get(profile, 0) for profile, used in self.used.items()}
        return {profile: missing for profile, missing in over.items() if missing > 0}


def slices(snapshot: Snapshot, node: int, pods: Sequence[int]) -> Slices:
    """Slices by profile with ``pods`` on the node; slices of a failed device do not count."""
    total: dict[str, int] = defaultdict(int)
    used: dict[str, int] = defaultdict(int)
    for device in snapshot.node_devices.get(node, ()):
        for part in device.mig if device.health != "failed" else ():
            total[part.profile] += part.count
    for p in pods:
        for profile, count in snapshot.pod_specs[snapshot.pod_spec[p]].mig:
            used[profile] += count
    return Slices(dict(sorted(total.items())), dict(sorted(used.items())))
