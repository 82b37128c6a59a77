"""Kubernetes resource quantities, exactly: no binary fractions are involved.

The grammar is that of apimachinery's ``resource.Quantity``: a sign, ASCII digits with at most one point, and one of the
suffixes n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent (``e3``, ``E-2``).  ``1E`` is 10^18 and ``1E3`` is 1000.
"""

import re
from fractions import Fraction
from functools import lru_cache

from scheduler.cluster.errors import InputError
from scheduler.kubernetes.wire import Quantity

KIB, MIB = 1 << 10, 1 << 20
NANO = 10**9
_TEXT = re.compile(r"([+-]?)([0-9]*)(?:(\.)([0-9]*))?([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_LONGEST, _WIDEST = 64, 40  # characters of a quantity, and decimal places that its exponent may move the point


def cpu_milli(text: Quantity, path: str = "$", *, down: bool = False) -> int:
    """Thousandths of a core, rounded up for requests and ``down`` for what there is; raises ``InputError``."""
    return _rounded(_amount(text, path) * 1000, down)


def memory_bytes(text: Quantity, path: str = "$", *, down: bool = False) -> int:
    """Bytes, rounded up; raises ``InputError``."""
    return _rounded(_amount(text, path), down)


def memory_mib(text: Quantity, path: str = "$", *, down: bool = False) -> int:
    """MiB, rounded up for requests and ``down`` for what there is; raises ``InputError``."""
    return _rounded(_amount(text, path) / MIB, down)


def count(text: Quantity, path: str = "$") -> int:
    """A number of whole things, rounded up; raises ``InputError``."""
    return _rounded(_amount(text, path), False)


def nano(text: Quantity, path: str, name: str) -> int:
    """Thousand-millionths of the resource ``name``, the finest that Kubernetes keeps, rounded up.

    Raises ``InputError`` for ``path.name``.
    """
    try:
        return _nano(text)
    except ValueError as error:
        raise InputError(f"{path}.{name}", text, str(error)) from None


@lru_cache(maxsize=65_536)
def _nano(text: Quantity) -> int:
    value = parse(str(text) if not isinstance(text, float) else repr(text)) * NANO
    if value < 0:
        raise ValueError("must not be negative")
    return _rounded(value, False)


def _rounded(value: Fraction, down: bool) -> int:
    return value.numerator // value.denominator if down else -(-value.numerator // value.denominator)


def _amount(text: Quantity, path: str) -> Fraction:
    """Zero or more; a negative amount is no request and no capacity."""
    try:
        value = parse(str(text) if not isinstance(text, float) else repr(text))
    except ValueError as error:
        raise InputError(path, text, str(error)) from None
    if value < 0:
        raise InputError(path, text, "must not be negative")
    return value


@lru_cache(maxsize=65_536)
def parse(text: str) -> Fraction:
    """The exact value of a quantity; raises ``ValueError`` with the reason."""
    found = _TEXT.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None or not (found[2] or found[4]):
        raise ValueError("not a quantity")
    digits, decimals, suffix = found[2], found[4] or "", found[5] or ""
    value = Fraction(int(digits + decimals), 10 ** len(decimals)) * _factor(suffix)
    return -value if found[1] == "-" else value


def _factor(suffix: str) -> Fraction:
    if suffix in _BINARY:
        return Fraction(1 << _BINARY[suffix])
    power = _DECIMAL.get(suffix)
    if power is None:
        power = int(suffix[1:]) if suffix else 0
    if abs(power) > _WIDEST:
        raise ValueError("the exponent is out of range")
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)
