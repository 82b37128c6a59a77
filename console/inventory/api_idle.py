"""The API of idle GPUs, of devices that are not well, and of the endpoints that tell."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from console.inventory import selectors, services
from console.inventory import serializers_idle as shapes
from console.inventory.api_tables import PAGING, OwnView, envelope, page_of, sort, text
from console.inventory.selectors.idling import GROUPS, SORTS, WINDOWS

FLEET, LOAD = "inventory.view_fleet", "inventory.load_cluster"


FILTERS = [
    text("window", "so many full hours, and the one that runs", tuple(WINDOWS)),
    text("by", "one row for each", tuple(GROUPS)),
    text("source"),
    text("tenant"),
    text("text", "part of a name"),
    sort(SORTS),
    *PAGING,
]


class IdleList(OwnView):
    """Allocated, observed and idle GPU-hours by owner.  A tenant gets its own."""

    @extend_schema(operation_id="fleet_idle", parameters=FILTERS, responses=shapes.IdlePageSerializer)
    def get(self, request: Request) -> Response:
        filters = selectors.IdleFilters.of(request.query_params)
        page = page_of(request, filters, selectors.idle_rows, selectors.idle_orders(filters.by), "-idle")
        found: dict[str, Any] = {
            "since": selectors.idle_since(filters),
            **envelope(request, page),
        }
        return Response(shapes.IdlePageSerializer(found).data)


class UnhealthyList(OwnView):
    """Devices that are degraded or failed now, failed ones first; ``total`` counts those that are not listed, too."""

    @extend_schema(operation_id="fleet_unhealthy", responses=shapes.UnhealthySerializer)
    def get(self, request: Request) -> Response:
        rows, total = selectors.sick_devices(request.user)
        return Response(shapes.UnhealthySerializer({"total": total, "results": rows}).data)


class WattsNow(OwnView):
    """Measured power of all nodes that tell."""

    permission = FLEET

    @extend_schema(operation_id="fleet_watts", responses=shapes.WattsSerializer)
    def get(self, request: Request) -> Response:
        found = selectors.watts_now(request.user)
        if found is None:
            raise NotFound("The power of nodes is told to those who see the whole fleet.")
        return Response(shapes.WattsSerializer(found).data)


class ClusterTelemetry(OwnView):
    """The telemetry endpoint of a cluster and how it fares.  Its secret is never told."""

    permissions = {"GET": FLEET, "PUT": LOAD, "DELETE": LOAD}  # noqa: RUF012

    @extend_schema(responses=shapes.ClusterTelemetrySerializer)
    def get(self, request: Request, source_id: int) -> Response:
        state = selectors.telemetry_state(_cluster(request, source_id))
        if state is None:
            raise NotFound("This cluster has no telemetry endpoint.")
        return Response(shapes.ClusterTelemetrySerializer(state).data)

    @extend_schema(request=shapes.TelemetryAskedSerializer, responses=shapes.ClusterTelemetrySerializer)
    def put(self, request: Request, source_id: int) -> Response:
        """Attaches an endpoint, or changes it; without ``secret`` the one of the same address stays."""
        found = _cluster(request, source_id)
        form = shapes.TelemetryAskedSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = services.TelemetryAsked(**shapes.telemetry_fields(form.validated_data))
        changed = services.set_telemetry(request.user, found, asked)
        return Response(shapes.ClusterTelemetrySerializer(selectors.telemetry_state(changed)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, source_id: int) -> Response:
        """Forgets the endpoint and its secret."""
        services.drop_telemetry(request.user, _cluster(request, source_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TelemetryTest(OwnView):
    permission = LOAD

    @extend_schema(
        operation_id="clusters_telemetry_test",
        request=shapes.TelemetryAskedSerializer,
        responses=shapes.EndpointProbeSerializer,
    )
    def post(self, request: Request, source_id: int) -> Response:
        """A dry test of an endpoint, of the kept one where the body is empty.  Nothing is kept."""
        found = _cluster(request, source_id)
        asked = None
        if request.data:
            form = shapes.TelemetryAskedSerializer(data=request.data)
            form.is_valid(raise_exception=True)
            asked = services.TelemetryAsked(**shapes.telemetry_fields(form.validated_data))
        probe = services.try_telemetry(request.user, found, asked)
        return Response(shapes.EndpointProbeSerializer(probe).data)


def _cluster(request: Request, source_id: int) -> Any:
    try:
        return selectors.cluster_for(request.user, source_id)
    except selectors.NotThereError as error:
        raise NotFound("There is no such cluster.") from error
