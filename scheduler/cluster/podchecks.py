"""Values of a pod that only eligibility reads; checked once per distinct spec."""

import re

from scheduler.cluster.ports import port_of
from scheduler.cluster.records import PodRecord
from scheduler.cluster.rows import MAX_COUNT, MAX_DEVICES, MAX_QUANTITY, Rows

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS = ("Equal", "Exists")
CHECKED = ("mig", "tolerations", "affinity", "anti_affinity", "host_ports", "replicas", "parallelism", "resources")
TERM = re.compile(r"[^=]+=.*", re.DOTALL)


def check_spec(rows: Rows[PodRecord], p: int) -> None:
    """Raise ``InputError`` for the first value of row ``p`` that the format does not allow."""
    pod = rows.records[p]
    for name in ("affinity", "anti_affinity"):
        for i, term in enumerate(getattr(pod, name)):
            if not TERM.fullmatch(term):
                raise rows.refuse(p, f"{name}[{i}]", term, "expected key=value")
    for i, port in enumerate(pod.host_ports):
        try:
            port_of(port)
        except ValueError as error:
            raise rows.refuse(p, f"host_ports[{i}]", port, str(error)) from None
    for profile, count in pod.mig.items():
        if not 0 <= count <= MAX_DEVICES:
            raise rows.refuse(p, f"mig.{profile}", count, f"must be from 0 to {MAX_DEVICES}")
    for name, amount in pod.resources.items():
        if not 0 <= amount <= MAX_QUANTITY:
            raise rows.refuse(p, f"resources.{name}", amount, f"must be from 0 to {MAX_QUANTITY}")
    _check_tolerations(rows, p)
    _check_counts(rows, p)


def _check_tolerations(rows: Rows[PodRecord], p: int) -> None:
    for i, toleration in enumerate(rows.records[p].tolerations):
        where = f"tolerations[{i}]"
        if toleration.operator is not None and toleration.operator not in OPERATORS:
            raise rows.refuse(p, f"{where}.operator", toleration.operator, f"expected {' or '.join(OPERATORS)}")
        if toleration.effect is not None and toleration.effect not in EFFECTS:
            raise rows.refuse(p, f"{where}.effect", toleration.effect, f"expected one of {', '.join(EFFECTS)}")
        if toleration.key is None and toleration.operator != "Exists":
            raise rows.refuse(p, f"{where}.key", None, "an empty key needs the operator Exists")


def _check_counts(rows: Rows[PodRecord], p: int) -> None:
    pod = rows.records[p]
    for name, record in (("replicas", pod.replicas), ("parallelism", pod.parallelism)):
        for field in record.__struct_fields__ if record is not None else ():
            value = getattr(record, field)
            if value is not None and not 0 <= value <= MAX_COUNT:
                raise rows.refuse(p, f"{name}.{field}", value, f"must be from 0 to {MAX_COUNT}")
