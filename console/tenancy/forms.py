import json
import re
from collections.abc import Mapping
from typing import Any

from django import forms

from console.tenancy.entries import BookError, Given, Wrong, given_of
from console.tenancy.twin import read_table

MAX_DAYS = 365


class TokenForm(forms.Form):
    days = forms.IntegerField(label="Valid for (days)", min_value=1, max_value=MAX_DAYS, initial=30)


MAX_TABLE = 4_000_000
PERIODS = ("month", "quarter", "rolling-30")
NAMESPACES = "namespaces"
OWN_FIELDS = ("parent", "cohort", "weight", "cap_gpus", "guarantee_gpus", "min_runtime_s")


class ReasonForm(forms.Form):
    reason = forms.CharField(max_length=2000, label="Reason, kept in the history")
    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


class BookForm(forms.Form):
    """The book as a file or as text: JSON entries, or the CSV twin."""

    file = forms.FileField(required=False, label="File (JSON or CSV)", max_length=255)
    text = forms.CharField(required=False, label="or text", max_length=MAX_TABLE, strip=False, widget=forms.Textarea)
    whole = forms.BooleanField(required=False, label="What it does not name is removed")
    reason = forms.CharField(required=False, max_length=2000, label="Reason, kept in the history")
    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """The text, wherever it came from."""
        said = super().clean() or {}
        upload = said.get("file")
        if upload is not None and upload.size > MAX_TABLE:
            raise forms.ValidationError(f"{upload.name} is larger than {MAX_TABLE:,} bytes.")
        if upload is not None:
            try:
                said["text"] = upload.read().decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise forms.ValidationError(f"{upload.name} is not UTF-8 (byte {error.start}).") from error
        if not str(said.get("text") or "").strip():
            raise forms.ValidationError("Choose a file, or write what the book shall say.")
        return said


def given_of_text(text: str) -> list[Given]:
    """JSON where it begins like JSON, else the CSV twin.  Raises ``BookError``."""
    if not text.lstrip("\ufeff \r\n\t").startswith(("[", "{")):
        return read_table(text)
    try:
        found = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise BookError([Wrong("", "", f"is no JSON: {error}"[:300])]) from error
    return given_of(found.get("entries") if isinstance(found, dict) else found)


def document_of(post: Mapping[str, str]) -> dict[str, Any]:
    """The entry that the form of a tenant sends: fields named as in ``entries.flat``, nested ones by dots."""
    document: dict[str, Any] = {field: post.get(field, "") for field in OWN_FIELDS}
    document[NAMESPACES] = [one for one in re.split(r"[\s,|]+", post.get(NAMESPACES, "")) if one]
    for name, value in post.items():
        nest, dot, rest = name.partition(".")
        what, last, field = rest.rpartition(".")
        if nest in ("quotas", "budgets") and dot and last and what:
            document.setdefault(nest, {}).setdefault(what, {})[field] = value
    return document
