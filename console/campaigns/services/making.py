"""From what somebody asks to a campaign with its groups; it begins in an act of its own."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from console.campaigns import choosing, selectors
from console.campaigns.choices import (
    AT_WORK,
    GROUPINGS,
    MOST_GROUPS,
    MOST_NODES,
    NO_GROUPING,
    OVER,
    RANGES,
    ZONE,
    Order,
    Refused,
    Selects,
    State,
)
from console.campaigns.models import Campaign, Group, Member
from console.campaigns.services.writing import take, write_down
from console.consolidation.selectors import Scope, digest_of, scope_of
from console.dispatch.services import enqueue
from console.inventory import archive
from console.inventory.choices import WATCHED
from console.inventory.models import Source
from console.rest.errors import Conflict, FieldError
from console.tenancy.services import require
from scheduler.cluster.build import restrict
from scheduler.cluster.snapshot import Snapshot

SHOWN = 5
FIELDS = ("name", "reason", "source_id", "cluster", "selects", "wanted", "done_label", "done_value", "grouping",
          "protect", "order", "when_refused", *RANGES)  # fmt: skip
TAKES_NAMES = (Selects.DOMAINS, Selects.NODES)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a campaign would be about, on the newest reading."""

    scope: Scope
    snapshot: Snapshot
    groups: list[choosing.Drafted]
    fields: dict[str, Any]
    done: int  # nodes that are chosen and as they are to be already
    limit: int  # nodes out of service at most

    @property
    def nodes(self) -> int:
        return sum(len(one.rows) for one in self.groups)

    @property
    def gpus(self) -> int:
        return sum(one.gpus for one in self.groups)


def draft(user: Any, asked: dict[str, Any]) -> Draft:
    """Raises ``Denied`` or ``FieldError`` for the first field that is wrong; stores nothing."""
    require(user, "plans.request_plan")
    said = {**_usual(), **{name: asked[name] for name in FIELDS if name in asked}}
    scope = scope_of(user, said["source_id"], said["cluster"])
    if scope is None:
        raise FieldError("cluster", f"no source shows a cluster of the name {said['cluster']}")
    _refuse_words(said)
    snapshot = _snapshot(scope)
    _refuse_levels(said, snapshot)
    rows = _chosen(snapshot, said)
    done = set(choosing.having(snapshot, said["done_label"], said["done_value"])) if said["done_label"] else set()
    left = [row for row in rows if row not in done]
    if not left:
        words = (
            f"all {len(rows):,} are as they are to be already" if rows else "no node of this cluster is one of those"
        )
        raise FieldError(_field_of(said["selects"]), words)
    if len(left) > MOST_NODES:
        raise FieldError(_field_of(said["selects"]), f"{len(left):,} nodes, at most {MOST_NODES:,} in one campaign")
    limit = _limit(snapshot, left, said)
    groups, most = _grouped(snapshot, left, said, limit)
    _refuse_sizes(groups, limit)
    return Draft(scope, snapshot, groups, {**said, "most_per_group": most}, len(rows) - len(left), limit)


def make_campaign(user: Any, asked: dict[str, Any]) -> Campaign:
    """A draft with its groups; whether each could be drained is computed in the background."""
    found = draft(user, asked)
    said = found.fields
    for field, words in (("name", "give it a name: its plans carry it"), ("reason", "say why: its plans carry it")):
        if not said[field].strip():
            raise FieldError(field, words)
    with transaction.atomic():
        row = Campaign.objects.create(owner=user, chosen=chosen_words(said), **_columns(said))
        for position, one in enumerate(found.groups):
            _store(row, position, one, found.snapshot)
        sizes = {"chosen": row.chosen, "groups": len(found.groups), "nodes": found.nodes}
        write_down(row, user, "campaign.made", row.reason, sizes)
        enqueue("campaigns.preview", campaign_id=row.pk)
    return row


