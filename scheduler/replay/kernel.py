"""Compilation of the loop's kernels, with a disk cache that notices a change in any of them.

The compiler's cache looks only at the file of the function that it stores.  So only entry points are stored, and each
closes over ``edition``: a number made of the code of all kernels of this room and of the tables' columns.
"""

import zlib
from collections.abc import Callable
from types import CodeType
from typing import Any, cast

import numba
from numba.core import types

from scheduler.replay import columns

_codes: list[CodeType] = []


def kernel(function: Callable[..., object]) -> Any:
    """Compile a function that entry points call."""
    _codes.append(function.__code__)
    compiled = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)  # type: ignore[call-overload]
    template, plain = compiled.get_call_template, cast(Callable[[object], object], types.unliteral)
    # Each literal among the arguments would be compiled to a variant of its own
    compiled.get_call_template = lambda args, kws: template(tuple(plain(arg) for arg in args), kws)
    return compiled


def pasted(function: Callable[..., object]) -> Any:
    """Compile a line or two into each place that calls them."""
    _codes.append(function.__code__)
    return numba.njit(inline="always")(function)


def foreign(compiled: Any) -> None:
    """A compiled function of another room that kernels here call: a change in it is noticed, too."""
    _codes.append(compiled.py_func.__code__)


def entry(function: Callable[..., object]) -> Any:
    """Compile a function that Python calls, and keep it on disk."""
    return numba.njit(cache=True)(function)


def edition() -> int:
    """A number that changes with the kernels so far and with the columns."""
    words = [
        (code.co_code.hex(), [repr(one) for one in code.co_consts if not isinstance(one, CodeType)]) for code in _codes
    ]
    numbers = sorted((name, value) for name, value in vars(columns).items() if isinstance(value, int))
    return zlib.crc32(repr((sorted(words, key=repr), numbers)).encode())
