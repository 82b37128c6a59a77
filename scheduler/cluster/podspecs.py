"""What many pods share: one ``PodSpec`` for all pods that say the same, checked when it is first met."""

from collections.abc import Callable, Mapping
from operator import getitem, itemgetter
from typing import Any

import numpy as np

from scheduler.cluster.podchecks import CHECKED, check_spec
from scheduler.cluster.records import OwnerRecord, PodRecord
from scheduler.cluster.rows import Objects, Rows, amounts, objects
from scheduler.cluster.snapshot import Ints, Longs, PodSpec

SPARE = 1_000  # specs kept beyond those in use


def _pairs(given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(given.items()))


def _models(given: str | list[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _owner(given: OwnerRecord | str | None) -> OwnerRecord | None:
    return OwnerRecord(kind=given) if isinstance(given, str) else given


def _same[V](given: V) -> V:
    return given


FORMS: dict[str, Callable[[Any], Any]] = {  # fields of the record as those of PodSpec, in its order
    "mig": _pairs,
    "gpu_model": _models,
    "owner": _owner,
    "workload": _same,
    "labels": _pairs,
    "node_selector": _pairs,
    "only_node": _same,
    "tolerations": tuple,
    "affinity": tuple,
    "anti_affinity": tuple,
    "topology": _same,
    "host_ports": tuple,
    "volume_zone": _same,
    "locked_by": _same,
    "lock_reason": _same,
    "replicas": _same,
    "parallelism": _same,
    "resources": amounts,
}
PARTS = itemgetter(*[i for i, name in enumerate(FORMS) if name in CHECKED])


class Specs:
    """Keeps the specs in use, so that pods of two documents share them."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], PodSpec] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, rows: Rows[PodRecord]) -> Objects:
        """[rows] The spec of each pod; raises ``InputError`` for the first one with a value that is not allowed."""
        columns = [_numbered(rows.values(name), form) for name, form in FORMS.items()]
        keys = list(zip(*[numbers for numbers, _ in columns], strict=True))
        number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        index = np.array(list(map(number.__getitem__, keys)), np.int64)
        _check(rows, [PARTS(key) for key in number], np.unique(index, return_index=True)[1])
        forms = [one for _, one in columns]
        return objects([self._one(tuple(map(getitem, forms, key))) for key in number])[index]

    def _one(self, key: tuple[Any, ...]) -> PodSpec:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = PodSpec(*key)
        return found

    def listed(self, specs: Objects) -> tuple[tuple[PodSpec, ...], Ints]:
        """The distinct ones in the order of first use, and [rows] which of them each is.  Others may be forgotten."""
        listed = specs.tolist()
        addresses = list(map(id, listed))  # equal specs are one object
        distinct = dict(zip(addresses, listed, strict=True))
        number = {address: i for i, address in enumerate(distinct)}
        if len(self._known) > 2 * len(distinct) + SPARE:
            self._known = {key: spec for key, spec in self._known.items() if id(spec) in number}
        return tuple(distinct.values()), np.array(list(map(number.__getitem__, addresses)), np.int32)


def _check(rows: Rows[PodRecord], parts: list[tuple[int, ...]], first: Longs) -> None:
    """``parts`` = the checked values of each spec, by number; ``first`` = its first row."""
    seen: set[tuple[int, ...]] = set()
    for part, row in zip(parts, first.tolist(), strict=True):
        if part not in seen:
            check_spec(rows, row)
            seen.add(part)


def _numbered(values: list[Any], form: Callable[[Any], Any]) -> tuple[list[int], list[Any]]:
    """[rows] The same number for values of equal form, and the forms by number.

    Many records share their lists and maps, so each object is looked at once; the records keep its address its own.
    """
    if values and not values[0] and values.count(values[0]) == len(values):
        return [0] * len(values), [form(values[0])]
    addresses = list(map(id, values))
    distinct = dict(zip(addresses, values, strict=True))
    seen: dict[Any, int] = {}
    number = {address: seen.setdefault(form(value), len(seen)) for address, value in distinct.items()}
    return list(map(number.__getitem__, addresses)), list(seen)
