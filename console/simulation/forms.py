"""A new study, and traces of our own."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms

from console.simulation.choices import (
    DRAWN,
    KEPT,
    LARGEST_SEED,
    MOST_DAYS,
    MOST_HOURS,
    MOST_SEEDS,
    NAMED,
    USUAL,
    WEIGHTS,
    Order,
    Preempt,
)
from console.simulation.selectors import Recordable, StudyRow, TraceRow
from console.ui.forms import FieldForm

HOUR_S = 3600
OWN = "own_"
HOURS = {"guarantee_s": "guarantee_hours", "borrowed_s": "borrowed_hours",
         "consolidate_every_s": "consolidate_hours", "stay_s": "stay_hours"}  # fmt: skip
PLAIN = ("backfill_gpus", "consolidation_depth")
AS_BASE = "as the base"


def _whole(label: str, low: int, high: int, initial: int | None = None, help_text: str = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label, min_value=low, max_value=high, initial=initial, required=initial is not None, help_text=help_text
    )


class StudyForm(FieldForm):
    """Shares in per cent and times in hours, as people say them.  One policy of one's own beside the named ones."""

    shown_at: ClassVar = {
        "trace": "source",
        "share": "share_percent",
        "seeds": "seed_count",
        **{field: f"{OWN}{shown}" for field, shown in HOURS.items()},
        **{field: f"{OWN}{field}" for field in (*WEIGHTS, *PLAIN, "order", "preempt")},
    }
    name = forms.CharField(label="Name", max_length=100)
    reason = forms.CharField(label="Why", max_length=500, required=False)
    source = forms.ChoiceField(label="Trace")
    share_percent = forms.FloatField(
        label="Share of it, %", min_value=0.1, max_value=100, initial=100 * DRAWN["asi"].share, required=False,
        help_text="of a drawn trace",
    )  # fmt: skip
    days = _whole("Days", 1, MOST_DAYS, None, "empty: all of it")
    fail_days = forms.FloatField(
        label="Days between failures of a node", min_value=0, max_value=10_000, initial=0, required=False,
        help_text="mean; 0: none fails",
    )  # fmt: skip
    seed_count = _whole("Seeds", 1, MOST_SEEDS, 3, "intervals need two or more")
    first_seed = _whole("First seed", 0, LARGEST_SEED - MOST_SEEDS, 1)
    redraw = forms.BooleanField(
        label="Draw the trace anew for each seed", required=False, initial=True,
        help_text="so that intervals are of the work, too, and not of chance on the way alone",
    )  # fmt: skip
    policies = forms.MultipleChoiceField(
        label="Policies", choices=[(name, words) for name, words in NAMED.items()], initial=list(USUAL), required=False
    )
    own_name = forms.CharField(label="Name of your own policy", max_length=40, required=False)
    own_base = forms.ChoiceField(label="Starts from", choices=[(name, name) for name in NAMED], required=False)
    own_order = forms.ChoiceField(label="Order of the queue", choices=[("", AS_BASE), *Order.choices], required=False)
    own_preempt = forms.ChoiceField(label="HP takes from LP", choices=[("", AS_BASE), *Preempt.choices], required=False)
    own_guarantee_hours = _whole("LP is left alone for, h", 0, 720)
    own_borrowed_hours = _whole("Borrowed share is left alone for, h", 0, 720)
    own_backfill_gpus = _whole("Reservations from, GPUs", 1, 1_000_000)
    own_consolidate_hours = _whole("Consolidation every, h", 0, 8760, None, "0: never")
    own_consolidation_depth = _whole("Depth of chains", 0, 3)
    own_stay_hours = _whole("Stays who ends within, h", 0, 8760)

    def __init__(self, *args: Any, traces: Sequence[TraceRow], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        drawn = [(name, f"{one.label}: {one.words}") for name, one in DRAWN.items()]
        kept = [(f"{KEPT}:{one.id}", f"{one.name}: {one.jobs or 0:,} jobs, {one.nodes or 0:,} nodes") for one in traces]
        self.fields["source"].choices = [*drawn, *kept]  # type: ignore[attr-defined]
        for term, allowed in WEIGHTS.items():
            self.fields[f"{OWN}{term}"] = forms.FloatField(
                label=allowed.label, min_value=allowed.low, max_value=allowed.high, required=False,
                help_text=allowed.words,
            )  # fmt: skip

    def sized(self) -> dict[str, Any] | None:
        """What the size of a study depends on; None where that is not said yet."""
        self.full_clean()
        said = self.cleaned_data
        if not {"source", "days", "seed_count"} <= set(said) or not self._policies():
            return None
        return {
            **self._trace(),
            "days": said["days"],
            "policies": self._policies(),
            "seeds": said["seed_count"],
        }

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.make_study``."""
        said = self.cleaned_data
        return {
            **self._trace(),
            "name": said["name"],
            "reason": said["reason"],
            "days": said["days"],
            "fail_days": said["fail_days"] or 0.0,
            "seeds": list(range(said["first_seed"], said["first_seed"] + said["seed_count"])),
            "redraw": said["redraw"],
            "policies": self._policies(),
        }

    def _trace(self) -> dict[str, Any]:
        source, _, trace = self.cleaned_data["source"].partition(":")
        percent = self.cleaned_data.get("share_percent")
        share = percent / 100 if percent and source != KEPT else None
        return {"source": source, "trace": int(trace) if trace else None, "share": share}

    def _policies(self) -> list[dict[str, Any]]:
        said = self.cleaned_data
        chosen: list[dict[str, Any]] = [{"base": name} for name in said.get("policies", ())]
        if said.get("own_name"):
            chosen.append({"name": said["own_name"], "base": said["own_base"] or USUAL[0], "changes": self._changes()})
        return chosen

    def _changes(self) -> dict[str, Any]:
        said = {name.removeprefix(OWN): value for name, value in self.cleaned_data.items() if name.startswith(OWN)}
        found = {field: said[field] for field in (*WEIGHTS, *PLAIN) if said.get(field) is not None}
        found |= {field: said[field] for field in ("order", "preempt") if said.get(field)}
        return found | {
            field: said[shown] * HOUR_S for field, shown in HOURS.items() if said.get(shown) is not None
        }  # fmt: skip


def left_out(row: StudyRow) -> tuple[str, ...]:
    """What ``initial_of`` cannot bring into the form: all own policies but the last, settings without a field."""
    own = [one for one in row.policies if one["changes"]]
    shown = {*WEIGHTS, *PLAIN, *HOURS, "order", "preempt"}
    hidden = {field for one in own[-1:] for field in one["changes"]} - shown
    return (*(f"the policy {one['name']}" for one in own[:-1]), *sorted(hidden))


def initial_of(row: StudyRow) -> dict[str, Any]:
    """The form with an earlier study in it; of its own policies the last one."""
    own = next((one for one in reversed(row.policies) if one["changes"]), None)
    found: dict[str, Any] = {
        "name": row.name,
        "reason": row.reason,
        "source": row.source if row.trace_id is None else f"{KEPT}:{row.trace_id}",
        "share_percent": round(100 * row.share, 3),
        "days": row.days,
        "fail_days": row.fail_days,
        "seed_count": len(row.seeds),
        "first_seed": row.seeds[0],
        "redraw": row.redraw,
        "policies": [one["base"] for one in row.policies if not one["changes"]],
    }
    if own is None:
        return found
    changes = own["changes"]
    hours = {f"{OWN}{HOURS[field]}": value // HOUR_S for field, value in changes.items() if field in HOURS}
    plain = {f"{OWN}{field}": value for field, value in changes.items() if field not in HOURS}
    return {**found, **hours, **plain, "own_name": own["name"], "own_base": own["base"]}


class RecordForm(FieldForm):
    """``places`` are the rows of ``selectors.recordables``."""

    shown_at: ClassVar = {"cluster": "place", "name": "record_name"}
    record_name = forms.CharField(label="Name", max_length=100, initial="last week")
    place = forms.ChoiceField(label="Cluster")
    hours = _whole("Hours back from now", 1, MOST_HOURS, 168)

    def __init__(self, *args: Any, places: Sequence[Recordable], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["place"].choices = [  # type: ignore[attr-defined]
            (one.key, f"{one.cluster} of {one.source}, {one.readings:,} readings") for one in places
        ]

    def asked(self) -> dict[str, Any]:
        """The arguments of ``services.record_trace``."""
        source_id, _, cluster = self.cleaned_data["place"].partition("|")
        return {
            "name": self.cleaned_data["record_name"], "source_id": int(source_id), "cluster": cluster,
            "hours": self.cleaned_data["hours"],
        }  # fmt: skip


class UploadForm(FieldForm):
    """The files stand beside it: Django's field takes one."""

    name = forms.CharField(label="Name", max_length=100)
