"""Strict JSON: line and column of a fault, no NaN, no NUL, no key twice in one object."""

import json
import re

import msgspec

from scheduler.cluster.errors import InputError

MAX_DEPTH_REASON = "nested too deeply"
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


def decode(data: bytes) -> object:
    """Plain Python values; raises ``InputError`` with line and column for anything that is not JSON.

    Also with the path of text that holds a NUL, which not every database can keep.
    """
    try:
        found: object = msgspec.json.decode(data)
        if b"\\u0000" in data:
            _refuse_nul(found, "$")
        return found
    except msgspec.DecodeError as error:
        raise InputError(_position(data, str(error)), None, f"not valid JSON: {_reason(str(error))}") from None
    except UnicodeDecodeError as error:
        raise InputError(_line_column(data, error.start), None, "not valid UTF-8") from None
    except RecursionError:
        raise InputError("$", None, f"not valid JSON: {MAX_DEPTH_REASON}") from None


def without_nul(data: bytes) -> bytes:
    """JSON of others, with the mark of what cannot be shown in the place of each NUL in a text.

    Whoever may write an annotation may write one, and a database that can keep none would lose the whole reading.
    """
    return _NUL.sub(rb"\1\\ufffd", data) if b"\\u0000" in data else data


def _refuse_nul(value: object, path: str) -> None:
    if isinstance(value, str) and "\0" in value:
        raise InputError(path, None, "text holds a NUL")
    if isinstance(value, list):
        for i, item in enumerate(value):
            _refuse_nul(item, f"{path}[{i}]")
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_nul(key, path)
            _refuse_nul(item, f"{path}.{key}")


def _position(data: bytes, message: str) -> str:
    found = re.search(r"\(byte (\d+)\)", message)
    return _line_column(data, int(found[1]) if found else len(data))


def _line_column(data: bytes, at: int) -> str:
    before = data[:at]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    return f"line {line} column {column}"


def _reason(message: str) -> str:
    words = re.sub(r" ?\(byte \d+\)", "", message.removeprefix("JSON is malformed: "))
    return "the text ends too early" if "truncated" in words else words


def refuse_double_keys(data: bytes, keys: int) -> None:
    """``keys`` = keys of all objects after decoding; raises ``InputError`` if the text has an object with one twice.

    Every key is followed by ``":``, and decoding folds equal keys into one.  So equal counts mean that there is no
    double key, unless blanks stand before a colon; only then, or when text starts with a colon, the slow look is due.
    """
    spaced = any(blank in data for blank in (b'" :', b'"\t:', b'"\n:', b'"\r:', b"  :"))
    if not spaced and data.count(b'":') == keys:
        return
    doubled = _find(json.loads(data, object_pairs_hook=_Pairs), "$")
    if doubled:
        raise InputError(doubled, None, "the same key is given twice")


class _Pairs(dict[str, object]):
    """An object that remembers the first key given twice."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        self.twice: str | None = None
        if len(self) < len(pairs):
            seen: set[str] = set()
            self.twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]


def _find(value: object, path: str) -> str | None:
    if isinstance(value, _Pairs):
        if value.twice is not None:
            return f"{path}.{value.twice}"
        inner = ((f"{path}.{key}", item) for key, item in value.items())
    elif isinstance(value, list):
        inner = ((f"{path}[{i}]", item) for i, item in enumerate(value))
    else:
        return None
    return next((found for where, item in inner if (found := _find(item, where))), None)
