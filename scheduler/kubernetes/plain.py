"""Decoded JSON before it has a type."""

from typing import Any


def without_nulls(value: Any) -> Any:
    """A field that is null is a field that is absent."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return value
