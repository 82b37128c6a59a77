"""The one list of addresses.

Each app's ``urls.py`` brings ``urlpatterns`` (pages, full paths, reversed as "<app>:<name>") and ``api_urlpatterns``
(under /api/v1/, reversed as "api:<name>"); this file only stacks them.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.urls import include, path, register_converter

from console.rest.ids import RowConverter

register_converter(RowConverter, "row")
APPS = (
    "rest", "ui", "tenancy", "audit", "inventory", "policies", "plans", "automation", "standby", "prices",
    "consolidation", "placement", "queue", "spot", "simulation", "routines", "campaigns", "oncall", "overview",
)  # fmt: skip


def _routes(app: str, attribute: str) -> list[Any]:
    if find_spec(f"console.{app}.urls") is None:
        return []
    return list(getattr(import_module(f"console.{app}.urls"), attribute, []))


_api = [route for app in APPS for route in _routes(app, "api_urlpatterns")]
urlpatterns = [
    path("api/v1/", include((_api, "api"))),
    *(path("", include((_routes(app, "urlpatterns"), app))) for app in APPS),
]
handler400 = "console.ui.views.bad_request"
handler403 = "console.ui.views.denied"
handler404 = "console.ui.views.not_found"
handler500 = "console.ui.views.broken"
