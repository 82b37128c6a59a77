"""What a page shows, as its address says it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

LONGEST = 300


@dataclass(frozen=True, slots=True)
class PageState:
    """Fields of text, all with defaults; a field that stands in ``words`` is one of these or its default."""

    words: ClassVar[Mapping[str, Collection[str]]] = {}

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> Self:
        """From a query string: names that are no field are ignored, words that do not exist become the default."""
        said = {field.name: str(query.get(field.name, ""))[:LONGEST] for field in fields(cls)}
        return cls(**{name: text for name, text in said.items() if name not in cls.words or text in cls.words[name]})
