"""Which fields each object of the format knows, drawn from the records themselves."""

import types
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from scheduler.cluster.records import Document


@dataclass(frozen=True, slots=True)
class Shape:
    """The known field names of an object, and the shapes of those fields that hold objects."""

    known: frozenset[str]
    nested: dict[str, "Shape"]


FREE_TEXT = Shape(frozenset(), {})  # an object whose keys the user chooses


def _shape(record: type[msgspec.Struct]) -> Shape:
    hints = get_type_hints(record)
    encoded = dict(zip(record.__struct_fields__, record.__struct_encode_fields__, strict=True))
    nested = {encoded[name]: found for name, hint in hints.items() if (found := _inner(hint)) is not None}
    tag = record.__struct_config__.tag_field
    return Shape(frozenset(encoded.values()) | ({tag} if tag else set()), nested)


def _inner(hint: Any) -> Shape | None:
    """The shape of the objects in a field of this type: itself, in a list, or one of several choices."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _shape(hint)
    origin = get_origin(hint)
    if origin is dict:
        return FREE_TEXT
    if origin in (list, Union, types.UnionType):
        return next((found for part in get_args(hint) if (found := _inner(part)) is not None), None)
    return None


DOCUMENT = _shape(Document)
