"""Nobody changes what was written, whatever the way in."""

import pytest
from django.db import DatabaseError, connection, transaction

from console.audit.models import Entry
from console.audit.services import record
from tests.builders.people import approver

pytestmark = pytest.mark.django_db

CHANGES = {
    "save": lambda entry: Entry.objects.filter(pk=entry.pk).update(reason="another"),
    "queryset delete": lambda entry: Entry.objects.filter(pk=entry.pk).delete(),
    "raw update": lambda entry: _run("UPDATE audit_entry SET actor = 'somebody' WHERE id = %s", entry.pk),
    "raw delete": lambda entry: _run("DELETE FROM audit_entry WHERE id = %s", entry.pk),
}


def _run(statement: str, *arguments: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)


@pytest.mark.parametrize("way", CHANGES)
def test_an_entry_cannot_be_changed(way: str) -> None:
    entry = record(actor=approver(), action="plan.approved", target_kind="plan", target_id=7, reason="fits", digest="d")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        CHANGES[way](entry)
    entry.refresh_from_db()
    assert (entry.actor, entry.reason) == ("approver", "fits")


def test_truncate_is_refused_where_there_is_such_a_thing() -> None:
    record(actor=None, action="plan.expired", target_kind="plan", target_id=7)
    statement = "TRUNCATE audit_entry" if connection.vendor == "postgresql" else "DELETE FROM audit_entry"
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        _run(statement)
    assert Entry.objects.count() == 1


def test_an_entry_outlives_the_account() -> None:
    person = approver("a-person")
    entry = record(actor=person, action="plan.approved", target_kind="plan", target_id="7")
    uid = person.pk
    person.delete()
    entry.refresh_from_db()
    assert (entry.actor, entry.actor_uid) == ("a-person", uid)


def test_what_no_person_did_is_the_systems() -> None:
    assert record(actor=None, action="plan.expired", target_kind="plan", target_id=7).actor == "system"
    assert record(actor="importer", action="source.loaded", target_kind="source", target_id="c").actor == "importer"


def test_entry_and_deed_share_one_transaction() -> None:
    class Surprise(Exception):
        pass

    with pytest.raises(Surprise), transaction.atomic():
        record(actor=None, action="plan.approved", target_kind="plan", target_id=7)
        raise Surprise
    assert not Entry.objects.exists()
