"""The CSV twin of the snapshot format: nodes.csv and pods.csv.

The header names the fields of the format.  Lists are joined by ``|``, pairs ``key=value`` by ``;``; where a text holds
one of these marks the cell is JSON instead.  Any other column is kept as a label, with a warning.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import DEFAULT_CLUSTER, DEFAULT_NAMESPACE, Document, NodeRecord, PodRecord
from scheduler.worlds.rows import Row, header_of, read_rows, require_columns

LIST_MARK, PAIR_MARK, EQUALS = "|", ";", "="
LABELS = "labels"
_SIGNED = -(1 << 63)
_COUNTS = (
    *("gpus", "gpu_milli", "cpu_milli", "memory_mib", "allocatable_gpus", "gpu_memory_mib", "max_pods"),
    *("power_watts", "grace_s", "checkpoint_interval_s", "min_runtime_s"),
)
_NUMBERS = ("priority", "standby_until_s", "locked_until_s", "deleted_at_s", "started_s", "checkpoint_s")
_FLAGS = ("cordoned", "ready", "standby", "locked", "terminating")
_TEXT_LISTS = ("affinity", "anti_affinity")
_NUMBER_LISTS = ("host_ports",)
_MAPS = (LABELS, "node_selector", "mig", "resources")
_RECORDS = ("topology", "replicas", "parallelism", "owner")
_RECORD_LISTS = ("taints", "tolerations")
_STRUCTURED = (*_TEXT_LISTS, *_NUMBER_LISTS, *_MAPS, *_RECORDS, *_RECORD_LISTS, "devices")
_JSON_STARTS = ("[", "{", '"')
_AMBIGUOUS = "nvlink_group"  # a number or a text: only JSON tells which
_WORDS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class Table[R: (NodeRecord, PodRecord)]:
    """The records of one file, in its order, and what its reader should be told."""

    records: list[R]
    warnings: tuple[str, ...]


def read_tables(
    nodes_csv: bytes, pods_csv: bytes, *, taken_at: str, nodes_file: str = "nodes.csv", pods_file: str = "pods.csv"
) -> tuple[Document, tuple[str, ...]]:
    """Both files as one document, and the warnings.  Raises InputError naming file, line and field."""
    nodes, pods = read_node_table(nodes_csv, nodes_file), read_pod_table(pods_csv, pods_file)
    return Document(taken_at=taken_at, nodes=nodes.records, pods=pods.records), nodes.warnings + pods.warnings


def read_node_table(data: bytes, file: str = "nodes.csv") -> Table[NodeRecord]:
    """The nodes of a nodes.csv."""
    return _read(data, file, NodeRecord, ("name", "gpus"), lambda row: (row.cells.get("cluster"), row.text("name")))


def read_pod_table(data: bytes, file: str = "pods.csv") -> Table[PodRecord]:
    """The pods of a pods.csv."""
    return _read(data, file, PodRecord, ("name", "gpus"), _pod_identity)


def write_node_table(nodes: Sequence[NodeRecord]) -> bytes:
    """The nodes as CSV that ``read_node_table`` reads back, field by field.  Columns that nobody uses are left out."""
    return _write(nodes, NodeRecord)


def write_pod_table(pods: Sequence[PodRecord]) -> bytes:
    """The pods as CSV that ``read_pod_table`` reads back, field by field."""
    return _write(pods, PodRecord)


def _pod_identity(row: Row) -> tuple[str, ...]:
    cells = row.cells
    return cells.get("cluster", DEFAULT_CLUSTER), cells.get("namespace", DEFAULT_NAMESPACE), row.text("name")


def _read[R: (NodeRecord, PodRecord)](
    data: bytes, file: str, kind: type[R], required: tuple[str, ...], identity: Callable[[Row], tuple[str | None, ...]]
) -> Table[R]:
    require_columns(data, file, required)
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    unknown = [column for column in header_of(data, file) if column and column not in known]
    seen: set[tuple[str | None, ...]] = set()
    records: list[R] = []
    for row in read_rows(data, file):
        who = identity(row)
        if who in seen:
            raise row.fault("name", "stands twice")
        seen.add(who)
        records.append(_record(row, kind, known, unknown))
    return Table(records, tuple(f"{file}: unknown column {column!r} is kept as a label" for column in unknown))


def _record[R: (NodeRecord, PodRecord)](row: Row, kind: type[R], known: set[str], unknown: list[str]) -> R:
    values = {field: _value(row, field, kind) for field in row.cells if field in known}
    row.whole("gpus")
    extra = {column: row.cells[column] for column in unknown if column in row.cells}
    if extra:
        values[LABELS] = extra | values.get(LABELS, {})
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _readable(row, str(error)) from None


def _readable(row: Row, message: str) -> InputError:
    """msgspec ends its message with the place, ``- at `$.field...` ``."""
    reason, _, place = message.partition(" - at `$.")
    field = place.rstrip("`").split("[")[0].split(".")[0]
    return row.fault(field or "record", reason)


def _value(row: Row, field: str, kind: type) -> Any:
    text = row.cells[field]
    if field in _COUNTS:
        return row.whole(field)
    if field in _NUMBERS:
        return row.whole(field, least=_SIGNED)
    if field in _FLAGS:
        return _flag(row, field)
    several = field == "gpu_model" and kind is PodRecord
    if (several or field in _STRUCTURED) and text.lstrip().startswith(_JSON_STARTS):
        return _json(row, field)
    if field in _TEXT_LISTS:
        return text.split(LIST_MARK)
    if field in _NUMBER_LISTS or (field == "devices" and kind is PodRecord):
        return _numbers(row, field)
    if field in _MAPS:
        return _pairs(row, field, text)
    if field in _RECORDS:
        return text if field == "owner" and EQUALS not in text else _pairs(row, field, text)
    if field in _RECORD_LISTS or field == "devices":
        return [_pairs(row, field, part) for part in text.split(LIST_MARK)]
    if several and LIST_MARK in text:
        return text.split(LIST_MARK)
    return text.strip() if field in ("tier", "class", "move") else text


def _flag(row: Row, field: str) -> bool:
    word = _WORDS.get(row.cells[field].strip().lower())
    if word is None:
        raise row.fault(field, "expected true or false")
    return word


def _json(row: Row, field: str) -> Any:
    try:
        return json.loads(row.cells[field])
    except ValueError:
        raise row.fault(field, "not valid JSON") from None


def _numbers(row: Row, field: str) -> list[int] | list[int | str]:
    parts = [part.strip() for part in row.cells[field].split(LIST_MARK)]
    if field in _NUMBER_LISTS:  # ports, of which some name an address or a protocol
        return [int(part) if part.isascii() and part.isdigit() else part for part in parts]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise row.fault(field, "expected whole numbers joined by |")
    return [int(part) for part in parts]


def _pairs(row: Row, field: str, text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in text.split(PAIR_MARK):
        key, mark, value = part.partition(EQUALS)
        if not part.strip():
            continue
        if not mark or not key.strip():
            raise row.fault(field, "expected key=value pairs joined by ;")
        if key.strip() in pairs:
            raise row.fault(field, f"key {key.strip()!r} stands twice")
        pairs[key.strip()] = value
    return pairs


def _write[R: (NodeRecord, PodRecord)](records: Sequence[R], kind: type[R]) -> bytes:
    rows: list[dict[str, Any]] = [msgspec.to_builtins(record) for record in records]
    used = {"name", "gpus"}.union(*rows) if rows else {"name", "gpus"}
    columns = [field.encode_name for field in msgspec.structs.fields(kind) if field.encode_name in used]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_text(field, row[field], kind) if field in row else "" for field in columns])
    return out.getvalue().encode()


def _text(field: str, value: Any, kind: type) -> str:
    either = field == "owner" or (field == "gpu_model" and kind is PodRecord)
    return _either(value) if either else _cell(value)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return value
    text = _flat(value)
    return json.dumps(value, ensure_ascii=False) if text is None else text


def _either(value: Any) -> str:
    """A field that may be one text or something longer: JSON wherever the short form could be taken for the other."""
    if isinstance(value, str):
        return value if _plain(value) else json.dumps(value, ensure_ascii=False)
    alone = isinstance(value, list) and len(value) == 1
    return json.dumps(value, ensure_ascii=False) if alone else _cell(value)


def _flat(value: list[Any] | dict[str, Any]) -> str | None:
    """A list or a map in the short form; None if it does not survive that."""
    if isinstance(value, dict):
        parts = [f"{key}{EQUALS}{item}" for key, item in value.items() if _plain(key) and _plain(item)]
        return PAIR_MARK.join(parts) if len(parts) == len(value) and _AMBIGUOUS not in value else None
    if all(isinstance(item, int) for item in value):
        return LIST_MARK.join(map(str, value))
    if all(isinstance(item, (int, str)) for item in value):
        texts = list(map(str, value))
        hostile = any(LIST_MARK in item or item.lstrip().startswith(_JSON_STARTS) or not item.strip() for item in texts)
        return None if hostile else LIST_MARK.join(texts)
    flat = [_flat(item) for item in value]
    return LIST_MARK.join(part for part in flat if part) if all(flat) else None


def _plain(item: object) -> bool:
    if isinstance(item, (bool, list, dict)):
        return False
    text = str(item)
    marked = set(text) & {LIST_MARK, PAIR_MARK, EQUALS} or text.startswith(_JSON_STARTS)
    return not marked and text == text.strip()
