"""``slackline consolidate``."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn

from scheduler.cli.files import read_snapshot
from scheduler.cli.options import NO, AsJson, ClusterName, Seed, SnapshotFile
from scheduler.cli.refusing import bad_input, check_seed
from scheduler.cli.screen import count, errors, print_json, say, show_table
from scheduler.consolidation.params import Params
from scheduler.consolidation.params import Progress as Reached
from scheduler.consolidation.planner import consolidate as plan_moves
from scheduler.consolidation.worth import at_rates
from scheduler.plan.ask import one_goal
from scheduler.plan.plan import Plan
from scheduler.plan.told import goal_lines, plan_json
from scheduler.pricing.rates import stated
from scheduler.pricing.told import price_lines

NODE_GOALS, NAME_GOALS = ("--drain", "--spare"), ("--empty-domain", "--make-room", "--seat")


def consolidate(
    snapshot: SnapshotFile,
    seed: Seed = 0,
    depth: Annotated[int, typer.Option(help="Longest chain of moves that make room for one another.")] = 3,
    rounds: Annotated[int, typer.Option(help="Rounds, each with partitions drawn anew.")] = 3,
    partition: Annotated[int, typer.Option(help="Nodes per partition.")] = 500,
    exact: Annotated[int, typer.Option("--exact-up-to", help="Nodes: larger clusters get no solver; 0: none.")] = 40,
    repack: Annotated[int, typer.Option("--repack-up-to", help="Nodes of the largest part that is repacked.")] = 100,
    max_moves: Annotated[int | None, typer.Option(help="At most this many moves.")] = None,
    least_hours: Annotated[float, typer.Option(help="Slack-node hours saved for each GPU moved; 0: any.")] = 0.0,
    seconds: Annotated[float | None, typer.Option(help="Stop after this long with the plan so far.")] = None,
    drain: Annotated[list[str] | None, typer.Option(metavar="NODE", help="Move all pods off it; repeatable.")] = None,
    empty_domain: Annotated[str | None, typer.Option(metavar="NAME", help="Clear an ASW or other domain.")] = None,
    level: Annotated[str, typer.Option(help="Level of the domain; of what a spare shares, or cluster.")] = "",
    make_room: Annotated[str | None, typer.Option(metavar="SHAPE", help="Make room for it, such as 8G128C.")] = None,
    slots: Annotated[int | None, typer.Option(help="How often the shape is to fit; default: 1.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="GPU model in scope; repeatable; default: all.")] = None,
    seat: Annotated[str | None, typer.Option(metavar="NS/NAME", help="Make a pending gang or pod fit.")] = None,
    spare: Annotated[str | None, typer.Option(metavar="NODE", help="Move a gang off it to a spare.")] = None,
    whole: Annotated[bool | None, typer.Option("--whole/--partly", help="All of the goal or nothing.")] = None,
    rate: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A rate of the price.")] = None,
    cluster: ClusterName = None,
    json: AsJson = False,
) -> None:
    """Plan the moves that empty the most nodes, or reach another goal.  Ctrl-C stops with the valid plan so far."""
    goals = {"--drain": drain, "--empty-domain": empty_domain, "--make-room": make_room, "--seat": seat,
             "--spare": spare}  # fmt: skip
    with bad_input(_options(goals, whole)):
        goal = one_goal(drain, empty_domain, level, make_room, slots, seat, spare, whole, model or ())
        params = Params(
            depth=depth, rounds=rounds, partition=partition, exact_up_to=exact, repack_up_to=repack,
            max_moves=max_moves, seconds=seconds, least_hours=least_hours, models=tuple(model or ()), goal=goal,
        )  # fmt: skip
        check_seed(seed)
        said = stated(rate or ())
        world = read_snapshot(snapshot, cluster)
        started = time.monotonic()
        with _progress() as tell:
            plan = plan_moves(world, params, seed=seed, progress=tell, clock=time.monotonic)
        plan, price = at_rates(plan, world, said)
        took = time.monotonic() - started
    if json:
        print_json({**plan_json(plan, took), "price": price})
    else:
        _show_plan(plan, took, price)
    if plan.aim is not None and plan.aim.reached < plan.aim.wanted:
        raise typer.Exit(NO)


def _options(goals: Mapping[str, object], whole: bool | None) -> dict[str, str]:
    """The option of each field of a goal: the one that was given, not all that could have been."""
    given = [option for option, value in goals.items() if value is not None and value != []]
    return {
        "goal": ", ".join(given),
        "nodes": ", ".join(option for option in given if option in NODE_GOALS),
        "name": ", ".join(option for option in given if option in NAME_GOALS),
        "models": "--model",
        "whole": "--partly" if whole is False else "--whole",
    }


@contextmanager
def _progress() -> Iterator[Callable[[Reached], bool]]:
    """A bar on stderr if that is a terminal; the first Ctrl-C asks the planner to stop, the second one kills."""
    stopped: list[bool] = []

    def stop(*_: object) -> None:
        stopped.append(True)
        signal.signal(signal.SIGINT, before)

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[found]}")
    with Progress(*columns, console=errors, disable=not errors.is_terminal, transient=True) as bar:
        task = bar.add_task("planning", total=None, found="")

        def tell(at: Reached) -> bool:
            done = (at.round - 1) * at.partitions + at.partition
            found = f"round {at.round}, {at.emptied} nodes emptied, {at.moves} moves"
            bar.update(task, completed=done, total=at.rounds * at.partitions, found=found)
            return not stopped

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield tell
        finally:
            signal.signal(signal.SIGINT, before)


def _show_plan(plan: Plan, seconds: float, price: dict[str, Any] | None) -> None:
    before, after = plan.before, plan.after
    waves = plan.wave_of[-1] + 1 if plan.wave_of else 0
    lines = [
        f"plan {plan.digest()}",
        *goal_lines(plan),
        f"{count(plan.net_emptied, 'node')} net emptied by {count(len(plan.moves), 'move')}"
        f" in {count(waves, 'wave')} ({seconds:.1f} s)",
        f"empty nodes {before.empty_nodes} -> {after.empty_nodes}, slack {before.slack_nodes} -> {after.slack_nodes}",
        f"no plan can {'net' if plan.aim is None else 'reach'} more than {plan.bound.net_upper}"
        f" (gap {plan.bound.gap:.1%})" + (", proven the best" if plan.bound.proven else ""),
        *(["no move is worth making"] if price is None else price_lines(price)),
        *plan.notes,
    ]
    say(lines)
    moves = zip(plan.wave_of, plan.moves, strict=True)
    show_table(
        "Moves", ("wave", "pod", "from", "to", "mode"), [(w + 1, m.pod, m.source, m.target, m.mode) for w, m in moves]
    )
    seats = () if plan.aim is None else plan.aim.seats
    show_table("Seats", ("who", "node"), [(one.who, one.node) for one in seats])
    reasons: dict[str, int] = {}
    for kept in plan.kept:
        reasons[kept.reason] = reasons.get(kept.reason, 0) + 1
    show_table("Nodes that stay", ("reason", "nodes"), sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
