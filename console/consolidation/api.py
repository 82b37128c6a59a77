"""Asking for a plan over HTTP."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.consolidation import services
from console.consolidation.serializers import RequestSerializer
from console.plans.serializers import PlanSerializer
from console.rest import bodies
from console.rest.permissions import NeedsPermission

KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="sent twice, it makes one plan"
)
LONGEST_KEY = 100


class RequestPlan(APIView):
    permission = "plans.request_plan"
    permission_classes = (NeedsPermission,)
    throttle_scope = "plans"

    @extend_schema(request=RequestSerializer, parameters=[KEY], responses={201: PlanSerializer})
    def post(self, request: Request) -> Response:
        """Ask for a consolidation plan; it is computed by a worker."""
        said = bodies.checked(RequestSerializer, request.data)
        key = request.headers.get("Idempotency-Key", "")
        if len(key) > LONGEST_KEY:
            raise exceptions.ValidationError({"Idempotency-Key": f"at most {LONGEST_KEY} characters"})
        plan = services.request(request.user, **said.asked(), request_key=key or None)
        return Response(PlanSerializer(plan).data, status=status.HTTP_201_CREATED)


class RequestAgain(APIView):
    permission = "plans.request_plan"
    permission_classes = (NeedsPermission,)
    throttle_scope = "plans"

    @extend_schema(request=None, responses={201: PlanSerializer})
    def post(self, request: Request, plan_id: int) -> Response:
        """Ask the question of an old plan again, on the newest data."""
        plan = services.request_again(request.user, plan_id)
        return Response(PlanSerializer(plan).data, status=status.HTTP_201_CREATED)
