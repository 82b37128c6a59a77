"""Recalls: asked for by people or by the end of a window, and what became of them."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from console.audit import services as audit
from console.connectors.protocol import Outcome
from console.inventory.models import Source
from console.live.services import publish
from console.rest.errors import Conflict, FieldError
from console.standby import selectors
from console.standby.choices import OPEN_RECALLS, Cause, RecallState, SleeperState
from console.standby.choices import RECALL as MAY_RECALL
from console.standby.lifecycle import move
from console.standby.models import ASLEEP, Ending, Recall, Sleeper
from console.standby.services.pods import one_of, reading
from console.tenancy.services import require

ENDING_FIELDS = ("lease", "gpu_milli", "noticed_at", "hook_ended_at", "ended_at", "killed", "checkpoint_at")


def recall(user: Any, *, source_id: int, cluster: str, pod: str, reason: str) -> Recall:
    """Wake a sleeping pod now.  Raises ``Denied``, ``FieldError``; ``Conflict`` where it cannot or need not be done."""
    require(user, MAY_RECALL)
    if not reason.strip():
        raise FieldError("reason", "say why: it is shown beside the recall")
    source = Source.objects.filter(pk=source_id).first()
    snapshot = None if source is None else reading(source)
    found = None if snapshot is None else one_of(snapshot, cluster, pod)
    if source is None or found is None or not selectors.reaches(user, found.tenant):
        raise FieldError("pod", "there is no such high-priority pod of yours")
    if not source.lends:
        raise Conflict(f"{source.name} is only observed: wake the pod there, for nothing can be done from here.")
    sleeper = Sleeper.objects.filter(
        window__source=source, window__cluster=cluster, pod=pod, state__in=ASLEEP
    ).order_by("-id").first()  # fmt: skip
    if not found.asleep and sleeper is None:
        raise Conflict(f"{pod} is awake.")
    facts = {
        "source": source, "cluster": cluster, "pod": pod, "pod_uid": found.uid, "node": found.node,
        "tenant": found.tenant, "gpu_model": found.gpu_model, "gpu_milli": found.gpu_milli,
    }  # fmt: skip
    with transaction.atomic():
        row = _create(sleeper, Cause.PERSON, reason.strip(), user, None, facts)
        if row is None:
            raise Conflict(f"{pod} is being recalled already.")
    return row


def recall_window(user: Any, window_id: int, reason: str) -> list[Recall]:
    """All pods that sleep under a window now; it stays for its next times."""
    require(user, MAY_RECALL)
    if not reason.strip():
        raise FieldError("reason", "say why: it is shown beside the recall")
    window = selectors.window_for(user, window_id)
    with transaction.atomic():
        sleepers = Sleeper.objects.filter(window=window, state__in=ASLEEP).select_related("window__source")
        asked = [ask(sleeper, Cause.PERSON, reason.strip(), by=user) for sleeper in sleepers]
    found = [row for row in asked if row is not None]
    if not found:
        raise Conflict(f"Nothing of {window.key} sleeps now, or all of it is being recalled already.")
    return found


def ask(
    sleeper: Sleeper, cause: Cause, reason: str, *, by: Any = None, wanted_at: datetime | None = None
) -> Recall | None:
    """Ask for the recall of one sleeper, in the caller's transaction; None where one is on its way."""
    if sleeper.state == SleeperState.ASKED and sleeper.slept_at is None and not _was_sent(sleeper):
        unsent = Sleeper.objects.filter(pk=sleeper.pk, state=SleeperState.ASKED, told=False, detail="")
        if move(unsent, SleeperState.OVER, over_at=timezone.now()):
            return None  # it never slept
        sleeper.refresh_from_db()
    window = sleeper.window
    facts = {
        "source": window.source, "cluster": window.cluster, "pod": sleeper.pod, "pod_uid": sleeper.pod_uid,
        "node": sleeper.node, "tenant": window.tenant, "gpu_model": sleeper.gpu_model, "gpu_milli": sleeper.gpu_milli,
    }  # fmt: skip
    return _create(sleeper, cause, reason, by, wanted_at, facts)


