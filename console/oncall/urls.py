from django.urls import path, register_converter
from django.urls.converters import StringConverter

from console.oncall import api, views


class AnswerConverter(StringConverter):
    """What can be done on the page for phones; anything else is no address."""

    regex = "approve|approve-and-start|reject|start|resume|abort|acknowledge|hand-on"


class ContactActionConverter(StringConverter):
    regex = "set|forget|try"


class AlertActionConverter(StringConverter):
    regex = "acknowledge|hand-on"


register_converter(AnswerConverter, "answer")
register_converter(ContactActionConverter, "contact_action")
register_converter(AlertActionConverter, "alert_action")

urlpatterns = [
    path("oncall/", views.now, name="now"),
    path("oncall/rotas/new/", views.new_rota, name="new"),
    path("oncall/rotas/<row:rota_id>/", views.rota, name="rota"),
    path("oncall/rotas/<row:rota_id>/end/", views.end_rota, name="end-rota"),
    path("oncall/rotas/<row:rota_id>/take-over/", views.take_over, name="take-over"),
    path("oncall/overrides/<row:cover_id>/end/", views.end_cover, name="end-cover"),
    path("oncall/contact/<contact_action:action>/", views.contact, name="contact"),
    path("oncall/outbox/", views.outbox, name="outbox"),
    path("oncall/alerts/<row:alert_id>/<alert_action:action>/", views.about_alert, name="alert"),
    path("plans/<row:plan_id>/decide/", views.decide, name="decide"),
    path("plans/<row:plan_id>/decide/<answer:action>/", views.answer, name="answer"),
]
api_urlpatterns = [
    path("oncall/now/", api.NowList.as_view(), name="oncall-now"),
    path("oncall/rotas/", api.RotaList.as_view(), name="rotas"),
    path("oncall/rotas/<row:rota_id>/", api.RotaDetail.as_view(), name="rota"),
    path("oncall/rotas/<row:rota_id>/end/", api.EndRota.as_view(), name="rota-end"),
    path("oncall/rotas/<row:rota_id>/take-over/", api.TakeOver.as_view(), name="rota-take-over"),
    path("oncall/overrides/<row:cover_id>/end/", api.EndCover.as_view(), name="rota-override-end"),
    path("oncall/alerts/", api.AlertList.as_view(), name="alerts"),
    path("oncall/alerts/<row:alert_id>/", api.AlertDetail.as_view(), name="alert"),
    path("oncall/alerts/<row:alert_id>/acknowledge/", api.Acknowledge.as_view(), name="alert-acknowledge"),
    path("oncall/alerts/<row:alert_id>/hand-on/", api.HandOn.as_view(), name="alert-hand-on"),
]
