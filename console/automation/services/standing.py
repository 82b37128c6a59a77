"""Giving the level back: somebody with the right has looked at what went wrong."""

from typing import Any

from django.db import transaction

from console.automation import selectors
from console.automation.choices import Turn
from console.automation.models import PoolTurn
from console.automation.services import writing
from console.rest.errors import Conflict
from console.tenancy.services import Denied, require

RIGHT = "policies.set_policy"


def give_back(user: Any, source_id: int, cluster: str, gpu_model: str, *, lost: int, reason: str) -> PoolTurn:
    """The pool may earn the level anew, from now on.  ``lost`` is the loss that was looked at, the newest one.

    Raises ``Denied`` (also to who asked for a plan by which it was lost), ``Conflict``, ``Http404``.
    """
    require(user, RIGHT)
    pool = selectors.pool_for(source_id, cluster, gpu_model)
    if not reason.strip():
        raise Conflict("Giving it back needs a reason: say what you found. It is kept in the audit log.")
    writing.settle()
    with transaction.atomic():
        # Of two who give it back at once the second waits here and finds it given back.
        list(PoolTurn.objects.select_for_update().filter(pk=lost).values_list("pk", flat=True))
        newest = list(selectors.turns(user, pool)[:100])
        losses = _open_losses(newest)
        if not losses:
            raise Conflict(f"{pool.words}: there is nothing to give back.")
        if losses[0].pk != lost:
            raise Conflict(f"{pool.words} was lost again meanwhile, by {losses[0].reason}. Look at that, too.")
        _refuse_own(user, losses)
        turn = PoolTurn.objects.create(
            source_id=source_id, cluster=cluster, gpu_model=gpu_model, turn=Turn.GIVEN_BACK, by=user,
            plan=losses[0].plan, reason=reason.strip(),
        )  # fmt: skip
        writing.write_down(pool, turn, user, {"losses": [one.pk for one in losses]})
    return turn


def _open_losses(turns: list[PoolTurn]) -> list[PoolTurn]:
    """Losses since it was last earned or given back, newest first."""
    found: list[PoolTurn] = []
    for turn in turns:
        if turn.turn != Turn.LOST:
            break
        found.append(turn)
    return found


def _refuse_own(user: Any, losses: list[PoolTurn]) -> None:
    """Of a rollback, the plan that it takes back is what went wrong."""
    for one in losses:
        asked = [plan.pk for plan in (one.plan, one.plan and one.plan.undoes) if plan and plan.proposer_id == user.pk]
        if asked:
            raise Denied(f"You asked for plan {asked[0]}, by which it was lost: somebody else must look at it.")
