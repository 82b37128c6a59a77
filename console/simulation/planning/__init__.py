"""The only callers of the replay; only workers import them."""

from console.simulation.planning.running import run
from console.simulation.planning.summing import sum_up
from console.simulation.planning.tracing import read_trace

__all__ = ["read_trace", "run", "sum_up"]
