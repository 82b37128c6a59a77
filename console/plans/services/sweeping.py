"""Every few seconds: let plans and freezes expire, find stale plans, and send lost work out again."""

from datetime import timedelta

import structlog
from django.db.models import F, Q
from django.utils import timezone

from console.dispatch.services import enqueue
from console.inventory.services import revision_of
from console.plans import lifecycle, selectors
from console.plans.choices import State, StepState
from console.plans.models import NodeLock, Plan
from console.plans.services import checking, dropping, following, freezes, levels, locks, running, stepping
from console.plans.services.staleness import go_stale
from console.plans.services.transition import HEAVY, Conflict, change

log = structlog.get_logger(__name__)
HOLD_BASE = timedelta(hours=6)  # so long stale moves can be dropped from a plan


def sweep() -> None:
    """Safe to run twice at once: every change is a compare-and-set, and the loser has nothing to do."""
    freezes.tell_of_ended_freezes()
    expire()
    find_stale()
    levels.mark_reports()
    look_at_stopped()
    go_on()
    wake()
    send_again()
    following.follow()
    let_go_of_snapshots()
    NodeLock.objects.exclude(plan__state=State.EXECUTING).filter(expires_at__lte=timezone.now()).delete()


def expire() -> None:
    now = timezone.now()
    due = Plan.objects.filter(state__in=lifecycle.AWAITING, expires_at__lte=now)
    for plan_id in due.values_list("pk", flat=True):
        try:
            change(plan_id, State.EXPIRED, actor=None, reason="nobody decided in time", ended_at=now)
        except Conflict as lost:
            log.info("plan.not_expired", plan=plan_id, reason=lost.reason)


def find_stale() -> None:
    """Check the plans that wait for a decision or a start against every newer snapshot of their source."""
    waiting = Plan.objects.filter(state__in=lifecycle.AWAITING).select_related("source").defer(*HEAVY)
    for plan in waiting:
        if not _has_news(plan):
            continue
        try:
            found = checking.check_again(plan)
            if found:
                go_stale(plan, found)
        except Conflict as lost:
            log.info("plan.not_checked", plan=plan.pk, reason=lost.reason)


def look_at_stopped() -> None:
    """Check what is left of paused and halted runs against every newer snapshot, once nothing of them is in flight."""
    stopped = Plan.objects.filter(state__in=dropping.STOPPED).exclude(steps__state=StepState.ISSUED)
    for plan in stopped.select_related("source").defer(*HEAVY):
        if not _has_news(plan):
            continue
        try:
            dropping.look_again(plan)
        except Conflict as lost:
            log.info("plan.not_checked", plan=plan.pk, reason=lost.reason)


def go_on() -> None:
    """Runs that wait for their window go on when it is open, unless what is left of them has changed."""
    waiting = Plan.objects.filter(state=State.PAUSED, waits_for=stepping.WINDOW, changes=[])
    for plan in waiting.exclude(steps__state=StepState.ISSUED).select_related("source", "approver").defer(*HEAVY):
        if not selectors.may_run_now(plan)[0]:
            continue
        try:
            running.go_on(plan)
        except Conflict as lost:
            log.info("plan.not_gone_on", plan=plan.pk, reason=lost.reason)


def wake() -> None:
    """Runs that rest until they look for checkpoints keep their locks, and are sent out when they are due.

    Once, and again after a lease: a queue that stands does not fill up with them, and a lost message costs a lease.
    """
    now = timezone.now()
    resting = Plan.objects.filter(state=State.EXECUTING, worker="", looks_at__isnull=False)
    for plan in resting.defer(*HEAVY):
        locks.extend(plan)
    due = resting.filter(
        Q(heartbeat_at__lt=F("looks_at")) | Q(heartbeat_at__lt=now - stepping.LEASE), looks_at__lte=now
    )
    for plan_id in due.values_list("pk", flat=True):
        if due.filter(pk=plan_id).update(heartbeat_at=now) == 1:
            enqueue("plans.execute", plan_id=plan_id)


def _has_news(plan: Plan) -> bool:
    return plan.checked_revision is None or revision_of(plan.source) > plan.checked_revision


def send_again() -> None:
    """Work whose worker has not been heard of for a lease, or whose message was lost, goes out once more."""
    long_ago = timezone.now() - stepping.LEASE
    silent = Q(heartbeat_at__lt=long_ago) | Q(heartbeat_at__isnull=True, requested_at__lt=long_ago)
    for plan_id, kind in Plan.objects.filter(silent, state__in=lifecycle.COMPUTING).values_list("pk", "kind"):
        enqueue(f"{kind}.plan", plan_id=plan_id)
    unattended = Q(heartbeat_at__lt=long_ago) | Q(worker="", resumed_at__lt=long_ago)
    acting = Q(state=State.EXECUTING) | Q(steps__state=StepState.ISSUED)
    lost = Plan.objects.filter(unattended, acting).exclude(worker="", looks_at__isnull=False)
    for plan_id in lost.values_list("pk", flat=True).distinct():
        enqueue("plans.execute", plan_id=plan_id)


def let_go_of_snapshots() -> None:
    """Plans that are long over no longer hold the reading that they rest on; their rows say all that is asked."""
    over = Plan.objects.filter(state__in=lifecycle.FINAL, ended_at__lt=timezone.now() - HOLD_BASE, base__isnull=False)
    over.update(base=None)
