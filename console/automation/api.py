"""Scorecards over HTTP."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.automation import selectors, services
from console.automation import serializers as shapes
from console.rest import bodies
from console.rest.permissions import NeedsPermission

VIEW, SET = "policies.view_policy", "policies.set_policy"


class ScorecardList(APIView):
    permission = VIEW
    permission_classes = (NeedsPermission,)

    @extend_schema(
        parameters=[shapes.PoolAskedSerializer], responses=shapes.ScorecardSerializer(many=True), filters=False
    )
    def get(self, request: Request) -> Response:
        """The scorecard of every pool."""
        asked = bodies.checked(shapes.PoolAskedSerializer, request.query_params).validated_data
        cards = selectors.scorecards(request.user, **asked)
        return Response(shapes.ScorecardSerializer(cards, many=True).data)


class TurnList(generics.ListAPIView[Any]):
    """What was earned, lost and given back, newest first."""

    permission = VIEW
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.TurnSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.turns(self.request.user)


class GiveBack(APIView):
    permission = SET
    permission_classes = (NeedsPermission,)

    @extend_schema(request=shapes.GiveBackSerializer, responses={201: shapes.TurnSerializer})
    def post(self, request: Request) -> Response:
        """Somebody looked at the loss: the pool may earn the level anew, from now on."""
        given = bodies.said(shapes.GiveBackSerializer, request)
        turn = services.give_back(request.user, given.pop("source"), **given)
        return Response(shapes.TurnSerializer(turn).data, status=201)
