from django.contrib.auth.decorators import login_not_required
from django.urls import path

from console.tenancy import api, views

urlpatterns = [
    path("login/", views.Login.as_view(), name="login"),
    path("logout/", login_not_required(views.Logout.as_view()), name="logout"),
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<slug:key>/revoke/", views.revoke_token, name="revoke-token"),
]
api_urlpatterns = [
    path("me/", api.Me.as_view(), name="me"),
    path("tokens/", api.TokenList.as_view(), name="tokens"),
    path("tokens/<slug:key>/", api.TokenDetail.as_view(), name="token"),
]
