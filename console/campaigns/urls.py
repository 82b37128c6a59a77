from django.urls import path, register_converter
from django.urls.converters import StringConverter

from console.campaigns import api, views


class CampaignActionConverter(StringConverter):
    """What can be done to a campaign; anything else is no address."""

    regex = "begin|pause|resume|end|look"


class GroupActionConverter(StringConverter):
    regex = "done|take-out|skip|again"


register_converter(CampaignActionConverter, "campaign_action")
register_converter(GroupActionConverter, "campaign_group_action")

urlpatterns = [
    path("campaigns/", views.campaign_list, name="list"),
    path("campaigns/new/", views.new, name="new"),
    path("campaigns/count/", views.count, name="count"),
    path("campaigns/<row:campaign_id>/", views.detail, name="detail"),
    path("campaigns/<row:campaign_id>/<campaign_action:action>/", views.act, name="act"),
    path("campaigns/<row:campaign_id>/groups/<row:number>/<campaign_group_action:action>/", views.act_on_group,
         name="group"),
]  # fmt: skip
_ONE = "campaigns/<row:campaign_id>"
_GROUP = f"{_ONE}/groups/<row:number>"
api_urlpatterns = [
    path("campaigns/", api.CampaignList.as_view(), name="campaigns"),
    path("campaigns/draft/", api.DraftView.as_view(), name="campaign-draft"),
    path(f"{_ONE}/", api.CampaignDetail.as_view(), name="campaign"),
    path(f"{_ONE}/groups/", api.GroupList.as_view(), name="campaign-groups"),
    path(f"{_ONE}/nodes/", api.MemberList.as_view(), name="campaign-nodes"),
    path(f"{_ONE}/begin/", api.Begin.as_view(), name="campaign-begin"),
    path(f"{_ONE}/pause/", api.Pause.as_view(), name="campaign-pause"),
    path(f"{_ONE}/resume/", api.Resume.as_view(), name="campaign-resume"),
    path(f"{_ONE}/end/", api.End.as_view(), name="campaign-end"),
    path(f"{_ONE}/look/", api.LookAnew.as_view(), name="campaign-look"),
    path(f"{_GROUP}/done/", api.WorkDone.as_view(), name="campaign-work-done"),
    path(f"{_GROUP}/take-out/", api.TakeOut.as_view(), name="campaign-take-out"),
    path(f"{_GROUP}/skip/", api.Skip.as_view(), name="campaign-skip"),
    path(f"{_GROUP}/again/", api.TryAgain.as_view(), name="campaign-again"),
]
