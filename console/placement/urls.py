from django.urls import path

from console.placement import api, views

urlpatterns = [
    path("placement/", views.ask, name="ask"),
    path("placement/together", views.together, name="together"),
    path("placement/<row:question_id>/", views.answer, name="answer"),
    path("placement/<row:question_id>/map", views.answer_map, name="map"),
    path("placement/<row:question_id>/map-layout", views.map_layout, name="map-layout"),
]
api_urlpatterns = [
    path("placements/", api.Ask.as_view(), name="placements"),
    path("placements/together/", api.Together.as_view(), name="placements-together"),
    path("placements/<row:question_id>/", api.Answer.as_view(), name="placement"),
]
