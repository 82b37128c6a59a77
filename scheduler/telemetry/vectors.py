"""The answer of Prometheus to an instant query: JSON to samples.

The form is that of the HTTP API, version 1: an object with status, and data of resultType vector; each result has its
labels and a pair of unix seconds and the value as text.
"""

import math
import re
from typing import Any, NamedTuple

import msgspec

from scheduler.cluster.errors import InputError
from scheduler.cluster.strict import without_nul

LONGEST_REASON = 300
_AT = re.compile(r"^(?P<reason>.*?)(?: - at `(?P<path>\$[^`]*)`)?$", re.DOTALL)


class Sample(NamedTuple):
    """One series now.  ``value`` None: not a number, which is unknown and never 0."""

    metric: str
    labels: dict[str, str]
    at_s: float
    value: float | None


class _Series(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str]


class _Head(msgspec.Struct, frozen=True):
    status: str
    data: msgspec.Raw = msgspec.Raw()
    errorType: str = ""  # noqa: N815 - as the API spells it
    error: str = ""


class _Kind(msgspec.Struct, frozen=True):
    resultType: str  # noqa: N815


class _Vector(msgspec.Struct, frozen=True):
    result: list[_Series]


_HEAD, _KIND, _VECTOR = (msgspec.json.Decoder(shape) for shape in (_Head, _Kind, _Vector))


def parse_vector(data: bytes, metric: str = "") -> tuple[Sample, ...]:
    """The samples; ``metric`` names series that have no name.  Raises ``InputError`` with the JSON path."""
    head: _Head = _decoded(_HEAD, without_nul(data), "$")
    if head.status != "success":
        told = f"{head.errorType}: {head.error}".strip(": ")[:LONGEST_REASON]
        raise InputError("$.status", head.status[:40], told or "the query did not succeed")
    kind: _Kind = _decoded(_KIND, head.data, "$.data")
    if kind.resultType != "vector":
        raise InputError("$.data.resultType", kind.resultType[:40], "expected a vector")
    vector: _Vector = _decoded(_VECTOR, head.data, "$.data")
    return tuple(_sample(series, place, metric) for place, series in enumerate(vector.result))


def _decoded(decoder: msgspec.json.Decoder[Any], data: bytes | msgspec.Raw, path: str) -> Any:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        found = _AT.match(str(error))
        inner = (found["path"] or "$") if found else "$"
        reason = found["reason"] if found else str(error)
        raise InputError(path + inner.removeprefix("$"), None, reason[:LONGEST_REASON]) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(path, None, "not valid JSON") from None


def _sample(series: _Series, place: int, metric: str) -> Sample:
    at_s, text = series.value
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"$.data.result[{place}].value[1]", text[:40], "not a number") from None
    name = series.metric.get("__name__", metric)
    return Sample(name, series.metric, at_s, value if math.isfinite(value) else None)
