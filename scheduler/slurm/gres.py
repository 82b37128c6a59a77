"""Slurm's GRES strings: ``gpu:a100:4(S:0-1),gpu:t4:2(S:0)`` and, in use, ``gpu:a100:3(IDX:0,2-3)``.

An entry is a name, perhaps a type, a count (1 if there is none) and remarks in parentheses; commas there part nothing.
A type that ends in a MIG profile (``nvidia_h200_nvl_4g.71gb``) counts slices, not devices.
"""

import re
from dataclasses import dataclass

from scheduler.cluster.errors import InputError

NOTHING = ("", "(null)", "N/A")
LARGEST = 65_536
_ENTRY = re.compile(r"(?P<words>[^()]+|[^()]*\(null\)[^()]*)(?P<remarks>(?:\([^()]*\))*)")
_APART = re.compile(r",(?![^()]*\))")
_COUNT = re.compile(r"([0-9]+)([KMGTP]?)", re.ASCII)
_PROFILE = re.compile(r"(?:^|[_-])((?:[0-9]+c\.)?[0-9]+g\.[0-9]+gb(?:[.+][a-z0-9.]+)?)$")
_INDICES = re.compile(r"\(IDX:([0-9,-]+)\)")
_FACTORS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


@dataclass(frozen=True, slots=True)
class Gres:
    """One entry; ``kind`` "" where no type is told, ``indices`` where devices are named."""

    name: str
    kind: str
    count: int
    indices: tuple[int, ...] = ()

    @property
    def profile(self) -> str:
        """The MIG profile that it counts, "" for whole devices."""
        found = _PROFILE.search(self.kind)
        return found[1] if found else ""


def read_gres(text: str | None, path: str = "$") -> tuple[Gres, ...]:
    """All entries of a GRES string; raises ``InputError`` for one that is not an entry."""
    if text is None or text.strip() in NOTHING:
        return ()
    return tuple(_entry(part.strip(), text, path) for part in _APART.split(text) if part.strip())


def gpus(entries: tuple[Gres, ...]) -> tuple[Gres, ...]:
    """GPUs and their slices alone; shards are parts of GPUs that are listed themselves, and other resources none."""
    return tuple(entry for entry in entries if entry.name == "gpu")


def _entry(part: str, text: str, path: str) -> Gres:
    plain = part.replace("(null)", "")
    found = _ENTRY.fullmatch(plain)
    words = found["words"].split(":") if found else []
    if found is None or not words or not words[0]:
        raise InputError(path, text, "expected GRES entries such as gpu:a100:4(S:0-1)")
    count, kind = 1, ":".join(words[1:])
    if len(words) > 1 and (number := _COUNT.fullmatch(words[-1])):
        count, kind = int(number[1]) * _FACTORS[number[2]], ":".join(words[1:-1])
    elif len(words) > 2:
        raise InputError(path, text, f"expected a count at the end of {part!r}")
    if words[0] == "gpu" and count > LARGEST:
        raise InputError(path, text, f"more than {LARGEST} devices")
    return Gres(words[0], kind, count, _indices(found["remarks"]))


def _indices(remarks: str) -> tuple[int, ...]:
    """``(IDX:0,2-3)`` as (0, 2, 3); ``(IDX:N/A)`` and sockets name no devices."""
    found = _INDICES.search(remarks)
    if found is None:
        return ()
    listed: list[int] = []
    for part in found[1].split(","):
        first, _, last = part.partition("-")
        if first and int(last or first) < LARGEST:
            listed += range(int(first), int(last or first) + 1)
    return tuple(sorted(set(listed)))
