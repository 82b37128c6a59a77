"""The append-only book of decisions.  Triggers in both databases refuse updates and deletes."""

from typing import ClassVar

from django.db import models


class Entry(models.Model):
    """Who did what to which thing, why, and the digest of what was signed.

    The actor is written as a name and a number, not as a foreign key: an entry must outlive the account.
    """

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.CharField(max_length=150)  # "system" where no person acted
    actor_uid = models.BigIntegerField(null=True)
    action = models.CharField(max_length=64, db_index=True)  # noun.past, e.g. "plan.approved"
    target_kind = models.CharField(max_length=32)
    target_id = models.CharField(max_length=253)
    reason = models.TextField(blank=True)
    digest = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [
            models.Index(fields=["target_kind", "target_id"], name="audit_target"),
            models.Index(fields=["actor"], name="audit_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target_kind} {self.target_id} by {self.actor}"

    @property
    def facts(self) -> str:
        """The detail in one line: which pod from where to where, which numbers; nested facts stay in CSV and API."""
        plain = ((word, value) for word, value in self.detail.items() if isinstance(value, str | int) and word != "uid")
        return ", ".join(f"{word} {value}" for word, value in plain)
