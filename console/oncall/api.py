"""On-call over HTTP."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.oncall import selectors, services
from console.oncall import serializers as shapes
from console.rest import bodies
from console.rest.permissions import NeedsPermission

VIEW, SET, ANSWER = "oncall.view_rota", "oncall.set_rota", "oncall.answer"


class _Door(APIView):
    permission_classes = (NeedsPermission,)


class NowList(_Door):
    permission = VIEW

    @extend_schema(parameters=[shapes.AskNowSerializer], responses=shapes.NowSerializer)
    def get(self, request: Request) -> Response:
        """Who is on call for a cluster now; without one, where no cluster has a rota of its own."""
        asked = bodies.checked(shapes.AskNowSerializer, request.query_params).validated_data
        now = timezone.now()
        found = selectors.now_of(asked["cluster"], now)
        return Response(shapes.NowSerializer(found, context={"now": now}).data)


class RotaList(generics.ListAPIView[Any]):
    """The rotas in force."""

    permissions = {"GET": VIEW, "POST": SET}  # noqa: RUF012
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.RotaSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.rotas(self.request.user)

    @extend_schema(request=shapes.MakeRotaSerializer, responses={201: shapes.RotaSerializer})
    def post(self, request: Request) -> Response:
        """A rota for the fleet or one cluster; the first of its people is on call from now on."""
        said = bodies.said(shapes.MakeRotaSerializer, request)
        row = services.make_rota(request.user, **said)
        return Response(shapes.RotaSerializer(row).data, status=status.HTTP_201_CREATED)


class RotaDetail(_Door):
    permissions = {"GET": VIEW, "PATCH": SET}  # noqa: RUF012

    @extend_schema(responses=shapes.RotaSerializer)
    def get(self, request: Request, rota_id: int) -> Response:
        return Response(shapes.RotaSerializer(selectors.rota_detail(request.user, rota_id)).data)

    @extend_schema(request=shapes.ChangeRotaSerializer, responses=shapes.RotaSerializer)
    def patch(self, request: Request, rota_id: int) -> Response:
        """Whoever is on call stays on call where the new list has that person; 409 if somebody changed it meanwhile."""
        said = bodies.said(shapes.ChangeRotaSerializer, request)
        row = services.change_rota(request.user, rota_id, **said)
        return Response(shapes.RotaSerializer(row).data)


class EndRota(_Door):
    permission = SET

    @extend_schema(request=shapes.EndRotaSerializer, responses=shapes.RotaSerializer)
    def post(self, request: Request, rota_id: int) -> Response:
        """From now on that of a wider place counts, or none."""
        said = bodies.said(shapes.EndRotaSerializer, request)
        return Response(shapes.RotaSerializer(services.end_rota(request.user, rota_id, said["reason"])).data)


class TakeOver(_Door):
    permission = ANSWER

    @extend_schema(request=shapes.TakeOverSerializer, responses={201: shapes.CoverSerializer})
    def post(self, request: Request, rota_id: int) -> Response:
        """Somebody is on call for a time, whoever's turn it is."""
        said = bodies.said(shapes.TakeOverSerializer, request)
        cover = services.take_over(request.user, rota_id, **said)
        return Response(shapes.CoverSerializer(cover).data, status=status.HTTP_201_CREATED)


class EndCover(_Door):
    permission = ANSWER

    @extend_schema(request=None, responses=shapes.CoverSerializer)
    def post(self, request: Request, cover_id: int) -> Response:
        """The rota's own turn counts again."""
        return Response(shapes.CoverSerializer(services.end_cover(request.user, cover_id)).data)


class AlertList(generics.ListAPIView[Any]):
    """What needed a person, newest first."""

    permission = VIEW
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.AlertSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.alerts(self.request.user)


class AlertDetail(_Door):
    permission = VIEW

    @extend_schema(responses=shapes.AlertWithHistorySerializer)
    def get(self, request: Request, alert_id: int) -> Response:
        """One alert, with who was called when and how, and what they did."""
        return _alert(request, selectors.alert_detail(request.user, alert_id))


class Acknowledge(_Door):
    permission = ANSWER

    @extend_schema(request=None, responses=shapes.AlertWithHistorySerializer)
    def post(self, request: Request, alert_id: int) -> Response:
        """ "I am looking": nobody else is called for a while."""
        return _alert(request, services.acknowledge(request.user, alert_id))


class HandOn(_Door):
    permission = ANSWER

    @extend_schema(request=shapes.EndRotaSerializer, responses=shapes.AlertWithHistorySerializer)
    def post(self, request: Request, alert_id: int) -> Response:
        """The next person is called now."""
        said = bodies.said(shapes.EndRotaSerializer, request)
        return _alert(request, services.hand_on(request.user, alert_id, said["reason"]))


def _alert(request: Request, row: Any) -> Response:
    return Response(shapes.AlertWithHistorySerializer(row, context={"viewer": request.user}).data)
