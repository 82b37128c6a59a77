"""Plans over HTTP.  Refusals are 409 with the reason and, where known, the list of what changed."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import exceptions, generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.plans import selectors, services
from console.plans import serializers as shapes
from console.plans.filters import KeptFilter, MoveFilter, PlanFilter
from console.plans.tables import changed_moves
from console.rest import bodies
from console.rest.pagination import CursorPages
from console.rest.permissions import NeedsPermission

IF_MATCH = OpenApiParameter(
    "If-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="the digest that was read, in place of the field"
)
NO_DIGEST = OpenApiResponse(OpenApiTypes.OBJECT, description="no digest was sent: say what is approved")


class PreconditionRequired(exceptions.APIException):
    status_code = status.HTTP_428_PRECONDITION_REQUIRED
    default_code = "digest_required"


class InIndexOrder(CursorPages):
    ordering = "index"


class InPlannersOrder(CursorPages):
    ordering = "position"


class PlanList(generics.ListAPIView[Any]):
    """Plans, newest first."""

    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.PlanSerializer
    filterset_class = PlanFilter

    def get_queryset(self) -> Any:
        return selectors.plans(self.request.user)


class PlanDetail(APIView):
    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)

    @extend_schema(responses=shapes.PlanDetailSerializer)
    def get(self, request: Request, plan_id: int) -> Response:
        """One plan; its digest is the ETag."""
        plan = selectors.plan_detail(request.user, plan_id)
        headers = {"ETag": f'"{plan.digest}"'} if plan.digest else {}
        return Response(shapes.PlanDetailSerializer(plan).data, headers=headers)


class PlanDocument(APIView):
    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, plan_id: int) -> Response:
        """The signed plan as JSON (the page's download has the very bytes that the digest is of)."""
        document, digest = selectors.plan_document(request.user, plan_id)
        if not document:
            raise exceptions.NotFound("This plan has no answer yet.")
        return Response(services.document_of(document), headers={"ETag": f'"{digest}"'})


class MoveList(generics.ListAPIView[Any]):
    """The moves of a plan in the order of the signed document."""

    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.MoveSerializer
    pagination_class = InIndexOrder
    filterset_class = MoveFilter

    def get_queryset(self) -> Any:
        return selectors.moves(self.request.user, self.kwargs.get("plan_id", 0))

    def get_filterset_kwargs(self) -> dict[str, Any]:
        plan = selectors.plan_detail(self.request.user, self.kwargs["plan_id"])
        return {"stale_moves": frozenset(changed_moves(plan))}


class KeptList(generics.ListAPIView[Any]):
    """The nodes that a plan leaves as they are, with every blocker."""

    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.KeptSerializer
    pagination_class = InPlannersOrder
    filterset_class = KeptFilter

    def get_queryset(self) -> Any:
        return selectors.kept_nodes(self.request.user, self.kwargs.get("plan_id", 0))


class AbortPreview(APIView):
    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)

    @extend_schema(responses=shapes.StoppingSerializer)
    def get(self, request: Request, plan_id: int) -> Response:
        """What pausing or aborting the run now would mean, move by move; of an ended run, how it was left."""
        plan = selectors.plan_detail(request.user, plan_id)
        return Response(shapes.StoppingSerializer(selectors.stopping(request.user, plan)).data)


class Action(APIView):
    """A POST that changes one plan and answers with it."""

    permission_classes = (NeedsPermission,)
    throttle_scope = "plans"
    shape: type[serializers.Serializer[Any]] = shapes.ReasonSerializer

    def answer(self, request: Request, plan_id: int, *, code: int = status.HTTP_200_OK) -> Response:
        said = bodies.said(self.shape, request)
        try:
            plan = self.perform(request, plan_id, said)
        except services.DigestMissingError as missing:
            raise PreconditionRequired(missing.reason) from missing
        return Response(shapes.PlanSerializer(plan).data, status=code)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        raise NotImplementedError


def digest_of(request: Request, said: dict[str, Any]) -> str:
    """From If-Match, else from the field; "" where neither was sent."""
    header = request.headers.get("If-Match", "").strip().removeprefix("W/").strip('"')
    return header or said.get("digest", "")


