from django.db import migrations, models

HELP = "pools, shapes, causes, fits, without its rows per node; compressed JSON"


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0005_packed_reports"),
    ]

    operations = [
        migrations.RemoveField("measurement", "report"),
        migrations.RenameField("measurement", "packed", "report"),
        migrations.AlterField("measurement", "report", models.BinaryField(help_text=HELP)),
    ]
