"""The page of a plan, as one person sees it."""

from typing import Any

from django.test import Client
from django.urls import reverse

from console.plans.models import Plan


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page_of(user: Any, plan: Plan, query: str = "") -> str:
    answer = client_of(user).get(reverse("plans:detail", args=[plan.pk]) + query)
    assert answer.status_code == 200, answer.content[:800]
    return str(answer.content.decode())
