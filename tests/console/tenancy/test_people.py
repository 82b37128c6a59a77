"""Roles, permissions and whose names are seen."""

import pytest
from django.contrib.auth.models import AnonymousUser, Permission

from console.tenancy.choices import PERMISSIONS, WORDS, Role
from console.tenancy.models import Tenant
from console.tenancy.selectors import tenant_scope
from console.tenancy.services import Denied, require
from tests.builders.people import approver, operator, person, stranger, tenant, viewer

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", list(Role))
def test_a_role_has_what_the_table_says_and_no_more(role: Role) -> None:
    user = person(role)
    assert {name for name in WORDS if user.has_perm(name)} == PERMISSIONS[role]


def test_operators_act_and_do_not_approve() -> None:
    assert operator().has_perms(["plans.request_plan", "plans.run_plan", "plans.set_freeze"])
    assert not operator().has_perm("plans.approve_plan")
    assert approver().has_perm("plans.approve_plan")


def test_groups_and_grants_count_for_nothing() -> None:
    user = viewer()
    user.user_permissions.set(Permission.objects.all())
    user = type(user).objects.get(pk=user.pk)
    assert not user.has_perm("plans.approve_plan")
    assert not user.has_perm("tenancy.delete_user")


def test_an_account_that_is_switched_off_may_nothing() -> None:
    user = approver()
    user.is_active = False
    assert not user.has_perm("plans.view_plan")


def test_every_permission_can_be_said_in_words() -> None:
    assert set().union(*PERMISSIONS.values()) <= set(WORDS)


def test_a_refusal_says_who_and_what() -> None:
    require(approver(), "plans.approve_plan")
    with pytest.raises(Denied, match="operator is an operator and may not approve or reject a plan"):
        require(operator(), "plans.approve_plan")
    with pytest.raises(Denied, match="Sign in first"):
        require(AnonymousUser(), "plans.view_plan")


def test_scope_of_fleet_roles_is_all_names() -> None:
    assert [tenant_scope(user) for user in (viewer(), operator(), approver())] == [None, None, None]


def test_scope_of_a_tenant_holds_its_children_and_nobody_elses() -> None:
    user = tenant("dept-01")
    parent = Tenant.objects.get(name="dept-01")
    child = Tenant.objects.create(name="dept-01-a", parent=parent)
    Tenant.objects.create(name="dept-01-a-x", parent=child)
    Tenant.objects.create(name="dept-02")
    assert tenant_scope(user) == {"dept-01", "dept-01-a", "dept-01-a-x"}
    assert tenant_scope(stranger()) == frozenset()


def test_a_circle_of_tenants_ends() -> None:
    user = tenant("a")
    first = Tenant.objects.get(name="a")
    second = Tenant.objects.create(name="b", parent=first)
    Tenant.objects.filter(pk=first.pk).update(parent=second)
    assert tenant_scope(user) == {"a", "b"}
