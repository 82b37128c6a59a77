from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """The simulated cluster counts requests of moved services; of operations before this nobody looked."""

    dependencies: ClassVar = [
        ("connectors", "0002_credentials"),
    ]

    operations: ClassVar = [
        migrations.AddField(
            model_name="simulatedoperation",
            name="ended_s",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="simulatedoperation",
            name="lost",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="simulatedoperation",
            name="served",
            field=models.PositiveBigIntegerField(help_text="requests while it moved; null: nobody counted", null=True),
        ),
        migrations.AddField(
            model_name="simulatedoperation",
            name="service",
            field=models.CharField(
                help_text='of the moved pod; "": none, null: nobody looked', max_length=800, null=True
            ),
        ),
        migrations.AddIndex(
            model_name="simulatedoperation",
            index=models.Index(fields=["cluster", "service"], name="simulated_operation_service"),
        ),
    ]
