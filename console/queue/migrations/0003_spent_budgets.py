"""A reason more, in the middle of the order: ranks that are kept are those of the order."""

from typing import Any

from django.db import migrations, models

REASONS = [
    ("misconfigured", "Misconfigured"),
    ("no_such_model", "No such GPU model"),
    ("quota", "Quota"),
    ("budget", "Budget spent"),
    ("constraint", "Placement constraint"),
    ("topology", "Topology"),
    ("fragmentation", "Fragmentation"),
    ("capacity", "Not enough free GPUs"),
    ("queued", "Behind others in the queue"),
    ("waiting_for_victims", "Waiting for pods to leave"),
    ("not_evaluated", "Not evaluated yet"),
    ("budget_ran_out", "Search budget ran out"),
    ("fits_now", "Would start now"),
]


def rank(words: list[str]) -> Any:
    def ranked(apps: Any, _editor: Any) -> None:
        jobs = apps.get_model("queue", "Job").objects
        for place, word in enumerate(words):
            jobs.filter(reason=word).update(rank=place)

    return ranked


NOW = [word for word, _ in REASONS]
BEFORE = [word for word in NOW if word != "budget"]


class Migration(migrations.Migration):
    dependencies = [("queue", "0002_inquiries")]

    operations = [
        migrations.AlterField("job", "reason", models.CharField(choices=REASONS, max_length=24)),
        migrations.AlterField("sighting", "reason", models.CharField(blank=True, choices=REASONS, max_length=24)),
        migrations.RunPython(rank(NOW), rank(BEFORE)),
    ]
