"""The API of Kubernetes clusters: add, test, change, remove; how they fare; what the format cannot hold of them."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.inventory import selectors, services
from console.inventory import serializers as shapes
from console.inventory.choices import WATCHED
from console.rest import bodies
from console.rest.permissions import NeedsPermission

FLEET, LOAD = "inventory.view_fleet", "inventory.load_cluster"
REASON = OpenApiParameter("reason", OpenApiTypes.STR, required=True, description="kept in the audit log")
GROUP = [
    OpenApiParameter("what", OpenApiTypes.STR, description="of one group only"),
    OpenApiParameter("kind", OpenApiTypes.STR, description="of one kind of objects only"),
]


class _View(APIView):
    permission = LOAD
    permission_classes = (NeedsPermission,)

    def cluster(self, request: Request, source_id: int) -> Any:
        try:
            return selectors.cluster_for(request.user, source_id)
        except selectors.NotThereError as error:
            raise NotFound("There is no such cluster.") from error


class ClusterList(_View):
    """Kubernetes clusters and how they fare."""

    permissions = {"GET": FLEET, "POST": LOAD}  # noqa: RUF012

    @extend_schema(operation_id="clusters_list", responses=shapes.SourceRowSerializer(many=True))
    def get(self, request: Request) -> Response:
        rows = [row for row in selectors.source_states(request.user) if row.kind in WATCHED]
        return Response(shapes.SourceRowSerializer(rows, many=True).data)

    @extend_schema(request=shapes.ClusterSerializer, responses={201: shapes.SourceCardSerializer})
    def post(self, request: Request) -> Response:
        """Adds a cluster; watch processes take it up.  Where a kubeconfig has several contexts, 400 names them."""
        said = bodies.said(shapes.ClusterSerializer, request)
        made = services.add_cluster(request.user, services.Asked(**shapes.cluster_fields(said, said["name"])))
        card = selectors.source_card(request.user, made.pk)
        return Response(shapes.SourceCardSerializer(card).data, status=status.HTTP_201_CREATED)


class ClusterTest(_View):
    @extend_schema(request=shapes.ClusterSerializer, responses=shapes.ProbeSerializer)
    def post(self, request: Request) -> Response:
        """A dry test: what could be read, what not and why.  Nothing is kept."""
        said = bodies.said(shapes.ClusterSerializer, request)
        found = services.try_cluster(request.user, services.Asked(**shapes.cluster_fields(said, said["name"])))
        return Response(shapes.ProbeSerializer(found).data)


class ClusterRole(_View):
    @extend_schema(responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """The rights that a cluster must give, as YAML under ``yaml``."""
        return Response({"yaml": services.cluster_role()})


class ClusterDetail(_View):
    """One cluster: how it is reached and read, who follows it, its health, and what its readings could not hold."""

    permissions = {"GET": FLEET, "PATCH": LOAD, "DELETE": LOAD}  # noqa: RUF012

    @extend_schema(responses=shapes.SourceCardSerializer)
    def get(self, request: Request, source_id: int) -> Response:
        return self._card(request, self.cluster(request, source_id))

    @extend_schema(request=shapes.ClusterSettingsSerializer, responses=shapes.SourceCardSerializer)
    def patch(self, request: Request, source_id: int) -> Response:
        """Changes what is given; without ``kubeconfig`` the credentials stay.  The cluster is followed anew."""
        found = self.cluster(request, source_id)
        if not isinstance(request.data, dict):
            raise ValidationError("Expected an object with the settings to change.")
        form = shapes.ClusterSettingsSerializer(data={**_present(found), **request.data})
        form.is_valid(raise_exception=True)
        asked = services.Asked(**shapes.cluster_fields(form.validated_data, found.name))
        services.change_cluster(request.user, found, asked)
        return self._card(request, found)

    @extend_schema(parameters=[REASON], responses={204: None})
    def delete(self, request: Request, source_id: int) -> Response:
        """Forgets the cluster, its readings and its credentials."""
        reason = request.query_params.get("reason", "").strip()
        if not reason or len(reason) > 500:
            raise ValidationError({"reason": ["Say why, in at most 500 characters."]})
        services.remove_source(request.user, self.cluster(request, source_id), reason)
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _card(self, request: Request, found: Any) -> Response:
        return Response(shapes.SourceCardSerializer(selectors.source_card(request.user, found.pk)).data)


class KnownTest(_View):
    @extend_schema(operation_id="clusters_test_known", request=None, responses=shapes.ProbeSerializer)
    def post(self, request: Request, source_id: int) -> Response:
        """A dry test with the credentials that are kept."""
        found = services.try_source(request.user, self.cluster(request, source_id))
        return Response(shapes.ProbeSerializer(found).data)


class SourceName(_View):
    @extend_schema(request=shapes.NameSerializer, responses=shapes.SourceCardSerializer)
    def put(self, request: Request, source_id: int) -> Response:
        """Another name for people, for a source of any kind.  Its readings, plans and clusters stay what they are."""
        form = shapes.NameSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            found = selectors.source_for(request.user, source_id)
            services.rename_source(request.user, found, form.validated_data["name"])
        except selectors.NotThereError as error:
            raise NotFound("There is no such source.") from error
        return Response(shapes.SourceCardSerializer(selectors.source_card(request.user, source_id)).data)


class FollowAnew(_View):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, source_id: int) -> Response:
        """Whoever follows the cluster lists everything again."""
        services.retry_source(request.user, self.cluster(request, source_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class UnheldList(_View):
    """What the format cannot hold of the newest reading, object by object."""

    permission = FLEET

    @extend_schema(parameters=GROUP, responses=shapes.UnheldRowSerializer(many=True))
    def get(self, request: Request, source_id: int) -> Response:
        self.cluster(request, source_id)
        query = request.query_params
        rows = selectors.unheld_rows(request.user, source_id, what=query.get("what", ""), kind=query.get("kind", ""))
        return Response(shapes.UnheldRowSerializer(rows, many=True).data)


def _present(found: Any) -> dict[str, Any]:
    """The settings as they are, in the words of the API."""
    reach = selectors.reach_of(found)
    return {
        "way": reach.way,
        "period_s": found.period_s,
        "levels": reach.levels,
        "custom_levels": list(reach.custom_levels),
        "tenant_labels": list(reach.tenant_labels),
        "namespace_tenants": reach.namespace_tenants,
        "low_classes": list(reach.low_classes),
        "low_below": reach.low_below,
        "low_labels": list(reach.low_labels),
    }
