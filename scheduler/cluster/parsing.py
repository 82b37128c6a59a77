"""JSON text to records: what is absent is dropped, what is unknown is kept aside, what is wrong is named."""

import re
from dataclasses import dataclass, field
from typing import get_args

import msgspec

from scheduler.cluster import strict
from scheduler.cluster.errors import InputError
from scheduler.cluster.quiet import no_collection
from scheduler.cluster.records import SCHEMA, Document, Health, MoveMode, Tier, WorkClass
from scheduler.cluster.shapes import DOCUMENT, FREE_TEXT, Shape

Extras = dict[str, dict[str, object]]
CHOICES = {"tier": Tier, "class": WorkClass, "move": MoveMode, "health": Health}
TYPE_WORDS = {
    "int": "an integer",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "int | null": "an integer",
    "str | null": "text",
    "object | null": "an object",
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document and the fields that the format does not know, by the JSON path of the object that carried them."""

    document: Document
    extras: Extras


@dataclass(slots=True)
class _Sweep:
    """What one pass over the raw document found; ``keys`` counts every key, to notice keys given twice."""

    extras: Extras = field(default_factory=dict)
    keys: int = 0


def parse(data: bytes) -> Parsed:
    """Read one ``slackline/snapshot/v1`` document; raises ``InputError`` for anything that is not one."""
    with no_collection():
        try:
            return _parse(data.removeprefix(b"\xef\xbb\xbf"))
        except RecursionError:  # JSON that could be decoded may still be too deep to look through
            raise InputError("$", None, f"not valid JSON: {strict.MAX_DEPTH_REASON}") from None


def _parse(data: bytes) -> Parsed:
    raw = strict.decode(data)
    if not isinstance(raw, dict):
        raise InputError("$", _short(raw), "expected an object with schema, taken_at, nodes and pods")
    sweep = _Sweep()
    no_rows: dict[str, object] = {kind: [] for kind in ("nodes", "pods") if raw.get(kind) == []}
    _sweep_object(raw, DOCUMENT, "$", sweep)
    raw |= no_rows  # a cluster without nodes or pods is a cluster; a document without the lists is not one
    strict.refuse_double_keys(data, sweep.keys)
    if raw.get("schema") != SCHEMA:
        reason = "required field is missing" if "schema" not in raw else f"expected {SCHEMA!r}"
        raise InputError("$.schema", _short(raw.get("schema")), reason)
    try:
        return Parsed(msgspec.convert(raw, Document), sweep.extras)
    except msgspec.ValidationError as error:
        raise _readable(raw, str(error)) from None


def _sweep_object(row: dict[str, object], shape: Shape, path: str, sweep: _Sweep) -> None:
    """Drop absent fields in place, set unknown ones aside, and go on into nested objects."""
    sweep.keys += len(row)
    dead = [
        key
        for key, value in row.items()
        if value is None
        or (value.__class__ is str and (not value or value.isspace()))
        or (value.__class__ is list and not value)
    ]
    for key in dead:
        del row[key]
    if not row.keys() <= shape.known:
        unknown = {key: _kept(row.pop(key), sweep) for key in row.keys() - shape.known}
        sweep.extras[path] = dict(sorted(unknown.items()))
    for key in shape.nested.keys() & row.keys():
        _sweep_nested(row, key, shape.nested[key], path, sweep)


def _sweep_nested(row: dict[str, object], key: str, shape: Shape, path: str, sweep: _Sweep) -> None:
    value = row[key]
    if isinstance(value, list):
        for i, item in enumerate(value):
            if isinstance(item, dict):
                _sweep_object(item, shape, f"{path}.{key}[{i}]", sweep)
    elif isinstance(value, dict):
        if shape is FREE_TEXT:
            sweep.keys += len(value)
            if None in value.values():
                row[key] = {name: word for name, word in value.items() if word is not None}
        else:
            _sweep_object(value, shape, f"{path}.{key}", sweep)


def _kept(value: object, sweep: _Sweep) -> object:
    """An unknown field's value as it can be stored: integers beyond 64 bits become text, which keeps their digits."""
    if isinstance(value, dict):
        sweep.keys += len(value)
        return {key: _kept(item, sweep) for key, item in value.items()}
    if isinstance(value, list):
        return [_kept(item, sweep) for item in value]
    return str(value) if isinstance(value, int) and not -(2**63) <= value < 2**64 else value


def _readable(raw: dict[str, object], message: str) -> InputError:
    """Turn msgspec's words (``Expected `int`, got `float` - at `$.pods[3].gpus```) into path, value and reason."""
    what, _, where = message.partition(" - at `")
    path = where.rstrip("`") or "$"
    if missing := re.fullmatch(r"Object missing required field `(.+)`", what):
        return InputError(f"{path}.{missing[1]}", None, "required field is missing")
    if wanted := re.fullmatch(r"Expected `(.+)`, got `.+`", what):
        path, value = _locate(raw, path, wanted[1])
        return InputError(path, _short(value), f"expected {_type_words(wanted[1])}")
    path, value = _locate(raw, path, "")
    choices = CHOICES.get(path.rpartition(".")[2])
    if what.startswith("Invalid enum value") and choices is not None:
        return InputError(path, _short(value), f"expected one of {', '.join(get_args(choices))}")
    return InputError(path, _short(value), what[:1].lower() + what[1:])


def _type_words(types: str) -> str:
    return TYPE_WORDS.get(types) or " or ".join(TYPE_WORDS.get(t, t) for t in types.split(" | ") if t != "null")


def _locate(raw: object, path: str, wanted: str) -> tuple[str, object]:
    """The value at a path of msgspec's, in which ``[...]`` stands for one of an object's values."""
    shown, value = "$", raw
    for name, index, some in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]|(\[\.\.\.\])", path):
        if name:
            shown, value = f"{shown}.{name}", value.get(name) if isinstance(value, dict) else None
        elif index:
            shown, value = f"{shown}[{index}]", value[int(index)] if isinstance(value, list) else None
        elif some and isinstance(value, dict):
            right = int if wanted == "int" else str
            key = next((k for k, v in value.items() if type(v) is not right), "...")
            shown, value = f"{shown}.{key}", value.get(key)
    return shown, value


def _short(value: object) -> object:
    """Long values are cut, so that an error stays one readable line."""
    text = repr(value)
    return value if len(text) <= 80 else text[:77] + "..."
