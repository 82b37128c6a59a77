"""The nodes that a run has emptied, read from its steps."""

from collections import Counter, defaultdict
from datetime import datetime

from console.plans.choices import StepState
from console.plans.models import Plan, Step
from console.plans.services import checking


def emptied_whole(plan: Plan) -> dict[str, datetime]:
    """The nodes whose chains have run whole, each with when its last pod had left."""
    promised = set(checking.signed(plan).emptied_nodes)
    states: dict[str, Counter[str]] = defaultdict(Counter)
    since: dict[str, datetime] = {}
    for node, state, ended_at in Step.objects.filter(plan=plan).values_list("drains", "state", "ended_at"):
        states[node][state] += 1
        if ended_at is not None:
            since[node] = max(ended_at, since.get(node, ended_at))
    whole = (node for node, found in states.items() if node in promised and set(found) == {StepState.SUCCEEDED})
    return {node: since[node] for node in whole}


def gpus_of(plan: Plan) -> dict[str, int]:
    """GPUs of every node in scope."""
    drawn = plan.map
    return dict(zip(drawn.names.split("\n"), bytes(drawn.gpus), strict=True))
