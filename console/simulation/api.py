"""Studies over HTTP: ask, follow, read what came of them.  Tenant users see none, as traces name everybody's jobs."""

from dataclasses import asdict
from typing import Any

from django.core.paginator import Paginator
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.inventory.api_tables import text
from console.inventory.selectors import NotThereError
from console.rest import bodies
from console.rest.errors import FieldError
from console.rest.permissions import NeedsPermission
from console.simulation import selectors, services
from console.simulation import serializers as shapes
from console.simulation.choices import FIGURES, StudyState
from console.simulation.selectors import RUN, VIEW

LISTED = 50
AXES = ("utilisation", "large_start_s")


class _Desk(APIView):
    permissions = {"GET": VIEW, "POST": RUN, "DELETE": RUN}  # noqa: RUF012
    permission_classes = (NeedsPermission,)

    def handle_exception(self, exc: Exception) -> Response:
        """What is not there has one answer everywhere."""
        wrong = NotFound("There is no such study or trace.") if isinstance(exc, NotThereError) else exc
        return super().handle_exception(wrong)


class Studies(_Desk):
    throttle_scope = "plans"
    parser_classes = (JSONParser,)  # policies are objects in a list, which no form can hold

    @extend_schema(
        operation_id="studies",
        parameters=[
            text("text", "part of a name"),
            text("state", "of the study", tuple(StudyState.values)),
            text("trace"),
            text("by", "who asked"),
            text("page", "from 1"),
        ],
        responses=shapes.StudyListSerializer,
    )
    def get(self, request: Request) -> Response:
        """Newest first, 50 a page."""
        filters = selectors.StudyFilters.of(request.query_params)
        pages = Paginator(selectors.study_rows(request.user, filters), LISTED)
        page = pages.get_page(request.query_params.get("page"))
        found = {
            "total": pages.count, "page": page.number, "pages": pages.num_pages,
            "results": selectors.rows_of(page.object_list),
        }  # fmt: skip
        return Response(shapes.StudyListSerializer(found).data)

    @extend_schema(
        operation_id="study_ask", request=shapes.AskStudySerializer, responses={202: shapes.StudyDetailSerializer}
    )
    def post(self, request: Request) -> Response:
        """Queues one run for each policy and seed.  409 where one person's runs would be too many."""
        said = bodies.said(shapes.AskStudySerializer, request)
        made = services.make_study(request.user, **said)
        return Response(_detail(request, made.pk), status=status.HTTP_202_ACCEPTED)


