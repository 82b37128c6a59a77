"""Compilation to machine code, and a disk cache that notices every change.

The compiler's own cache looks only at the file of the function that it stores, not at those it calls.  So only entry
points are stored, and each closes over ``edition``: a number made of the code of the kernels below it.
"""

import zlib
from collections.abc import Callable
from pathlib import PurePath
from types import CodeType
from typing import cast

import numba
from numba.core import types

from scheduler.consolidation import columns

_codes: list[CodeType] = []


def kernel[F: Callable[..., object]](function: F) -> F:
    """Compile a function that entry points call."""
    _codes.append(function.__code__)
    compiled = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)  # type: ignore[call-overload]
    template, plain = compiled.get_call_template, cast(Callable[[object], object], types.unliteral)
    # Each literal among the arguments would be compiled to a variant of its own
    compiled.get_call_template = lambda args, kws: template(tuple(plain(arg) for arg in args), kws)
    return cast(F, compiled)


def pasted[F: Callable[..., object]](function: F) -> F:
    """Compile a function into each place that calls it: for those with one place, or a line or two.

    Every kernel is optimised again inside each of its callers, so many thin layers take long to compile.
    """
    _codes.append(function.__code__)
    return cast(F, numba.njit(inline="always")(function))


def entry[F: Callable[..., object]](function: F) -> F:
    """Compile a function that Python calls, and keep it on disk."""
    return cast(F, numba.njit(cache=True)(function))


def edition(*modules: str) -> int:
    """A number that changes with the kernels of these modules of this room, and with the tables' columns."""
    words = [_words(code) for code in _codes if PurePath(code.co_filename).stem in modules]
    numbers = sorted((name, value) for name, value in vars(columns).items() if isinstance(value, int))
    return zlib.crc32(repr((sorted(words), numbers)).encode())


def _words(code: CodeType) -> tuple[str, str, str]:
    """Byte code, constants and names; code objects inside have no stable text."""
    constants = [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]
    return code.co_code.hex(), repr(constants), repr(code.co_names)
