from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import LoginView, LogoutView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from console.tenancy import selectors, services
from console.tenancy.choices import DEMO_LOGINS
from console.tenancy.forms import TokenForm


class Login(LoginView):
    http_method_names = ["get", "head", "post", "options"]  # noqa: RUF012
    template_name = "tenancy/login.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs, demo_logins=list(DEMO_LOGINS) if settings.DEMO else [])


class Logout(LogoutView):
    http_method_names = ["post", "options"]  # noqa: RUF012


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The person's API tokens; a new one is shown once, in the answer to its making."""
    form = TokenForm(request.POST if request.method == "POST" else None)
    secret = ""
    if request.method == "POST" and form.is_valid():
        _, secret = services.issue_token(services.person(request.user), form.cleaned_data["days"])
    page = {"section": "tokens", "form": form, "secret": secret, "rows": selectors.tokens_of(request.user)}
    return render(request, "tenancy/tokens.html", page, status=400 if form.errors else 200)


@require_POST
def revoke_token(request: HttpRequest, key: str) -> HttpResponse:
    if not services.revoke_token(services.person(request.user), key):
        raise Http404(f"You hold no token {key}.")
    messages.success(request, f"Token {key} is revoked.")
    return redirect("tenancy:tokens")
