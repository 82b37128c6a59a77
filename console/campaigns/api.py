"""Campaigns over HTTP."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.campaigns import selectors, services
from console.campaigns import serializers as shapes
from console.rest import bodies
from console.rest.pagination import CursorPages
from console.rest.permissions import NeedsPermission

VIEW, REQUEST, RUN, APPROVE = "plans.view_plan", "plans.request_plan", "plans.run_plan", "plans.approve_plan"


class CampaignList(generics.ListAPIView[Any]):
    """Campaigns, newest first; those that are over among them."""

    permissions = {"GET": VIEW, "POST": REQUEST}  # noqa: RUF012
    permission_classes = (NeedsPermission,)
    parser_classes = (JSONParser,)  # names of nodes are a list within an object, which no form can hold
    serializer_class = shapes.CampaignSerializer
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.campaigns(self.request.user)

    @extend_schema(request=shapes.AskCampaignSerializer, responses={201: shapes.CampaignPageSerializer})
    def post(self, request: Request) -> Response:
        """A draft in the name of who asks; nothing is drained before it is begun."""
        made = services.make_campaign(request.user, _asked(request))
        return _answer(request, made.pk, status.HTTP_201_CREATED)


class DraftView(APIView):
    permission = REQUEST
    permission_classes = (NeedsPermission,)
    parser_classes = (JSONParser,)

    @extend_schema(request=shapes.AskCampaignSerializer, responses=shapes.CampaignDraftSerializer)
    def post(self, request: Request) -> Response:
        """Which nodes a campaign would be about, and in which groups; stores nothing."""
        return Response(shapes.CampaignDraftSerializer(services.draft(request.user, _asked(request))).data)


class CampaignDetail(APIView):
    permission = VIEW
    permission_classes = (NeedsPermission,)

    @extend_schema(responses=shapes.CampaignPageSerializer)
    def get(self, request: Request, campaign_id: int) -> Response:
        """One campaign, what it holds now, and when it will be over."""
        return _answer(request, campaign_id)


class InOrder(CursorPages):
    """As the groups are drained, and within them by name."""

    ordering = "pk"


class GroupList(generics.ListAPIView[Any]):
    """The groups of a campaign, in their order."""

    permission = VIEW
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.CampaignGroupSerializer
    pagination_class = InOrder
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.groups_of(self.request.user, self.kwargs.get("campaign_id", 0))


class MemberList(generics.ListAPIView[Any]):
    """The nodes of a campaign, group by group."""

    permission = VIEW
    permission_classes = (NeedsPermission,)
    serializer_class = shapes.MemberSerializer
    pagination_class = InOrder
    filter_backends = ()

    def get_queryset(self) -> Any:
        return selectors.members_of(self.request.user, self.kwargs.get("campaign_id", 0))


class _Act(APIView):
    """Something is done to a campaign; the answer is the campaign."""

    permission = REQUEST
    permission_classes = (NeedsPermission,)

    @extend_schema(request=shapes.ActReasonSerializer, responses=shapes.CampaignPageSerializer)
    def post(self, request: Request, campaign_id: int) -> Response:
        self.act(request.user, campaign_id, _reason(request))
        return _answer(request, campaign_id)

    def act(self, user: Any, campaign_id: int, reason: str) -> object:
        raise NotImplementedError


class Begin(_Act):
    """From now on its groups are drained, one after the other."""

    def act(self, user: Any, campaign_id: int, reason: str) -> object:
        return services.begin_campaign(user, campaign_id)


class Pause(_Act):
    """No further group begins; groups under way go on until they are back."""

    def act(self, user: Any, campaign_id: int, reason: str) -> object:
        return services.pause_campaign(user, campaign_id, reason)


class Resume(_Act):
    """After a pause, or after groups have failed."""

    def act(self, user: Any, campaign_id: int, reason: str) -> object:
        return services.resume_campaign(user, campaign_id, reason)


class End(_Act):
    """Nothing more begins, runs are aborted, and what is held is given back; where work goes on, when it is done."""

    def act(self, user: Any, campaign_id: int, reason: str) -> object:
        return services.end_campaign(user, campaign_id, reason)


class LookAnew(_Act):
    """Whether each waiting group could be drained is computed once more."""

    def act(self, user: Any, campaign_id: int, reason: str) -> object:
        return services.look_anew(user, campaign_id)


class _GroupAct(APIView):
    """Something is done to a group; ``number`` counts from 1."""

    permission = REQUEST
    permission_classes = (NeedsPermission,)

    @extend_schema(request=shapes.ActReasonSerializer, responses=shapes.CampaignGroupSerializer)
    def post(self, request: Request, campaign_id: int, number: int) -> Response:
        self.act(request.user, campaign_id, number - 1, _reason(request))
        group = selectors.groups_of(request.user, campaign_id).filter(position=number - 1).first()
        if group is None:
            raise Http404
        return Response(shapes.CampaignGroupSerializer(group).data)

    def act(self, user: Any, campaign_id: int, position: int, reason: str) -> object:
        raise NotImplementedError


class WorkDone(_GroupAct):
    """The work on the group is done: its nodes are given back."""

    permission = RUN

    def act(self, user: Any, campaign_id: int, position: int, reason: str) -> object:
        return services.mark_done(user, campaign_id, position, reason)


class TakeOut(_GroupAct):
    """Lets a group of which nothing has to move be taken out of service; not for the owner."""

    permission = APPROVE

    def act(self, user: Any, campaign_id: int, position: int, reason: str) -> object:
        return services.take_out(user, campaign_id, position, reason)


class Skip(_GroupAct):
    """A group that waits, or whose plan does not run, is left as it is."""

    def act(self, user: Any, campaign_id: int, position: int, reason: str) -> object:
        return services.skip_group(user, campaign_id, position, reason)


class TryAgain(_GroupAct):
    """A group that failed or was skipped waits for its turn once more."""

    def act(self, user: Any, campaign_id: int, position: int, reason: str) -> object:
        return services.try_again(user, campaign_id, position)


def _asked(request: Request) -> dict[str, Any]:
    return bodies.checked(shapes.AskCampaignSerializer, request.data).asked()


def _reason(request: Request) -> str:
    return str(bodies.said(shapes.ActReasonSerializer, request)["reason"])


def _answer(request: Request, campaign_id: int, code: int = status.HTTP_200_OK) -> Response:
    page = selectors.page_of(request.user, campaign_id)
    return Response(shapes.CampaignPageSerializer(page).data, status=code)
