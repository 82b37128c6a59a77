"""The state as kernels hold it: one pointer in place of many arrays, which halves what the compiler has to do."""

from typing import Any

from numba.core import types
from numba.experimental import structref

from scheduler.replay.columns import State
from scheduler.replay.kernel import pasted

plain: Any = types.unliteral


@structref.register
class HeldType(types.StructRef):
    def preprocess_fields(self, fields: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
        return tuple((name, plain(kind)) for name, kind in fields)


class Held(structref.StructRefProxy):
    pass


define: Any = structref.define_proxy
define(Held, HeldType, list(State._fields))


@pasted
def held(tables):  # type: ignore[no-untyped-def]
    return Held(  # type: ignore[no-untyped-call]
        tables.node,
        tables.left,
        tables.lent,
        tables.task,
        tables.job,
        tables.lane,
        tables.active,
        tables.pool,
        tables.quota,
        tables.account,
        tables.window,
        tables.called,
        tables.weight,
        tables.heap,
        tables.clock,
        tables.setting,
        tables.weights,
        tables.mix,
        tables.kept,
        tables.scratch,
    )
