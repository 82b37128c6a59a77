"""``slackline place``: a recommendation; nobody is bound."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from scheduler.admission.order import by_name, waiting_line
from scheduler.cli.files import read_snapshot
from scheduler.cli.options import NO, AsJson, ClusterName, Seed, SnapshotFile
from scheduler.cli.refusing import bad_input, check_seed
from scheduler.cli.screen import print_json, say, show_table
from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Snapshot
from scheduler.placement.joint import place_jointly
from scheduler.placement.planner import Group, Placement, Request, request_of
from scheduler.placement.planner import place as find_place
from scheduler.placement.told import joint_json, joint_lines, placement_json, placement_lines

OPTIONS = {"required": "--same", "preferred": "--prefer", "count": "--gpus", "gpus": "--per-pod", "pods": "--gpus",
           "slice_pods": "--slice", "slice_level": "--slice"}  # fmt: skip
PER_POD, MOST_JOBS = 8, 1_000


def place(
    snapshot: SnapshotFile,
    gpus: Annotated[int | None, typer.Option(help="GPUs of the job.")] = None,
    per_pod: Annotated[int | None, typer.Option(help=f"GPUs of each pod; default: {PER_POD}.")] = None,
    cpu_milli: Annotated[int, typer.Option(help="CPU of each pod, thousandths of a core.")] = 0,
    memory_mib: Annotated[int, typer.Option(help="Memory of each pod.")] = 0,
    model: Annotated[list[str] | None, typer.Option(help="GPU model accepted; repeatable; default: any.")] = None,
    mix_models: Annotated[
        bool, typer.Option("--mix-models", help="Its pods may stand on several GPU models at once.")
    ] = False,
    same: Annotated[str, typer.Option(metavar="LEVEL", help="All in one domain of this level, or not at all.")] = "",
    prefer: Annotated[str, typer.Option(metavar="LEVEL", help="In one domain of this level, if there is one.")] = "",
    slices: Annotated[
        str, typer.Option("--slice", metavar="PODS:LEVEL", help="So many pods at a time share a domain.")
    ] = "",
    job: Annotated[
        list[str] | None, typer.Option(metavar="NS/NAME", help="A pending gang or pod; several: all at once.")
    ] = None,
    jobs: Annotated[str, typer.Option(metavar="NS/A,NS/B", help="The same: several pending jobs at once.")] = "",
    first: Annotated[
        int | None, typer.Option(help="The first so many jobs of the queue, in its order, all at once.")
    ] = None,
    seed: Seed = 0,
    cluster: ClusterName = None,
    json: AsJson = False,
) -> None:
    """Say where a job should go now, or why it cannot."""
    with bad_input(OPTIONS):
        check_seed(seed)
        world = read_snapshot(snapshot, cluster)
        asked = {"cpu_milli": cpu_milli, "memory_mib": memory_mib, "models": tuple(model or ())}
        named = _named(world, gpus, job or [], jobs, first)
        if named is not None:
            _says_itself({"same": same, "prefer": prefer, "per_pod": per_pod, "slice": slices, **asked})
        if named is not None and (not job or len(named) > 1):
            _jointly(world, named, mix_models, seed, json)
            return
        if named is not None:
            request = replace(request_of(world, named[0]), may_mix_models=mix_models)
        else:
            group = _group(gpus or 0, PER_POD if per_pod is None else per_pod, slices, asked)
            request = Request(groups=(group,), required=same, preferred=prefer, may_mix_models=mix_models)
        found = find_place(world, request)
    if json:
        print_json(placement_json(found))
    else:
        _show(found)
    if not found.ok:
        raise typer.Exit(NO)


def _named(world: Snapshot, gpus: int | None, job: list[str], jobs: str, first: int | None) -> list[str] | None:
    """The pending jobs that are meant; None for a job that is made up of options."""
    if sum((gpus is not None, bool(job), bool(jobs), first is not None)) != 1:
        raise InputError("--gpus, --job, --jobs, --first", None, "give one of them")
    if gpus is not None:
        return None
    if first is None:
        named = job or [name.strip() for name in jobs.split(",")]
        if len(set(named)) < len(named):
            raise InputError("--jobs" if jobs else "--job", named, "each job once")
        return named
    if not 1 <= first <= MOST_JOBS:
        raise InputError("--first", first, f"must be 1 to {MOST_JOBS}")
    line = [one.key for one in by_name(world, waiting_line(world))[:first]]
    if not line:
        raise InputError("--first", first, "no job waits in this cluster")
    return line


def _says_itself(given: dict[str, Any]) -> None:
    """A pending job brings its own shape: what is said beside it would be left out in silence."""
    for name, value in given.items():
        if value not in (None, "", 0, ()):
            option = "--model" if name == "models" else f"--{name.replace('_', '-')}"
            raise InputError(option, value, "says nothing beside a pending job, which brings its own shape")


def _jointly(world: Snapshot, jobs: list[str], mix_models: bool, seed: int, json: bool) -> None:
    found = place_jointly(
        world, [replace(request_of(world, name), may_mix_models=mix_models) for name in jobs], seed=seed
    )
    if json:
        print_json(joint_json(jobs, found))
    else:
        say(joint_lines(jobs, found))
        rows = [(name, member, node) for name, one in zip(jobs, found.found.jobs, strict=True)
                for member, node in one.assignment]  # fmt: skip
        show_table("Places", ("job", "member", "node"), rows)
    if found.found.seated_jobs < len(jobs):
        raise typer.Exit(NO)


def _group(gpus: int, per_pod: int, slices: str, asked: dict[str, Any]) -> Group:
    if per_pod < 1 or gpus < 1 or gpus % per_pod:
        raise InputError("--gpus", gpus, f"must be a multiple of --per-pod {per_pod}, and both at least 1")
    pods, _, level = slices.partition(":")
    if slices and not (pods.isdecimal() and level):
        raise InputError("--slice", slices, "must be PODS:LEVEL, such as 4:asw")
    return Group(count=gpus // per_pod, gpus=per_pod, slice_pods=int(pods or 0), slice_level=level, **asked)


def _show(found: Placement) -> None:
    say(placement_lines(found))
    show_table("Places", ("member", "node"), [*found.assignment])
    if found.best is not None:
        terms = [(name, "unknown" if value is None else f"{value:.3f}") for name, value in found.terms.items()]
        show_table("Terms", ("term", "0 to 1"), terms)
    rows = [
        (one.level, one.domain, ", ".join(one.models), f"{one.entropy:.3f}", f"{one.score:.3f}")
        for one in found.alternatives
    ]
    show_table("Alternatives", ("level", "domain", "GPU model", "entropy", "score"), rows)
    fits = [(one.level, one.pods, one.gpus, one.domain) for one in found.largest_fit]
    show_table("Most that fits now", ("level", "pods", "GPUs", "domain"), fits)
    show_table("Nodes without room", ("reason", "nodes"), [*found.reasons.items()])
