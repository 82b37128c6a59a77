"""What a reader of the document should know although it is no error, and the fields the format does not know."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler.cluster.snapshot import Snapshot

Extras = dict[str, dict[str, object]]
LENT_BY = "lent_by"  # kept with the unknown fields where the lender is not listed, so that writing gives it back
ROW = re.compile(r"\$\.(\w+)\[(\d+)\](.*)", re.DOTALL)
ROW_OF_ROW = re.compile(r"\.(devices|quotas)\[(\d+)\](.*)", re.DOTALL)
Identities = Callable[[int], list[Any]]  # numbers or names


def rekeyed(
    extras: Mapping[str, dict[str, object]],
    place: Mapping[str, Mapping[int, int]],
    listed: Mapping[str, Identities],
) -> Extras:
    """The same extras with each path naming the canonical row; ``place[kind][row of the input]`` = canonical row.

    ``listed[field](row of the input)`` = the identities of the rows which that row lists, as they stand there.
    """
    found: Extras = {}
    for path, fields in extras.items():
        match = ROW.fullmatch(path)
        if match is not None:
            row = int(match[2])
            path = f"$.{match[1]}[{place[match[1]][row]}]{_inside(match[3], row, listed)}"
        found[path] = dict(sorted(fields.items()))
    return dict(sorted(found.items()))


def _inside(rest: str, row: int, listed: Mapping[str, Identities]) -> str:
    match = ROW_OF_ROW.fullmatch(rest)
    if match is None:
        return rest
    identities = listed[match[1]](row)
    return f".{match[1]}[{sorted(identities).index(identities[int(match[2])])}]{match[3]}"


def warnings_of(snapshot: Snapshot) -> tuple[str, ...]:
    """Readable notes in a fixed order; long lists are counted and named by their first members."""
    return (
        *_orphans(snapshot),
        *_lenders(snapshot),
        *_over_declared(snapshot),
        *_unknown_levels(snapshot),
        *_unknown_fields(snapshot),
    )


def _listing(names: Sequence[str], limit: int = 3) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _orphans(snapshot: Snapshot) -> list[str]:
    by_node: dict[str, list[str]] = defaultdict(list)
    for p, node in snapshot.pod_orphan_node.items():
        by_node[node].append(snapshot.pod_key(p))
    return [
        f"node {node} is unknown: its pods use nothing ({_listing(pods)})" for node, pods in sorted(by_node.items())
    ]


def _lenders(snapshot: Snapshot) -> list[str]:
    lost = [
        f"{_called(snapshot, match[1], int(match[2]))} lent by {fields[LENT_BY]}"
        for path, fields in snapshot.extras.items()
        if LENT_BY in fields and (match := ROW.fullmatch(path))
    ]
    return [f"lender is unknown, so its borrower stands alone: {_listing(lost)}"] if lost else []


def _over_declared(snapshot: Snapshot) -> list[str]:
    over = np.flatnonzero(snapshot.node_declared_allocatable > snapshot.node_gpus)
    names = [snapshot.node_name[n] for n in over.tolist()]
    return [f"allocatable_gpus above gpus, the smaller binds: {_listing(names)}"] if names else []


def _unknown_levels(snapshot: Snapshot) -> list[str]:
    wishes = [spec.topology for spec in snapshot.pod_specs] + [gang.topology for gang in snapshot.gangs]
    words = {word for wish in wishes if wish is not None for word in (wish.required, wish.preferred) if word}
    return [
        f"topology level {word} is wished for, but no domain is of that level"
        for word in sorted(words - set(snapshot.levels))
    ]


def _unknown_fields(snapshot: Snapshot) -> list[str]:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, fields in snapshot.extras.items():
        match = ROW.fullmatch(path)
        kind = "$." + match[1] + re.sub(r"\[\d+\]", "", match[3]) if match else re.sub(r"\[\d+\]", "", path)
        for name in fields.keys() - {LENT_BY}:
            found[kind, name].append(_called(snapshot, match[1], int(match[2])) if match else path)
    return [
        f"unknown field {kind}.{name} is kept ({_listing(owners)})" for (kind, name), owners in sorted(found.items())
    ]


def _called(snapshot: Snapshot, kind: str, row: int) -> str:
    if kind == "pods":
        return snapshot.pod_key(row)
    return snapshot.node_name[row] if kind == "nodes" else f"$.{kind}[{row}]"
