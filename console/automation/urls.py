from django.urls import path

from console.automation import api, views

urlpatterns = [
    path("policies/automation/", views.card_list, name="list"),
    path("policies/automation/pool/", views.card, name="card"),
    path("policies/automation/give-back/", views.give_back, name="give-back"),
]
api_urlpatterns = [
    path("automation/scorecards/", api.ScorecardList.as_view(), name="scorecards"),
    path("automation/turns/", api.TurnList.as_view(), name="automation-turns"),
    path("automation/give-back/", api.GiveBack.as_view(), name="automation-give-back"),
]
