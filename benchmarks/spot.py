"""Rows S1 to S4: what lending brings and costs, on worlds that are fixed before anybody plans on them.

    python -m benchmarks.spot [--quick] [--seeds 10] [--from-seed 0] [--worlds …] [--demands 0.5 1 2]

Worlds, demand and laws of exit times are those of ``scheduler.replay.spot_world``; all policies of a line meet the same
arrivals, failures of hooks and calls of owners, seed by seed.  The bound is ``scheduler.replay.clairvoyant``: a flow
with all that comes known, jobs that stop and go on for nothing, and GPUs in one heap.  Constants of our policy were
chosen on seeds from 1000 on; the tables take seeds from 0 on.  What is put in is no result: the share that HP holds is
the world's, and beside the study's 68 -> 93 % and 90 % of standby stands what LP came to.
"""

import argparse
import os
import time
from collections import defaultdict

os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # the forecasters' trees are small: threads would only wait for each other

from rich.console import Console

from benchmarks._spot_rows import recall_table, rows_table, shown_table
from benchmarks._spot_runs import SHARES, Figures, policies, storms, without_lp
from scheduler.performance.exit_times import LAWS
from scheduler.replay.spot_rules import OURS, SPOT_RULES
from scheduler.replay.spot_world import DEMANDS, WORLDS
from scheduler.replay.warm import warm_up

RECALL_SEEDS = 3  # of storms and of the laws that are worse than the study's


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, demand 1, the first world, no storms")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--from-seed", type=int, default=0)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--demands", nargs="+", type=float, default=list(DEMANDS))
    parser.add_argument("--no-storms", action="store_true")
    options = parser.parse_args()
    worlds, demands = (options.worlds[:1], [1.0]) if options.quick else (options.worlds, options.demands)
    seeds = range(options.from_seed, options.from_seed + (1 if options.quick else options.seeds))
    warm_up()
    out = Console(width=190)
    for world in worlds:
        begun = time.process_time()
        runs: dict[float, list[dict[str, Figures]]] = defaultdict(list)
        alone = []
        for seed in seeds:
            alone.append(without_lp(world, seed))
            for demand in demands:
                runs[demand].append(policies(world, seed, demand, SPOT_RULES))
        out.print(shown_table(world, runs))
        out.print(rows_table(world, runs, alone))
        out.print(f"{world}: {time.process_time() - begun:,.0f} CPU s")
        if not options.quick and not options.no_storms:
            out.print(recall_table(_recalls(world, seeds[:RECALL_SEEDS])))


def _recalls(world: str, seeds: range) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for law in LAWS:
        one = [policies(world, seed, 1.0, ["ours"], law)["ours"].recalled_s for seed in seeds]
        found[law, "one"] = [second for part in one for second in part]
        for share in SHARES:
            found[law, f"{share:.0%} at once"] = [
                second for seed in seeds for second in storms(world, seed, share, law, announced=False, rules=OURS)
            ]
        found[law, "all, at a known end"] = [
            second for seed in seeds for second in storms(world, seed, 1.0, law, announced=True, rules=OURS)
        ]
    return found


if __name__ == "__main__":
    main()
