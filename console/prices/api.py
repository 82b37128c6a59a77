"""Prices over HTTP.  Refusals are 409 with the reason; 428 and 412 where the version or digest is missing or old."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.prices import selectors, services
from console.prices import serializers as shapes
from console.prices.choices import State
from console.prices.filters import ProposalFilter
from console.rest import bodies
from console.rest.permissions import NeedsPermission
from console.rest.versions import IF_MATCH, REFUSALS, PreconditionFailed, PreconditionRequired, etag, version_sent

LONGEST_KEY = 100
DIGEST = OpenApiParameter(
    "If-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="the digest that was read, in place of the field"
)
KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="sent twice, it opens one proposal"
)
MODEL = OpenApiParameter("gpu_model", OpenApiTypes.STR, description="GPU model")


class _Desk(APIView):
    permission_classes = (NeedsPermission,)
    permission = selectors.VIEW

    def handle_exception(self, exc: Exception) -> Response:
        """One answer everywhere for what was not read, or is old."""
        if isinstance(exc, services.VersionMissingError | services.DigestMissingError):
            exc = PreconditionRequired(exc.reason)
        elif isinstance(exc, services.VersionChangedError):
            exc = PreconditionFailed(exc.reason)
        return super().handle_exception(exc)


class PriceList(_Desk):
    @extend_schema(operation_id="prices", parameters=[MODEL], responses=shapes.PriceQuoteListSerializer)
    def get(self, request: Request) -> Response:
        """The quote of every model whose name has these letters."""
        asked = bodies.checked(shapes.PriceModelAskedSerializer, request.query_params).validated_data
        rows = selectors.quote_rows(request.user, asked["gpu_model"])
        return Response(shapes.PriceQuoteListSerializer({"results": rows}).data)


class PriceOne(_Desk):
    @extend_schema(operation_id="price", responses=shapes.PriceQuoteSerializer)
    def get(self, request: Request, gpu_model: str) -> Response:
        """The quote of one model; 404 for a model that nobody knows."""
        found = {one.gpu_model: one for one in selectors.quote_rows(request.user)}
        if gpu_model not in found:
            raise exceptions.NotFound("No such GPU model is known.")
        return Response(shapes.PriceQuoteSerializer(found[gpu_model]).data)


class PriceHistory(generics.ListAPIView[Any]):
    """Every price that there was, with what moved it; set last first."""

    permission = selectors.VIEW
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.PriceSerializer
    filter_backends = ()

    @extend_schema(operation_id="price_history", parameters=[MODEL])
    def get(self, request: Request) -> Response:
        """Every price that there was, with what moved it; set last first."""
        return self.list(request)

    def get_queryset(self) -> Any:
        asked = bodies.checked(shapes.PriceModelAskedSerializer, self.request.query_params).validated_data
        return selectors.history_rows(self.request.user, asked["gpu_model"])


class PriceTerms(_Desk):
    permissions = {"GET": selectors.VIEW, "PUT": "prices.set_terms"}  # noqa: RUF012

    @extend_schema(operation_id="price_terms", parameters=[MODEL], responses=shapes.PriceBoundSerializer(many=True))
    def get(self, request: Request) -> Response:
        """What binds a model now, and who says so; without one, what holds for all.  Its version is the ETag."""
        model = bodies.checked(shapes.PriceModelAskedSerializer, request.query_params).validated_data["gpu_model"]
        rows = selectors.bounds_of([model])[model].rows if model else selectors.shared_bounds()
        said = selectors.terms_at(request.user, model)
        found = [{"name": one.name, "value": value, "unit": one.unit, "origin": origin} for one, value, origin in rows]
        headers = etag(0 if said is None else said.version)
        return Response(shapes.PriceBoundSerializer(found, many=True).data, headers=headers)

    @extend_schema(
        operation_id="price_terms_set", request=shapes.DecideTermsSerializer, parameters=[IF_MATCH],
        responses={200: shapes.PriceTermsSerializer, **REFUSALS},
    )  # fmt: skip
    def put(self, request: Request) -> Response:
        """Decide all bounds of one model, or of all, on top of the version in If-Match."""
        said = bodies.said(shapes.DecideTermsSerializer, request)
        model, reason = said.pop("gpu_model"), said.pop("reason")
        row = services.set_terms(request.user, model, said, reason=reason, version=version_sent(request))
        return Response(shapes.PriceTermsSerializer(row).data, headers=etag(row.version))


class ProposalList(generics.ListAPIView[Any]):
    """Proposals, newest first."""

    permissions = {"GET": selectors.VIEW_PROPOSAL, "POST": selectors.PROPOSE}  # noqa: RUF012
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.PriceProposalSerializer
    filterset_class = ProposalFilter
    throttle_scope = "plans"

    def get_queryset(self) -> Any:
        return selectors.proposals(self.request.user)

    @extend_schema(
        operation_id="price_proposal_open", request=shapes.AskPricesSerializer, parameters=[KEY], filters=False,
        responses={202: shapes.PriceProposalDetailSerializer},
    )  # fmt: skip
    def post(self, request: Request) -> Response:
        """Ask for new prices of these models; a worker finds them and replays the last week."""
        said = bodies.said(shapes.AskPricesSerializer, request)
        key = request.headers.get("Idempotency-Key", "")
        if len(key) > LONGEST_KEY:
            raise exceptions.ValidationError({"Idempotency-Key": f"at most {LONGEST_KEY} characters"})
        row = services.open_review(request.user, said["gpu_models"], reason=said["reason"], request_key=key or None)
        return _answer(request, row.pk, status.HTTP_202_ACCEPTED)


class ProposalOne(_Desk):
    permissions = {"GET": selectors.VIEW_PROPOSAL, "PATCH": selectors.PROPOSE}  # noqa: RUF012

    @extend_schema(operation_id="price_proposal", responses=shapes.PriceProposalDetailSerializer)
    def get(self, request: Request, proposal_id: int) -> Response:
        """One proposal; the ETag is its version while it is a draft, and its digest from then on."""
        return _answer(request, proposal_id)

    @extend_schema(
        operation_id="price_proposal_edit", request=shapes.EditPricesSerializer, parameters=[IF_MATCH],
        responses={202: shapes.PriceProposalDetailSerializer, **REFUSALS},
    )  # fmt: skip
    def patch(self, request: Request, proposal_id: int) -> Response:
        """Name prices in a draft, on top of the version in If-Match; its preview is worked out anew."""
        said = bodies.said(shapes.EditPricesSerializer, request)
        cents = {one["gpu_model"]: one["cents"] for one in said["prices"]}
        version = version_sent(request)
        services.edit_prices(request.user, proposal_id, cents, reason=said["reason"], version=version)
        return _answer(request, proposal_id, status.HTTP_202_ACCEPTED)


class ProposalDocument(_Desk):
    permission = selectors.VIEW_PROPOSAL

    @extend_schema(operation_id="price_proposal_document", responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, proposal_id: int) -> Response:
        """What is signed (the page's download has the very bytes that the digest is of)."""
        document, digest = selectors.document_read(request.user, proposal_id)
        if document is None:
            raise exceptions.NotFound("Nothing was worked out yet.")
        return Response(document, headers={"ETag": f'"{digest}"'})


class ProposalSend(_Desk):
    permission = selectors.PROPOSE

    @extend_schema(
        operation_id="price_proposal_send", request=shapes.SendPricesSerializer, parameters=[IF_MATCH],
        responses={200: shapes.PriceProposalDetailSerializer, **REFUSALS},
    )  # fmt: skip
    def post(self, request: Request, proposal_id: int) -> Response:
        """Ask another person for a yes to the version in If-Match."""
        said = bodies.said(shapes.SendPricesSerializer, request)
        services.send_for_approval(request.user, proposal_id, **said, version=version_sent(request))
        return _answer(request, proposal_id)


class _Decision(_Desk):
    permission = selectors.APPROVE

    def _decide(self, request: Request, proposal_id: int, service: Any) -> Response:
        said = bodies.said(shapes.PriceDecisionSerializer, request)
        digest = said["digest"] or request.headers.get("If-Match", "").strip().removeprefix("W/").strip('"')
        service(request.user, proposal_id, digest, said["reason"])
        return _answer(request, proposal_id)


class ProposalApprove(_Decision):
    @extend_schema(
        operation_id="price_proposal_approve", request=shapes.PriceDecisionSerializer, parameters=[DIGEST],
        responses={200: shapes.PriceProposalDetailSerializer, **REFUSALS},
    )  # fmt: skip
    def post(self, request: Request, proposal_id: int) -> Response:
        """Yes to exactly what was read; it is announced and takes effect at its hour."""
        return self._decide(request, proposal_id, services.approve_proposal)


class ProposalReject(_Decision):
    @extend_schema(
        operation_id="price_proposal_reject", request=shapes.PriceDecisionSerializer, parameters=[DIGEST],
        responses={200: shapes.PriceProposalDetailSerializer, **REFUSALS},
    )  # fmt: skip
    def post(self, request: Request, proposal_id: int) -> Response:
        """No to what was read."""
        return self._decide(request, proposal_id, services.reject_proposal)


class ProposalWithdraw(_Desk):
    permission = selectors.PROPOSE

    @extend_schema(
        operation_id="price_proposal_withdraw", request=shapes.PriceReasonSerializer,
        responses=shapes.PriceProposalDetailSerializer,
    )  # fmt: skip
    def post(self, request: Request, proposal_id: int) -> Response:
        """Take it back before it is in force."""
        services.withdraw_proposal(
            request.user, proposal_id, bodies.said(shapes.PriceReasonSerializer, request)["reason"]
        )
        return _answer(request, proposal_id)


def _answer(request: Request, proposal_id: int, code: int = status.HTTP_200_OK) -> Response:
    row = selectors.proposal_of(request.user, proposal_id)
    named = row.digest if row.state not in (State.COMPUTING, State.DRAFT) and row.digest else str(row.version)
    return Response(shapes.PriceProposalDetailSerializer(row).data, status=code, headers={"ETag": f'"{named}"'})
