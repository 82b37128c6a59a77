"""Who stands where while a plan runs, wave by wave."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scheduler.cluster.room import Block, company_faults, faults, pods_by_node
from scheduler.cluster.snapshot import Ints, Snapshot
from scheduler.plan.ease import Company, company, holds_plainly


@dataclass(slots=True)
class Standing:
    """Live pods by node; only the nodes that a plan touches are ever copied out of the columns."""

    snapshot: Snapshot
    order: Ints
    starts: Ints
    company: Company
    changed: dict[int, dict[int, None]] = field(default_factory=dict)  # node -> its pods, as an ordered set

    def on(self, node: int) -> dict[int, None]:
        if node not in self.changed:
            rows = self.order[self.starts[node] : self.starts[node + 1]]
            self.changed[node] = dict.fromkeys(rows.tolist())
        return self.changed[node]

    def wave(self, moves: Iterable[tuple[int, int]]) -> Iterator[tuple[int, Block]]:
        """What is wrong while all (pod, target) of the wave have both copies, by target."""
        arrivals: dict[int, list[int]] = defaultdict(list)
        for pod, target in moves:
            arrivals[target].append(pod)
        leaving = {pod for pods in arrivals.values() for pod in pods}
        residents = {target: [p for p in self.on(target) if p not in pods] for target, pods in arrivals.items()}
        plain = holds_plainly(self.snapshot, {target: [*residents[target], *arrivals[target]] for target in arrivals})
        for target, pods in arrivals.items():
            if target not in plain:
                found = faults(self.snapshot, target, residents[target], pods, leaving)
            elif not self.company.keeps([*residents[target], *pods]):
                found = company_faults(self.snapshot, residents[target], pods, leaving)
            else:
                continue
            for block in found:
                yield target, block

    def end(self, moves: Iterable[tuple[int, int, int]]) -> None:
        """The old copies of (pod, source, target) end, the new ones stay."""
        for pod, source, target in moves:
            self.on(source).pop(pod, None)
            self.on(target)[pod] = None


def standing(snapshot: Snapshot) -> Standing:
    order, starts = pods_by_node(snapshot)
    return Standing(snapshot, order, starts, company(snapshot))
