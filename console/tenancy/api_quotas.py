"""Quotas, use and chargeback over HTTP: edits on top of a version, whole or not at all."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.rest import bodies
from console.rest.permissions import NeedsPermission
from console.rest.versions import IF_MATCH, REFUSALS, PreconditionRequired, etag, version_sent
from console.tenancy import selectors, services
from console.tenancy import serializers_quotas as shapes
from console.tenancy.choices import EditionKind
from console.tenancy.entries import Given, as_json, given_of
from console.tenancy.periods import BadPeriodError, asked_period
from console.tenancy.twin import read_table

OWN = "tenancy.view_own"  # who may edit what is asked by the service, tenant by tenant


class TenancyView(APIView):
    """For everybody who sees at least what is their own; selectors narrow it, services refuse."""

    permission = OWN
    permission_classes = (NeedsPermission,)


class TenantList(TenancyView):
    @extend_schema(operation_id="tenants", parameters=[shapes.TreeAskedSerializer], responses=shapes.TreeSerializer)
    def get(self, request: Request) -> Response:
        """Tenants as a tree, cohorts above departments above teams: quotas and use.  A tenant gets its own."""
        bodies.checked(shapes.TreeAskedSerializer, request.query_params)
        filters = selectors.TenantFilters.of(request.query_params)
        tree = selectors.tenant_tree(request.user, filters)
        return Response(shapes.TreeSerializer(tree).data, headers=etag(tree.version))


class TenantDetail(TenancyView):
    @extend_schema(operation_id="tenant", responses=shapes.TenantSerializer)
    def get(self, request: Request, name: str) -> Response:
        """One tenant: its entry of the book, use by model, budgets.  The ETag is the version of the entry."""
        found = selectors.tenant_of(request.user, name)
        if found is None:
            raise exceptions.NotFound("There is no such tenant among those that you may see.")
        return Response(shapes.TenantSerializer(found).data, headers=etag(found.version))

    @extend_schema(
        operation_id="tenant_edit",
        request=shapes.DocumentSerializer,
        parameters=[IF_MATCH],
        responses={200: shapes.EditionSerializer, **REFUSALS},
    )
    def put(self, request: Request, name: str) -> Response:
        """What the book shall say of this tenant, on top of the version in If-Match."""
        said = bodies.said(shapes.DocumentSerializer, request)
        body: Any = request.data
        given = [Given("tenant", name, {field: value for field, value in body.items() if field != "reason"})]
        return _edited(request, lambda: _edit(request, given, said["reason"]))


class BookView(TenancyView):
    @extend_schema(operation_id="quotas", responses=shapes.BookSerializer)
    def get(self, request: Request) -> Response:
        """All that the book says now and the caller may see, each entry with its version."""
        page = selectors.seen_by(request.user)
        entries = [{**one, "version": page.versions[one["kind"], one["name"]]} for one in as_json(page.docs)]
        return Response(
            shapes.BookSerializer({"version": page.version, "entries": entries}).data, headers=etag(page.version)
        )

    @extend_schema(
        operation_id="quotas_edit",
        request=shapes.EditSerializer,
        parameters=[IF_MATCH],
        responses={200: shapes.EditionSerializer, **REFUSALS},
    )
    def put(self, request: Request) -> Response:
        """Edits any number of entries at once; nothing of an edit that is wrong anywhere is kept."""
        return _edited(request, lambda: _edit_many(request))


class PreviewView(TenancyView):
    @extend_schema(
        operation_id="quotas_preview",
        request=shapes.EditSerializer,
        parameters=[IF_MATCH],
        responses={200: shapes.PreviewSerializer, **REFUSALS},
    )
    def post(self, request: Request) -> Response:
        """What an edit would change, and who would be over by the newest use.  Nothing is kept."""
        said = _asked_edit(request)

        def show() -> Response:
            planned = services.plan_edit(request.user, said.given, version_sent(request), whole=said.whole)
            found = services.preview(request.user, planned)
            changes = [selectors.Change(*change) for change in planned.changes]
            body = {"version": planned.version, "changes": changes, "consequences": found.rows, "hidden": found.hidden}
            return Response(shapes.PreviewSerializer(body).data)

        return _guarded(show)


class EditionList(generics.ListAPIView[Any]):
    """Every edit of the book that the caller may see something of, newest first."""

    permission = OWN
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.EditionSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.editions(self.request.user)

    def paginate_queryset(self, queryset: Any) -> list[Any] | None:
        page = super().paginate_queryset(queryset)
        return [selectors.edition_row(self.request.user, row) for row in page or ()]


class PutBack(TenancyView):
    permission = "tenancy.set_quotas"

    @extend_schema(
        operation_id="quotas_put_back",
        request=shapes.PutBackSerializer,
        parameters=[IF_MATCH],
        responses={200: shapes.EditionSerializer, **REFUSALS},
    )
    def post(self, request: Request, number: int) -> Response:
        """The whole book as it was at an older version, as a new one."""
        reason = bodies.said(shapes.PutBackSerializer, request)["reason"]
        if selectors.edition_of(request.user, number) is None:
            raise exceptions.NotFound("There is no such version.")
        return _edited(request, lambda: services.put_back(request.user, number, version_sent(request), reason=reason))


class Chargeback(TenancyView):
    @extend_schema(
        operation_id="chargeback", parameters=[shapes.ChargeAskedSerializer], responses=shapes.BillSerializer
    )
    def get(self, request: Request) -> Response:
        """GPU-hours by tenant, cluster, model and tier of a period, times their price.  A tenant gets its own."""
        asked = bodies.checked(shapes.ChargeAskedSerializer, request.query_params).validated_data
        try:
            period = asked_period(
                asked.get("period", ""), asked.get("from", ""), asked.get("to", ""), selectors.counting_now()
            )
        except BadPeriodError as wrong:
            raise exceptions.ValidationError({wrong.field: [wrong.reason]}) from wrong
        bill = selectors.bill(request.user, period, asked.get("tenant", ""))
        return Response(shapes.BillSerializer(bill).data)


class _Asked:
    def __init__(self, given: list[Given], whole: bool, reason: str, kind: str) -> None:
        self.given, self.whole, self.reason, self.kind = given, whole, reason, kind


def _asked_edit(request: Request) -> _Asked:
    """The entries as they were sent: numbers and unset fields are read by the book, which names row, field, reason."""
    body = request.data if isinstance(request.data, dict) else {}
    rest = {name: value for name, value in body.items() if name != "entries"}
    said = bodies.checked(shapes.EditSerializer, rest).validated_data
    if ("entries" in body) == ("table" in said):
        raise exceptions.ValidationError({"entries": ["send either entries or a table"]})
    try:
        given = read_table(said["table"]) if "table" in said else given_of(body["entries"])
    except services.BookError as wrong:
        raise _refusal(wrong) from wrong
    kind = EditionKind.FILE if "table" in said else EditionKind.EDIT
    return _Asked(given, said["whole"], said["reason"], kind)


def _edit_many(request: Request) -> Any:
    said = _asked_edit(request)
    return services.edit_book(
        request.user, said.given, version_sent(request), reason=said.reason, whole=said.whole, kind=said.kind
    )


def _edit(request: Request, given: list[Given], reason: str) -> Any:
    return services.edit_book(request.user, given, version_sent(request), reason=reason)


def _edited(request: Request, edit: Callable[[], Any]) -> Response:
    def answer() -> Response:
        row = selectors.edition_row(request.user, edit())
        return Response(shapes.EditionSerializer(row).data, headers=etag(row.number))

    return _guarded(answer)


def _guarded(work: Callable[[], Response]) -> Response:
    """Faults of the book as answers: 400 with row and field, 412 with what changed, 428."""
    try:
        return work()
    except services.BookError as wrong:
        raise _refusal(wrong) from wrong
    except services.VersionMissingError as missing:
        raise PreconditionRequired(missing.reason) from missing
    except services.VersionChangedError as changed:
        error = {"code": "version_changed", "detail": changed.reason, "attr": None}
        body = {"type": "client_error", "errors": [error], "changes": list(changed.changes)}
        return Response(body, status=status.HTTP_412_PRECONDITION_FAILED, headers=etag(changed.version))


def _refusal(wrong: services.BookError) -> exceptions.ValidationError:
    found: dict[str, list[str]] = {}
    for one in wrong.wrongs:
        where = ": ".join(part for part in (one.row, one.field) if part) or "non_field_errors"
        found.setdefault(where, []).append(one.reason)
    return exceptions.ValidationError(found)
