from typing import Any

import django.utils.timezone
from django.db import migrations, models


def begin_at_the_last_confirmation(apps: Any, schema_editor: Any) -> None:
    """Of older readings only that instant is known; a reading must not claim to have held before it."""
    apps.get_model("inventory", "Observation").objects.update(begun_at=models.F("observed_at"))


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Comparison",
            fields=[
                (
                    "key",
                    models.CharField(
                        help_text="digest of the two digests", max_length=64, primary_key=True, serialize=False
                    ),
                ),
                ("then_digest", models.CharField(max_length=64)),
                ("now_digest", models.CharField(max_length=64)),
                (
                    "asked_at",
                    models.DateTimeField(help_text="when a worker was last asked; asked again where none answers"),
                ),
                ("failure", models.TextField(blank=True, help_text="why there will be no answer")),
                ("ledger", models.BinaryField(help_text="pools, causes and tenants: compressed JSON", null=True)),
                ("columns", models.BinaryField(help_text="changes of each node in cell order, compressed", null=True)),
            ],
        ),
        migrations.AddField(
            model_name="observation",
            name="begun_at",
            field=models.DateTimeField(
                default=django.utils.timezone.now, help_text="as our clock says, when it was first made; stays"
            ),
            preserve_default=False,
        ),
        migrations.RunPython(begin_at_the_last_confirmation, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(fields=["source", "-begun_at"], name="reading_of_instant"),
        ),
    ]
