"""Policies over HTTP: 428 without If-Match, 412 where somebody decided meanwhile."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.policies import selectors, services, windowing, windows
from console.policies import serializers as shapes
from console.rest import bodies
from console.rest.errors import FieldError
from console.rest.permissions import NeedsPermission
from console.rest.versions import IF_MATCH, REFUSALS, PreconditionFailed, PreconditionRequired, etag, version_sent


class PolicyList(generics.ListAPIView[Any]):
    """What is decided now, at every place, newest first."""

    permission = "policies.view_policy"
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.SettingSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.settings_said(self.request.user)


class PolicyHistory(generics.ListAPIView[Any]):
    """Every version of every setting, newest first."""

    permission = "policies.view_policy"
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.SettingSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.history(self.request.user)


class Effective(APIView):
    """What counts for something that touches these pools and tenants of a cluster, and where each value comes from."""

    permission = "policies.view_policy"
    permission_classes = (NeedsPermission,)

    @extend_schema(parameters=[shapes.AskedSerializer], responses=shapes.ResolvedSerializer(many=True), filters=False)
    def get(self, request: Request) -> Response:
        """Every setting with its value there."""
        said = bodies.checked(shapes.AskedSerializer, request.query_params).validated_data
        policy = selectors.effective(request.user, said["cluster"], said["pool"], said["tenant"])
        return Response(shapes.ResolvedSerializer(list(policy.values()), many=True).data)


class WindowList(generics.ListCreateAPIView[Any]):
    """Maintenance and blackout windows, newest first; POST sets one."""

    permissions = {"GET": "policies.view_policy", "POST": "policies.set_policy"}  # noqa: RUF012
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.WindowSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return windows.windows(self.request.user)

    def perform_create(self, serializer: Any) -> None:
        said = dict(serializer.validated_data)
        names = {field: said.pop(field) for field in ("scope", "cluster", "gpu_model", "tenant")}
        serializer.instance = windowing.add_window(self.request.user, services.place_of(**names), **said)


class WindowEnd(APIView):
    permission = "policies.set_policy"
    permission_classes = (NeedsPermission,)

    @extend_schema(request=shapes.EndingSerializer, responses=shapes.WindowSerializer)
    def post(self, request: Request, window_id: int) -> Response:
        """It never comes again."""
        row = windowing.end_window(request.user, window_id, bodies.said(shapes.EndingSerializer, request)["reason"])
        return Response(shapes.WindowSerializer(row).data)


class PolicySetting(APIView):
    """One setting at one place."""

    permissions = {  # noqa: RUF012
        "GET": "policies.view_policy",
        "PUT": "policies.set_policy",
        "DELETE": "policies.set_policy",
    }
    permission_classes = (NeedsPermission,)

    @extend_schema(parameters=[shapes.PlaceSerializer], responses=shapes.SettingSerializer)
    def get(self, request: Request, name: str) -> Response:
        """The newest version; 404 where nothing was ever decided there."""
        place = self._place(shapes.PlaceSerializer, request.query_params)[1]
        found = selectors.setting_at(request.user, self._named(name), place)
        if found is None:
            raise exceptions.NotFound(f"Nothing was ever decided for {place.words}.")
        return _answer(found)

    @extend_schema(
        request=shapes.DecisionSerializer,
        parameters=[IF_MATCH],
        responses={200: shapes.SettingSerializer, **REFUSALS},
    )
    def put(self, request: Request, name: str) -> Response:
        """Decide a value on top of the version in If-Match."""
        said, place = self._place(shapes.DecisionSerializer, request.data)
        return self._write(
            lambda: services.set_value(
                request.user,
                self._named(name),
                place,
                said["value"],
                reason=said["reason"],
                version=version_sent(request),
            )
        )

    @extend_schema(
        parameters=[shapes.ClearingSerializer, IF_MATCH], responses={200: shapes.SettingSerializer, **REFUSALS}
    )
    def delete(self, request: Request, name: str) -> Response:
        """The place says nothing of it any more."""
        said, place = self._place(shapes.ClearingSerializer, request.query_params)
        return self._write(
            lambda: services.clear_value(
                request.user, self._named(name), place, reason=said["reason"], version=version_sent(request)
            )
        )

    def _place(self, shape: Any, given: Any) -> tuple[dict[str, Any], Any]:
        """The fields beside the place, and the place."""
        said = dict(bodies.checked(shape, given).validated_data)
        names = {field: said.pop(field) for field in ("scope", "cluster", "gpu_model", "tenant")}
        return said, services.place_of(**names)

    def _named(self, name: str) -> str:
        try:
            return services.named(name).name
        except FieldError as unknown:
            raise exceptions.NotFound(unknown.reason) from unknown

    def _write(self, write: Any) -> Response:
        try:
            return _answer(write())
        except services.VersionMissingError as missing:
            raise PreconditionRequired(missing.reason) from missing
        except services.VersionChangedError as changed:
            raise PreconditionFailed(changed.reason) from changed


def _answer(row: Any) -> Response:
    return Response(shapes.SettingSerializer(row).data, headers=etag(row.version))
