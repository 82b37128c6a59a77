"""The filters of a page, drawn by ``ui/fields.html`` in its bar and by ``ui/sheet.html`` on narrow screens."""

from collections.abc import Sequence
from dataclasses import dataclass

from console.ui.figures import number

MOST_OPTIONS = 300


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter; ``choices`` None is a field of this kind to type in.  ``always``: narrow bars show it, too."""

    name: str
    label: str
    value: str
    all_words: str = ""
    choices: Sequence[Choice] | None = None
    always: bool = False
    kind: str = "text"
    required: bool = False

    @property
    def narrows(self) -> bool:
        """Whether something is left out because of it; what must be said anyway leaves out nothing."""
        return bool(self.value) and not self.required


def one_of(
    name: str,
    label: str,
    value: str,
    names: Sequence[str],
    *,
    first: Sequence[Choice] = (),
    all_words: str = "",
    always: bool = False,
) -> Filter:
    """A choice among names, typed in where there are too many; ``first`` are choices that are no names."""
    listed = (*first, *(Choice(each, each) for each in names)) if len(names) <= MOST_OPTIONS else None
    return Filter(name, label, value, all_words or f"All {number(len(names))}", listed, always)
