"""What every form of a page can do with a refusal of a service."""

from typing import ClassVar

from django import forms


class FieldForm(forms.Form):
    """``shown_at``: field of the service -> field of the form, where they differ."""

    shown_at: ClassVar[dict[str, str]] = {}

    def refuse(self, field: str, reason: str) -> None:
        """At the field that it is about; above the form where that has no such field, or a hidden one."""
        shown = self.shown_at.get(field, field)
        fits = shown in self.fields and not self.fields[shown].widget.is_hidden
        self.add_error(shown if fits else None, reason)


def first_error(form: forms.Form) -> str:
    """The first of its errors, with the field, on one line."""
    for field, errors in form.errors.items():
        label = form.fields[field].label if field in form.fields else ""
        return f"{label or field}: {errors[0]}" if field != "__all__" else str(errors[0])
    return "something is missing"
