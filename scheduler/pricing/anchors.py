"""What a GPU-hour costs on demand where others publish it: the one list of anchors, for books and for spot quotes.

A model that is not in it has no anchor, and then no quote either: a price is never guessed from a name that is alike.
"""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Anchor:
    """US cents of a GPU-hour on demand, and who published that."""

    cents: int
    where: str


# Words that a model's name must have -> the anchor; on demand, in the US, 2025 and 2026.
ANCHORS: dict[str, Anchor] = {
    "B300": Anchor(1780, "AWS p6-b300"),
    "B200": Anchor(1424, "AWS p6-b200"),
    "H200": Anchor(791, "AWS p5en"),
    "H100": Anchor(688, "AWS p5"),
    "A100 40": Anchor(275, "AWS p4d"),
    "A100 80": Anchor(460, "three large clouds, lowest"),
    "A10G": Anchor(101, "AWS g5"),
    "T4": Anchor(53, "2025 list, highest"),
    "V100 16": Anchor(306, "AWS p3"),
    "V100 32": Anchor(390, "AWS p3dn"),
    "MI300X": Anchor(185, "GPU clouds, highest"),
}


@cache
def anchor(model: str) -> Anchor | None:
    """By the words of the model's name; of several that fit the one with most words.  None: nobody publishes one."""
    words = {re.sub(r"^(\d+)GB$", r"\1", word) for word in re.split(r"[^0-9A-Z]+", model.upper())}
    fitting = [(len(name.split()), name) for name in ANCHORS if set(name.split()) <= words]
    return ANCHORS[max(fitting)[1]] if fitting else None
