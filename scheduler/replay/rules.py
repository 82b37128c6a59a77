"""What a replay runs under: a policy made of the production planners' own settings, and the ways of the world."""

from dataclasses import dataclass, field, replace

from scheduler.consolidation.params import ParamError, Params
from scheduler.performance.exit_times import LAWS, ExitLaw
from scheduler.placement.policy import TERMS, Policy
from scheduler.plan.ask import within
from scheduler.replay.losing import EXTENDED, FEWEST, LEAST, LONGEST, NOBODY, PAPER, SPARE
from scheduler.replay.settling import BACKFILL, FAIR, FIFO, GREEDY, LARGE

ORDERS = {"fifo": FIFO, "greedy": GREEDY, "fair": FAIR, "large-first": LARGE, "backfill": BACKFILL}
PREEMPTS = {
    **{"never": NOBODY, "paper": PAPER, "spare": SPARE, "least": LEAST, "extended": EXTENDED},
    **{"fewest": FEWEST, "longest": LONGEST},
}
QUOTAS = ("none", "gfs", "forecast")
HOUR_S = 3600


def _placement(**weights: float) -> Policy:
    """Only the terms that are named, and nothing else that decides: neither whole nodes nor entropy."""
    return Policy(**{**dict.fromkeys(TERMS, 0.0), **weights}, keep_whole=False)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """One policy.  ``placement``'s terms that a replay knows nothing of (network load, power) are left out there."""

    name: str
    meaning: str = ""
    placement: Policy = field(default_factory=Policy)
    end_together: float = 0.0  # beside work that ends when this is to end: weight as those of ``placement``
    order: str = "greedy"
    preempt: str = "never"
    guarantee_s: int = 0  # LP is left alone for so long
    reclaim: bool = True  # a tenant takes its own share back from LP of tenants that use more than theirs
    borrowed_s: int = 0  # what runs on somebody else's share is not taken back for so long
    backfill_gpus: int = 8  # jobs from this size on get a reservation, with order backfill
    lend: bool = True  # LP may run on GPUs of sleepers
    consolidate_every_s: int = 0  # 0: never
    consolidation: Params = field(default_factory=Params)
    move_s: int = 120  # how long two copies run side by side
    stay_s: int = 0  # consolidation leaves alone who says to end within so long
    spot_quota: str = "none"  # how much LP may hold: no limit, by GFS's rule, or by a forecast of HP work
    reserve_quantile: float = 0.9  # with quota forecast: of the next hour's peak of HP work
    reserve_ahead_s: int = HOUR_S  # LP that says to end within less leaves less of it free
    make_ready: bool = False  # with quota forecast: LP leaves ahead of HP work until a burst of it finds room
    ahead_s: int = 0  # borrowers are told to leave so long before a sleeper's window ends
    borrow_first: bool = False  # LP goes first where a sleeper is back after the job says to end
    heed_windows: bool = False  # LP borrows only where it saves something before the sleeper is back
    short_first: bool = False  # of waiting LP jobs those first that say to end first

    def __post_init__(self) -> None:
        for name, words in (("order", ORDERS), ("preempt", PREEMPTS), ("spot_quota", QUOTAS)):
            if getattr(self, name) not in words:
                raise ParamError(name, getattr(self, name), f"expected one of {', '.join(words)}")
        within("guarantee_s", self.guarantee_s, 0, 30 * 24 * HOUR_S)
        within("borrowed_s", self.borrowed_s, 0, 30 * 24 * HOUR_S)
        within("backfill_gpus", self.backfill_gpus, 1, 1_000_000)
        within("consolidate_every_s", self.consolidate_every_s, 0, 365 * 24 * HOUR_S)
        within("move_s", self.move_s, 1, 24 * HOUR_S)
        within("ahead_s", self.ahead_s, 0, HOUR_S)
        within("reserve_ahead_s", self.reserve_ahead_s, 300, 24 * HOUR_S)
        if not 0.5 <= self.reserve_quantile <= 0.99:
            raise ParamError("reserve_quantile", self.reserve_quantile, "must be 0.5 to 0.99")
        within("stay_s", self.stay_s, 0, 365 * 24 * HOUR_S)
        if not 0 <= self.end_together <= 1000:
            raise ParamError("end_together", self.end_together, "must be 0 to 1000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """What no policy decides.  Means in seconds; 0: nodes never fail."""

    fail_mean_s: int = 0
    repair_mean_s: int = 4 * HOUR_S
    restart_s: int = 40  # GFS (ASPLOS '26): up to 8 GPUs per worker
    restart_large_s: int = 60
    sample_s: int = HOUR_S
    exits: ExitLaw = "paper"  # how long jobs take to leave
    resume_s: float = 0.0  # median of what a sleeper takes to serve once nobody is in its way

    def __post_init__(self) -> None:
        within("fail_mean_s", self.fail_mean_s, 0, 10_000 * 24 * HOUR_S)
        within("repair_mean_s", self.repair_mean_s, 1, 365 * 24 * HOUR_S)
        within("restart_s", self.restart_s, 0, 24 * HOUR_S)
        within("restart_large_s", self.restart_large_s, 0, 24 * HOUR_S)
        within("sample_s", self.sample_s, 60, 24 * HOUR_S)
        within("resume_s", round(self.resume_s), 0, 600)
        if self.exits not in LAWS:
            raise ParamError("exits", self.exits, f"expected one of {', '.join(LAWS)}")


PAPER_ORDER = _placement(packing=1000, same_class=1, eviction_history=0.001)
PAPER_IPC = Params(depth=3, rounds=5, partition=500, exact_up_to=0, repack_up_to=0)
PAPER_RULE = "fewest free GPUs, same class, eviction history; cheapest prefix leaves; IPC every day (OSDI '26)"
NAMED = {
    rules.name: rules
    for rules in (
        Rules(name="fifo", meaning="in order of arrival, nobody passes", order="fifo"),
        Rules(name="greedy", meaning="whoever fits starts, first come first", preempt="paper", guarantee_s=HOUR_S),
        Rules(name="fair", meaning="the smallest dominant share first", order="fair", preempt="spare"),
        Rules(name="large-first", meaning="larger workers first", order="large-first", preempt="paper"),
        Rules(name="backfill", meaning="a reservation for the first large job", order="backfill", preempt="spare"),
        Rules(
            name="paper",
            meaning=PAPER_RULE,
            placement=PAPER_ORDER,
            preempt="paper",
            consolidate_every_s=24 * HOUR_S,
            consolidation=PAPER_IPC,
        ),
        Rules(
            name="ours",
            meaning="our weights, beside work that ends together; a reservation for the first large job",
            order="backfill",
            preempt="spare",
            end_together=0.5,
        ),
        Rules(
            name="lending",
            meaning="room for HP work by forecast, sleepers who stay long first, calls ahead, least whole loss leaves",
            placement=PAPER_ORDER,
            preempt="extended",
            spot_quota="forecast",
            reserve_quantile=0.83,
            ahead_s=75,
            borrow_first=True,
            heed_windows=True,
            short_first=True,
        ),
        Rules(
            name="gfs",
            meaning="quota by GFS's forecast and feedback, large first, an hour guaranteed, GPUs times run leaves",
            placement=_placement(packing=1000, same_class=1, eviction_history=0.1),
            order="large-first",
            preempt="longest",
            guarantee_s=HOUR_S,
            spot_quota="gfs",
        ),
    )
}
# Row C7: the paper's order of nodes, and short chains every 3 h, of which only those are moved that save so many
# slack-node hours for each GPU: with the higher number about as many GPU-hours move as by the paper's rule, with the
# lower one about twice as many.
SHORT_CHAINS = Params(depth=0, rounds=1, exact_up_to=0, repack_up_to=0)
C7_OURS = Rules(
    name="lasting",
    meaning="fullest node first, short chains every 3 h, only those that last",
    placement=PAPER_ORDER,
    preempt="paper",
    consolidate_every_s=3 * HOUR_S,
    consolidation=replace(SHORT_CHAINS, least_hours=2.0),
)
C7_TWICE = replace(C7_OURS, name="lasting, twice", consolidation=replace(SHORT_CHAINS, least_hours=1.0))
C7_ALWAYS = replace(C7_OURS, name="everything, hourly", consolidate_every_s=HOUR_S, consolidation=SHORT_CHAINS)


def named(name: str) -> Rules:
    """The policy of that name.  Raises ParamError that lists them."""
    if name not in NAMED:
        raise ParamError("policy", name, f"unknown policy; there are {', '.join(NAMED)}")
    return NAMED[name]
