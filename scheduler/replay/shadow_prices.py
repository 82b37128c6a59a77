"""What a device and a core are worth on each part of a cluster, if what is left is asked for by the typical mix.

A linear programme, maximised over what is served of each shape on each part of the cluster; a part is the nodes of one
GPU model whose free cores for a free GPU are alike.  With p part, s shape of the mix, r what a device has left:

    maximise    sum over p, s of x[p,s] * (GPU thousandths of s, or CPU_WEIGHT * its CPU where it asks for no GPU)
    such that   sum over p of x[p,s]               <= demand of s
                sum over s of x[p,s] * CPU of s    <= free CPU of p
                sum over r of y[p,r,m]              = sum over s with share m of x[p,s]
                sum over m of y[p,r,m]             <= devices with r left, and those of r + m that a share m left at r
                                                      (and of r = 1000: the whole devices that shapes take)

y[p,r,m] is how many shares m go to devices with r left: it knows that 190 beside an 810 is lost, and that 530 beside a
470 is not.  The dual of a device row is the price of a device with r left, that of a CPU row the price of a thousandth
of a core: what the cluster could serve less without it, as bid prices are in revenue management (Talluri and van Ryzin,
Management Science 44, 1998).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from ortools.linear_solver.python import model_builder_helper

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Longs
from scheduler.replay.filling import Floats, Mix

CPU_WEIGHT = 0.1  # a shape without GPU is never refused while it fits, so it has to find its cores in the plan, too
UNBOUNDED = float("inf")


class Prices(NamedTuple):
    """In GPU thousandths.  Axis: p part."""

    device: Floats  # [p, 1001] by what the device has left; never falls with it
    core: Floats  # [p] of a thousandth of a core


class Market:
    """The programme of one mix on parts with these GPU models and at most so many devices on a node.

    Its rows stay: only what is left and what is asked for change from one pricing to the next.
    """

    def __init__(self, mix: Mix, model_bit: Longs, devices: Longs) -> None:
        self._rules = model_builder_helper.ModelBuilderHelper()
        self._rules.set_maximize(True)
        self._mix, self._parts = mix, model_bit.size
        self._shares = np.unique(mix.gpu_milli[(mix.gpus == 1) & (mix.gpu_milli < WHOLE_GPU_MILLI)]).tolist()
        self._rests = np.array(sorted(_reachable(self._shares)), dtype=np.int64)
        self._demand = self._rows(mix.share.size)
        self._core = self._rows(self._parts)
        self._device = [self._rows(self._rests.size) for _ in range(self._parts)]
        for part in range(self._parts):
            self._open(part, int(model_bit[part]), int(devices[part]))

    def prices(self, cpu_milli: Longs, devices: Longs, demand: Floats) -> Prices:
        """``cpu_milli`` [p] free, ``devices`` [p, 1001] how many have so much left, ``demand`` [s] requests.

        Raises ArithmeticError where the programme was not solved.
        """
        kind = np.searchsorted(self._rests, np.arange(WHOLE_GPU_MILLI + 1), side="right") - 1  # -1: no share fits
        self._bound(self._demand, demand)
        self._bound(self._core, cpu_milli)
        for rows, counts in zip(self._device, devices, strict=True):
            self._bound(rows, np.bincount(kind[kind >= 0], weights=counts[kind >= 0], minlength=self._rests.size))
        solver = model_builder_helper.ModelSolverHelper("glop")
        solver.solve(self._rules)
        if not solver.has_solution():
            raise ArithmeticError(f"shadow prices: {solver.status_string()}")
        dual = np.asarray(solver.dual_values())
        worth = np.zeros((self._parts, WHOLE_GPU_MILLI + 1))
        for part, rows in enumerate(self._device):
            worth[part, kind >= 0] = np.maximum.accumulate(dual[rows])[kind[kind >= 0]]
        return Prices(worth, dual[self._core])

    def _open(self, part: int, model_bit: int, devices: int) -> None:
        """What may be served on a part, and how its shares follow each other on a device."""
        mix, rules, rows = self._mix, self._rules, self._device[part]
        total = {share: self._row(0.0) for share in self._shares}
        row = {rest: int(rows[place]) for place, rest in enumerate(self._rests.tolist())}
        for shape in range(mix.share.size):
            gpus, milli, cpu = int(mix.gpus[shape]), int(mix.gpu_milli[shape]), int(mix.cpu_milli[shape])
            if gpus > devices or (gpus and mix.models[shape] and not int(mix.models[shape]) & model_bit):
                continue
            served = self._variable(gpus * milli if gpus else CPU_WEIGHT * cpu)
            rules.add_term_to_constraint(int(self._demand[shape]), served, 1.0)
            rules.add_term_to_constraint(int(self._core[part]), served, cpu)
            if gpus and milli in total:
                rules.add_term_to_constraint(total[milli], served, 1.0)
            elif gpus:
                rules.add_term_to_constraint(row[WHOLE_GPU_MILLI], served, gpus)
        for rest, share in ((rest, share) for rest in row for share in self._shares if share <= rest):
            taken = self._variable(0.0)
            rules.add_term_to_constraint(total[share], taken, -1.0)
            rules.add_term_to_constraint(row[rest], taken, 1.0)
            if rest - share in row:
                rules.add_term_to_constraint(row[rest - share], taken, -1.0)

    def _variable(self, worth: float) -> int:
        rules = self._rules
        variable = int(rules.add_var())
        rules.set_var_lower_bound(variable, 0.0)
        rules.set_var_upper_bound(variable, UNBOUNDED)
        rules.set_var_objective_coefficient(variable, worth)
        return variable

    def _row(self, low: float = -UNBOUNDED) -> int:
        row = int(self._rules.add_linear_constraint())
        self._rules.set_constraint_lower_bound(row, low)
        self._rules.set_constraint_upper_bound(row, 0.0)
        return row

    def _rows(self, count: int) -> Longs:
        return np.array([self._row() for _ in range(count)], dtype=np.int64)

    def _bound(self, rows: Longs, most: Longs | Floats) -> None:
        for row, high in zip(rows.tolist(), most.tolist(), strict=True):
            self._rules.set_constraint_upper_bound(row, float(high))


def _reachable(shares: Iterable[int]) -> set[int]:
    """What a device may have left when shares of these sizes are taken, as long as the smallest still fits."""
    sizes = sorted(shares)
    found, open_ = {WHOLE_GPU_MILLI}, [WHOLE_GPU_MILLI]
    while open_:
        rest = open_.pop()
        for left in (rest - size for size in sizes if rest - size >= sizes[0]):
            if left not in found:
                found.add(left)
                open_.append(left)
    return found
