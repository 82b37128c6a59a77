"""Roles, and what each may do: the one table that the permission backend reads."""

from django.db.models import TextChoices


class Role(TextChoices):
    VIEWER = "viewer", "Viewer"
    OPERATOR = "operator", "Operator"
    APPROVER = "approver", "Approver"
    TENANT_USER = "tenant_user", "Tenant user"
    TENANT_ADMIN = "tenant_admin", "Tenant admin"


_VIEW = frozenset(
    {"inventory.view_fleet", "inventory.view_own", "policies.view_policy", "plans.view_plan", "audit.view_entries"}
    | {"oncall.view_rota"}
)
_OPERATE = _VIEW | {
    "inventory.load_cluster",
    "inventory.ask_release",
    "plans.request_plan",
    "plans.run_plan",
    "plans.set_freeze",
}

PERMISSIONS: dict[str, frozenset[str]] = {
    Role.VIEWER: _VIEW,
    Role.OPERATOR: _OPERATE,
    Role.APPROVER: _OPERATE
    | {"plans.approve_plan", "plans.break_glass", "plans.release_lock", "policies.set_policy"}
    | {"oncall.set_rota", "oncall.answer"},
    Role.TENANT_USER: frozenset({"inventory.view_own", "inventory.answer_release"}),
    Role.TENANT_ADMIN: frozenset({"inventory.view_own", "inventory.answer_release"}),
}

WORDS = {
    "inventory.view_fleet": "see the whole fleet",
    "inventory.view_own": "see workloads of its own tenants",
    "inventory.load_cluster": "load a cluster",
    "inventory.ask_release": "ask owners to release their locks",
    "inventory.answer_release": "answer for the locks of its tenants",
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
    "audit.view_entries": "read the audit log",
}

# Name (the password alike) -> role.  Created by the demo and by nothing else.
DEMO_LOGINS: dict[str, Role] = {
    "operator": Role.OPERATOR,
    "approver": Role.APPROVER,
    "approver2": Role.APPROVER,
    "tenant": Role.TENANT_USER,
    "viewer": Role.VIEWER,
}
