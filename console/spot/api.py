"""Spot capacity over HTTP: leases, estimates, reclaims, bills."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, generics, status
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.inventory.selectors import NotThereError
from console.rest import bodies
from console.rest.csv import csv_response
from console.rest.permissions import NeedsPermission
from console.rest.versions import IF_MATCH, REFUSALS, PreconditionFailed, PreconditionRequired, etag, version_sent
from console.spot import selectors, services
from console.spot import serializers as shapes
from console.spot.choices import Cause, State
from console.spot.selectors.reclaims import OUTCOMES

KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="sent twice, it makes one lease"
)
LONGEST_KEY = 100
GONE = "There is no such lease, or it is not yours to see."
_Q = OpenApiParameter


class SeesLeases(BasePermission):
    """Of their own tenants, or of all."""

    def has_permission(self, request: Request, view: Any) -> bool:
        user = request.user
        if not (user and user.is_authenticated):
            return False
        if user.has_perm(selectors.OWN) or user.has_perm(selectors.POOL):
            return True
        self.message = user.refusal(selectors.OWN)
        return False


class LeaseList(generics.ListAPIView[Any]):
    """Leases of your tenants, newest first; of all tenants for those who see the pool."""

    serializer_class = shapes.LeaseSerializer
    filter_backends = ()

    def get_permissions(self) -> list[Any]:
        self.permission = selectors.ASK
        return [NeedsPermission() if self.request.method == "POST" else SeesLeases()]

    def get_queryset(self) -> Any:
        said = self.request.query_params
        state = said.get("state", "")
        if state and state not in selectors.SHOWN:
            raise exceptions.ValidationError({"state": f"must be one of {', '.join(selectors.SHOWN)}"})
        given = {name: said.get(name, "")[:253] for name in ("tenant", "model", "text")}
        return selectors.filtered(self.request.user, state=state, **given)

    @extend_schema(
        parameters=[
            _Q("state", OpenApiTypes.STR, enum=["open", "over", *State.values]),
            *(_Q(name, OpenApiTypes.STR) for name in ("tenant", "model", "text")),
        ]
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.get_queryset())
        rows = selectors.rows_of(request.user, list(page or []))
        return self.get_paginated_response(shapes.LeaseSerializer(rows, many=True).data)

    @extend_schema(
        parameters=[KEY], request=shapes.LeaseRequestSerializer,
        responses={200: shapes.LeaseSerializer, 201: shapes.LeaseSerializer},
    )  # fmt: skip
    def post(self, request: Request) -> Response:
        """Asks for spot capacity, or keeps a draft.  200: the same key had made it before."""
        said = bodies.checked(shapes.LeaseRequestSerializer, request.data)
        key = request.headers.get("Idempotency-Key", "")
        if len(key) > LONGEST_KEY:
            raise exceptions.ValidationError({"Idempotency-Key": f"at most {LONGEST_KEY} characters"})
        row, new = services.make_lease(request.user, **said.made(), request_key=key or None)
        return _answer(request, row.pk, status.HTTP_201_CREATED if new else status.HTTP_200_OK)


class LeaseDetail(APIView):
    def get_permissions(self) -> list[Any]:
        self.permission = selectors.ASK
        return [NeedsPermission() if self.request.method == "PATCH" else SeesLeases()]

    @extend_schema(responses=shapes.LeaseSerializer)
    def get(self, request: Request, lease_id: int) -> Response:
        """One lease."""
        return _answer(request, lease_id)

    @extend_schema(
        parameters=[IF_MATCH], request=shapes.LeaseEditSerializer,
        responses={200: shapes.LeaseSerializer, **REFUSALS},
    )  # fmt: skip
    def patch(self, request: Request, lease_id: int) -> Response:
        """Changes a draft."""
        version = _matched(request, lease_id)
        said = bodies.said(shapes.LeaseEditSerializer, request)
        name = said.pop("name", None)
        services.edit_draft(request.user, lease_id, version, said, name)
        return _answer(request, lease_id)


class _Act(APIView):
    permission = selectors.ASK
    permission_classes = (NeedsPermission,)


class LeaseAsk(_Act):
    @extend_schema(
        parameters=[IF_MATCH], request=shapes.LeaseAskSerializer, responses={200: shapes.LeaseSerializer, **REFUSALS}
    )
    def post(self, request: Request, lease_id: int) -> Response:
        """A draft goes into the line."""
        version = _matched(request, lease_id)
        said = bodies.said(shapes.LeaseAskSerializer, request)
        services.ask_for(request.user, lease_id, version, said.get("estimate"))
        return _answer(request, lease_id)


class LeaseWithdraw(_Act):
    @extend_schema(parameters=[IF_MATCH], request=None, responses={200: shapes.LeaseSerializer, **REFUSALS})
    def post(self, request: Request, lease_id: int) -> Response:
        """Leaves the line; what has no pods costs nothing."""
        services.withdraw(request.user, lease_id, _matched(request, lease_id))
        return _answer(request, lease_id)


class LeaseGiveBack(_Act):
    @extend_schema(parameters=[IF_MATCH], request=None, responses={200: shapes.LeaseSerializer, **REFUSALS})
    def post(self, request: Request, lease_id: int) -> Response:
        """Its pods get notice and run their hooks; it is paid until the last of them is gone."""
        services.give_back(request.user, lease_id, _matched(request, lease_id))
        return _answer(request, lease_id)


class LeaseChanges(APIView):
    permission_classes = (SeesLeases,)

    @extend_schema(responses=shapes.LeaseChangeSerializer(many=True))
    def get(self, request: Request, lease_id: int) -> Response:
        """Every state and reason that it had, newest first."""
        return Response(shapes.LeaseChangeSerializer(_found(request, lease_id).changes, many=True).data)


class ReclaimList(generics.ListAPIView[Any]):
    """What was taken back, newest first."""

    permission_classes = (SeesLeases,)
    serializer_class = shapes.ReclaimSerializer
    filter_backends = ()

    @extend_schema(
        parameters=[
            _Q("cause", OpenApiTypes.STR, enum=Cause.values), _Q("outcome", OpenApiTypes.STR, enum=list(OUTCOMES)),
            _Q("since", OpenApiTypes.DATE), _Q("until", OpenApiTypes.DATE),
            *(_Q(name, OpenApiTypes.STR) for name in ("tenant", "lease")),
        ]
    )  # fmt: skip
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> Any:
        return selectors.reclaims(self.request.user, selectors.ReclaimFilters.of(self.request.query_params))


class ReclaimsCsv(APIView):
    permission_classes = (SeesLeases,)

    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request) -> Any:
        """The reclaim log as a file, filtered like the list."""
        rows = selectors.reclaims(request.user, selectors.ReclaimFilters.of(request.query_params))
        return csv_response("reclaims", selectors.HEAD, selectors.lines(rows))


class EstimateList(_Act):
    @extend_schema(request=shapes.LeaseEstimateRequestSerializer, responses={202: shapes.LeaseEstimateSerializer})
    def post(self, request: Request) -> Response:
        """Asks what an ask would get; the answer comes to the address of the estimate."""
        said = bodies.checked(shapes.LeaseEstimateRequestSerializer, request.data)
        row = services.ask_estimate(request.user, **said.asked())
        return Response(shapes.LeaseEstimateSerializer(row).data, status=status.HTTP_202_ACCEPTED)


class EstimateDetail(APIView):
    permission_classes = (SeesLeases,)

    @extend_schema(responses=shapes.LeaseEstimateSerializer)
    def get(self, request: Request, estimate_id: int) -> Response:
        """One estimate; ``answer`` is null until it is done."""
        try:
            row = selectors.estimate_for(request.user, estimate_id)
        except NotThereError as error:
            raise exceptions.NotFound("There is no such estimate, or it is not yours to see.") from error
        return Response(shapes.LeaseEstimateSerializer(row).data)


class BillList(APIView):
    permission_classes = (SeesLeases,)

    @extend_schema(responses=shapes.SpotMonthSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Spot spend by month and tenant, newest first."""
        return Response(shapes.SpotMonthSerializer(selectors.month_bills(request.user), many=True).data)


