from django.urls import path

from console.consolidation import api, views

urlpatterns = [
    path("consolidation/new/", views.new, name="new"),
    path("consolidation/again/<row:plan_id>/", views.again, name="again"),
]
api_urlpatterns = [
    path("plans/consolidation/", api.RequestPlan.as_view(), name="plan-request"),
    path("plans/<row:plan_id>/again/", api.RequestAgain.as_view(), name="plan-again"),
]
