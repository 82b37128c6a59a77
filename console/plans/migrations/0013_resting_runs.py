from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """A run that waits for nothing but checkpoints needs no worker until it looks for them."""

    dependencies: ClassVar = [("plans", "0012_checkpoints")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="plan",
            name="looks_at",
            field=models.DateTimeField(null=True),
        ),
    ]
