"""What people read of scorecards."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from console.automation.choices import Turn
from console.automation.models import PoolRun, PoolTurn
from console.automation.selectors.deciding import allowance_of
from console.automation.selectors.pools import Pool, pool_for
from console.automation.selectors.scorecards import Scorecard, card_of, cards_of
from console.inventory.models import Source
from console.inventory.selectors.measured import newest_measurements
from console.policies.choices import AUTOMATIC
from console.policies.selectors import decided
from console.tenancy.services import require

VIEW = "policies.view_policy"


def scorecards(viewer: Any, cluster: str = "", gpu_model: str = "") -> list[Scorecard]:
    """Of every pool that is observed or has a record, by source, cluster and model."""
    require(viewer, VIEW)
    found = {pool for pool in _pools() if pool.gpu_model}
    wanted = [one for one in found if cluster in ("", one.cluster) and gpu_model in ("", one.gpu_model)]
    return cards_of(sorted(wanted))


def card_for(viewer: Any, source_id: int, cluster: str, gpu_model: str) -> Scorecard:
    require(viewer, VIEW)
    return card_of(pool_for(source_id, cluster, gpu_model))


def turns(viewer: Any, pool: Pool | None = None) -> QuerySet[PoolTurn]:
    """What was earned, lost and given back, newest first."""
    require(viewer, VIEW)
    rows = PoolTurn.objects.select_related("source", "by", "plan")
    if pool is None:
        return rows
    return rows.filter(source_id=pool.source_id, cluster=pool.cluster, gpu_model=pool.gpu_model)


def lost_pools(viewer: Any) -> list[Scorecard]:
    """Where automatic is allowed and somebody has to look at why it was lost."""
    require(viewer, VIEW)
    if not decided().filter(name="autonomy", value=AUTOMATIC).exists():
        return []
    newest: dict[tuple[int, str, str], str] = {}
    rows = PoolTurn.objects.values_list("source_id", "cluster", "gpu_model", "turn")
    for source_id, cluster, gpu_model, turn in rows:
        newest.setdefault((source_id, cluster, gpu_model), turn)
    names = dict(Source.objects.values_list("pk", "name"))
    lost = [Pool(names[key[0]], *key[1:], key[0]) for key, turn in newest.items() if turn == Turn.LOST and key[2]]
    return [card for card in cards_of(sorted(lost)) if card.allowed]


def outlook(viewer: Any, source: Source, cluster: str, models: Iterable[str], owner: Any) -> list[tuple[Pool, str]]:
    """What will happen with plans that ``owner`` asks for there, pool by pool; all pools of the cluster where none."""
    require(viewer, "plans.view_plan")
    wanted = set(models)
    pools = {pool for pool in _pools() if (pool.source_id, pool.cluster) == (source.pk, cluster) and pool.gpu_model}
    mine = sorted(pool for pool in pools if not wanted or pool.gpu_model in wanted)
    mine += [Pool(source.name, cluster, model, source.pk) for model in sorted(wanted - {one.gpu_model for one in mine})]
    return [(card.pool, _ahead(card, owner)) for card in cards_of(mine)]


def _ahead(card: Scorecard, owner: Any) -> str:
    if not card.automatic:
        return card.words
    allowed = allowance_of(card.pool.cluster, [card.pool.gpu_model], [], owner)
    if allowed.without.value != AUTOMATIC or allowed.by is None:
        return "left to people: automatic has to be allowed here by somebody else than the owner"
    return (
        f"started by the policy, allowed by {allowed.by.get_username()}: up to {card.most_moves.words}, where all "
        "checks hold and every other pool that a plan touches has earned it, too"
    )


def _pools() -> set[Pool]:
    ids = dict(Source.objects.values_list("name", "pk"))
    names = {number: name for name, number in ids.items()}
    found = {
        Pool(one.source, pool["cluster"], pool["gpu_model"] or "", ids[one.source])
        for one in newest_measurements()
        for pool in one.pools
        if one.source in ids
    }
    for model in (PoolRun, PoolTurn):
        rows = model.objects.order_by().values_list("source_id", "cluster", "gpu_model").distinct()
        found |= {Pool(names[source], cluster, name, source) for source, cluster, name in rows}
    return found
