from django.urls import path

from console.policies import api, views

urlpatterns = [
    path("policies/", views.policy_list, name="list"),
    path("policies/edit/", views.edit, name="edit"),
    path("policies/windows/", views.window_list, name="windows"),
    path("policies/windows/<row:window_id>/end/", views.end, name="end-window"),
]
api_urlpatterns = [
    path("policies/", api.PolicyList.as_view(), name="policies"),
    path("policies/history/", api.PolicyHistory.as_view(), name="policy-history"),
    path("policies/effective/", api.Effective.as_view(), name="policy-effective"),
    path("policies/windows/", api.WindowList.as_view(), name="windows"),
    path("policies/windows/<row:window_id>/end/", api.WindowEnd.as_view(), name="window-end"),
    path("policies/settings/<slug:name>/", api.PolicySetting.as_view(), name="policy-setting"),
]