def _was_sent(sleeper: Sleeper) -> bool:
    """Whether the cluster may have heard of it: then only a recall undoes it."""
    return bool(sleeper.detail) or sleeper.told


def _create(
    sleeper: Sleeper | None, cause: Cause, reason: str, by: Any, wanted_at: datetime | None, facts: dict[str, Any]
) -> Recall | None:
    where = {name: facts[name] for name in ("source", "cluster", "pod")}
    if Recall.objects.filter(**where, state__in=OPEN_RECALLS).exists():
        return None
    try:
        with transaction.atomic():
            row = Recall.objects.create(
                **facts, sleeper=sleeper, cause=cause, reason=reason, asked_by=by, wanted_at=wanted_at
            )
    except IntegrityError:  # somebody else was faster
        return None
    audit.record(
        actor=by, action="standby.recalled", target_kind="standby recall", target_id=row.pk, reason=reason,
        detail={"pod": row.pod, "tenant": row.tenant, "cause": cause.value},
    )  # fmt: skip
    publish("standby", "recall.asked", recall=row.pk)
    return row


def open_recalls(source: Source) -> list[Recall]:
    return list(Recall.objects.filter(source=source, state__in=OPEN_RECALLS).select_related("sleeper").order_by("pk"))


def note_recall(row: Recall, outcome: Outcome) -> None:
    """Keep how far the cluster has come with it."""
    with transaction.atomic():
        told = _keep_reclaim(row, outcome)
        mine = Recall.objects.filter(pk=row.pk)
        if outcome.state == "running":
            changed = move(mine, RecallState.RUNNING, detail=outcome.detail)
            if changed and row.sleeper_id:
                move(Sleeper.objects.filter(pk=row.sleeper_id), SleeperState.WAKING)
        else:
            changed = _end(row, outcome)
        mine.filter(state__in=OPEN_RECALLS).update(detail=outcome.detail)
        if changed or told:
            publish("standby", "recall.changed", recall=row.pk)


def _end(row: Recall, outcome: Outcome) -> bool:
    awake = outcome.state == "failed" and outcome.detail.endswith("is not asleep")
    state = RecallState.SERVING if outcome.state == "succeeded" else RecallState.MOOT if awake else RecallState.FAILED
    now = timezone.now()
    if not move(Recall.objects.filter(pk=row.pk), state, detail=outcome.detail, ended_at=now):
        return False
    if row.sleeper_id:
        move(Sleeper.objects.filter(pk=row.sleeper_id), SleeperState.OVER, over_at=now, lent_milli=0)
    return True


def _keep_reclaim(row: Recall, outcome: Outcome) -> bool:
    """The times that were told, and each borrower's; whether any of them is new."""
    told = outcome.reclaim
    if told is None:
        return False
    facts = {
        "noticed_at": told.noticed_at, "last_gone_at": told.last_gone_at, "serving_at": told.serving_at,
        "killed": told.killed,
    }  # fmt: skip
    changed = any(getattr(row, name) != value for name, value in facts.items())
    if changed:
        Recall.objects.filter(pk=row.pk).update(**facts)
        for one in told.endings:
            values = {name: getattr(one, name) for name in ENDING_FIELDS}
            Ending.objects.update_or_create(recall=row, pod=one.pod, defaults={"pod_uid": one.uid, **values})
    return changed or _note_hooks(row, told.endings)


def _note_hooks(row: Recall, endings: Any) -> bool:
    """A hook or a pod that has ended since the last look."""
    changed = False
    for one in endings:
        rows = Ending.objects.filter(recall=row, pod=one.pod)
        fresh = {name: getattr(one, name) for name in ("hook_ended_at", "ended_at", "killed", "checkpoint_at")}
        if one.hook_ended_at is not None:
            changed |= bool(rows.filter(hook_ended_at=None).update(**fresh))
        if one.ended_at is not None:
            changed |= bool(rows.filter(ended_at=None).update(**fresh))
    return changed
