"""What planning hands to the services that keep it: plain rows, one reading at a time."""

from dataclasses import dataclass
from typing import Any

type Name = tuple[str, str, bool]  # cluster, namespace/name, whether it is a gang


@dataclass(frozen=True, slots=True)
class Waiting:
    """One pending job.  ``told``: see ``models.Job``; GPUs in thousandths."""

    cluster: str
    key: str
    gang: bool
    tenant: str  # "" for nobody's
    pods: int
    running: int
    gpu_milli: int
    cpu_milli: int
    priority: int
    lp: bool
    models: tuple[str, ...]  # () any
    position: int
    reason: str
    block_milli: int | None
    told: dict[str, Any]

    @property
    def name(self) -> Name:
        return self.cluster, self.key, self.gang

    @property
    def models_text(self) -> str:
        return f"|{'|'.join(self.models)}|" if self.models else ""


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """``running``: gangs and single GPU pods that run: fields of ``models.RunningJob``, and how long they ran."""

    cluster: str
    waiting: tuple[Waiting, ...]
    running: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Explained:
    """``bound``: of the jobs that were followed so far, how many pods of each are bound; gone ones are missing."""

    revision: int
    clusters: tuple[ClusterQueue, ...]
    bound: dict[Name, int]
    seconds: float
