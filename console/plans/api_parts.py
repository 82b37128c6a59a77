"""Parts of plans, what came of runs, and the locks that plans hold, over HTTP."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.plans import selectors, services
from console.plans import serializers as shapes
from console.plans.api import IF_MATCH, NO_DIGEST, Action, digest_of
from console.plans.filters import LockFilter
from console.rest.pagination import CursorPages
from console.rest.permissions import NeedsPermission

TENANT = OpenApiParameter("tenant", OpenApiTypes.STR, many=True, description="tenants to leave out; empty: of none")
CHAIN = OpenApiParameter("chain", OpenApiTypes.INT, many=True, description="chains to leave out, numbered from 1")


class PartPreview(APIView):
    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)

    @extend_schema(parameters=[TENANT, CHAIN], responses=shapes.PartSerializer)
    def get(self, request: Request, plan_id: int) -> Response:
        """What remains of a plan without these tenants and chains, judged; nothing is stored."""
        asked = request.query_params
        chains = [word for word in asked.getlist("chain") if word]
        if any(not (word.isascii() and word.isdigit()) or len(word) > 9 or int(word) < 1 for word in chains):
            raise exceptions.ValidationError({"chain": "whole numbers from 1"})
        part = services.part_of(request.user, plan_id, asked.getlist("tenant"), [int(word) - 1 for word in chains])
        return Response(shapes.PartSerializer(part).data, headers={"ETag": f'"{part.digest}"'})


class ApprovePart(Action):
    permission, shape = "plans.approve_plan", shapes.PartApprovalSerializer

    @extend_schema(
        request=shapes.PartApprovalSerializer,
        parameters=[IF_MATCH],
        responses={200: shapes.PlanSerializer, 428: NO_DIGEST},
    )
    def post(self, request: Request, plan_id: int) -> Response:
        """Leave tenants and chains out of a proposal and approve what remains, in one go; answers with the new plan."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.approve_part(
            request.user,
            plan_id,
            digest_of(request, said),
            said["part_digest"],
            said["reason"],
            tenants=said["tenants"],
            chains=[number - 1 for number in said["chains"]],
            start=said["start"],
        )


class RecordDetail(APIView):
    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)

    @extend_schema(responses=shapes.RecordSerializer)
    def get(self, request: Request, plan_id: int) -> Response:
        """What was expected of a run and what came of it, its stops, and its emptied nodes until now."""
        plan = selectors.plan_detail(request.user, plan_id)
        found = selectors.record(request.user, plan)
        if found is None:
            raise exceptions.NotFound("This plan has not run.")
        stops = selectors.stops(request.user, plan)
        return Response(shapes.RecordSerializer({**asdict(found), "stops": stops}).data)


class ExtendHold(Action):
    permission, shape = "plans.run_plan", shapes.HoldSerializer

    @extend_schema(request=shapes.HoldSerializer, responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """Hold the nodes of an ended run until so many hours from now, longer or shorter than before."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.extend_hold(request.user, plan_id, said["hours"], said["reason"])


class ReleaseHold(Action):
    permission, shape = "plans.run_plan", shapes.NeedsReasonSerializer

    @extend_schema(request=shapes.NeedsReasonSerializer, responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """End a hold before its time: the cluster's scheduler may place any work there."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.release_hold(request.user, plan_id, said["reason"])


class LocksInOrder(CursorPages):
    ordering = "pk"


class LockList(generics.ListAPIView[Any]):
    """Locked nodes: owner, plan, since when, until when, and the waiting plans that touch them."""

    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.LockSerializer
    pagination_class = LocksInOrder
    filterset_class = LockFilter

    def get_queryset(self) -> Any:
        return selectors.locks(self.request.user)

    def paginate_queryset(self, queryset: Any) -> Any:
        page = super().paginate_queryset(queryset)
        wanted = selectors.wanted_by(self.request.user, page or [])
        for lock in page or []:
            lock.wanted_by = wanted.get((lock.source_id, lock.cluster, lock.node), [])
        return page


class ReleaseLocks(Action):
    permission, shape = "plans.release_lock", shapes.NeedsReasonSerializer

    @extend_schema(request=shapes.NeedsReasonSerializer, responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """Take the locks of a plan that does not run away; resuming it takes them again where they are free."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        services.release_locks(request.user, plan_id, said["reason"])
        return selectors.plan_detail(request.user, plan_id)
