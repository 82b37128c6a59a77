"""Pages of the level "automatic": scorecards of all pools, and one of them with its history."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from console.automation import selectors, services
from console.automation.forms import GiveBackForm, PoolForm
from console.rest.errors import Conflict

sees = permission_required("policies.view_policy", raise_exception=True)
LISTED = 20


@require_safe
@sees
def card_list(request: HttpRequest) -> HttpResponse:
    """One line for each pool, and what was earned, lost and given back."""
    history = Paginator(selectors.turns(request.user), LISTED).get_page(request.GET.get("page"))
    cards = sorted(selectors.scorecards(request.user), key=lambda card: not card.allowed)  # what may be automatic first
    context = {"section": "policies", "cards": cards, "page": history}
    return render(request, "automation/list.html", context)


@require_safe
@sees
def card(request: HttpRequest) -> HttpResponse:
    """The pool that the address names: figures, what is missing, history."""
    form = PoolForm(request.GET)
    if not form.is_valid():
        raise Http404("The address names no pool.")
    found = selectors.card_for(request.user, **form.pool())
    history = Paginator(selectors.turns(request.user, found.pool), LISTED).get_page(request.GET.get("page"))
    context = {
        "section": "policies",
        "card": found,
        "f": found.figures,
        "page": history,
        "may_give_back": request.user.has_perm("policies.set_policy") and found.standing == "lost",
    }
    return render(request, "automation/card.html", context)


@require_POST
@sees
def give_back(request: HttpRequest) -> HttpResponse:
    form = GiveBackForm(request.POST)
    if not form.is_valid():
        return HttpResponse(form.errors.as_text(), status=400, content_type="text/plain; charset=utf-8")
    said = form.cleaned_data
    try:
        services.give_back(request.user, **form.pool(), lost=said["lost"], reason=said["reason"])
        messages.success(request, "Given back: the pool may earn the level anew, from now on.")
    except Conflict as refused:
        messages.error(request, refused.reason)
    return redirect(f"{reverse('automation:card')}?{selectors.pool_for(**form.pool()).query}")
