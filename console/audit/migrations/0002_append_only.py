"""Entries can be added and nothing else, whoever holds the connection."""

from django.db import migrations

SQLITE = [
    """CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry
       BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
    """CREATE TRIGGER audit_entry_no_delete BEFORE DELETE ON audit_entry
       BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END""",
]
POSTGRESQL = [
    """CREATE FUNCTION audit_entry_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'audit entries are append-only' USING ERRCODE = 'integrity_constraint_violation'; END $$""",
    """CREATE TRIGGER audit_entry_no_change BEFORE UPDATE OR DELETE ON audit_entry
       FOR EACH ROW EXECUTE FUNCTION audit_entry_refuse()""",
    """CREATE TRIGGER audit_entry_no_truncate BEFORE TRUNCATE ON audit_entry
       FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_refuse()""",
]
UNDO = {
    "sqlite": ["DROP TRIGGER audit_entry_no_update", "DROP TRIGGER audit_entry_no_delete"],
    "postgresql": [
        "DROP TRIGGER audit_entry_no_change ON audit_entry",
        "DROP TRIGGER audit_entry_no_truncate ON audit_entry",
        "DROP FUNCTION audit_entry_refuse()",
    ],
}


def forbid_changes(apps, schema_editor):
    statements = {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]
    for statement in statements:
        schema_editor.execute(statement)


def allow_changes(apps, schema_editor):
    for statement in UNDO[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [migrations.RunPython(forbid_changes, allow_changes)]
