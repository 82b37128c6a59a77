"""What runs in the worlds asi, fleet and uniform8 while it is being placed."""

from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.records import Tier, WorkClass
from scheduler.worlds.fill import Free
from scheduler.worlds.marginals import DEPARTMENTS
from scheduler.worlds.shapes import Shape
from scheduler.worlds.site import Pool, Site

TEAMS = "abc"
_SKEW = 1.1  # exponent of the departments' sizes: the largest few hold most of the fleet


@dataclass(slots=True, eq=False)
class Task:
    """One pod; ``node`` None is pending."""

    name: str
    node: int | None
    devices: tuple[int, ...] = ()
    standby: bool = False
    lent_by: str | None = None
    locked: bool = False
    terminating: bool = False
    agent: bool = False


@dataclass(slots=True, eq=False)
class Workload:
    """Equal pods of one owner.  ``pool`` None is CPU-only work that runs anywhere in its cluster."""

    name: str
    cluster: str
    pool: Pool | None
    tier: Tier
    work_class: WorkClass
    shape: Shape
    department: int
    team: str
    age_s: int
    gang: bool = False
    spread: bool = False
    genai_size: str | None = None
    tasks: list[Task] = field(default_factory=list)

    @property
    def tenant(self) -> str:
        return f"dept-{self.department + 1:02d}"

    @property
    def namespace(self) -> str:
        return f"{self.tenant}-{self.team}"

    def add(self, node: int | None, devices: tuple[int, ...] = ()) -> Task:
        """A further pod, under a name of its own."""
        task = Task(f"{self.name}-{len(self.tasks)}", node, devices)
        self.tasks.append(task)
        return task


@dataclass(slots=True)
class World:
    """All that is decided so far."""

    site: Site
    free: Free
    rng: np.random.Generator
    workloads: list[Workload] = field(default_factory=list)
    numbered: int = 0

    def number(self) -> int:
        """The next workload's number."""
        self.numbered += 1
        return self.numbered

    def owner(self) -> tuple[int, str]:
        """A department, large ones more often, and one of its teams."""
        sizes = 1.0 / np.arange(1, DEPARTMENTS + 1) ** _SKEW
        department = int(np.searchsorted(np.cumsum(sizes), self.rng.random() * sizes.sum()))
        return min(department, DEPARTMENTS - 1), TEAMS[int(self.rng.integers(1 + department % len(TEAMS)))]


def pick[T](options: tuple[tuple[T, float], ...], rng: np.random.Generator) -> T:
    """One of ``(option, share)``; the shares need not add up to 1."""
    at = rng.random() * sum(share for _, share in options)
    for option, share in options:
        at -= share
        if at < 0:
            return option
    return options[-1][0]
