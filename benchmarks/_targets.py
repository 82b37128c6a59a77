"""The rows of the performance sheet that plans are held to against proven optima, by name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LARGE = 500  # nodes of a world of row C3
SMALL = 25  # nodes up to which C4 asks for more
FRACTIONAL = "openb70c"
HEADINGS = ("row", "world", "nodes", "seeds", "planner", "found", "worlds from to", "worst CPU s", "target", "met")


@dataclass(frozen=True, slots=True)
class Result:
    """Of one planner on one world."""

    net: int
    moves: int
    proven: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """One world.  ``fewest`` moves are proven for ``upper`` nodes, 0 where nothing is; ``plain`` None: not ended."""

    upper: int
    fewest: int
    chains: Result
    exact: Result
    plain: Result | None


def lines(world: str, nodes: int, rows: Sequence[Row]) -> Iterator[list[str]]:
    """The cells of every row that these worlds say something about; ``rows`` are of the seeds 0, 1, ..."""
    exact = [row.exact for row in rows]
    proven = [(row, row.chains) for row in rows if row.exact.proven]
    both = list(zip(rows, exact, strict=True))
    if world == FRACTIONAL:
        least = 0.97 if nodes <= SMALL else 0.95
        yield _line("C4", world, nodes, "exact", both, f">= {least:.0%} of the bound", share(both) >= least)
    elif nodes >= LARGE:
        met = share(both) >= 0.99 and worst(exact) <= 60
        yield _line("C3", world, nodes, f"exact, {len(proven)} proven", both, ">= 99 % in <= 60 s", met)
    else:
        met = bool(proven) and share(proven) >= 0.99 and all(row.upper - one.net <= 1 for row, one in proven)
        yield _line("C2", world, nodes, f"chains, {len(proven)} proven", proven, ">= 99 %, at most 1 short", met)
        cells = [f"{len(proven)} equal", "", f"{worst(exact):.2f}", ">= 95 % of worlds in <= 5 s"]
        met = len(proven) >= 0.95 * len(rows) and worst(exact) <= 5
        yield _cells("C2", world, nodes, len(rows), "exact", cells, met)
    known = [row for row in rows if row.fewest]
    if known and nodes < LARGE:  # there only the small parts have a proven number of moves
        each = [row.exact.moves / row.fewest for row in known]
        over = sum(row.exact.moves for row in known) / sum(row.fewest for row in known)
        cells = [f"{over:.3f}", f"{min(each):.3f} {max(each):.3f}", f"{worst(exact):.2f}", "<= 1.05"]
        yield _cells("C5", world, nodes, len(known), "exact", cells, over <= 1.05)


def share(pairs: Sequence[tuple[Row, Result]]) -> float:
    """Net emptied nodes of all worlds over their bounds; 1 where there is nothing to win."""
    upper = sum(row.upper for row, _ in pairs)
    return sum(result.net for _, result in pairs) / upper if upper else 1.0


def worst(results: Sequence[Result]) -> float:
    return max(result.seconds for result in results)


def _line(
    row: str, world: str, nodes: int, planner: str, pairs: Sequence[tuple[Row, Result]], target: str, met: bool
) -> list[str]:
    each = [share([pair]) for pair in pairs]
    spread = f"{min(each):.1%} {max(each):.1%}" if each else "-"
    took = f"{worst([result for _, result in pairs]):.2f}" if pairs else "-"
    found = f"{share(pairs):.1%}" if pairs else "nothing proven"
    return _cells(row, world, nodes, len(pairs), planner, [found, spread, took, target], met)


def _cells(row: str, world: str, nodes: int, seeds: int, planner: str, cells: list[str], met: bool) -> list[str]:
    return [row, world, str(nodes), str(seeds), planner, *cells, "yes" if met else "NO"]
