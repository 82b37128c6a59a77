"""How pods of a simulated cluster end when they are told to, and how a sleeper wakes: the whole course, foreseen.

At notice it is settled when each exit hook ends, who is killed, and when the woken pod serves.  All of it is planned in
the journal at once, so that the cluster keeps to it whoever looks, and whether or not somebody who asked for it lives.
"""

import math
import random
from datetime import datetime
from typing import Protocol

import msgspec

from console.connectors.changes import Change, Due, Ended, Fields, Kept, Planned, PodSet, identity
from console.connectors.protocol import Ending, Reclaim
from console.connectors.world import LEASE, World
from scheduler.cluster.records import PodRecord
from scheduler.performance.exit_times import ExitLaw, exit_seconds

ON_NOTICE = "slackline.io/checkpoint-on-notice"  # label: its exit hook writes a checkpoint


class Pace(Protocol):
    """What of ``tide.Tide`` bears on this."""

    @property
    def exits(self) -> ExitLaw: ...

    @property
    def resume_s(self) -> tuple[int, int]: ...


class Leaving(msgspec.Struct, frozen=True):
    """One pod's end, in seconds of the world's clock.  ``hook_s``: when its hook ends, None where it is killed."""

    pod: str
    uid: str
    lease: str
    gpu_milli: int
    noticed_s: int
    hook_s: int | None
    gone_s: int
    writes: bool  # its hook writes a checkpoint

    def told(self, now_s: int, instant: "Instants") -> Ending:
        """As far as it has come at ``now_s``."""
        hook_ended = instant(self.hook_s) if self.hook_s is not None and self.hook_s <= now_s else None
        gone = self.gone_s <= now_s
        return Ending(
            pod=self.pod, uid=self.uid, lease=self.lease, gpu_milli=self.gpu_milli,
            noticed_at=instant(self.noticed_s), hook_ended_at=hook_ended,
            ended_at=instant(self.gone_s) if gone else None, killed=gone and self.hook_s is None,
            checkpoint_at=hook_ended if self.writes else None,
        )  # fmt: skip


class Instants(Protocol):
    def __call__(self, second: int, /) -> datetime: ...


class Course(msgspec.Struct, frozen=True):
    """What a recall or an eviction has settled.  ``serving_s`` is None for an eviction."""

    noticed_s: int
    leaving: tuple[Leaving, ...]
    serving_s: int | None = None

    @property
    def last_gone_s(self) -> int:
        """The notice itself where nobody had to leave."""
        return max((one.gone_s for one in self.leaving), default=self.noticed_s)

    @property
    def over_s(self) -> int:
        return self.last_gone_s if self.serving_s is None else self.serving_s

    def told(self, now_s: int, instant: Instants, *, served: bool) -> Reclaim:
        """``served``: the woken pod serves since then."""
        endings = tuple(one.told(now_s, instant) for one in self.leaving)
        serving_s = self.serving_s if served else None
        return Reclaim(
            noticed_at=instant(self.noticed_s),
            last_gone_at=instant(self.last_gone_s) if self.last_gone_s <= now_s else None,
            killed=sum(one.killed for one in endings),
            serving_at=None if serving_s is None or serving_s > now_s else instant(serving_s),
            endings=endings,
        )


def leave(pod: PodRecord, pace: Pace, chance: random.Random, now_s: int, grace_s: int) -> tuple[Leaving, list[Change]]:
    """Tell ``pod`` to end now; what it was told before stands."""
    hook = exit_seconds(pace.exits, min(max(chance.random(), 1e-9), 1 - 1e-9))
    ends = hook <= grace_s
    gone_s = now_s + (max(1, math.ceil(hook)) if ends else grace_s)
    writes = ends and pod.labels.get(ON_NOTICE) == "true"
    found = Leaving(
        pod=identity(pod)[1], uid=pod.uid or "", lease=pod.labels.get(LEASE, ""), gpu_milli=pod.gpus * pod.gpu_milli,
        noticed_s=now_s, hook_s=gone_s if ends else None, gone_s=gone_s, writes=writes,
    )  # fmt: skip
    notice: Fields = {"terminating": True, "deleted_at_s": now_s, "grace_s": grace_s}
    changes: list[Change] = [PodSet(pod=identity(pod), fields=notice)]
    if writes:
        written: Fields = {"checkpoint_s": gone_s}
        changes.append(Planned(at_s=gone_s, then=PodSet(pod=identity(pod), fields=written, uid=found.uid)))
    changes.append(Planned(at_s=gone_s, then=Ended(pod=identity(pod), moved=True, uid=found.uid)))
    return found, changes


