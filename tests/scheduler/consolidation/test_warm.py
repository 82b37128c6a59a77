"""The compiled kernels come back from disk in a second process."""

import os
import subprocess
import sys
from pathlib import Path

COUNT = """
from scheduler.consolidation import arena, moves, probe, search, waves, warm
warm.warm_up()
for entry in (arena.settle_all, moves.travel, search.drain_all, probe.ask_all, waves.assign):
    print(entry.__name__, sum(entry.stats.cache_hits.values()), sum(entry.stats.cache_misses.values()))
"""


def counts(cache: Path) -> list[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_second_process_finds_every_kernel_compiled(tmp_path: Path) -> None:
    names = ("settle_nodes", "travel", "drain_all", "ask_all", "assign")
    assert counts(tmp_path) == [f"{name} 0 1" for name in names]
    assert counts(tmp_path) == [f"{name} 1 0" for name in names]
