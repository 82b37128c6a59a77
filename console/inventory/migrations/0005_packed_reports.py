"""Reports are kept compressed.  Old ones are carried over row by row; the next migration takes their old place away."""

import json
import zlib
from typing import Any

from django.db import migrations, models


def pack(apps: Any, editor: Any) -> None:
    rows = apps.get_model("inventory", "Measurement").objects.using(editor.connection.alias)
    for pk in list(rows.values_list("pk", flat=True)):
        report = rows.values_list("report", flat=True).get(pk=pk)
        rows.filter(pk=pk).update(packed=zlib.compress(json.dumps(report, separators=(",", ":")).encode(), 6))


def unpack(apps: Any, editor: Any) -> None:
    rows = apps.get_model("inventory", "Measurement").objects.using(editor.connection.alias)
    for pk in list(rows.values_list("pk", flat=True)):
        packed = rows.values_list("packed", flat=True).get(pk=pk)
        rows.filter(pk=pk).update(report=json.loads(zlib.decompress(packed)))


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0004_idling"),
    ]

    operations = [
        migrations.AlterField(
            "measurement", "report", models.JSONField(null=True)
        ),  # empty for a while on the way back
        migrations.AddField("measurement", "packed", models.BinaryField(null=True)),
        migrations.RunPython(pack, unpack),
    ]
