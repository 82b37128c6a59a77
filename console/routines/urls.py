from django.urls import path, register_converter
from django.urls.converters import StringConverter

from console.routines import api, views


class RoutineActionConverter(StringConverter):
    """What can be done to a routine; anything else is no address."""

    regex = "pause|resume|end|skip"


register_converter(RoutineActionConverter, "routine_action")

urlpatterns = [
    path("routines/", views.routine_list, name="list"),
    path("routines/new/", views.new, name="new"),
    path("routines/<row:routine_id>/", views.detail, name="detail"),
    path("routines/<row:routine_id>/<routine_action:action>/", views.act, name="act"),
]
api_urlpatterns = [
    path("routines/", api.RoutineList.as_view(), name="routines"),
    path("routines/<row:routine_id>/", api.RoutineDetail.as_view(), name="routine"),
    path("routines/<row:routine_id>/openings/", api.OpeningList.as_view(), name="routine-openings"),
    path("routines/<row:routine_id>/pause/", api.Pause.as_view(), name="routine-pause"),
    path("routines/<row:routine_id>/resume/", api.Resume.as_view(), name="routine-resume"),
    path("routines/<row:routine_id>/end/", api.End.as_view(), name="routine-end"),
    path("routines/<row:routine_id>/skip-days/", api.SkipDays.as_view(), name="routine-skip-days"),
]
