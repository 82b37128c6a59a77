"""What a number may be, as forms show it and services check it.

The core checks its numbers itself; tests hold these to it, since web processes do not load planners.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range[N: float = int]:
    """``low`` and ``high`` belong to it; ``default`` None: nothing is offered."""

    low: N
    high: N
    label: str
    words: str = ""
    default: N | None = None
    whole: bool = True

    def fault(self, value: object) -> str:
        """Why the value cannot be, "" where it can.  Neither NaN nor infinity is between any bounds."""
        kinds = int if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not self.low <= value <= self.high:
            return f"must be a {'whole ' if self.whole else ''}number from {self.low} to {self.high}"
        return ""
