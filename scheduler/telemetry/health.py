"""How well a device is, by rules that are written down with their sources.

**Failed**: nobody can compute on it until it is reset, repaired or replaced.

- an XID of ``FAILED_XIDS``.  NVIDIA's Xid catalog (docs.nvidia.com/deploy/xid-errors) asks for a reset of the GPU or a
  restart of the machine at once, and for support afterwards, or says that memory is uncorrectable or uncontained;
- an uncorrectable ECC error since the counter began (NVIDIA: a reset is needed to clear it; AMD and Cambricon count the
  same under other names);
- a failed remapping of rows (NVIDIA GPU memory error management: the sign by which devices are returned);
- the exporter's own word that the device is not well (AMD ``gpu_health``, Ascend, Cambricon).

**Degraded**: it computes, and less or not for long.

- an XID of ``DEGRADED_XIDS``: the same catalog, where the fault lies with a link, with firmware, or is a warning;
- its clocks were held back by power or heat for ``THROTTLED_PERCENT`` of the last five minutes or more.

All other XIDs are faults of programs, or information, and say nothing.  DCGM exports the *last* XID, which stays until
the driver or the exporter starts anew: a device that was reset may be called failed for longer than it is.
"""

from collections.abc import Mapping
from typing import NamedTuple

from scheduler.cluster.records import Health
from scheduler.telemetry.exporters import Signal

FAILED_XIDS = frozenset({46, 48, 62, 64, 79, 95, 109, 140, 143, 158})
DEGRADED_XIDS = frozenset({74, 92, 110, 119, 120, 136, 156, 157})
THROTTLED_PERCENT = 10.0
SIGNS: tuple[Signal, ...] = ("xid", "uncorrectable", "remap", "well", "throttled")
ORDER: tuple[Health, ...] = ("ok", "degraded", "failed")


class Judgement(NamedTuple):
    """``reason``: the sign that decided, fit for a person; "" where all is well."""

    health: Health
    reason: str


def judge(signs: Mapping[Signal, float]) -> Judgement | None:
    """None where nothing is known that tells of health."""
    if not any(sign in signs for sign in SIGNS):
        return None
    return _failure(signs) or _weakness(signs) or Judgement("ok", "")


def _failure(signs: Mapping[Signal, float]) -> Judgement | None:
    xid = int(signs.get("xid", 0))
    if xid in FAILED_XIDS:
        return Judgement("failed", f"XID {xid}")
    if signs.get("uncorrectable", 0) > 0:
        return Judgement("failed", f"{int(signs['uncorrectable'])} uncorrectable ECC")
    if signs.get("remap", 0) > 0:
        return Judgement("failed", "row remapping failed")
    if signs.get("well", 1) < 1:
        return Judgement("failed", "the exporter says unhealthy")
    return None


def _weakness(signs: Mapping[Signal, float]) -> Judgement | None:
    xid = int(signs.get("xid", 0))
    if xid in DEGRADED_XIDS:
        return Judgement("degraded", f"XID {xid}")
    if signs.get("throttled", 0) >= THROTTLED_PERCENT:
        return Judgement("degraded", f"throttled {signs['throttled']:.0f} % of the time")
    return None


def worse(one: Health, other: Health) -> Health:
    return max(one, other, key=ORDER.index)
