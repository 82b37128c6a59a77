"""Standby over HTTP.  Refusals are 409 with the reason; 428 and 412 where the version is missing or old."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.rest import bodies
from console.rest.permissions import NeedsPermission
from console.rest.versions import IF_MATCH, REFUSALS, etag, version_sent
from console.standby import selectors, services
from console.standby import serializers as shapes
from console.standby.choices import RECALL, SET, VIEW_OWN, VIEW_POOL


class _Desk(APIView):
    permission_classes = (NeedsPermission,)
    permission = VIEW_OWN


class WindowList(_Desk):
    permissions = {"GET": VIEW_OWN, "POST": SET}  # noqa: RUF012

    @extend_schema(operation_id="standby_windows", responses=shapes.StandbyWindowListSerializer)
    def get(self, request: Request) -> Response:
        """Open windows of one's own tenants, what sleeps without one, and all others as one sum."""
        return Response(shapes.StandbyWindowListSerializer(selectors.windows_page(request.user)).data)

    @extend_schema(
        operation_id="standby_window_make",
        request=shapes.StandbyMakeSerializer,
        responses={201: shapes.StandbyWindowSerializer},
    )
    def post(self, request: Request) -> Response:
        """A workload of one's own sleeps at these times from now on."""
        said = bodies.checked(shapes.StandbyMakeSerializer, request.data)
        row = services.make_window(request.user, **said.asked())
        return _window(request, row.pk, status.HTTP_201_CREATED)


class WindowPreview(_Desk):
    permission = SET

    @extend_schema(
        operation_id="standby_preview",
        request=shapes.StandbyWorkloadSerializer,
        responses=shapes.StandbyExpectedSerializer,
    )
    def post(self, request: Request) -> Response:
        """What one span would bring and cost; nothing is kept."""
        said = bodies.checked(shapes.StandbyWorkloadSerializer, request.data)
        return Response(shapes.StandbyExpectedSerializer(services.preview_window(request.user, **said.asked())).data)


class WindowOne(_Desk):
    permissions = {"GET": VIEW_OWN, "PUT": SET}  # noqa: RUF012

    @extend_schema(operation_id="standby_window", responses=shapes.StandbyWindowSerializer)
    def get(self, request: Request, window_id: int) -> Response:
        """One window; its version is the ETag."""
        return _window(request, window_id)

    @extend_schema(
        operation_id="standby_window_edit", parameters=[IF_MATCH], request=shapes.StandbyEditSerializer,
        responses={200: shapes.StandbyWindowSerializer, **REFUSALS},
    )  # fmt: skip
    def put(self, request: Request, window_id: int) -> Response:
        """Other times, on top of the version that was read."""
        said = bodies.said(shapes.StandbyEditSerializer, request)
        services.edit_window(request.user, window_id, version_sent(request), **said)
        return _window(request, window_id)


class WindowEnd(_Desk):
    permission = SET

    @extend_schema(
        operation_id="standby_window_end",
        request=shapes.StandbyReasonSerializer,
        responses=shapes.StandbyWindowSerializer,
    )
    def post(self, request: Request, window_id: int) -> Response:
        """Nothing sleeps under it any more; who does is recalled now."""
        said = bodies.said(shapes.StandbyReasonSerializer, request)
        services.end_window(request.user, window_id, said["reason"])
        return _window(request, window_id)


class WindowRecall(_Desk):
    permission = RECALL

    @extend_schema(
        operation_id="standby_window_recall", request=shapes.StandbyReasonSerializer,
        responses={201: shapes.StandbyRecallSerializer(many=True)},
    )  # fmt: skip
    def post(self, request: Request, window_id: int) -> Response:
        """All that sleeps under it is recalled now; the window stays for its next times."""
        said = bodies.said(shapes.StandbyReasonSerializer, request)
        made = services.recall_window(request.user, window_id, said["reason"])
        rows = [selectors.recall_row(selectors.recall_for(request.user, one.pk)) for one in made]
        return Response(shapes.StandbyRecallSerializer(rows, many=True).data, status=status.HTTP_201_CREATED)


class RecallList(generics.ListAPIView[Any]):
    """Recalls of one's own tenants, newest first."""

    permissions = {"GET": VIEW_OWN, "POST": RECALL}  # noqa: RUF012
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.StandbyRecallSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.recalls(self.request.user)

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        if args and kwargs.get("many"):
            args = ([selectors.recall_row(one) for one in args[0]],)
        return super().get_serializer(*args, **kwargs)

    @extend_schema(
        operation_id="standby_recall",
        request=shapes.StandbyRecallAskedSerializer,
        responses={201: shapes.StandbyRecallSerializer},
    )
    def post(self, request: Request) -> Response:
        """Wakes one pod now."""
        said = bodies.said(shapes.StandbyRecallAskedSerializer, request)
        row = services.recall(request.user, source_id=said.pop("source"), **said)
        return _recall(request, row.pk, status.HTTP_201_CREATED)


class RecallOne(_Desk):
    @extend_schema(operation_id="standby_recall_one", responses=shapes.StandbyRecallSerializer)
    def get(self, request: Request, recall_id: int) -> Response:
        """How far a recall has come."""
        return _recall(request, recall_id)


class RecallFigures(_Desk):
    @extend_schema(operation_id="standby_recall_figures", responses=shapes.StandbyRecallFiguresSerializer)
    def get(self, request: Request) -> Response:
        """Seconds from notice to serving, failed recalls and killed borrowers, day by day."""
        return Response(shapes.StandbyRecallFiguresSerializer(selectors.recalls_page(request.user)).data)


class Pool(_Desk):
    @extend_schema(operation_id="standby_pool", responses=shapes.StandbyPoolSerializer)
    def get(self, request: Request) -> Response:
        """What sleeps now, over the day, and as it is foreseen."""
        return Response(shapes.StandbyPoolSerializer(selectors.pool_page(request.user)).data)


class StormList(_Desk):
    permission = VIEW_POOL

    @extend_schema(operation_id="standby_storms", responses=shapes.StandbyStormSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Many sleepers that come back at about the same time, within the next 24 hours."""
        return Response(shapes.StandbyStormSerializer(selectors.storms_page(request.user).rows, many=True).data)


def _window(request: Request, window_id: int, code: int = status.HTTP_200_OK) -> Response:
    row = selectors.window_row(request.user, selectors.window_for(request.user, window_id))
    return Response(shapes.StandbyWindowSerializer(row).data, status=code, headers=etag(row.version))


def _recall(request: Request, recall_id: int, code: int = status.HTTP_200_OK) -> Response:
    row = selectors.recall_row(selectors.recall_for(request.user, recall_id))
    return Response(shapes.StandbyRecallSerializer(row).data, status=code)