class Approve(Action):
    permission, shape = "plans.approve_plan", shapes.ApprovalSerializer

    @extend_schema(
        request=shapes.ApprovalSerializer, parameters=[IF_MATCH], responses={200: shapes.PlanSerializer, 428: NO_DIGEST}
    )
    def post(self, request: Request, plan_id: int) -> Response:
        """Approve one digest, once; with ``start`` run it at once."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        digest = digest_of(request, said)
        return services.approve_plan(request.user, plan_id, digest, said["reason"], start=said["start"])


class Reject(Action):
    permission, shape = "plans.approve_plan", shapes.DigestedSerializer

    @extend_schema(
        request=shapes.DigestedSerializer, parameters=[IF_MATCH], responses={200: shapes.PlanSerializer, 428: NO_DIGEST}
    )
    def post(self, request: Request, plan_id: int) -> Response:
        """Say no to a plan; it stays readable."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.reject_plan(request.user, plan_id, digest_of(request, said), said["reason"])


class Cancel(Action):
    permission = "plans.request_plan"

    @extend_schema(request=shapes.ReasonSerializer, responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """Withdraw a plan that does not run yet."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.cancel_plan(request.user, plan_id, said["reason"])


class Stop(Action):
    permission = "plans.request_plan"

    @extend_schema(request=None, responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """Ask the planner to stop and to propose what it has found so far."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.stop_planning(request.user, plan_id)


class Start(Action):
    permission, shape = "plans.run_plan", shapes.StartSerializer

    @extend_schema(request=shapes.StartSerializer, parameters=[IF_MATCH], responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """Run an approved plan; 409 names the lock or the change that is in the way."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.start_plan(request.user, plan_id, digest_of(request, said) or None)


class Pause(Action):
    permission = "plans.run_plan"

    @extend_schema(request=shapes.ReasonSerializer, responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """Start no new move; moves in flight end on their own."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.pause_plan(request.user, plan_id, said["reason"])


class Resume(Action):
    permission = "plans.run_plan"

    @extend_schema(request=shapes.ReasonSerializer, responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """Go on with a paused or halted plan, without the chains of failed moves."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.resume_plan(request.user, plan_id, said["reason"])


class Abort(Action):
    permission, shape = "plans.run_plan", shapes.NeedsReasonSerializer

    @extend_schema(request=shapes.NeedsReasonSerializer, responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """End a run for good."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.abort_plan(request.user, plan_id, said["reason"])


class Drop(Action):
    permission = "plans.request_plan"

    @extend_schema(request=None, responses={201: shapes.PlanSerializer})
    def post(self, request: Request, plan_id: int) -> Response:
        """A new plan without the chains that no longer hold."""
        return self.answer(request, plan_id, code=status.HTTP_201_CREATED)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.drop_stale_moves(request.user, plan_id)


class LeaveOut(Action):
    permission, shape = "plans.run_plan", shapes.DigestedSerializer

    @extend_schema(request=shapes.DigestedSerializer, parameters=[IF_MATCH], responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """Leave the chains that no longer hold out of a paused or halted run; it stays stopped until it is resumed."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.leave_out_changed(request.user, plan_id, said["reason"], digest_of(request, said))


class RollBack(Action):
    permission, shape = "plans.request_plan", shapes.NeedsReasonSerializer

    @extend_schema(request=shapes.NeedsReasonSerializer, responses={201: shapes.PlanSerializer})
    def post(self, request: Request, plan_id: int) -> Response:
        """A new plan that takes back what an ended run has done; it needs an approval like any other."""
        return self.answer(request, plan_id, code=status.HTTP_201_CREATED)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.roll_back(request.user, plan_id, said["reason"])


class Cut(Action):
    permission, shape = "plans.request_plan", shapes.CutSerializer

    @extend_schema(request=shapes.CutSerializer, responses={201: shapes.PlanSerializer})
    def post(self, request: Request, plan_id: int) -> Response:
        """A new plan with the first whole chains of at most so many moves."""
        return self.answer(request, plan_id, code=status.HTTP_201_CREATED)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.cut_plan(request.user, plan_id, said["moves"])


class FreezeList(generics.ListCreateAPIView[Any]):
    """Freezes, newest first; POST sets one."""

    permissions = {"GET": "plans.view_plan", "POST": "plans.set_freeze"}  # noqa: RUF012
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.FreezeSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.freezes(self.request.user)

    def perform_create(self, serializer: Any) -> None:
        serializer.instance = services.set_freeze(self.request.user, **serializer.validated_data)


class Lift(APIView):
    permission = "plans.set_freeze"
    permission_classes = (NeedsPermission,)

    @extend_schema(request=shapes.NeedsReasonSerializer, responses=shapes.FreezeSerializer)
    def post(self, request: Request, freeze_id: int) -> Response:
        """End a freeze before its time; why is kept in the audit log."""
        reason = bodies.said(shapes.NeedsReasonSerializer, request)["reason"]
        freeze = services.lift_freeze(request.user, freeze_id, reason)
        return Response(shapes.FreezeSerializer(freeze).data)
