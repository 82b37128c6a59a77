"""Who gets which answer where: every route, API route, export and topic, by role.

Each app lists its routes in ``tests/console/<app>/roles.py`` as ``ROUTES`` (a tuple of ``Route``) and its topics as
``TOPICS`` (prefix -> roles that may listen).  ``test_role_matrix.py`` enumerates what really exists and fails for what
is not listed, so that nothing can be opened to anybody by forgetting it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from console.tenancy.choices import Role

APPS = (
    "rest", "ui", "tenancy", "audit", "inventory", "policies", "plans", "automation", "standby", "prices",
    "consolidation", "placement", "queue", "spot", "simulation", "routines", "campaigns", "oncall", "overview",
)  # fmt: skip
NOBODY = "nobody"  # a visitor without an account
WHO = (NOBODY, *(role.value for role in Role))
EVERYBODY = frozenset(WHO)
SIGNED_IN = EVERYBODY - {NOBODY}
FLEET = frozenset({"viewer", "operator", "approver"})
OPERATORS = frozenset({"operator", "approver"})
APPROVERS = frozenset({"approver"})

Arguments = Mapping[str, Any]


def no_arguments() -> Arguments:
    return {}


@dataclass(frozen=True)
class Route:
    """One route and method.  ``allowed`` get ``ok``; others 403, and nobody is sent to sign in (302; in the API 401).

    ``make`` creates in the database what the route is about and returns the arguments of its address; ``body`` is
    posted as a form, or as JSON in the API.  ``ok`` may be any status that only those get who passed the check.
    """

    name: str  # as in reverse(): "audit:list", "api:audit-entries"
    allowed: frozenset[str]
    method: str = "get"
    ok: int = 200
    make: Callable[[], Arguments] = no_arguments
    body: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""
    denied: int = 403  # 404 where even the existence is hidden
    nobody: int | None = None  # where a visitor is answered otherwise than by being sent to sign in

    @property
    def is_api(self) -> bool:
        return self.name.startswith("api:")

    def expected(self, who: str) -> int:
        if who in self.allowed:
            return self.ok
        if who == NOBODY:
            if self.nobody is not None:
                return self.nobody
            return 401 if self.is_api else 302
        return self.denied

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.name}"


def _collect(name: str) -> list[Any]:
    modules = [f"tests.console.{app}.roles" for app in APPS]
    found = [import_module(module) for module in modules if _exists(module)]
    return [getattr(module, name) for module in found if hasattr(module, name)]


def _exists(module: str) -> bool:
    package = module.rpartition(".")[0]
    return find_spec(package) is not None and find_spec(module) is not None


ROUTES: tuple[Route, ...] = tuple(route for routes in _collect("ROUTES") for route in routes)
TOPICS: dict[str, frozenset[str]] = {prefix: who for topics in _collect("TOPICS") for prefix, who in topics.items()}
