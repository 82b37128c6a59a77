"""A plan in the shape that ``slackline consolidate --json`` prints, for the judge."""

from typing import Any

import msgspec

from scheduler.plan.plan import Plan


def answer(plan: Plan) -> dict[str, Any]:
    moves = [
        {"pod": m.pod, "from": m.source, "to": m.target, "wave": wave, "mode": m.mode, "after": list(m.after)}
        for m, wave in zip(plan.moves, plan.wave_of, strict=True)
    ]
    goal = {} if plan.aim is None else {"goal": msgspec.to_builtins(plan.aim)}
    return {"emptied_nodes": list(plan.emptied_nodes), "moves": moves, **goal}
