"""The API of the queue."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from console.inventory.api_tables import PAGING, OwnView, envelope, page_of, sort, text
from console.inventory.selectors import NotThereError
from console.queue import selectors, services
from console.queue import serializers as shapes
from console.queue.choices import Reason
from console.queue.selectors import RUNNING_SORTS, RUNNING_USUAL, SORTS, USUAL, QueueFilters
from console.queue.selectors.narrowing import TIERS

NARROWED = [
    text("tenant"),
    text("model", "one that the job accepts"),
    text("cluster"),
    text("source"),
    text("tier", "HP or LP", TIERS),
    text("priority_class", "of the book"),
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
    """Gangs and single GPU pods that run, and how far they are spread.  A tenant gets its own."""

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


class JobDetail(OwnView):
    """One job with its members, why it waits, and what was seen of it."""

    @extend_schema(
        operation_id="queue_job",
        parameters=[text("cluster"), text("name", "namespace/name of the gang, or of the pod"), text("source")],
        responses=shapes.JobCardSerializer,
    )
    def get(self, request: Request) -> Response:
        asked = {name: str(request.query_params.get(name, ""))[:600] for name in ("cluster", "name", "source")}
        try:
            card = selectors.job_card(request.user, asked["cluster"], asked["name"], source=asked["source"])
        except NotThereError as error:
            raise NotFound("There is no such job here, or it is not yours to see.") from error
        return Response(shapes.JobCardSerializer(card).data)


class JobUnblock(OwnView):
    """What would make a job start: asked of a worker, answered on one reading.  Nothing is done about it."""

    @extend_schema(operation_id="queue_unblock", responses=shapes.InquirySerializer)
    def get(self, request: Request, job_id: int) -> Response:
        """The newest question and its answer."""
        found = selectors.job_inquiry(request.user, _job(request, job_id))
        if found is None:
            raise NotFound("Nobody has asked what would unblock this job.")
        return Response(shapes.InquirySerializer(found).data)

    @extend_schema(operation_id="queue_unblock_ask", request=None, responses={202: shapes.InquirySerializer})
    def post(self, request: Request, job_id: int) -> Response:
        """Asks; while a question is open, the same one is answered."""
        job = _job(request, job_id)
        services.ask_unblock(request.user, job)
        found = selectors.job_inquiry(request.user, job)
        return Response(shapes.InquirySerializer(found).data, status=status.HTTP_202_ACCEPTED)


class JobStart(OwnView):
    """When a job may start: the queue replayed by a worker, once for each reading."""

    @extend_schema(operation_id="queue_start", responses=shapes.StartSerializer)
    def get(self, request: Request, job_id: int) -> Response:
        """The newest answer, or that one is under way."""
        found = selectors.job_start(request.user, _job(request, job_id))
        if found is None:
            raise NotFound("Nobody has asked when this job starts.")
        return Response(shapes.StartSerializer(found).data)

    @extend_schema(operation_id="queue_start_ask", request=None, responses={202: shapes.StartSerializer})
    def post(self, request: Request, job_id: int) -> Response:
        """Asks, unless it was worked out for the newest reading already."""
        job = _job(request, job_id)
        services.ask_start(request.user, job)
        found = selectors.job_start(request.user, job)
        return Response(shapes.StartSerializer(found).data, status=status.HTTP_202_ACCEPTED)


def _job(request: Request, job_id: int) -> Any:
    try:
        return selectors.job_of(request.user, job_id)
    except NotThereError as error:
        raise NotFound("There is no such job here, or it is not yours to see.") from error


def _answer(request: Request, page: Any) -> dict[str, Any]:
    return {"observed_at": selectors.queue_age().observed_at, **envelope(request, page)}
