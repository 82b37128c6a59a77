from django.urls import path, register_converter
from django.urls.converters import StringConverter

from console.plans import api, api_glass, api_parts, views


class ActionConverter(StringConverter):
    """The actions of a plan's box; anything else is no address."""

    regex = (
        "approve|reject|cancel|stop|start|pause|resume|abort|drop|leave-out|roll-back|break-glass|"
        "extend-hold|release-hold"
    )


register_converter(ActionConverter, "plan_action")

urlpatterns = [
    path("plans/", views.plan_list, name="list"),
    path("plans/<row:plan_id>/", views.plan_detail, name="detail"),
    path("plans/<row:plan_id>/beside/", views.beside, name="beside"),
    path("plans/<row:plan_id>/plan.json", views.plan_json, name="json"),
    path("plans/<row:plan_id>/moves.csv", views.moves_csv, name="moves-csv"),
    path("plans/<row:plan_id>/kept/", views.kept_list, name="kept"),
    path("plans/<row:plan_id>/kept.csv", views.kept_csv, name="kept-csv"),
    path("plans/<row:plan_id>/map", views.plan_map, name="map"),
    path("plans/<row:plan_id>/map/layout", views.map_layout, name="map-layout"),
    path("plans/<row:plan_id>/cut/", views.cut, name="cut"),
    path("plans/<row:plan_id>/part/", views.part, name="part"),
    path("plans/<row:plan_id>/<plan_action:action>/", views.act, name="act"),
    path("locks/", views.lock_list, name="locks"),
    path("locks/<row:plan_id>/release/", views.release, name="release"),
    path("plans/reviews/", views.review_list, name="reviews"),
    path("plans/reviews/<row:review_id>/close/", views.close_review, name="close-review"),
    path("freezes/", views.freeze_list, name="freezes"),
    path("freezes/<row:freeze_id>/lift/", views.lift, name="lift"),
]
api_urlpatterns = [
    path("plans/", api.PlanList.as_view(), name="plans"),
    path("plans/<row:plan_id>/", api.PlanDetail.as_view(), name="plan"),
    path("plans/<row:plan_id>/document/", api.PlanDocument.as_view(), name="plan-document"),
    path("plans/<row:plan_id>/moves/", api.MoveList.as_view(), name="plan-moves"),
    path("plans/<row:plan_id>/kept/", api.KeptList.as_view(), name="plan-kept"),
    path("plans/<row:plan_id>/approve/", api.Approve.as_view(), name="plan-approve"),
    path("plans/<row:plan_id>/part/", api_parts.PartPreview.as_view(), name="plan-part"),
    path("plans/<row:plan_id>/approve-part/", api_parts.ApprovePart.as_view(), name="plan-approve-part"),
    path("plans/<row:plan_id>/reject/", api.Reject.as_view(), name="plan-reject"),
    path("plans/<row:plan_id>/cancel/", api.Cancel.as_view(), name="plan-cancel"),
    path("plans/<row:plan_id>/stop/", api.Stop.as_view(), name="plan-stop"),
    path("plans/<row:plan_id>/start/", api.Start.as_view(), name="plan-start"),
    path("plans/<row:plan_id>/pause/", api.Pause.as_view(), name="plan-pause"),
    path("plans/<row:plan_id>/resume/", api.Resume.as_view(), name="plan-resume"),
    path("plans/<row:plan_id>/abort/", api.Abort.as_view(), name="plan-abort"),
    path("plans/<row:plan_id>/drop/", api.Drop.as_view(), name="plan-drop"),
    path("plans/<row:plan_id>/leave-out/", api.LeaveOut.as_view(), name="plan-leave-out"),
    path("plans/<row:plan_id>/abort-preview/", api.AbortPreview.as_view(), name="plan-abort-preview"),
    path("plans/<row:plan_id>/record/", api_parts.RecordDetail.as_view(), name="plan-record"),
    path("plans/<row:plan_id>/roll-back/", api.RollBack.as_view(), name="plan-roll-back"),
    path("plans/<row:plan_id>/extend-hold/", api_parts.ExtendHold.as_view(), name="plan-extend-hold"),
    path("plans/<row:plan_id>/release-hold/", api_parts.ReleaseHold.as_view(), name="plan-release-hold"),
    path("plans/<row:plan_id>/cut/", api.Cut.as_view(), name="plan-cut"),
    path("locks/", api_parts.LockList.as_view(), name="locks"),
    path("plans/<row:plan_id>/release-locks/", api_parts.ReleaseLocks.as_view(), name="plan-release-locks"),
    path("plans/<row:plan_id>/break-glass/", api_glass.BreakGlass.as_view(), name="plan-break-glass"),
    path("plans/reviews/", api_glass.ReviewList.as_view(), name="plan-reviews"),
    path("plans/reviews/<row:review_id>/close/", api_glass.CloseReview.as_view(), name="review-close"),
    path("freezes/", api.FreezeList.as_view(), name="freezes"),
    path("freezes/<row:freeze_id>/lift/", api.Lift.as_view(), name="freeze-lift"),
]