def begin_campaign(user: Any, campaign_id: int) -> Campaign:
    """From now on its groups are drained, one after the other.  Raises ``Denied``, ``Conflict``."""
    row = selectors.own(user, campaign_id)
    source = Source.objects.get(pk=row.source_id)
    if not source.acts and source.kind not in WATCHED:
        kind = source.get_kind_display().lower()
        raise Conflict(f"{source.name} is a {kind}: nothing changes there, so no group would ever be drained.")
    with transaction.atomic():
        take(row)
        refuse_held_elsewhere(row, Member.objects.filter(group__campaign=row, left_out=""))
        begun = {"state": State.ACTIVE, "begun_at": timezone.now()}
        if not Campaign.objects.filter(pk=row.pk, state=State.DRAFT).update(**begun):
            raise Conflict(f"Campaign {row.pk} is {row.get_state_display().lower()} already.")
        write_down(row, user, "campaign.begun")
        enqueue("campaigns.turn")
    return selectors.campaign_for(user, campaign_id)


def look_anew(user: Any, campaign_id: int) -> Campaign:
    """Whether each waiting group can be drained is computed once more, on the newest reading."""
    require(user, "plans.request_plan")
    row = selectors.campaign_for(user, campaign_id)
    with transaction.atomic():
        Group.objects.filter(campaign=row).exclude(state__in=OVER).update(previewed_at=None)
        write_down(row, user, "campaign.looked_at")
        enqueue("campaigns.preview", campaign_id=row.pk)
    return row


def refuse_held_elsewhere(row: Campaign, nodes: QuerySet[Member]) -> None:
    """No node is in two campaigns at once; of two that begin at once the second waits here and sees the first."""
    list(Source.objects.select_for_update().filter(pk=row.source_id).values_list("pk", flat=True))
    others = Member.objects.filter(
        name__in=nodes.values("name"), left_out="", group__campaign__source=row.source_id,
        group__campaign__cluster=row.cluster, group__campaign__state__in=AT_WORK,
    )  # fmt: skip
    held = others.exclude(group__campaign=row).exclude(group__state__in=OVER).select_related("group").first()
    if held is not None:
        raise Conflict(f"{held.name} is in campaign {held.group.campaign_id}, which is not over.")


# --- rules ------------------------------------------------------------------------------------------------------------
def _usual() -> dict[str, Any]:
    usual: dict[str, Any] = {name: one[2] for name, one in RANGES.items()}
    return {
        **usual, "name": "", "reason": "", "done_label": "", "done_value": "", "grouping": "asw", "protect": "",
        "order": Order.EMPTIEST.value, "when_refused": Refused.SKIP.value, "wanted": {},
    }  # fmt: skip


def _refuse_words(said: dict[str, Any]) -> None:
    for field, choices in (("selects", Selects), ("order", Order), ("when_refused", Refused)):
        if said[field] not in choices.values:
            raise FieldError(field, f"must be one of {', '.join(choices.values)}")
    for field, (low, high, _usual_value, _label, unit) in RANGES.items():
        value = said[field]
        if value is None and field in ("most_out", "most_out_per_cent", "most_per_group"):
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise FieldError(field, f"a whole number from {low:,} to {high:,} {unit.partition(';')[0]}")
    if said["most_out"] is None and said["most_out_per_cent"] is None:
        raise FieldError("most_out", "say how many nodes may be out of service, as a number or in %")
    if bool(said["done_label"]) != bool(said["done_value"]):
        raise FieldError("done_value", "label and value go together")


def _refuse_levels(said: dict[str, Any], snapshot: Snapshot) -> None:
    known = [*snapshot.levels, ZONE]
    if said["grouping"] not in (*GROUPINGS, *known):
        raise FieldError("grouping", f"must be one of {', '.join([*known, NO_GROUPING])}")
    if said["protect"] and said["protect"] not in known:
        raise FieldError("protect", f"must be one of {', '.join(known)}")


