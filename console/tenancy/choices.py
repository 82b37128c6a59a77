"""Roles and what each may do, and the closed words of the book of quotas."""

from django.db.models import TextChoices


class Role(TextChoices):
    VIEWER = "viewer", "Viewer"
    OPERATOR = "operator", "Operator"
    APPROVER = "approver", "Approver"
    TENANT_USER = "tenant_user", "Tenant user"
    TENANT_ADMIN = "tenant_admin", "Tenant admin"


class EntryKind(TextChoices):
    """What the book has entries of."""

    TENANT = "tenant", "tenant"
    COHORT = "cohort", "cohort"
    PRIORITY = "class", "priority class"
    PRICE = "price", "price"


class EditionKind(TextChoices):
    """How an edition of the book came about."""

    EDIT = "edit", "edited"
    FILE = "file", "from a file"
    BACK = "back", "put back"


class Tier(TextChoices):
    HP = "hp", "HP"
    LP = "lp", "LP"


_OWN = frozenset({"inventory.view_own", "tenancy.view_own", "prices.view_price", "standby.view_own"})
_VIEW = _OWN | {
    "inventory.view_fleet",
    "policies.view_policy",
    "plans.view_plan",
    "audit.view_entries",
    "oncall.view_rota",
    "tenancy.view_tenants",
    "simulation.view_study",
    "spot.view_pool",
    "standby.view_pool",
    "prices.view_proposal",
}
_OPERATE = _VIEW | {
    "inventory.load_cluster",
    "inventory.ask_release",
    "plans.request_plan",
    "plans.run_plan",
    "plans.set_freeze",
    "tenancy.set_quotas",
    "simulation.run_study",
    "standby.recall",
    "prices.propose_price",
}
_TENANT = _OWN | {"standby.set_window", "standby.recall", "spot.view_own", "spot.ask_lease", "inventory.answer_release"}

PERMISSIONS: dict[str, frozenset[str]] = {
    Role.VIEWER: _VIEW,
    Role.OPERATOR: _OPERATE,
    Role.APPROVER: _OPERATE
    | {"plans.approve_plan", "plans.break_glass", "plans.release_lock", "policies.set_policy"}
    | {"oncall.set_rota", "oncall.answer"}
    | {"prices.approve_price", "prices.set_terms"},
    Role.TENANT_USER: _TENANT,
    Role.TENANT_ADMIN: _TENANT | {"tenancy.divide_quotas"},
}

WORDS = {
    "inventory.view_fleet": "see the whole fleet",
    "inventory.view_own": "see workloads of its own tenants",
    "inventory.load_cluster": "load a cluster",
    "inventory.ask_release": "ask owners to release their locks",
    "inventory.answer_release": "answer for the locks of its tenants",
    "tenancy.view_own": "see quotas and use of its own tenants",
    "tenancy.view_tenants": "see quotas and use of all tenants",
    "tenancy.set_quotas": "set quotas, limits, budgets and prices",
    "tenancy.divide_quotas": "divide the quota of its tenants among their teams",
    "policies.view_policy": "see policies",
    "policies.set_policy": "decide policies and windows",
    "oncall.view_rota": "see who is on call",
    "oncall.set_rota": "set a rota",
    "oncall.answer": "answer calls, or take over",
    "plans.view_plan": "see plans",
    "plans.request_plan": "request a plan",
    "plans.approve_plan": "approve or reject a plan",
    "plans.break_glass": "break the glass, or review that somebody did",
    "plans.run_plan": "run, pause or halt a plan",
    "plans.release_lock": "release the locks of a plan that does not run",
    "plans.set_freeze": "set or lift a freeze",
    "simulation.view_study": "see studies, which name everybody's jobs",
    "simulation.run_study": "run, cancel or delete studies",
    "spot.view_own": "see the spot capacity of its own tenants",
    "spot.ask_lease": "ask for spot capacity, or give it back",
    "spot.view_pool": "see the spot capacity of all tenants",
    "standby.view_own": "see the standby windows of its own tenants",
    "standby.view_pool": "see the whole standby pool",
    "standby.set_window": "say when workloads of its tenants sleep",
    "standby.recall": "recall standby",
    "prices.view_price": "see prices of spot capacity",
    "prices.view_proposal": "see proposals of prices, which name everybody's use",
    "prices.propose_price": "propose prices",
    "prices.approve_price": "approve or reject prices",
    "prices.set_terms": "decide between which bounds prices may lie",
    "audit.view_entries": "read the audit log",
}

# Name (the password alike) -> role.  Created by the demo and by nothing else.
DEMO_LOGINS: dict[str, Role] = {
    "operator": Role.OPERATOR,
    "approver": Role.APPROVER,
    "approver2": Role.APPROVER,
    "tenant": Role.TENANT_USER,
    "lead": Role.TENANT_ADMIN,
    "viewer": Role.VIEWER,
}
