"""The API of locks by owners: the ledger, and questions whether a workload may be moved for a while."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from console.inventory import selectors, services
from console.inventory import serializers_owner_locks as shapes
from console.inventory.api_tables import OWN, PAGING, OwnView, envelope, page_of, sort, text
from console.inventory.selectors.idling import WINDOWS
from console.inventory.selectors.owner_locks import GROUPS, SORTS
from console.rest import bodies
from console.rest.permissions import NeedsPermission

ASK, ANSWER = "inventory.ask_release", "inventory.answer_release"


FILTERS = [
    text("window", "so many full hours, and the one that runs", tuple(WINDOWS)),
    text("by", "one row for each", GROUPS),
    text("source"),
    text("cluster"),
    text("tenant"),
    text("text", "part of a name"),
    sort(SORTS),
    *PAGING,
]


class OwnerLockList(OwnView):
    """What locks hold and strand, by owner.  A tenant gets its own."""

    @extend_schema(operation_id="owner_locks", parameters=FILTERS, responses=shapes.OwnerLockPageSerializer)
    def get(self, request: Request) -> Response:
        filters = selectors.OwnerLockFilters.of(request.query_params)
        page = page_of(
            request, filters, selectors.owner_lock_rows, selectors.owner_lock_orders(filters.by), "-stranded"
        )
        found: dict[str, Any] = {
            "since": selectors.owner_locks_since(filters),
            "sums": selectors.owner_lock_total(request.user, filters),
            **envelope(request, page),
        }
        return Response(shapes.OwnerLockPageSerializer(found).data)


class OwnerLockDetail(OwnView):
    """One row of the ledger, over the last 24 hours."""

    @extend_schema(operation_id="owner_lock", responses=shapes.OwnerLockSerializer)
    def get(self, request: Request, lock_id: int) -> Response:
        return Response(shapes.OwnerLockSerializer(_lock(request, lock_id)[1]).data)


class AskRelease(OwnView):
    permission = ASK

    @extend_schema(operation_id="release_ask", request=shapes.AskSerializer, responses={201: shapes.ReleaseSerializer})
    def post(self, request: Request, lock_id: int) -> Response:
        """Asks the owner to let the workload be moved within a window."""
        lock = _lock(request, lock_id)[0]
        said = bodies.said(shapes.AskSerializer, request)
        row = _answered(lambda: services.ask_release(request.user, lock, **said))
        return Response(shapes.ReleaseSerializer(row).data, status=status.HTTP_201_CREATED)


class ReleaseList(generics.ListAPIView[Any]):
    """Questions and answers, newest first.  A tenant gets those about its own workloads."""

    permission = OWN
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.ReleaseSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.releases(self.request.user)


class AnswerRelease(OwnView):
    permission = ANSWER

    @extend_schema(operation_id="release_answer", request=shapes.AnswerSerializer, responses=shapes.ReleaseSerializer)
    def post(self, request: Request, release_id: int) -> Response:
        """Yes or no, by a member of the tenant; the first answer counts."""
        said = bodies.said(shapes.AnswerSerializer, request)
        row = _answered(lambda: services.answer_release(request.user, release_id, **said))
        return Response(shapes.ReleaseSerializer(row).data)


class TakeBackRelease(OwnView):
    permission = ANSWER

    @extend_schema(
        operation_id="release_take_back", request=shapes.WithdrawSerializer, responses=shapes.ReleaseSerializer
    )
    def post(self, request: Request, release_id: int) -> Response:
        """The tenant takes its yes back."""
        said = bodies.said(shapes.WithdrawSerializer, request)
        row = _answered(lambda: services.take_back_release(request.user, release_id, **said))
        return Response(shapes.ReleaseSerializer(row).data)


class WithdrawRelease(OwnView):
    permission = ASK

    @extend_schema(
        operation_id="release_withdraw", request=shapes.WithdrawSerializer, responses=shapes.ReleaseSerializer
    )
    def post(self, request: Request, release_id: int) -> Response:
        """Withdraws a question that nobody has answered."""
        said = bodies.said(shapes.WithdrawSerializer, request)
        row = _answered(lambda: services.withdraw_release(request.user, release_id, **said))
        return Response(shapes.ReleaseSerializer(row).data)


def _answered(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except selectors.NotThereError as error:
        raise NotFound("There is no such release.") from error


def _lock(request: Request, lock_id: int) -> tuple[Any, Any]:
    try:
        return selectors.owner_lock_for(request.user, lock_id)
    except selectors.NotThereError as error:
        raise NotFound("There is no such lock.") from error
