"""Models, migrations and the schema of the API agree."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_migrations_are_up_to_date() -> None:
    said = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=said)
    assert said.getvalue().strip() == "No changes detected"


@pytest.mark.django_db(transaction=True)
def test_migrations_can_be_undone_and_done_again() -> None:
    """The append-only triggers among them."""
    call_command("migrate", "audit", "zero", verbosity=0)
    call_command("migrate", "audit", verbosity=0)
    said = StringIO()
    call_command("migrate", "--check", "--plan", stdout=said)
    assert "No planned migration operations" in said.getvalue()


def test_the_api_schema_is_valid_and_complete(tmp_path: Path) -> None:
    file = tmp_path / "schema.yaml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(file))
    assert "/api/v1/me/" in file.read_text()
