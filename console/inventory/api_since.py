"""The API of what changed between two instants."""

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.inventory import selectors, services
from console.inventory import serializers as shapes
from console.inventory.spans import default_span, read_span
from console.rest.permissions import NeedsPermission

PENDING = 202


class SinceDetail(APIView):
    """What changed between two instants: by cause and place, by tenant, by pool; with the readings that are compared.

    Readings that were never compared are compared now: the answer is 202 and `pending` until that is done, with the
    sums of what is known so far; ask again a second later.
    """

    permission = "inventory.view_own"
    permission_classes = (NeedsPermission,)

    @extend_schema(
        parameters=[
            OpenApiParameter("from", OpenApiTypes.STR, description="an instant, RFC 3339; without it an hour ago"),
            OpenApiParameter("to", OpenApiTypes.STR, description="a later instant, or now"),
            OpenApiParameter("source", OpenApiTypes.STR),
            OpenApiParameter("cluster", OpenApiTypes.STR),
            OpenApiParameter("model", OpenApiTypes.STR),
        ],
        responses={200: shapes.SinceSerializer, 202: shapes.SinceSerializer},
    )
    def get(self, request: Request) -> Response:
        now = timezone.now()
        span = read_span(request.query_params, now) or default_span(now, selectors.oldest_instant())
        pairs = selectors.since_pairs(span.start, span.end)
        services.ask_for_comparisons(selectors.to_compare(pairs))
        filters = selectors.Filters.of(request.query_params)
        found = selectors.since(request.user, filters, span.start, span.end, pairs)
        answer = shapes.SinceSerializer(found).data
        if found.pending:
            return Response(answer, status=PENDING, headers={"Retry-After": "1"})
        return Response(answer)
