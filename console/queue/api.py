"""The API of the queue."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from console.inventory.api_tables import PAGING, OwnView, envelope, page_of, sort, text
from console.queue import selectors
from console.queue import serializers as shapes
from console.queue.choices import Reason
from console.queue.selectors import RUNNING_SORTS, RUNNING_USUAL, SORTS, USUAL, QueueFilters

NARROWED = [
    text("tenant"),
    text("model", "one that the job accepts"),
    text("cluster"),
    text("source"),
    text("text", "part of a name"),
]
REASON = text("reason", "why it waits", tuple(Reason.values))


class QueueList(OwnView):
    """Jobs that wait, each with its one primary reason.  A tenant gets its own."""

    @extend_schema(
        operation_id="queue", parameters=[REASON, *NARROWED, sort(SORTS), *PAGING], responses=shapes.QueuePageSerializer
    )
    def get(self, request: Request) -> Response:
        filters = QueueFilters.of(request.query_params)
        page = page_of(request, filters, selectors.queue_rows, SORTS, USUAL)
        return Response(shapes.QueuePageSerializer(_answer(request, page)).data)


class RunningList(OwnView):
    """Gangs that run, and how far they are spread.  A tenant gets its own."""

    @extend_schema(
        operation_id="queue_running",
        parameters=[*NARROWED, sort(RUNNING_SORTS), *PAGING],
        responses=shapes.RunningPageSerializer,
    )
    def get(self, request: Request) -> Response:
        filters = QueueFilters.of(request.query_params)
        page = page_of(request, filters, selectors.running_rows, RUNNING_SORTS, RUNNING_USUAL)
        return Response(shapes.RunningPageSerializer(_answer(request, page)).data)


class QueueTotals(OwnView):
    """Waiting jobs and GPUs by reason."""

    @extend_schema(operation_id="queue_totals", parameters=[REASON, *NARROWED], responses=shapes.TotalsSerializer)
    def get(self, request: Request) -> Response:
        filters = QueueFilters.of(request.query_params)
        found = {
            "observed_at": selectors.queue_age().observed_at,
            "seen": selectors.queue_totals(request.user, filters),
            "others": selectors.others_totals(request.user),
        }
        return Response(shapes.TotalsSerializer(found).data)


def _answer(request: Request, page: Any) -> dict[str, Any]:
    return {"observed_at": selectors.queue_age().observed_at, **envelope(request, page)}
