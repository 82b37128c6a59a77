"""Placement over HTTP: ask, then fetch the answer."""

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.inventory.selectors import NotThereError
from console.placement import selectors, services
from console.placement.serializers import PlacementAnswerSerializer, PlacementAskSerializer, PlacementTogetherSerializer
from console.rest import bodies
from console.rest.permissions import NeedsPermission

LISTED = 50


class Ask(APIView):
    permission = "inventory.view_own"
    permission_classes = (NeedsPermission,)
    throttle_scope = "plans"

    @extend_schema(operation_id="placements", responses=PlacementAnswerSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The newest questions with their answers; a tenant gets its own."""
        return Response(PlacementAnswerSerializer(selectors.answer_rows(request.user, LISTED), many=True).data)

    @extend_schema(
        operation_id="placement_ask", request=PlacementAskSerializer, responses={202: PlacementAnswerSerializer}
    )
    def post(self, request: Request) -> Response:
        """Ask where a job should go now; a worker answers, and nothing is bound, reserved or moved."""
        said = bodies.checked(PlacementAskSerializer, request.data)
        asked = services.ask(request.user, **said.asked())
        row = selectors.answer_row(request.user, asked.pk)
        return Response(PlacementAnswerSerializer(row).data, status=status.HTTP_202_ACCEPTED)


class Together(APIView):
    permission = "inventory.view_own"
    permission_classes = (NeedsPermission,)
    throttle_scope = "plans"

    @extend_schema(
        operation_id="placement_ask_together",
        request=PlacementTogetherSerializer,
        responses={202: PlacementAnswerSerializer},
    )
    def post(self, request: Request) -> Response:
        """Ask where the first jobs of the queue would go at once, beside what the largest first would start.

        Of everybody for who sees the fleet, else of one's own tenants; nothing is bound, reserved or moved.
        """
        said = bodies.checked(PlacementTogetherSerializer, request.data)
        asked = services.ask_together(request.user, **said.asked())
        row = selectors.answer_row(request.user, asked.pk)
        return Response(PlacementAnswerSerializer(row).data, status=status.HTTP_202_ACCEPTED)


class Answer(APIView):
    permission = "inventory.view_own"
    permission_classes = (NeedsPermission,)

    @extend_schema(operation_id="placement", responses=PlacementAnswerSerializer)
    def get(self, request: Request, question_id: int) -> Response:
        """One question and its answer, as far as there is one."""
        try:
            row = selectors.answer_row(request.user, question_id)
        except NotThereError as error:
            raise NotFound("There is no such question, or it is not yours to see.") from error
        return Response(PlacementAnswerSerializer(row).data)
