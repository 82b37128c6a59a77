"""A week of one GPU model as it was: what could be lent by the hour, and who asked for how much at which limit."""

from dataclasses import dataclass

from scheduler.cluster.errors import ParamError, within

HOUR_S = 3600
ASSUMED_CHECKPOINT_S = 1_800  # of jobs that say nothing: half an hour of work is done again at most


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAsk:
    """``work_s``: seconds that it wanted to run; ``limit_cents`` None: it pays every price.  Raises ``ParamError``."""

    key: str
    tenant: str
    gpu_milli: int
    asked_s: int
    work_s: int
    limit_cents: int | None = None
    guaranteed_s: int = 0
    checkpoint_s: int | None = None

    def __post_init__(self) -> None:
        within("gpu_milli", self.gpu_milli, 1, 1 << 40)
        within("asked_s", self.asked_s, -(1 << 40), 1 << 40)
        within("work_s", self.work_s, 1, 1 << 31)
        if self.limit_cents is not None:
            within("limit_cents", self.limit_cents, 0, 1 << 31)
        within("guaranteed_s", self.guaranteed_s, 0, 1 << 31)
        if self.checkpoint_s is not None:
            within("checkpoint_s", self.checkpoint_s, 1, 1 << 31)

    def pays(self, cents: int) -> bool:
        return self.limit_cents is None or cents <= self.limit_cents


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """Hour h runs from ``from_s`` + 3600 h.  ``lendable_milli`` [h]: None where nobody saw it; ``held_milli`` likewise.

    Any number of hours.  Raises ``ParamError``.
    """

    gpu_model: str
    from_s: int
    lendable_milli: tuple[int | None, ...]
    asks: tuple[PastAsk, ...]
    held_milli: tuple[int | None, ...] = ()  # by leases, as seen; () where nobody looked

    def __post_init__(self) -> None:
        if not self.lendable_milli:
            raise ParamError("lendable_milli", self.lendable_milli, "must have an hour")
        if self.held_milli and len(self.held_milli) != len(self.lendable_milli):
            raise ParamError("held_milli", len(self.held_milli), f"must have {len(self.lendable_milli)} hours")
        for milli in (*self.lendable_milli, *self.held_milli):
            if milli is not None:
                within("lendable_milli", milli, 0, 1 << 40)

    @property
    def to_s(self) -> int:
        return self.from_s + HOUR_S * len(self.lendable_milli)

    @property
    def unseen_hours(self) -> int:
        return sum(milli is None for milli in self.lendable_milli)

    @property
    def seen_occupancy(self) -> float | None:
        """Held over lendable, in the hours in which both were seen; None where there are none."""
        pairs = [
            (held, there)
            for held, there in zip(self.held_milli, self.lendable_milli, strict=False)
            if held is not None and there is not None
        ]
        lendable = sum(there for _, there in pairs)
        return sum(held for held, _ in pairs) / lendable if lendable else None
