"""Names from outside may hold anything: marks that turn text round, controls, markup, a thousand letters."""

import unicodedata
from dataclasses import dataclass

HIDDEN = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"}
LONGEST = 63  # a DNS label: what well-behaved names keep to


@dataclass(frozen=True, slots=True)
class Part:
    """A run of a name: plain text, or one unseen character by its code point."""

    text: str
    odd: bool


def is_hidden(character: str) -> bool:
    """Whether a character draws nothing of its own, or bends how its neighbours are drawn."""
    return unicodedata.category(character) in HIDDEN


def mark(character: str) -> str:
    return f"U+{ord(character):04X}"


def parts(name: str) -> list[Part]:
    """Cut a name into plain runs and marks for unseen characters, in order."""
    runs: list[Part] = []
    for character in name:
        if is_hidden(character):
            runs.append(Part(mark(character), odd=True))
        elif runs and not runs[-1].odd:
            runs[-1] = Part(runs[-1].text + character, odd=False)
        else:
            runs.append(Part(character, odd=False))
    return runs


def shorten(name: str, longest: int = LONGEST) -> str:
    """Keep head and tail, where names differ; the middle gives way."""
    if len(name) <= longest:
        return name
    tail = longest // 3
    return f"{name[: longest - tail - 1]}…{name[-tail:]}"


def visible(name: str) -> str:
    """The name as plain text with unseen characters spelt out: for titles, CSV and attributes."""
    return "".join(part.text if not part.odd else f"[{part.text}]" for part in parts(name))
