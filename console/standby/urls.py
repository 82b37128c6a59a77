from django.urls import path

from console.standby import api, views

urlpatterns = [
    path("standby/windows/new/", views.new, name="new"),
    path("standby/windows/<row:window_id>/", views.edit, name="edit"),
    path("standby/windows/<row:window_id>/end/", views.end, name="end"),
    path("standby/windows/<row:window_id>/recall/", views.recall_window, name="recall-window"),
    path("standby/parts/<slug:part>/", views.part, name="part"),
]
api_urlpatterns = [
    path("standby/windows/", api.WindowList.as_view(), name="standby-windows"),
    path("standby/windows/preview/", api.WindowPreview.as_view(), name="standby-preview"),
    path("standby/windows/<row:window_id>/", api.WindowOne.as_view(), name="standby-window"),
    path("standby/windows/<row:window_id>/end/", api.WindowEnd.as_view(), name="standby-window-end"),
    path("standby/windows/<row:window_id>/recall/", api.WindowRecall.as_view(), name="standby-window-recall"),
    path("standby/recalls/", api.RecallList.as_view(), name="standby-recalls"),
    path("standby/recalls/figures/", api.RecallFigures.as_view(), name="standby-recall-figures"),
    path("standby/recalls/<row:recall_id>/", api.RecallOne.as_view(), name="standby-recall"),
    path("standby/pool/", api.Pool.as_view(), name="standby-pool"),
    path("standby/storms/", api.StormList.as_view(), name="standby-storms"),
]
