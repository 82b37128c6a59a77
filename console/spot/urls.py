"""Addresses of spot capacity; filled in views and api."""

from typing import Any

urlpatterns: list[Any] = []
api_urlpatterns: list[Any] = []
