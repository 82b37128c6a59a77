"""The API of what is out there; the rows are those of the pages."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, status
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.parsers import FormParser, JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from console.inventory import selectors, services
from console.inventory import serializers as shapes
from console.inventory.api_tables import PAGING, OwnView, envelope, page_of, sort, text
from console.inventory.choices import HealthCode, UploadKind
from console.inventory.selectors.nodes import SORTS as NODE_SORTS
from console.inventory.selectors.pods import SORTS as POD_SORTS
from console.rest.permissions import NeedsPermission

FLEET, LOAD = "inventory.view_fleet", "inventory.load_cluster"


FILTERS = [
    text("source"),
    text("cluster"),
    text("model"),
    text("asw", "an ASW by name, or - for nodes without a label"),
    text("tenant"),
    text("health", choices=tuple(HealthCode.values)),
    text("text", "part of a name"),
]
IDENTITY = [
    OpenApiParameter("cluster", OpenApiTypes.STR, required=True),
    OpenApiParameter("name", OpenApiTypes.STR, required=True, description="of a pod or a workload: namespace/name"),
    text("source", "where several sources have such a thing"),
]
POOL = text("pool", "a key of fleet/pools/; the largest pool where none is named")


class _List(OwnView):
    """A page of rows that stands still."""

    def answer(self, request: Request, read: Any, serializer: Any, orders: tuple[str, ...], usual: str) -> Response:
        try:
            page = page_of(request, selectors.Filters.of(request.query_params), read, orders, usual)
        except selectors.NotThereError as error:
            raise NotFound(str(error)) from error
        return Response(serializer({**envelope(request, page), "revision": page.revision}).data)


class NodeList(_List):
    """Nodes, by filter and order; a tenant's user gets those that carry its pods."""

    @extend_schema(parameters=[*FILTERS, sort(NODE_SORTS), *PAGING], responses=shapes.NodePageSerializer)
    def get(self, request: Request) -> Response:
        return self.answer(
            request, selectors.node_rows, shapes.NodePageSerializer, selectors.node_orders(request.user), "name"
        )


class PodList(_List):
    """Pods, by filter and order; a tenant's user gets its own."""

    @extend_schema(parameters=[*FILTERS, sort(POD_SORTS), *PAGING], responses=shapes.PodPageSerializer)
    def get(self, request: Request) -> Response:
        return self.answer(request, selectors.pod_rows, shapes.PodPageSerializer, POD_SORTS, "namespace")


class _One(OwnView):
    """One thing by its names, which may hold slashes and therefore stand in the query."""

    def answer(self, request: Request, read: Any, serializer: Any) -> Response:
        query = request.query_params
        missing = {name: ["This field is required."] for name in ("cluster", "name") if not query.get(name)}
        if missing:
            raise ValidationError(missing)
        try:
            card = read(request.user, query["cluster"], query["name"], source=query.get("source", ""))
        except selectors.NotThereError as error:
            raise NotFound("There is no such thing here, or it is not yours to see.") from error
        return Response(serializer(card).data)


class NodeDetail(_One):
    """One node with the pods on it that the viewer may see."""

    @extend_schema(parameters=IDENTITY, responses=shapes.NodeCardSerializer)
    def get(self, request: Request) -> Response:
        return self.answer(request, selectors.node_card, shapes.NodeCardSerializer)


class PodDetail(_One):
    """One pod."""

    @extend_schema(parameters=IDENTITY, responses=shapes.PodCardSerializer)
    def get(self, request: Request) -> Response:
        return self.answer(request, selectors.pod_card, shapes.PodCardSerializer)


class WorkloadDetail(_One):
    """One workload with its pods that the viewer may see."""

    @extend_schema(parameters=IDENTITY, responses=shapes.WorkloadCardSerializer)
    def get(self, request: Request) -> Response:
        return self.answer(request, selectors.workload_card, shapes.WorkloadCardSerializer)


