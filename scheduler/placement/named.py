"""Who is named to leave, for whom and under which rules: what a search for victims is asked with, and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.cluster.snapshot import Bools
from scheduler.performance.stopping import GPU_SECOND, StopCosts, Terms
from scheduler.placement.sparing import Relief
from scheduler.plan.ask import within

PREEMPT, RECLAIM = "preempt", "reclaim"
# Why nobody is named; "" where the answer is a set, which may be empty.
NOT_WAITING, LP_CLAIMS, NO_NODE, NO_SET, NO_RELIEF, BUDGET = (
    "not_waiting", "lp", "no_node", "no_victims", "no_relief", "budget_ran_out",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class VictimRules:
    """Raises ``ParamError`` for the first field out of range."""

    assumed_age_s: int = 1_800  # of work lost by a job that reports no checkpoint; what others lose, where less
    whole_cost: bool = True  # all terms of stopping count, not only the study's C
    within_study: bool = True  # one pod's victims never lose more, by C, than those of the study's own rule
    guaranteed_last: bool = False  # pods within a guaranteed run time may be stopped where nobody else is enough
    costs: StopCosts = field(default_factory=StopCosts)
    nodes: int = 2_000  # that are looked at exactly for one job

    def __post_init__(self) -> None:
        within("assumed_age_s", self.assumed_age_s, 0, 31 * 86_400)
        within("nodes", self.nodes, 1, 1_000_000)


@dataclass(frozen=True, slots=True)
class Claim:
    """``reclaim``: LP pods that use what is the claimant's own share; ``relief``: what must be freed beside room.

    ``awaited``: pods that are leaving already and whose share the claimant needs, wherever they stand; ``awaited_on``:
    such pods for each GPU model that it might be on.
    """

    pods: tuple[int, ...]  # pending, rows
    reclaim: frozenset[int] = frozenset()
    awaited: frozenset[int] = frozenset()
    awaited_on: Mapping[int, frozenset[int]] = field(default_factory=dict)
    reliefs: tuple[Relief, ...] = ()
    forbidden: frozenset[int] = field(default_factory=frozenset)  # nodes that are no use to its pods that use quota
    below: Bools | None = None  # [p] who stands below the claimant and may be preempted; None: no higher priority


@dataclass(frozen=True, slots=True)
class Victim:
    pod: int  # row
    node: int
    ground: str  # PREEMPT or RECLAIM
    gpu_milli: int
    age_s: int  # of work that is lost
    assumed: bool  # its age is assumed: it reports no checkpoint
    loss_milli: int  # the study's C, thousandths of GPU-seconds
    terms: Terms  # of all that stopping it costs
    on_notice: bool  # it writes a checkpoint when it is told to leave
    killed: float  # probability that its hook is not done within the grace time
    part: str  # "pod", "surplus" of a gang that goes on, or "gang" of one that ends whole

    @property
    def gpu_seconds(self) -> float:
        return self.loss_milli / GPU_SECOND

    @property
    def total_gpu_seconds(self) -> float:
        return self.terms.total


@dataclass(frozen=True, slots=True)
class Victims:
    """``ok``: the job fits once ``victims`` and ``leaving`` have left; both empty: it fits now."""

    ok: bool
    placed: tuple[tuple[int, int], ...] = ()  # pod, node
    victims: tuple[Victim, ...] = ()
    leaving: tuple[int, ...] = ()  # pods on those nodes that are leaving already and are waited for
    held_until_s: int | None = None  # the last of ``leaving`` must be gone; None: none is leaving, or nobody knows
    reason: str = ""  # why not, of the words above
    detail: str = ""  # a sentence

    @property
    def loss_milli(self) -> int:
        return sum(victim.loss_milli for victim in self.victims)

    @property
    def gpu_seconds(self) -> float:
        return self.loss_milli / GPU_SECOND

    @property
    def terms(self) -> Terms:
        """Of all victims together."""
        return sum((victim.terms for victim in self.victims), Terms())
