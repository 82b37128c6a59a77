"""Plans of random worlds before two judges: the planner's own verification, and a checker that shares no code with it.

    python -m benchmarks.legality [--worlds 10000] [--start 0]

Every third world is planned in small partitions.  Prints each violation, then the totals; fails if there is one.
"""

import argparse
import sys
import time

from scheduler.consolidation.planner import Params, unproven
from scheduler.plan.verify import verify
from tests.builders.answers import answer
from tests.builders.checker import Judge
from tests.builders.random_worlds import random_world


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=10_000)
    parser.add_argument("--start", type=int, default=0)
    options = parser.parse_args()
    begun, moves, faults = time.process_time(), 0, 0
    for seed in range(options.start, options.start + options.worlds):
        found, made = _judge(seed)
        moves, faults = moves + made, faults + len(found)
        for fault in found:
            print(f"world {seed}: {fault}")
    seconds = time.process_time() - begun
    print(f"{options.worlds:,} worlds, {moves:,} moves, {faults:,} violations, {seconds:.0f} CPU s")
    sys.exit(faults > 0)


def _judge(seed: int) -> tuple[list[str], int]:
    """What either judge objects to, and the number of moves judged."""
    world = random_world(seed)
    snapshot = world.snapshot()
    plan = unproven(snapshot, Params(partition=3 if seed % 3 == 0 else 500), seed, None, None)
    theirs = [str(fault) for fault in Judge(world.document()).faults(answer(plan))]
    ours = [f"{violation.kind}: {violation.detail}" for violation in verify(plan, snapshot).violations]
    return theirs + ours, len(plan.moves)


if __name__ == "__main__":
    main()