def _chosen(snapshot: Snapshot, said: dict[str, Any]) -> choosing.Rows:
    wanted, selects = said["wanted"], said["selects"]
    if selects == Selects.LABEL and not (wanted.get("label") and wanted.get("value")):
        raise FieldError("value", "say which label, and which value of it")
    if selects == Selects.MODEL and not wanted.get("model"):
        raise FieldError("model", "say which GPU model")
    if selects in TAKES_NAMES:
        known = set(snapshot.node_name if selects == Selects.NODES else snapshot.domain_name)
        missing = [name for name in wanted.get("names", []) if name not in known]
        if missing or not wanted.get("names"):
            listed = ", ".join(missing[:SHOWN]) + (
                f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
            )
            what = "node" if selects == Selects.NODES else "network domain"
            raise FieldError("names", f"no such {what}: {listed}" if missing else "name at least one")
    return choosing.chosen(snapshot, selects, wanted)


def _limit(snapshot: Snapshot, rows: choosing.Rows, said: dict[str, Any]) -> int:
    population = selectors.population(snapshot, {choosing.model_of(snapshot, row) for row in rows})
    return selectors.most_out(len(population), said["most_out"], said["most_out_per_cent"])


def _grouped(
    snapshot: Snapshot, rows: choosing.Rows, said: dict[str, Any], limit: int
) -> tuple[list[choosing.Drafted], int | None]:
    """The groups, and the most nodes of one: where nobody says it, as many as may be out of service.

    Places within the limit stay whole.  Those beyond it, and nodes without places, are cut so that as many groups as
    may be under way at once find room in it.
    """
    given = {"grouping": said["grouping"], "protect": said["protect"], "order": said["order"]}
    most: int | None = said["most_per_group"]
    if most is None:
        groups = choosing.grouped(snapshot, rows, most=None, **given)
        if said["grouping"] != NO_GROUPING and all(len(one.rows) <= limit for one in groups):
            return groups, None
        most = max(1, limit // said["at_once"])
    return choosing.grouped(snapshot, rows, most=most, **given), most


def _refuse_sizes(groups: list[choosing.Drafted], limit: int) -> None:
    largest = max(groups, key=lambda one: len(one.rows))
    if len(largest.rows) > limit:
        raise FieldError(
            "most_per_group",
            f"the group “{largest.name}” has {len(largest.rows):,} nodes, and at most {limit:,} may be out of service: "
            f"leave it empty, so that groups are cut to fit, or raise the limit",
        )
    if len(groups) > MOST_GROUPS:
        raise FieldError("grouping", f"{len(groups):,} groups, at most {MOST_GROUPS:,} in one campaign")


def _field_of(selects: str) -> str:
    return {Selects.LABEL: "value", Selects.MODEL: "model"}.get(Selects(selects), "names")


def _snapshot(scope: Scope) -> Snapshot:
    try:
        return restrict(archive.load(digest_of(scope)), scope.cluster)
    except archive.GoneError as gone:
        raise FieldError("cluster", "its newest reading has just gone; ask again") from gone


def chosen_words(said: dict[str, Any]) -> str:
    """The selector in words."""
    wanted = said["wanted"]
    match said["selects"]:
        case Selects.LABEL:
            words = f"nodes with {wanted['label']} = {wanted['value']}"
        case Selects.MODEL:
            words = f"nodes of the model {wanted['model']}"
        case Selects.UNFIT:
            words = "nodes that are not ready or degraded"
        case _:
            names = wanted["names"]
            more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
            words = f"{'nodes under ' if said['selects'] == Selects.DOMAINS else ''}{', '.join(names[:SHOWN])}{more}"
    return words[:300]


def _columns(said: dict[str, Any]) -> dict[str, Any]:
    texts = ("name", "reason")
    return {**said, **{name: said[name].strip() for name in texts}}


def _store(row: Campaign, position: int, one: choosing.Drafted, snapshot: Snapshot) -> None:
    group = Group.objects.create(
        campaign=row, position=position, name=one.name[:300], domains=list(one.domains), nodes=len(one.rows),
        gpus=one.gpus, pods=one.pods, used_gpu_milli=one.used_gpu_milli,
    )  # fmt: skip
    Member.objects.bulk_create(
        [
            Member(
                group=group, name=snapshot.node_name[n], gpus=int(snapshot.node_gpus[n]),
                gpu_model=choosing.model_of(snapshot, n),
            )
            for n in one.rows
        ],
        batch_size=500,
    )  # fmt: skip
