"""Compilation to machine code, and a disk cache that notices every change.

The compiler's own cache looks only at the file of the function that it stores, not at those it calls.  So only entry
points are stored, and each closes over ``edition()``: a number made of the code of every kernel below it.
"""

import zlib
from collections.abc import Callable
from types import CodeType
from typing import cast

import numba

_codes: list[CodeType] = []


def kernel[F: Callable[..., object]](function: F) -> F:
    """Compile a function that entry points call."""
    _codes.append(function.__code__)  # type: ignore[attr-defined]
    return cast(F, numba.njit(function))


def entry[F: Callable[..., object]](function: F) -> F:
    """Compile a function that Python calls, and keep it on disk."""
    return cast(F, numba.njit(cache=True)(function))


def edition(*constants: dict[str, object]) -> int:
    """A number that changes with the code of any kernel defined so far, and with the integers they read as constants."""
    words = [(code.co_code.hex(), [repr(c) for c in code.co_consts if not isinstance(c, CodeType)], code.co_names) for code in _codes]
    values = [sorted((k, v) for k, v in names.items() if isinstance(v, int)) for names in constants]
    return zlib.crc32(repr((words, values)).encode())
