"""Asking where a job should go, and keeping the answer.  Nothing is bound, reserved or moved."""

import json
import zlib
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit.services import record
from console.dispatch.services import enqueue
from console.inventory.models import Observation
from console.live.services import publish
from console.placement import selectors
from console.placement.choices import BILLIONS, RANGES, TOGETHER, QuestionState, Tier
from console.placement.models import Question
from console.rest.errors import FieldError
from console.tenancy.services import person, require

TOPIC = "placement"
KEPT = 20  # questions of one person


@transaction.atomic
def ask(user: Any, *, source_id: int, cluster: str, asked: dict[str, Any]) -> Question:
    """Asks a worker.  Raises ``FieldError`` for what the cluster does not have, or ``Denied``."""
    require(user, selectors.OWN)
    scope = selectors.scope_of(user, source_id, cluster)
    if scope is None:
        raise FieldError("cluster", f"no source shows a cluster of the name {cluster}")
    return _asked(person(user), scope, _checked(scope, asked), ("pods", "gpus"))


@transaction.atomic
def ask_together(user: Any, *, source_id: int, cluster: str, asked: dict[str, Any]) -> Question:
    """Asks for the first ``first`` jobs of the queue at once: of one ``tenant``, or that accept one ``model``.

    Whose jobs these are is settled when the worker answers: those of everybody for who sees the fleet, else one's own.
    Raises as ``ask``.
    """
    require(user, selectors.OWN)
    scope = selectors.scope_of(user, source_id, cluster)
    if scope is None:
        raise FieldError("cluster", f"no source shows a cluster of the name {cluster}")
    first = asked.get("first", TOGETHER.default)
    if fault := TOGETHER.fault(first):
        raise FieldError("first", fault)
    said = {"first": first, "model": _model(scope, asked), "tenant": asked.get("tenant", "")}
    if said["tenant"] and said["tenant"] not in scope.tenants:
        raise FieldError("tenant", f"{cluster} shows no pods of a tenant {said['tenant']}")
    return _asked(person(user), scope, said, ("first",))


def _asked(mine: Any, scope: selectors.Scope, said: dict[str, Any], told: tuple[str, ...]) -> Question:
    question = Question.objects.create(
        source_id=scope.source_id, cluster=scope.cluster, asked_by=mine, asked_at=timezone.now(), asked=said
    )
    old = list(Question.objects.filter(asked_by=mine).values_list("pk", flat=True)[KEPT:])
    Question.objects.filter(pk__in=old).delete()
    record(
        actor=mine,
        action="placement.asked",
        target_kind="placement",
        target_id=str(question.pk),
        detail={"cluster": scope.cluster, **{name: said[name] for name in told}},
    )
    enqueue("placement.answer", question_id=question.pk)
    publish(TOPIC, "placement.asked")
    return question


def _model(scope: selectors.Scope, asked: dict[str, Any]) -> str:
    model = str(asked.get("model", ""))
    if model and model not in scope.models:
        raise FieldError("model", f"{scope.cluster} has no {model}, only {', '.join(scope.models)}")
    return model


def _checked(scope: selectors.Scope, asked: dict[str, Any]) -> dict[str, Any]:
    said = {name: asked.get(name, found.default) for name, found in RANGES.items()}
    for name, value in said.items():
        if fault := RANGES[name].fault(value):
            raise FieldError(name, fault)
    said["model"], said["tier"] = _model(scope, asked), asked.get("tier", Tier.HP.value)
    said["mix_models"] = bool(asked.get("mix_models", False))
    if said["tier"] not in Tier.values:
        raise FieldError("tier", f"must be {' or '.join(Tier.values)}")
    for name in ("required", "preferred", "slice_level"):
        said[name] = asked.get(name, "")
        if said[name] and said[name] not in scope.levels:
            raise FieldError(name, f"{scope.cluster} has the levels {', '.join(scope.levels)}")
    _check_slices(said)
    said["billions"] = _billions(asked.get("billions"))
    if said["billions"] is not None:
        _check_ways(said)
    return said


def _check_slices(said: dict[str, Any]) -> None:
    if said["slice_pods"] and said["pods"] % said["slice_pods"]:
        raise FieldError("slice_pods", f"must divide the {said['pods']} pods")
    if bool(said["slice_pods"]) != bool(said["slice_level"]):
        raise FieldError("slice_level", "goes with the pods of a slice: give both or neither")


def _billions(given: object) -> float | None:
    low, high = BILLIONS
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= high:
        raise FieldError("billions", f"must be {low:g} to {high:g}")
    return float(given)


def _check_ways(said: dict[str, Any]) -> None:
    gpus, each = said["pods"] * said["gpus"], said["tp"] * said["pp"]
    if gpus == 0 or gpus % each:
        raise FieldError("tp", f"tensor x pipeline is {each}, which does not divide the {gpus} GPUs")
    if said["ep"] > gpus // said["pp"]:
        raise FieldError("ep", f"must be at most the {gpus // said['pp']} GPUs of a pipeline stage")


def begin(question_id: int) -> Question | None:
    """For the worker that takes it; None where another one has, or nobody asks any more."""
    mine = Question.objects.filter(pk=question_id, state=QuestionState.ASKED).update(state=QuestionState.WORKING)
    if mine:
        publish(TOPIC, "placement.begun")
    return Question.objects.select_related("source").filter(pk=question_id).first() if mine else None


@transaction.atomic
def keep(question: Question, reading: Observation, answer: dict[str, Any], drawing: dict[str, Any] | None) -> None:
    """The answer, of this reading."""
    packed = None if drawing is None else zlib.compress(json.dumps(drawing).encode())
    _close(question, state=QuestionState.DONE, revision=reading.revision, observed_at=reading.observed_at,
           answer=answer, drawing=packed)  # fmt: skip


@transaction.atomic
def fail(question: Question, why: str) -> None:
    _close(question, state=QuestionState.FAILED, failure=why)


def _close(question: Question, **said: Any) -> None:
    rows = Question.objects.filter(pk=question.pk, state=QuestionState.WORKING)
    if rows.update(done_at=timezone.now(), **said):
        publish(TOPIC, "placement.answered")
