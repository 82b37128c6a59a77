"""Routines over HTTP."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.rest import bodies
from console.rest.permissions import NeedsPermission
from console.routines import selectors, services
from console.routines import serializers as shapes

VIEW, REQUEST = "plans.view_plan", "plans.request_plan"


class _Act(APIView):
    permission = REQUEST
    permission_classes = (NeedsPermission,)


class RoutineList(generics.ListAPIView[Any]):
    """Routines, newest first; over ones among them."""

    permissions = {"GET": VIEW, "POST": REQUEST}  # noqa: RUF012
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.RoutineSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.routines(self.request.user)

    @extend_schema(request=shapes.MakeSerializer, responses={201: shapes.RoutineSerializer})
    def post(self, request: Request) -> Response:
        """Asks the question of a plan again and again, in the name of who says so."""
        said = bodies.checked(shapes.MakeSerializer, request.data)
        made = services.make_routine(request.user, **said.asked())
        return _answer(request, made.pk, status.HTTP_201_CREATED)


class RoutineDetail(APIView):
    permission = VIEW
    permission_classes = (NeedsPermission,)

    @extend_schema(responses=shapes.RoutineSerializer)
    def get(self, request: Request, routine_id: int) -> Response:
        """One routine with its next starts."""
        return _answer(request, routine_id)


class OpeningList(generics.ListAPIView[Any]):
    """Every time that it was due, and what became of it."""

    permission = VIEW
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.OpeningSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.openings(self.request.user, self.kwargs.get("routine_id", 0))


class Pause(_Act):
    @extend_schema(request=shapes.StoppingSerializer, responses=shapes.RoutineSerializer)
    def post(self, request: Request, routine_id: int) -> Response:
        """It opens nothing until it is resumed."""
        said = bodies.said(shapes.StoppingSerializer, request)
        services.pause_routine(request.user, routine_id, said["reason"])
        return _answer(request, routine_id)


class Resume(_Act):
    @extend_schema(request=None, responses=shapes.RoutineSerializer)
    def post(self, request: Request, routine_id: int) -> Response:
        """From the next start on."""
        services.resume_routine(request.user, routine_id)
        return _answer(request, routine_id)


class End(_Act):
    @extend_schema(request=shapes.StoppingSerializer, responses=shapes.RoutineSerializer)
    def post(self, request: Request, routine_id: int) -> Response:
        """It opens nothing any more."""
        said = bodies.said(shapes.StoppingSerializer, request)
        services.end_routine(request.user, routine_id, said["reason"])
        return _answer(request, routine_id)


class SkipDays(_Act):
    @extend_schema(request=shapes.SkipSerializer, responses=shapes.RoutineSerializer)
    def put(self, request: Request, routine_id: int) -> Response:
        """The days on which it opens nothing; they replace those that were said before."""
        said = bodies.said(shapes.SkipSerializer, request)
        services.skip_days_of(request.user, routine_id, said["days"], said["reason"])
        return _answer(request, routine_id)


def _answer(request: Request, routine_id: int, code: int = status.HTTP_200_OK) -> Response:
    row = selectors.routine_for(request.user, routine_id)
    return Response(shapes.RoutineSerializer(row).data, status=code)
