"""What can be asked about, and who sees which question and how much of its answer."""

import json
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from console.inventory import archive
from console.inventory.models import Observation, Source
from console.inventory.selectors import NotThereError
from console.placement.choices import CLUSTER, HOST, QuestionState
from console.placement.models import Question
from console.tenancy.selectors import teams_now, tenant_scope
from console.tenancy.services import require

OWN, FLEET = "inventory.view_own", "inventory.view_fleet"
OPEN = (QuestionState.ASKED, QuestionState.WORKING)
LOST_AFTER = timedelta(minutes=5)  # nobody plans for so long: the worker is gone
STRANGERS = "Some of its jobs are no more yours to see. Ask again."
LOST = "The worker that was asked has not answered. Ask again."


@dataclass(frozen=True, slots=True)
class Scope:
    """One cluster of one source, as last observed."""

    source_id: int
    source: str
    cluster: str
    models: tuple[str, ...]
    levels: tuple[str, ...]  # from one node to the whole cluster
    nodes: int
    tenants: tuple[str, ...]  # whose pods are there, as far as the viewer sees them by name

    @property
    def key(self) -> str:
        return f"{self.source_id}|{self.cluster}"


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A question as a viewer sees it; ``answer`` names nodes only to those who see the fleet."""

    id: int
    source: str
    cluster: str
    asked: dict[str, Any]
    asked_by: str
    asked_at: datetime
    state: str
    done_at: datetime | None
    revision: int | None
    observed_at: datetime | None
    failure: str
    answer: dict[str, Any] | None

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def together(self) -> bool:
        """Whether it asks about several waiting jobs, not about a shape."""
        return "first" in self.asked

    @property
    def shape(self) -> dict[str, Any] | None:
        return None if self.together else self.asked

    @property
    def jobs(self) -> dict[str, Any] | None:
        return self.asked if self.together else None

    @property
    def alone(self) -> dict[str, Any] | None:
        return None if self.together else self.answer

    @property
    def joint(self) -> dict[str, Any] | None:
        return self.answer if self.together else None


def scopes(viewer: Any) -> list[Scope]:
    """Every observed cluster: what is asked about is no secret, whose pods stand there is."""
    require(viewer, OWN)
    newest = Observation.objects.filter(source=OuterRef("pk")).order_by("-revision")
    sources = list(Source.objects.annotate(digest=Subquery(newest.values("digest")[:1])).order_by("name"))
    kept = archive.load_all([source.digest for source in sources if source.digest])
    names = tenant_scope(viewer)
    return [scope for source in sources for scope in _of_source(source, kept.get(source.digest or ""), names)]


def _of_source(source: Source, snapshot: archive.Snapshot | None, names: frozenset[str] | None) -> list[Scope]:
    found: list[Scope] = []
    if snapshot is None:  # not read yet, or dropped since, with a newer one in its place
        return found
    for index, cluster in enumerate(snapshot.clusters):
        mine = snapshot.node_cluster == index
        known = np.unique(snapshot.node_model[mine & (snapshot.node_model != archive.UNKNOWN)])
        models = tuple(snapshot.models[model] for model in known)
        named = tuple(level for level in snapshot.levels if level not in (HOST, CLUSTER))
        levels = (HOST, *named, CLUSTER)
        tenants = _tenants(snapshot, index, names)
        found.append(Scope(source.pk, source.name, cluster.name, models, levels, int(mine.sum()), tenants))
    return found


def _tenants(snapshot: archive.Snapshot, cluster: int, names: frozenset[str] | None) -> tuple[str, ...]:
    """As the queue tells them: a team's are its own, and no more its department's."""
    teams, name, spaces = teams_now(), snapshot.clusters[cluster].name, len(snapshot.namespaces)
    pods = (snapshot.pod_cluster == cluster) & (snapshot.pod_tenant != archive.UNKNOWN)
    there = np.unique(snapshot.pod_tenant[pods].astype(np.int64) * spaces + snapshot.pod_namespace[pods])
    found = {
        teams.of(name, snapshot.tenants[one // spaces], snapshot.namespaces[one % spaces]) for one in there.tolist()
    }
    return tuple(sorted(one for one in found if names is None or one in names))


def scope_of(viewer: Any, source_id: int, cluster: str) -> Scope | None:
    return next((one for one in scopes(viewer) if (one.source_id, one.cluster) == (source_id, cluster)), None)


def questions(viewer: Any) -> QuerySet[Question]:
    """Everybody's for those who see the fleet, else one's own; newest first."""
    require(viewer, OWN)
    rows = Question.objects.select_related("source", "asked_by").defer("drawing")
    return rows if viewer.has_perm(FLEET) else rows.filter(asked_by=viewer)


def answer_rows(viewer: Any, most: int) -> list[AnswerRow]:
    return [_row(viewer, one) for one in questions(viewer)[:most]]


def answer_row(viewer: Any, question_id: int) -> AnswerRow:
    """Raises ``NotThereError``."""
    return _row(viewer, _found(viewer, question_id))


def _found(viewer: Any, question_id: int) -> Question:
    row = questions(viewer).filter(pk=question_id).first()
    if row is None:
        raise NotThereError("no such question")
    return row


def drawing(viewer: Any, question_id: int) -> dict[str, Any]:
    """The nodes before and after, for those who see the fleet.  Raises ``NotThereError``."""
    require(viewer, FLEET)
    row = Question.objects.filter(pk=question_id).values_list("drawing", flat=True).first()
    if row is None:
        raise NotThereError("no drawing")
    return json.loads(zlib.decompress(row))  # type: ignore[no-any-return]


def _row(viewer: Any, one: Question) -> AnswerRow:
    strange = one.together and _strange(one.answer, tenant_scope(viewer))
    lost = one.state in OPEN and one.asked_at < timezone.now() - LOST_AFTER
    return AnswerRow(
        id=one.pk,
        source=one.source.name,
        cluster=one.cluster,
        asked=one.asked,
        asked_by=one.asked_by.get_username(),
        asked_at=one.asked_at,
        state=QuestionState.FAILED if lost or strange else one.state,
        done_at=one.done_at,
        revision=one.revision,
        observed_at=one.observed_at,
        failure=LOST if lost else STRANGERS if strange else one.failure,
        answer=None if strange else _shown(viewer, one),
    )


def _strange(answer: dict[str, Any] | None, names: frozenset[str] | None) -> bool:
    """Whether jobs of others are in it, by what the viewer may see now."""
    return answer is not None and names is not None and any(job["tenant"] not in names for job in answer["jobs"])


def _shown(viewer: Any, one: Question) -> dict[str, Any] | None:
    if one.answer is None or viewer.has_perm(FLEET):
        return one.answer
    return _jobs_without_nodes(one.answer) if one.together else _without_nodes(one.answer)


def _jobs_without_nodes(answer: dict[str, Any]) -> dict[str, Any]:
    hidden = answer["level"] == HOST
    rows = [
        {**job, **{way: _held_without_nodes(job[way], hidden) for way in ("joint", "greedy")}} for job in answer["jobs"]
    ]
    return {**answer, "jobs": rows}


def _held_without_nodes(held: dict[str, Any] | None, hidden: bool) -> dict[str, Any] | None:
    return None if held is None else {**held, "nodes": [], "domains": [] if hidden else held["domains"]}


def _without_nodes(answer: dict[str, Any]) -> dict[str, Any]:
    """Counts and domains: which nodes stand empty says what others leave free."""
    best, others = answer.get("best"), answer.get("alternatives", [])
    return {
        **answer,
        "best": None if best is None else _option_without_nodes(best),
        "alternatives": [_option_without_nodes(one) for one in others],
        "fits": [{**one, "domain": None} if one["level"] == HOST else one for one in answer.get("fits", [])],
    }


def _option_without_nodes(option: dict[str, Any]) -> dict[str, Any]:
    hidden = option["level"] == HOST
    return {**option, "nodes": [], "domain": None if hidden else option["domain"],
            "gpus_by_domain": [] if hidden else option["gpus_by_domain"]}  # fmt: skip
