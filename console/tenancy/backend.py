"""The one place where a role becomes permissions."""

from typing import Any

from django.contrib.auth.backends import ModelBackend

from console.tenancy.choices import PERMISSIONS


class RoleBackend(ModelBackend):
    """Passwords as Django checks them; permissions by role alone, groups and per-user grants count for nothing."""

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        if not user_obj.is_active or user_obj.is_anonymous:
            return set()
        return set(PERMISSIONS.get(user_obj.role, frozenset()))

    def get_user_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        return self.get_all_permissions(user_obj, obj)

    def get_group_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        return set()

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return perm in self.get_all_permissions(user_obj, obj)

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        return any(perm.startswith(f"{app_label}.") for perm in self.get_all_permissions(user_obj))