class SpotOverview(APIView):
    permission_classes = (SeesLeases,)

    @extend_schema(responses=shapes.SpotOverviewSerializer)
    def get(self, request: Request) -> Response:
        """What runs, waits, was reclaimed and cost."""
        return Response(shapes.SpotOverviewSerializer(selectors.board(request.user)).data)


def _found(request: Request, lease_id: int) -> selectors.Detail:
    try:
        return selectors.detail(request.user, lease_id)
    except NotThereError as error:
        raise exceptions.NotFound(GONE) from error


def _answer(request: Request, lease_id: int, code: int = status.HTTP_200_OK) -> Response:
    try:
        lease = selectors.lease_for(request.user, lease_id)
    except NotThereError as error:
        raise exceptions.NotFound(GONE) from error
    row = selectors.rows_of(request.user, [lease])[0]
    return Response(shapes.LeaseSerializer(row).data, status=code, headers=etag(lease.turn))


def _matched(request: Request, lease_id: int) -> int:
    """The version that was read; an edit without one, or on top of an old one, is refused."""
    try:
        lease = selectors.lease_for(request.user, lease_id)
    except NotThereError as error:
        raise exceptions.NotFound(GONE) from error
    version = version_sent(request)
    if version is None:
        raise PreconditionRequired("Say which version you read: If-Match with the ETag of the lease.")
    if version != lease.turn:
        raise PreconditionFailed(f"Lease {lease.number} is at version {lease.turn}, you read {version}. Read it again.")
    return version
