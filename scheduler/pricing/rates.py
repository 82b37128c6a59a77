"""Rates by name, as a command line gives them: the names, units and defaults of the console's settings of prices."""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.cluster.errors import InputError
from scheduler.performance.interruption import Rates
from scheduler.plan.checkpoints import Patience
from scheduler.plan.operations import LEAVE, MOVE_ANYWAY

_MANY = 1_000_000
_MONTH_S = 30 * 86_400
# name -> (value where nothing is said, lowest, highest); whole numbers, in the unit that the name says
KNOWN: dict[str, tuple[int | None, int, int]] = {
    "least_worth": (0, 0, 1_000),  # nothing is left out for its price where nobody says so
    "gain_hours": (4, 1, 720),
    "start_seconds": (60, 0, 86_400),
    "image_mib": (20_480, 0, _MANY),
    "state_per_cent": (50, 0, 100),
    "network_mib_per_second": (2_000, 1, _MANY),
    "store_mib_per_second": (1_000, 1, _MANY),
    "rebuild_seconds": (300, 0, 86_400),
    "checkpoint_age_seconds": (1_800, 0, _MONTH_S),
    "failure_per_mille": (10, 0, 1_000),
    "recovery_seconds": (900, 0, 86_400),
    "usd_cents_per_gpu_hour": (None, 1, _MANY),
    "checkpoint_wait_minutes": (0, 0, 1_440),
    "checkpoint_lag_seconds": (15, 0, 3_600),
    "checkpoint_missed": (0, 0, 1),  # 0: leave it out, 1: move anyway
}


@dataclass(frozen=True, slots=True)
class Stated:
    """One rate for all pods, whatever their pool and tenant."""

    values: dict[str, int | None]

    def number(self, name: str) -> int:
        return self.values[name] or 0

    def rates(self, model: str, tenant: str) -> Rates:
        return Rates(
            start_s=self.number("start_seconds"),
            image_mib=self.number("image_mib"),
            state_percent=self.number("state_per_cent"),
            network_mib_per_s=self.number("network_mib_per_second"),
            store_mib_per_s=self.number("store_mib_per_second"),
            rebuild_s=self.number("rebuild_seconds"),
            checkpoint_age_s=self.number("checkpoint_age_seconds"),
            failure_percent=self.number("failure_per_mille") / 10,
            recovery_s=self.number("recovery_seconds"),
        )

    def patience(self, model: str, tenant: str) -> Patience:
        return Patience(
            limit_s=self.number("checkpoint_wait_minutes") * 60,
            lag_s=self.number("checkpoint_lag_seconds"),
            otherwise=(LEAVE, MOVE_ANYWAY)[self.number("checkpoint_missed")],
        )

    def cents(self, model: str, tenant: str) -> int | None:
        return self.values["usd_cents_per_gpu_hour"]

    @property
    def gain_s(self) -> float:
        return self.number("gain_hours") * 3600.0


def stated(said: Sequence[str]) -> Stated:
    """From ``name=value``, the last word on a name counts; raises ``InputError`` for what is no rate."""
    values = {name: default for name, (default, _low, _high) in KNOWN.items()}
    for one in said:
        name, _, text = one.partition("=")
        if name not in KNOWN:
            raise InputError("--rate", one, f"name=value, with a name of: {', '.join(KNOWN)}")
        _default, low, high = KNOWN[name]
        if not (text.isascii() and text.isdigit()) or not low <= int(text[:12]) <= high:
            raise InputError(f"--rate {name}", text, f"must be a whole number from {low} to {high}")
        values[name] = int(text)
    return Stated(values)
