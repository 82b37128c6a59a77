"""CSV text as people really send it: BOM, CRLF, quotes, blank lines, line breaks inside a field.

Line numbers count physical lines, so that an editor finds them.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.cluster.errors import InputError

BOM = b"\xef\xbb\xbf"
_INT_LIMIT = 1 << 63
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")


@dataclass(frozen=True, slots=True)
class Row:
    """One record: cells by column name, blank ones left out."""

    file: str
    line: int
    cells: dict[str, str]

    def fault(self, field: str, reason: str) -> InputError:
        """An error that names file, line and field."""
        return InputError(f"{self.file} line {self.line}, {field}", self.cells.get(field), reason)

    def text(self, field: str) -> str:
        """A required text."""
        if field not in self.cells:
            raise self.fault(field, "required field is missing")
        return self.cells[field]

    def whole(self, field: str, *, least: int = 0) -> int:
        """A required whole number of at least ``least``."""
        text = self.text(field).strip()
        if not _WHOLE.fullmatch(text):
            raise self.fault(field, "expected a whole number")
        number = int(text)
        if not least <= number < _INT_LIMIT:
            raise self.fault(field, f"must be {least} or more" if number < least else "number is too large")
        return number

    def whole_or_none(self, field: str, *, least: int = 0) -> int | None:
        """As ``whole``; None where the cell is blank."""
        return self.whole(field, least=least) if field in self.cells else None


def header_of(data: bytes, file: str) -> tuple[str, ...]:
    """The column names; raises InputError for no header, or one that is not unique."""
    for line, cells in _records(data, file):
        names = tuple(cell.strip() for cell in cells)
        doubled = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
        if doubled is not None:
            raise InputError(f"{file} line {line}", doubled, "column name stands twice")
        return names
    raise InputError(file, None, "no header line")


def read_rows(data: bytes, file: str) -> Iterator[Row]:
    """All records below the header, blank lines skipped."""
    header = header_of(data, file)
    first = True
    for line, cells in _records(data, file):
        if first:
            first = False
            continue
        if len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
            raise InputError(f"{file} line {line}", len(cells), f"expected {len(header)} fields, as in the header")
        named = zip(header, cells, strict=False)
        yield Row(file, line, {name: cell for name, cell in named if name and cell.strip()})


def require_columns(data: bytes, file: str, columns: tuple[str, ...]) -> None:
    """Raise InputError naming the first column that is missing."""
    header = header_of(data, file)
    missing = next((column for column in columns if column not in header), None)
    if missing is not None:
        raise InputError(f"{file}, header", missing, f"column is missing; expected {', '.join(columns)}")


def _records(data: bytes, file: str) -> Iterator[tuple[int, list[str]]]:
    """(physical line on which the record starts, cells) of every record that is not blank."""
    try:
        text = data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{file} line {line}", None, "text is not UTF-8") from None
    if "\x00" in text:
        raise InputError(f"{file} line {text[: text.index(chr(0))].count(chr(10)) + 1}", None, "text holds a NUL")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"{file} line {line}", None, f"not CSV: {error}") from None
        if any(cell.strip() for cell in cells):
            yield line, cells
        line = reader.line_num + 1
