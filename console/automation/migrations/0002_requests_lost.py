from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Runs in a pool keep the requests that were lost; of runs before this nobody knows."""

    dependencies: ClassVar = [
        ("automation", "0001_initial"),
    ]

    operations: ClassVar = [
        migrations.AddField(
            model_name="poolrun",
            name="requests_asked",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="poolrun",
            name="requests_lost",
            field=models.PositiveBigIntegerField(null=True),
        ),
    ]
