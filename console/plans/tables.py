"""Moves and kept nodes as the lines of a table, for pages and CSV alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, QuerySet

from console.plans import selectors
from console.plans.choices import State, StepState
from console.plans.models import KeptNode, Plan, Step
from console.ui.figures import number, plural

PAGE_SIZE = 50
RESTART = "restart"  # said by the column beside it
MOVE_ORDER = {
    "chain": ("chain", "index"),
    "wave": ("run_wave", "index"),
    "pod": ("pod",),
    "from": ("source_node", "index"),
    "to": ("target_node", "index"),
    "gpus": ("gpus", "gpu_milli", "index"),
    "tenant": ("tenant", "index"),
    "lost": ("lost_gpu_seconds", "index"),
    "state": ("state", "index"),
}
KEPT_ORDER = {"position": ("position",), "node": ("node",), "reason": ("reason", "position")}
MOVE_HEAD = (
    "no", "wave", "chain", "depth", "drains", "pod", "from", "to", "gpus", "gpu_milli_each", "tenant", "class", "tier",
    "how", "lost_gpu_seconds", "state", "detail", "started", "ended",
    "expected_seconds", "took_seconds", "requests_served", "requests_lost",
)  # fmt: skip
KEPT_HEAD = ("node", "reason", "blocker", "constraint", "missing", "unit")
YES_OR_NO = frozenset({"cordoned", "ready", "locked", "terminating", "standby", "emptied_nodes"})  # fields of 0 and 1
AMOUNTS = frozenset({"cpu_milli", "memory_mib", "gpu_memory_mib"})
FIELD_WORDS = {
    "cpu_milli": "CPU", "memory_mib": "memory", "gpu_memory_mib": "GPU memory", "gpu_milli": "share of a GPU (milli)",
    "gpus": "GPUs", "allocatable_gpus": "allocatable GPUs", "gpu_model": "GPU model", "cpu": "CPU", "mig": "MIG slices",
    "resource": "counted resources", "resources": "counted resources",
    "uid": "identity", "emptied_nodes": "ends empty",
}  # fmt: skip
_INDENT, _MIDDLE, _HEIGHT = 13, 14, 27


@dataclass(frozen=True, slots=True)
class Glyph:
    """Circle and lines of the chain column: the filled dot leaves the node, hollow ones make room for it."""

    x: int
    path: str
    filled: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """What the last column says of a move."""

    state: str  # a word of console.ui.tones
    label: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class MoveLine:
    step: Step
    head: Any | None  # selectors.ChainRow above the first line of each chain
    glyph: Glyph
    mark: Mark

    @property
    def number(self) -> int:
        return self.step.index + 1

    @property
    def gpu_total_milli(self) -> int:
        return self.step.gpus * self.step.gpu_milli

    @property
    def does(self) -> str:
        return "leaves the node" if self.glyph.filled else f"makes room, depth {self.step.depth}"

    @property
    def detail(self) -> str:
        """What the pill alone does not say."""
        return "" if self.mark.state == "succeeded" or self.mark.detail == RESTART else self.mark.detail


def ordered(rows: QuerySet[Any], wanted: str, orders: dict[str, tuple[str, ...]]) -> QuerySet[Any]:
    """Sorted by a word of ``orders`` (see ``ui.orders``); a minus in front turns it round."""
    fields = orders[wanted.removeprefix("-")]
    if not wanted.startswith("-"):
        return rows.order_by(*(F(name).asc(nulls_last=True) for name in fields))
    return rows.order_by(F(fields[0]).desc(nulls_last=True), *fields[1:])


def page_of(rows: QuerySet[Any], number: str | None, size: int = PAGE_SIZE) -> Page[Any]:
    """The page asked for, or the nearest there is."""
    return Paginator(rows, size).get_page(number)


def move_lines(viewer: Any, plan: Plan, page: Iterable[Step], *, grouped: bool) -> list[MoveLine]:
    """The lines of one page; one query for the heads of its chains."""
    steps = list(page)
    heads = selectors.chains(viewer, plan.pk, {step.chain for step in steps}) if grouped else {}
    marks = changed_moves(plan)
    lines = []
    for place, step in enumerate(steps):
        before = steps[place - 1] if place else None
        opens = grouped and (before is None or before.chain != step.chain)
        lines.append(
            MoveLine(
                step=step,
                head=heads.get(step.chain) if opens else None,
                glyph=_glyph(step, None if opens or not grouped else before),
                mark=_mark(plan, step, marks),
            )
        )
    return lines


def changed_moves(plan: Plan) -> dict[int, dict[str, Any]]:
    """The first change of each move that no longer holds."""
    found: dict[int, dict[str, Any]] = {}
    for change in plan.changes:
        for move in change["moves"]:
            found.setdefault(move, change)
    return found


def _glyph(step: Step, above: Step | None) -> Glyph:
    x = 8 + _INDENT * min(step.depth, 3)
    parts = []
    if step.depth > 0:
        parts.append(f"M{x} {_MIDDLE}H{x - _INDENT}V{_HEIGHT}")
    if above is not None and above.depth == step.depth + 1:
        parts.append(f"M{x} 0V{_MIDDLE}")
    return Glyph(x, " ".join(parts), step.depth == 0)


def _mark(plan: Plan, step: Step, changed: dict[int, dict[str, Any]]) -> Mark:
    if step.state != StepState.WAITING:
        return Mark(step.state, StepState(step.state).label, step.detail)
    change = changed.get(step.index)
    if change is not None:
        return Mark("stale", _difference(change), "" if change["object"] == step.pod else change["object"])
    if step.due_at is not None and plan.is_running:
        return Mark("waiting", "waits for its checkpoint", selectors.expected_words(step))
    missing = next((before for before in step.after if before in changed), None)
    if missing is not None:
        return Mark("stale", f"needs {missing + 1}")
    if plan.is_running or plan.state == State.APPROVED:
        return Mark("waiting", StepState.WAITING.label)
    if step.checkpoint is not None:
        return Mark("locked", "stops first", selectors.promised_words(step))
    return Mark("locked", "stops first", RESTART) if step.mode == "restart" else Mark("holds", "holds")


def _difference(change: dict[str, Any]) -> str:
    """The field, and what it was and is; a fault that is no field's change has only what it is."""
    was, now = said(change)
    field = field_words(change)
    if not was:
        short = shortfall(change)
        return short or (f"{field}: {now}" if len(now) < 20 else field)
    return f"{field} {was} → {now}"


