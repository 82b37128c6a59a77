from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("connectors", "0003_requests_counted"),
    ]

    operations = [
        migrations.AddField(
            model_name="simulatedoperation",
            name="course",
            field=models.JSONField(help_text="of a recall or an eviction: connectors.leaving.Course", null=True),
        ),
    ]