class Study(_Desk):
    @extend_schema(operation_id="study", responses=shapes.StudyDetailSerializer)
    def get(self, request: Request, study_id: int) -> Response:
        """One study with its runs."""
        return Response(_detail(request, study_id))

    @extend_schema(operation_id="study_delete", responses={204: None})
    def delete(self, request: Request, study_id: int) -> Response:
        """With its runs and results.  409 while it is not finished."""
        services.delete_study(request.user, study_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class CancelStudy(_Desk):
    @extend_schema(
        operation_id="study_cancel", request=shapes.StudyReasonSerializer, responses=shapes.StudyDetailSerializer
    )
    def post(self, request: Request, study_id: int) -> Response:
        """Runs under way stop within seconds; what is finished stays.  409 where nothing is left to cancel."""
        services.cancel_study(request.user, study_id, **bodies.said(shapes.StudyReasonSerializer, request))
        return Response(_detail(request, study_id))


class StudyReport(_Desk):
    @extend_schema(operation_id="study_report", responses=shapes.StudyReportSerializer)
    def get(self, request: Request, study_id: int) -> Response:
        """Everything that is kept of it."""
        return Response(selectors.report_of(request.user, selectors.study_of(request.user, study_id)))


class StudyTradeOff(_Desk):
    @extend_schema(
        operation_id="study_trade_off",
        parameters=[text("x", "figure", tuple(FIGURES)), text("y", "figure", tuple(FIGURES))],
        responses=shapes.StudyTradeOffSerializer,
    )
    def get(self, request: Request, study_id: int) -> Response:
        """Five figures of each policy, and the front of two of them."""
        found = _outcomes(request, study_id)
        x, y = (_figure(request, axis, usual) for axis, usual in zip("xy", AXES, strict=True))
        front = selectors.front_of(found.policies, x, y)
        rows = [{"policy": one["name"], **{k: one[k] for k in ("efficient", "figures")}} for one in found.policies]
        return Response(shapes.StudyTradeOffSerializer({"x": x, "y": y, "front": front.on, "standings": rows}).data)


class StudyComparison(_Desk):
    @extend_schema(
        operation_id="study_comparison",
        parameters=[text("first", "name of a policy"), text("second", "name of another")],
        responses=shapes.StudyComparisonSerializer,
    )
    def get(self, request: Request, study_id: int) -> Response:
        """Two policies, job by job."""
        found = _outcomes(request, study_id)
        first, second = (str(request.query_params.get(name, ""))[:40] for name in ("first", "second"))
        pair = selectors.pair_of(found, first, second)
        if pair.found is None:
            raise NotFound("These two policies are not compared in this study.")
        return Response(shapes.StudyComparisonSerializer(pair.found).data)


class StudyTraces(_Desk):
    parser_classes = (JSONParser,)

    @extend_schema(operation_id="study_traces", responses=shapes.StudyTraceSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Traces that were uploaded or recorded, newest first."""
        return Response(shapes.StudyTraceSerializer(selectors.trace_rows(request.user), many=True).data)

    @extend_schema(
        operation_id="study_trace_record", request=shapes.RecordTraceSerializer,
        responses={202: shapes.StudyTraceSerializer},
    )  # fmt: skip
    def post(self, request: Request) -> Response:
        """Takes the recorded readings of one cluster as a trace."""
        said = bodies.said(shapes.RecordTraceSerializer, request)
        made = services.record_trace(request.user, source_id=said.pop("source"), **said)
        return _trace(request, made.pk)


class StudyTraceFiles(_Desk):
    parser_classes = (MultiPartParser,)

    @extend_schema(
        operation_id="study_trace_give", request=shapes.GiveTraceSerializer,
        responses={202: shapes.StudyTraceSerializer},
    )  # fmt: skip
    def post(self, request: Request) -> Response:
        """Gives files, which a worker reads; a refusal names file, line, field and reason."""
        said = bodies.said(shapes.GiveTraceSerializer, request)
        files = {str(file.name): file.read() for file in said["files"]}
        return _trace(request, services.receive_files(request.user, said["name"], files).pk)


class StudyTrace(_Desk):
    @extend_schema(operation_id="study_trace", responses=shapes.StudyTraceSerializer)
    def get(self, request: Request, trace_id: int) -> Response:
        """One trace, and what was wrong with it if it was refused."""
        return Response(shapes.StudyTraceSerializer(selectors.trace_row(request.user, trace_id)).data)

    @extend_schema(operation_id="study_trace_delete", responses={204: None})
    def delete(self, request: Request, trace_id: int) -> Response:
        """409 while a study is on it."""
        services.delete_trace(request.user, trace_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _detail(request: Request, study_id: int) -> Any:
    row = selectors.study_row(request.user, study_id)
    runs = selectors.run_rows(request.user, row)
    return shapes.StudyDetailSerializer({**asdict(row), "all_runs": runs}).data


def _trace(request: Request, trace_id: int) -> Response:
    row = selectors.trace_row(request.user, trace_id)
    return Response(shapes.StudyTraceSerializer(row).data, status=status.HTTP_202_ACCEPTED)


def _outcomes(request: Request, study_id: int) -> selectors.Outcomes:
    found = selectors.outcomes_of(request.user, study_id)
    if found is None:
        raise NotFound("Nothing of this study is summed up yet.")
    return found


def _figure(request: Request, axis: str, usual: str) -> str:
    asked = str(request.query_params.get(axis) or usual)
    if asked not in FIGURES:
        raise FieldError(axis, f"must be one of {', '.join(FIGURES)}")
    return asked
