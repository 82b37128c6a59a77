"""Whether the chances that estimates told held, as the page shows it."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.spot.api import SeesLeases
from console.spot.choices import HORIZONS_S
from console.spot.serializers_calibration import CalibrationSerializer
from console.spot.services.judging import USUAL_S, calibration_card


class CalibrationDetail(APIView):
    permission_classes = (SeesLeases,)

    @extend_schema(
        parameters=[OpenApiParameter("within", int, enum=list(HORIZONS_S), default=USUAL_S)],
        responses=CalibrationSerializer,
    )
    def get(self, request: Request) -> Response:
        """Of all asks of 90 days, all tenants summed: what was said, what started within so many seconds, and how far

        the one was from the other.  null where nobody was told such a chance.
        """
        said = request.query_params.get("within", "")
        horizon = int(said) if said.isascii() and said.isdigit() and len(said) < 6 else USUAL_S
        return Response(CalibrationSerializer(calibration_card(request.user, horizon)).data)
