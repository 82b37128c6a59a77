from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Steps keep what the services of moved pods were asked while these moved, where their cluster counts it."""

    dependencies: ClassVar = [
        ("plans", "0013_resting_runs"),
    ]

    operations: ClassVar = [
        migrations.AddField(
            model_name="step",
            name="requests_lost",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="step",
            name="requests_served",
            field=models.PositiveBigIntegerField(null=True),
        ),
    ]
