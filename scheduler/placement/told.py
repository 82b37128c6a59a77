"""A placement for machines and for people."""

from collections.abc import Sequence
from typing import Any

from scheduler.placement.beside import difference, mean_all_reduce_s, mean_entropy
from scheduler.placement.joint import Joint, Outcome, Seated
from scheduler.placement.options import Option, Predicted
from scheduler.placement.planner import Placement
from scheduler.placement.request import Request


def placement_json(found: Placement) -> dict[str, Any]:
    """``largest_fit``: GPUs (pods, where none are asked for) that fit now at the level that is required, or at all."""
    best = found.best
    return {
        "ok": found.ok,
        "assignment": [{"member": member, "node": node} for member, node in found.assignment],
        "domains": list(found.domains),
        "entropy": None if found.entropy is None else round(found.entropy, 6),
        "reason": found.reason or None,
        "detail": None if found.refusal is None else found.refusal.detail,
        "proven": None if found.refusal is None else found.refusal.proven,
        "largest_fit": largest_fit(found),
        "fits": [
            {"level": one.level, "pods": one.pods, "gpus": one.gpus, "domain": one.domain or None}
            for one in found.largest_fit
        ],
        "reasons": found.reasons,
        **({} if best is None else option_json(best)),
        "alternatives": [
            {**option_json(one), "assignment": [{"member": m, "node": n} for m, n in one.assignment],
             "domains": list(one.domains), "entropy": round(one.entropy, 6)}
            for one in found.alternatives
        ],
    }  # fmt: skip


def largest_fit(found: Placement) -> int:
    level = wanted_level(found.request) or found.largest_fit[-1].level
    return next((one.gpus or one.pods for one in found.largest_fit if one.level == level), 0)


def wanted_level(request: Request) -> str:
    return request.required or next((one.required for one in request.groups if one.required), "")


def option_json(one: Option) -> dict[str, Any]:
    return {
        "level": one.level,
        "domain": one.domain,
        "gpu_models": list(one.models),
        "gpus_by_domain": [{"domain": name, "gpus": gpus} for name, gpus in one.gpus_by_domain],
        "score": round(one.score, 6),
        "terms": one.terms,
        "nodes_opened": one.nodes_opened,
        "opens_whole": one.opens_whole,
        "predicted": predicted_json(one.predicted),
    }


def predicted_json(one: Predicted) -> dict[str, Any]:
    time, step = one.all_reduce, one.step
    return {
        "crosses": one.crosses,
        "all_reduce_seconds": None if time is None else round(time.seconds, 9),
        "algorithm": None if time is None else time.algorithm,
        "protocol": None if time is None else time.protocol,
        "step_seconds": None if step is None else round(step.seconds, 6),
        "step": None if step is None else {name: round(seconds, 6) for name, seconds in step.terms.items()},
        "assumed": list(one.assumed),
    }


def placement_lines(found: Placement) -> list[str]:
    request = found.request
    asked = f"{request.pods} pods, {request.gpus} GPUs"
    if found.best is None:
        assert found.refusal is not None
        known = "no place exists" if found.refusal.proven else "no place was found, and none is proven impossible"
        return [f"{asked}: {known}", f"{found.refusal.reason}: {found.refusal.detail}"]
    best = found.best
    lines = [
        f"{asked}: all in one {best.level}, {best.domain}" + (f", on {', '.join(best.models)}" if best.models else ""),
        f"entropy {best.entropy:.3f} over {len(best.gpus_by_domain)} places, score {best.score:.3f}",
    ]
    time = best.predicted.all_reduce
    if time is not None:
        assumed = f" (assumed: {', '.join(best.predicted.assumed)})" if best.predicted.assumed else ""
        lines.append(f"all-reduce of 1 GiB: {1000 * time.seconds:.2f} ms by {time.algorithm} {time.protocol}{assumed}")
    return lines


def joint_json(names: Sequence[str], found: Joint) -> dict[str, Any]:
    """``greedy`` is what largest-first gives; ``most_gpus`` an upper bound; ``difference`` a word of ``beside``."""
    rows = zip(names, found.found.jobs, found.greedy.jobs, strict=True)
    return {
        "ok": all(one.assignment for one in found.found.jobs),
        "jobs": [
            {"job": name, "gpus": one.gpus, "difference": difference(one, greedy), **_seated_json(one),
             "greedy": _seated_json(greedy)}
            for name, one, greedy in rows
        ],
        "seated": outcome_json(found.found),
        "greedy": outcome_json(found.greedy),
        "most_gpus": found.most_gpus,
        "proven": found.proven,
    }  # fmt: skip


def _seated_json(one: Seated) -> dict[str, Any]:
    return {
        "ok": bool(one.assignment),
        "assignment": [{"member": member, "node": node} for member, node in one.assignment],
        "entropy": None if one.entropy is None else round(one.entropy, 6),
        "predicted": None if one.predicted is None else predicted_json(one.predicted),
    }


def outcome_json(one: Outcome) -> dict[str, Any]:
    """``all_reduce_gpu_seconds``: of 1 GiB, each job weighing as its GPUs; the two means weigh the same way."""
    spread, time = mean_entropy(one), mean_all_reduce_s(one)
    return {
        "jobs": one.seated_jobs,
        "gpus": one.seated_gpus,
        "entropy": None if spread is None else round(spread, 6),
        "all_reduce_seconds": None if time is None else round(time, 9),
        "all_reduce_gpu_seconds": None if one.all_reduce_s is None else round(one.all_reduce_s, 6),
        "nodes_opened": one.opened,
    }


DIFFERENCE_WORDS = {
    "joint_only": "starts only together",
    "greedy_only": "starts only largest first",
    "elsewhere": "elsewhere largest first",
}


def joint_lines(names: Sequence[str], found: Joint) -> list[str]:
    best = f", no way seats more than {found.most_gpus} GPUs" + (", proven the best" if found.proven else "")
    ours, greedy = found.found, found.greedy
    lines = [
        f"{ours.seated_jobs} of {len(ours.jobs)} jobs, {ours.seated_gpus} GPUs seated{_means(ours)}{best}",
        f"largest first: {greedy.seated_jobs} jobs, {greedy.seated_gpus} GPUs{_means(greedy)}",
    ]
    words = [difference(*pair) for pair in zip(ours.jobs, greedy.jobs, strict=True)]
    for word, told in DIFFERENCE_WORDS.items():
        those = [name for name, one in zip(names, words, strict=True) if one == word]
        if those:
            lines.append(f"{told}: {', '.join(those)}")
    return lines


def _means(one: Outcome) -> str:
    spread, time = mean_entropy(one), mean_all_reduce_s(one)
    told = [] if spread is None else [f"entropy {spread:.3f}"]
    told += [] if time is None else [f"all-reduce of 1 GiB {1000 * time:.2f} ms"]
    return f" ({', '.join(told)})" if told else ""
