"""Users with one role each, and the tenants they belong to."""

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models

from console.tenancy.choices import WORDS, Role


class Tenant(models.Model):
    """A team or customer that owns pods; a parent's members see the pods of its children."""

    name = models.CharField(max_length=253, unique=True)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class User(AbstractUser):
    """A person, or a program with a token."""

    role = models.CharField(max_length=16, choices=Role, default=Role.VIEWER)
    tenants = models.ManyToManyField(Tenant, blank=True, related_name="members")

    def refusal(self, permission: str) -> str:
        """Why this person may not do what ``permission`` names, in words fit for a page and for the API."""
        role = str(self.get_role_display()).lower()
        article = "an" if role[:1] in "aeio" else "a"
        return f"{self.get_username()} is {article} {role} and may not {WORDS.get(permission, permission)}."
