"""Permission of an API view, by its Django permission name."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request


class NeedsPermission(BasePermission):
    """The view names it: ``permission = "audit.view_entries"``, or ``permissions = {"GET": .., "POST": ..}``."""

    def has_permission(self, request: Request, view: Any) -> bool:
        by_method: dict[str, str] = getattr(view, "permissions", {})
        wanted = by_method.get(request.method or "", getattr(view, "permission", None))
        user = request.user
        if not (wanted and user and user.is_authenticated):
            return False
        if user.has_perm(wanted):
            return True
        self.message = user.refusal(wanted)  # every no has its reason
        return False