def evict(
    world: World,
    pod: PodRecord,
    pace: Pace,
    chance: random.Random,
    now_s: int,
    grace_s: int,
    claimant: str,
    kept_s: int,
) -> tuple[Course, list[Change]]:
    """One pod leaves; its room is kept for ``claimant`` for so long after it has gone.

    A pod that was told to end before keeps to what it was told.
    """
    leaving, changes = _told_before(world, pod, now_s), list[Change]()
    if leaving is None:
        leaving, changes = leave(pod, pace, chance, now_s, grace_s)
    if claimant:
        changes.append(Planned(at_s=leaving.gone_s + kept_s, then=Kept(pod=pod, claimant=claimant, since_s=now_s)))
    return Course(noticed_s=now_s, leaving=(leaving,)), changes


def wake(
    world: World, lender: PodRecord, pace: Pace, chance: random.Random, now_s: int, grace_s: int
) -> tuple[Course, list[Change]]:
    """``lender`` wakes when all its borrowers have gone; from now on it lends nothing new.

    A borrower that was told to end before keeps to what it was told, and so does a sleeper that is waking.
    """
    changes: list[Change] = []
    leaving: list[Leaving] = []
    for borrower in world.borrowers(lender):
        before = _told_before(world, borrower, now_s)
        if before is None:
            before, told = leave(borrower, pace, chance, now_s, grace_s)
            changes += told
        leaving.append(before)
    planned = [at_s for at_s, then in world.agenda if _wakes(then, lender)]
    if planned:
        return Course(noticed_s=now_s, leaving=tuple(leaving), serving_s=max(planned)), changes
    changes.insert(0, PodSet(pod=identity(lender), fields={"standby_until_s": now_s}))
    serving_s = max((one.gone_s for one in leaving), default=now_s) + chance.randint(*pace.resume_s)
    awake: Fields = {"standby": False, "standby_until_s": None}
    changes.append(Planned(at_s=serving_s, then=PodSet(pod=identity(lender), fields=awake, uid=lender.uid or "")))
    return Course(noticed_s=now_s, leaving=tuple(leaving), serving_s=serving_s), changes


def ends_already(world: World, pod: PodRecord) -> bool:
    """Whether it was told to end, and will."""
    return _told_before(world, pod, 0) is not None


def _wakes(then: Due, lender: PodRecord) -> bool:
    return isinstance(then, PodSet) and then.pod == identity(lender) and then.fields.get("standby") is False


def _told_before(world: World, pod: PodRecord, now_s: int) -> Leaving | None:
    """The end that is planned for a pod; None where it was not told to end, or only makes way for its own copy."""
    key = identity(pod)
    dues = [at_s for at_s, then in world.agenda if isinstance(then, Ended) and then.pod == key]
    if not pod.terminating or not dues:
        return None
    noticed_s = pod.deleted_at_s if pod.deleted_at_s is not None else now_s
    hook_ends = dues[0] < noticed_s + (pod.grace_s or 0)
    return Leaving(
        pod=key[1], uid=pod.uid or "", lease=pod.labels.get(LEASE, ""), gpu_milli=pod.gpus * pod.gpu_milli,
        noticed_s=noticed_s, hook_s=dues[0] if hook_ends else None, gone_s=dues[0],
        writes=hook_ends and pod.labels.get(ON_NOTICE) == "true",
    )  # fmt: skip