class SourceList(OwnView):
    """Sources and how they fare; files make new ones."""

    permissions = {"GET": FLEET, "POST": LOAD}  # noqa: RUF012
    parser_classes = (MultiPartParser, FormParser, JSONParser)

    @extend_schema(responses=shapes.SourceRowSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(shapes.SourceRowSerializer(selectors.source_states(request.user), many=True).data)

    @extend_schema(
        request={"multipart/form-data": shapes.LoadSerializer},
        responses={201: shapes.UploadSerializer, 202: shapes.UploadSerializer},
    )
    def post(self, request: Request) -> Response:
        """A snapshot is checked at once (201); tables are read by a worker (202, then ask uploads/<id>/).

        A refused file is answered with 400: ``attr`` is its path, ``detail`` the reason and the value.
        """
        form = shapes.LoadSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            upload, done = _receive(request.user, form.validated_data)
        except services.InputError as error:
            raise ValidationError({error.path: [_words(error)]}) from error
        code = status.HTTP_201_CREATED if done else status.HTTP_202_ACCEPTED
        return Response(shapes.UploadSerializer(upload).data, status=code)


def _words(error: Any) -> str:
    return error.reason if error.value is None else f"{error.reason} (got {str(error.value)[:300]!r})"


def _receive(user: Any, given: dict[str, Any]) -> tuple[Any, bool]:
    """The upload and whether it has already been read."""
    kind, name, behaviour = given["kind"], given["name"], given["behaviour"]
    roles = ("snapshot",) if kind == UploadKind.SNAPSHOT else ("nodes", "pods")
    optional = {"pods"} if kind == UploadKind.TABLES else set()
    missing = [role for role in roles if given.get(role) is None and role not in optional]
    if missing:
        raise ValidationError({role: ["No file was submitted."] for role in missing})
    files = {role: (given[role].name, given[role].read()) for role in roles if given.get(role) is not None}
    if kind == UploadKind.SNAPSHOT:
        file_name, content = files["snapshot"]
        return services.load_snapshot_file(user, name, content, behaviour=behaviour, file_name=file_name), True
    params = {key: given[key] for key in ("behaviour", "load", "lock", "seed")}
    return services.receive_files(user, name, kind, files, params), False


class UploadDetail(OwnView):
    """What became of files that somebody gave."""

    permission = LOAD

    @extend_schema(responses=shapes.UploadSerializer)
    def get(self, request: Request, upload_id: int) -> Response:
        try:
            upload = selectors.upload_for(request.user, upload_id)
        except selectors.NotThereError as error:
            raise NotFound("There is no such upload.") from error
        return Response(shapes.UploadSerializer(upload).data)


class ObservationList(generics.ListAPIView[Any]):
    """Readings of all sources, newest first."""

    permission = FLEET
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.ObservationSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.observation_rows(self.request.user)


class Headline(OwnView):
    """The figures of the first page; with filters, of what they leave."""

    @extend_schema(parameters=FILTERS, responses=shapes.TileSerializer(many=True))
    def get(self, request: Request) -> Response:
        tiles = selectors.fleet_headline(request.user, selectors.Filters.of(request.query_params))
        return Response(shapes.TileSerializer(tiles, many=True).data)


class FleetLayout(OwnView):
    """Newest revision of the map and the digest of its layout."""

    permission = FLEET

    @extend_schema(responses=shapes.FleetLayoutSerializer)
    def get(self, request: Request) -> Response:
        return Response(shapes.FleetLayoutSerializer(selectors.fleet_layout(request.user)).data)


class PoolList(OwnView):
    """A model in all clusters, or in one."""

    @extend_schema(responses=shapes.PoolChoiceSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(shapes.PoolChoiceSerializer(selectors.pool_choices(request.user), many=True).data)


class ShapeList(OwnView):
    """What each request shape could use of a pool now."""

    @extend_schema(parameters=[POOL], responses=shapes.ShapeTotalSerializer(many=True))
    def get(self, request: Request) -> Response:
        rows = selectors.shape_totals(request.user, request.query_params.get("pool", ""))
        return Response(shapes.ShapeTotalSerializer(rows, many=True).data)


class WaterfallDetail(OwnView):
    """Where the GPUs of a pool are, cause by cause, for one request shape."""

    @extend_schema(parameters=[POOL, text("shape", "such as 8G96C")], responses=shapes.WaterfallSerializer)
    def get(self, request: Request) -> Response:
        query = request.query_params
        found = selectors.waterfall(request.user, query.get("pool", ""), query.get("shape", ""))
        if found is None:
            raise NotFound("There is no such pool.")
        return Response(shapes.WaterfallSerializer(found).data)


class FitsDetail(OwnView):
    """How many jobs of each size find room at once, at each level."""

    @extend_schema(parameters=[POOL], responses=shapes.FitsSerializer)
    def get(self, request: Request) -> Response:
        found = selectors.what_fits(request.user, request.query_params.get("pool", ""))
        if found is None:
            raise NotFound("There is no such pool.")
        return Response(shapes.FitsSerializer(found).data)


class StandbySeries(OwnView):
    """GPUs asleep and lent, hour by hour of UTC, named in a zone."""

    permission = FLEET

    @extend_schema(
        parameters=[OpenApiParameter("hours", OpenApiTypes.INT, description="1 to 168"), text("zone", "IANA name")],
        responses=shapes.BucketSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        hours = request.query_params.get("hours", "24")
        if not hours.isdecimal() or not 1 <= int(hours) <= 168:
            raise ValidationError({"hours": ["1 to 168."]})
        try:
            rows = selectors.standby_series(request.user, int(hours), request.query_params.get("zone", "UTC"))
        except (KeyError, ValueError) as error:
            raise ValidationError({"zone": ["There is no such time zone."]}) from error
        return Response(shapes.BucketSerializer(rows, many=True).data)
