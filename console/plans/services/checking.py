"""Does the plan still hold?  Asked of the newest snapshot, about what the plan touches and nothing else."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from django.utils import timezone

from console.inventory import archive
from console.inventory.models import Observation
from console.inventory.services import newest, released, unlocked
from console.plans.choices import StepState
from console.plans.models import Plan, Step
from console.plans.services.transition import Conflict
from scheduler.cluster.build import restrict
from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Bools, Snapshot
from scheduler.plan import plan as core
from scheduler.plan.staleness import Change, changes

NAMED = 5  # pods in a note


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest observation of a plan's source, narrowed to its cluster."""

    revision: int
    digest: str
    snapshot: Snapshot


def newest_of(plan: Plan) -> Newest:
    """Raises ``Conflict`` where the source was never observed or no longer has the cluster."""
    found = newest(plan.source)
    if found is None:
        raise Conflict(f"{plan.source.name} was never observed.", next_step="Wait for its first observation.")
    return narrowed(plan, *found)


def narrowed(plan: Plan, observation: Observation, whole: Snapshot) -> Newest:
    """A reading of the plan's source, with its cluster only, and without the locks that their owners release now."""
    try:
        snapshot = restrict(whole, plan.cluster)
    except InputError as error:
        raise Conflict(f"{plan.source.name} no longer shows this cluster: {error.reason}.") from error
    return Newest(observation.revision, observation.digest, released(plan.source, snapshot))


def base_of(plan: Plan) -> Snapshot:
    """The snapshot that the plan rests on; ``Conflict`` where it is no longer kept.

    The judge let it move these pods, so that those that are locked in it were released then.
    """
    try:
        base = restrict(archive.load(plan.base_digest), plan.cluster)
        return unlocked(base, _moved(signed(plan), base))
    except archive.GoneError as gone:
        raise Conflict(
            f"The snapshot under plan {plan.pk} is no longer kept, so nothing can be compared with it.",
            next_step="Compute a new plan.",
        ) from gone


def with_releases(plan: Plan, answer: core.Plan, now: Newest) -> core.Plan:
    """The answer with a note of the locked pods that it moves because their owners release them: it is signed, too."""
    raw = restrict(archive.load(now.digest), plan.cluster)
    rows = np.flatnonzero(_moved(answer, raw)).tolist()
    if not rows:
        return answer
    named = sorted(raw.pod_key(row) for row in rows)
    words = f"locked, and released by their owners for this time: {len(named):,} of the pods that move"
    listed = f" ({', '.join(named[:NAMED])}{', …' if len(named) > NAMED else ''})"
    return msgspec.structs.replace(answer, notes=(*answer.notes, words + listed))


def _moved(whole: core.Plan, base: Snapshot) -> Bools:
    """[p] locked pods that the plan moves; most plans have none."""
    found = np.zeros(len(base.pod_name), np.bool_)
    moves = {move.pod for move in whole.moves}
    found[[row for row in np.flatnonzero(base.pod_locked).tolist() if base.pod_key(row) in moves]] = True
    return found


def signed(plan: Plan) -> core.Plan:
    """The core plan from the bytes that were signed."""
    return core.from_json(bytes(plan.document or b""))


def rest_of(plan: Plan, without: Collection[int] = ()) -> core.Plan:
    """The signed plan without the steps that have begun, in the waves in which they are to be run.

    ``without`` names steps (by index) that are left out as well.
    """
    whole = signed(plan)
    waiting = Step.objects.filter(plan=plan, state=StepState.WAITING).order_by("run_wave", "index")
    left = [row for row in waiting.values_list("index", "run_wave") if row[0] not in set(without)]
    place = {index: position for position, (index, _wave) in enumerate(left)}
    waves = {wave: number for number, wave in enumerate(sorted({wave for _index, wave in left}))}
    moves = tuple(
        msgspec.structs.replace(
            whole.moves[index], after=tuple(place[before] for before in whole.moves[index].after if before in place)
        )
        for index, _wave in left
    )
    drained = {move.drains for move in moves}
    return msgspec.structs.replace(
        whole,
        moves=moves,
        wave_of=tuple(waves[wave] for _index, wave in left),
        emptied_nodes=tuple(node for node in whole.emptied_nodes if node in drained),
    )


def differences(plan: Plan, now: Newest, rest: core.Plan | None = None) -> list[dict[str, Any]]:
    """What of the plan (or of ``rest``, the part still to be run) no longer holds in ``now``; [] if all of it does.

    Moves are named by their place in the signed plan, whichever part was judged.
    """
    whole = signed(plan)
    judged = whole if rest is None else rest
    found = [as_row(change) for change in changes(judged, base_of(plan), now.snapshot)]
    if rest is None:
        return found
    place = {move.pod: index for index, move in enumerate(whole.moves)}  # no pod moves twice
    return [{**row, "moves": [place[judged.moves[move].pod] for move in row["moves"]]} for row in found]


def as_row(change: Change) -> dict[str, Any]:
    return {
        "moves": list(change.moves),
        "kind": change.object_kind,
        "object": change.object,
        "field": change.field,
        "was": _word(change.was),
        "now": _word(change.now),
    }


def _word(value: object) -> str | int | None:
    return value if value is None or isinstance(value, int) else str(value)


def check_again(plan: Plan) -> list[dict[str, Any]]:
    """Compare with the newest snapshot and remember when that was; the caller decides what follows from it."""
    now = newest_of(plan)
    found = differences(plan, now)
    Plan.objects.filter(pk=plan.pk).update(checked_revision=now.revision, checked_at=timezone.now())
    return found


def document_of(document: bytes) -> Any:
    """The signed plan as plain JSON values."""
    return msgspec.json.decode(document)
