"""The book as one table (CSV): each line says one thing, by its first column, under one head for all.

`tenant`, `cohort`: the entry itself. `quota`: one GPU model of a tenant or cohort. `budget`: one period of a tenant.
`class`, `price`: those. Empty is not set.  RFC 4180 with BOM, CRLF and blank lines accepted.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from console.tenancy.choices import EntryKind
from console.tenancy.entries import BUDGET, LIMITS, BookError, Docs, Given, Wrong, as_json

HEAD = (
    *("line", "of", "name", "parent", "cohort", "weight", "cap_gpus", "guarantee_gpus", "min_runtime_s"),
    *("gpu_model", *LIMITS, "period", *BUDGET, "value", "tenants", "hp_cents", "lp_cents", "namespaces"),
)
LISTS = ("tenants", "namespaces")  # in one cell, apart by |
QUOTA, BUDGET_LINE = "quota", "budget"
MOST_LINES = 50_000
_OWN = {
    EntryKind.TENANT.value: ("parent", "cohort", "weight", "cap_gpus", "guarantee_gpus", "min_runtime_s", "namespaces"),
    EntryKind.COHORT.value: ("parent", "weight"),
    EntryKind.PRIORITY.value: ("value", "tenants"),
    EntryKind.PRICE.value: ("hp_cents", "lp_cents"),
}
_PARTS = {QUOTA: ("quotas", "gpu_model", LIMITS), BUDGET_LINE: ("budgets", "period", BUDGET)}


def table_of(docs: Docs) -> Iterator[list[Any]]:
    """Rows under ``HEAD``."""
    for entry in as_json(docs):
        kind, name = entry["kind"], entry["name"]
        yield _line(kind, {"name": name, **{field: entry[field] for field in _OWN[kind]}})
        for line, (nest, label, fields) in _PARTS.items():
            for what, said in entry.get(nest, {}).items():
                yield _line(line, {"of": kind, "name": name, label: what, **{field: said[field] for field in fields}})


def _line(line: str, values: Mapping[str, Any]) -> list[Any]:
    said = {"line": line, **values}
    said |= {name: "|".join(said.get(name, ())) for name in LISTS}
    return [said.get(field) for field in HEAD]


def read_table(text: str) -> list[Given]:
    """Entries of a table; ``BookError`` names the line, the column and the reason of everything that cannot be read."""
    lines = _lines(text)
    entries: dict[tuple[str, str], Given] = {}
    parts: list[tuple[int, dict[str, str]]] = []
    wrongs: list[Wrong] = []
    for number, row in lines:
        kind = row["line"]
        if kind in _PARTS:
            parts.append((number, row))
        elif kind not in _OWN:
            known = ", ".join([*_OWN, *_PARTS])
            wrongs.append(Wrong(f"line {number}", "line", f"must be one of {known}"))
        elif (kind, row["name"]) in entries:
            wrongs.append(Wrong(f"line {number}", "name", f"{kind} {row['name']} is there twice"))
        else:
            entries[kind, row["name"]] = Given(kind, row["name"], _own_fields(kind, row), f"line {number}", rows={})
            wrongs += _misplaced(number, row, {"line", "name", *_OWN[kind]})
    for number, row in parts:
        wrongs += _put_part(number, row, entries)
    if wrongs:
        raise BookError(sorted(wrongs, key=lambda one: int(one.row.removeprefix("line "))))
    return list(entries.values())


def _lines(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    head: list[str] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not head:
                head = _head([cell.strip() for cell in cells], reader.line_num)
                continue
            if len(cells) > len(head) or reader.line_num > MOST_LINES:
                reason = f"has {len(cells)} cells, the head {len(head)}"
                raise BookError([Wrong(f"line {reader.line_num}", "", reason)])
            said = dict(zip(head, (_plain(cell) for cell in cells), strict=False))
            yield reader.line_num, {field: said.get(field, "") for field in HEAD}
    except csv.Error as error:
        raise BookError([Wrong(f"line {reader.line_num}", "", f"is no CSV: {error}")]) from error
    if not head:
        raise BookError([Wrong("line 1", "", f"must be the head: {', '.join(HEAD)}")])


def _plain(cell: str) -> str:
    """Without the apostrophe by which our own tables keep spreadsheets from running a name."""
    cell = cell.strip()
    return cell[1:] if len(cell) > 1 and cell[0] == "'" and cell[1] in "=+-@" else cell


def _head(names: list[str], line: int) -> list[str]:
    unknown = [name for name in names if name not in HEAD]
    twice = {name for name in names if names.count(name) > 1}
    wrongs = [Wrong(f"line {line}", name[:100], f"is no column; there are {', '.join(HEAD)}") for name in unknown]
    wrongs += [Wrong(f"line {line}", name, "is there twice") for name in sorted(twice)]
    wrongs += [Wrong(f"line {line}", name, "is missing") for name in ("line", "name") if name not in names]
    if wrongs:
        raise BookError(wrongs)
    return names


def _own_fields(kind: str, row: Mapping[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {field: row[field] for field in _OWN[kind]}
    lists = {name: [one.strip() for one in said[name].split("|") if one.strip()] for name in LISTS if name in said}
    return said | lists


def _put_part(number: int, row: Mapping[str, str], entries: dict[tuple[str, str], Given]) -> list[Wrong]:
    """A line of an entry that stands somewhere in the same table."""
    at, (nest, label, fields) = f"line {number}", _PARTS[row["line"]]
    of = (row["of"] or EntryKind.TENANT.value, row["name"])
    wrongs = _misplaced(number, row, {"line", "of", "name", label, *fields})
    if of not in entries:
        return [*wrongs, Wrong(at, "name", f"the table has no line {of[0]} of this name")]
    if not row[label]:
        return [*wrongs, Wrong(at, label, "must be named")]
    entry = entries[of]
    document, rows = dict(entry.document), dict(entry.rows)
    there = dict(document.get(nest, {}))
    if row[label] in there:
        return [*wrongs, Wrong(at, label, f"{row[label]} of {row['name']} is there twice")]
    there[row[label]] = {field: row[field] for field in fields}
    document[nest], rows[f"{nest}.{row[label]}"] = there, at
    entries[of] = replace(entry, document=document, rows=rows)
    return wrongs


def _misplaced(number: int, row: Mapping[str, str], allowed: set[str]) -> list[Wrong]:
    """A figure in a column that the line does not have would be lost without a word."""
    return [
        Wrong(f"line {number}", field, f"says nothing on a line {row['line']}; leave it empty")
        for field, value in row.items()
        if value and field not in allowed
    ]
