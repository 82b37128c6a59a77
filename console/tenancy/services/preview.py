"""What an edit would do to everybody, by the newest use, before anything of it is kept."""

from dataclasses import dataclass, replace
from typing import Any

from console.tenancy.selectors.people import tenant_scope
from console.tenancy.selectors.use import feeds, use_of
from console.tenancy.services.book import Planned
from console.tenancy.services.standings import standings
from console.tenancy.standing import TENANT, Standing

ALL_MODELS = ""  # of a cap
MOST = 300  # rows that a preview lists
_NOBODY = Standing(None, None, None, 0, 0, 0, 0, 0, 0, None)


@dataclass(frozen=True, slots=True)
class Consequence:
    """One tenant or cohort on one model, before and after; GPU milli.  Of a cap the model is empty."""

    kind: str
    name: str
    gpu_model: str
    hp: int
    nominal_was: int | None
    nominal: int | None
    may_borrow_was: int | None
    may_borrow: int | None
    over_was: int
    over: int

    @property
    def newly_over(self) -> bool:
        return self.over > self.over_was


@dataclass(frozen=True, slots=True)
class Preview:
    """``hidden``: rows of tenants that the viewer may not see; ``of``: all rows, where not all are listed."""

    rows: list[Consequence]
    hidden: int
    of: int

    @property
    def over(self) -> list[Consequence]:
        return [row for row in self.rows if row.newly_over]


def preview(viewer: Any, planned: Planned) -> Preview:
    """Only what differs; those who would be over come first."""
    every = feeds()
    before, was = standings(planned.before, use_of(every, planned.before))
    after, now = standings(planned.after, use_of(every, planned.after))
    rows = [
        _row(key[0], key[1], model, before.get((key, model), _NOBODY), after.get((key, model), _NOBODY))
        for key, model in sorted(before.keys() | after.keys())
    ]
    for name in sorted(was.keys() | now.keys()):
        held, cap = now.get(name) or was[name]
        old, new = (held - pair[1] if (pair := caps.get(name)) else 0 for caps in (was, now))
        rows.append(Consequence(TENANT, name, ALL_MODELS, held, None, cap, None, None, old, new))
    rows = [row for row in rows if _differs(row)]
    scope = tenant_scope(viewer)
    seen = [row for row in rows if scope is None or (row.kind == TENANT and row.name in scope)]
    if scope is not None:  # how much may be borrowed is what others leave idle
        seen = [replace(row, may_borrow_was=None, may_borrow=None) for row in seen]
    seen.sort(key=lambda row: (-max(0, row.over - row.over_was), row.kind, row.name, row.gpu_model))
    return Preview(seen[:MOST], len(rows) - len(seen), len(seen))


def _row(kind: str, name: str, model: str, was: Standing, now: Standing) -> Consequence:
    hp, may = now.hp or was.hp, (was.may_borrow, now.may_borrow)
    return Consequence(kind, name, model, hp, was.nominal, now.nominal, *may, was.over, now.over)


def _differs(row: Consequence) -> bool:
    return (row.nominal_was, row.may_borrow_was, row.over_was) != (row.nominal, row.may_borrow, row.over) and (
        row.gpu_model != ALL_MODELS or row.over_was != row.over
    )