def shortfall(change: dict[str, Any]) -> str:
    """Room that others have taken, in words with its unit; "" for every other change."""
    missing = change["now"]
    if change["was"] is not None or not isinstance(missing, int) or change["kind"] != "node":
        return ""
    match change["field"]:
        case "gpus":
            return f"short by {plural(missing, 'GPU')}"
        case "gpu_share":
            return "no device with enough left"  # the amount may be of a device's time or of its memory
        case "mig":
            return f"short by {plural(missing, 'MIG slice')}"
        case "max_pods":
            return f"short by room for {plural(missing, 'pod')}"
        case "cpu" | "memory" as field:
            return f"short by {_amount(missing, field)}"
        case _:
            return ""


def field_words(change: dict[str, Any]) -> str:
    return FIELD_WORDS.get(change["field"], str(change["field"]).replace("_", " "))


def _amount(value: int, field: str) -> str:
    """Cores of milli-CPU, GiB of MiB; as exact as needed and no more."""
    per, one = (1000, "core") if field.startswith("cpu") else (1024, "GiB")
    whole = value / per
    words = number(whole, 0 if whole == int(whole) else 2)
    return f"{words} {one}" if one == "GiB" or whole == 1 else f"{words} {one}s"


def said(change: dict[str, Any]) -> tuple[str, str]:
    """What a field was and is, in words; "" for what it was where only the fault is known."""
    words = {0: "no", 1: "yes"} if change["field"] in YES_OR_NO else {}
    was, now = (_said(change["field"], words.get(change[word], change[word])) for word in ("was", "now"))
    return "" if change["was"] is None else was, now


def _said(field: str, value: Any) -> str:
    if value is None:
        return "gone"
    return _amount(value, field) if field in AMOUNTS and isinstance(value, int) else str(value)


def move_cells(step: Step) -> tuple[object, ...]:
    """One line of the CSV, in the order of MOVE_HEAD."""
    return (
        step.index + 1,
        step.run_wave + 1,
        step.chain + 1,
        step.depth,
        step.drains,
        step.pod,
        step.source_node,
        step.target_node,
        step.gpus,
        step.gpu_milli,
        step.tenant,
        step.work_class,
        step.tier,
        step.mode,
        step.lost_gpu_seconds,
        step.state,
        step.detail,
        step.issued_at.isoformat() if step.issued_at else None,
        step.ended_at.isoformat() if step.ended_at else None,
        step.expected_s,
        step.took_s,
        step.requests_served,
        step.requests_lost,
    )


def kept_cells(node: KeptNode) -> Sequence[tuple[object, ...]]:
    """One line of the CSV per blocker, in the order of KEPT_HEAD."""
    if not node.blockers:
        return [(node.node, node.reason, None, None, None, None)]
    return [
        (node.node, node.reason, one["pod"], one["constraint"], one["missing"], one["unit"]) for one in node.blockers
    ]
