"""Breaking the glass and reviewing it, over HTTP."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.plans import selectors, services
from console.plans import serializers as shapes
from console.plans.api import Action
from console.rest import bodies
from console.rest.permissions import NeedsPermission


class BreakGlass(Action):
    permission, shape = "plans.break_glass", shapes.NeedsReasonSerializer

    @extend_schema(request=shapes.NeedsReasonSerializer, responses=shapes.PlanSerializer)
    def post(self, request: Request, plan_id: int) -> Response:
        """For 15 minutes the plan passes its windows and the second approver; opens a review by somebody else."""
        return self.answer(request, plan_id)

    def perform(self, request: Request, plan_id: int, said: dict[str, Any]) -> Any:
        return services.break_glass(request.user, plan_id, said["reason"])


class ReviewList(generics.ListAPIView[Any]):
    """Every time that somebody broke the glass, newest first."""

    permission = "plans.view_plan"
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.ReviewSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.reviews(self.request.user)


class CloseReview(APIView):
    permission = "plans.break_glass"
    permission_classes = (NeedsPermission,)

    @extend_schema(request=shapes.FindingSerializer, responses=shapes.ReviewSerializer)
    def post(self, request: Request, review_id: int) -> Response:
        """Say what you found; never by the person who broke the glass."""
        row = services.close_review(request.user, review_id, bodies.said(shapes.FindingSerializer, request)["finding"])
        return Response(shapes.ReviewSerializer(row).data)
