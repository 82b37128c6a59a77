"""HP demand ahead, spot quotas, and how well forecasts held."""

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.rest.permissions import NeedsPermission
from console.spot import serializers_forecasting as shapes
from console.spot.api import SeesLeases
from console.spot.selectors import POOL
from console.spot.selectors import forecasting as selectors

LONGEST = 253


class ForecastList(APIView):
    permission_classes = (SeesLeases,)

    @extend_schema(
        parameters=[OpenApiParameter("model", str), OpenApiParameter("tenant", str)],
        responses=shapes.HpForecastSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """Of the newest run: of your tenants, or of all and of each model's sum for those who see the pool."""
        said = {name: request.query_params.get(name, "")[:LONGEST] for name in ("model", "tenant")}
        rows = selectors.forecasts(request.user, said["model"], said["tenant"] or None)
        return Response(shapes.HpForecastSerializer(rows, many=True).data)


class QuotaList(APIView):
    permission_classes = (SeesLeases,)

    @extend_schema(responses=shapes.SpotQuotaSerializer(many=True))
    def get(self, request: Request) -> Response:
        """How many GPUs of each model spot work of all tenants may hold together, and what moved that."""
        return Response(shapes.SpotQuotaSerializer(selectors.quotas(request.user), many=True).data)


class BacktestDetail(APIView):
    permission_classes = (NeedsPermission,)
    permission = POOL

    @extend_schema(
        responses={200: shapes.HpBacktestSerializer, 404: OpenApiResponse(description="Nothing was judged yet.")}
    )
    def get(self, request: Request) -> Response:
        """The newest back-test of all forecasters on the same hours."""
        found = selectors.backtested(request.user)
        if found is None:
            raise NotFound("nothing was judged yet")
        return Response(shapes.HpBacktestSerializer(found).data)
