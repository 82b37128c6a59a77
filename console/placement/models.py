"""Questions where a job should go, and their answers, each of one reading."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from console.inventory.models import Source
from console.placement.choices import QuestionState


class Question(models.Model):
    """The answer is a recommendation of one reading and grows old with it; nobody is bound by it."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="placement_questions")
    cluster = models.CharField(max_length=253)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    asked = models.JSONField(help_text="the shape and its wishes, as plain fields")
    state = models.CharField(max_length=8, choices=QuestionState, default=QuestionState.ASKED)
    revision = models.BigIntegerField(null=True, help_text="of the reading that the answer is of")
    observed_at = models.DateTimeField(null=True, help_text="when that reading was observed")
    done_at = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)
    drawing = models.BinaryField(null=True, help_text="the nodes before and after: compressed JSON")
    failure = models.TextField(blank=True, help_text="why there is no answer")

    class Meta:
        ordering: ClassVar = ["-id"]

    @property
    def together(self) -> bool:
        """Whether it asks about several waiting jobs, not about a shape."""
        return "first" in self.asked

    def __str__(self) -> str:
        if self.together:
            return f"the first {self.asked['first']} of the queue in {self.cluster}: {self.state}"
        return f"{self.asked.get('pods')} pods in {self.cluster}: {self.state}"
