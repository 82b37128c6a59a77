"""The demo's people: one login a role and a second approver, who takes turns with the first."""

import pytest

from console.demo import services
from console.oncall.models import Contact, Rota
from console.tenancy.choices import DEMO_LOGINS, Role
from console.tenancy.models import User


@pytest.mark.django_db
def test_two_approvers_take_turns_and_a_second_start_changes_nothing() -> None:
    assert services.seed_people() == list(DEMO_LOGINS)
    Rota.objects.update(reason="changed by somebody")
    services.seed_people()
    row = Rota.objects.get()
    assert [one.user.username for one in row.members.all()] == ["approver", "approver2"]
    assert row.reason == "changed by somebody" and row.scope == "fleet"
    assert User.objects.filter(role=Role.APPROVER).count() == 2
    assert all(one.shown.endswith(".invalid") for one in Contact.objects.all())  # leads nowhere, whoever sets up mail
