"""Asking the solver: most nodes, then fewest moves for as many, then fewest GPUs in as many moves.

One worker, one seed and the solver's own measure of work instead of a clock: equal questions have equal answers.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from ortools.sat.python import cp_model

from scheduler.consolidation.exact import Counts, Model

ASK_EVERY_S = 0.25
ANSWERED = (cp_model.OPTIMAL, cp_model.FEASIBLE)
NO_BOUND = np.iinfo(np.int64).max
TINY = 1e-6  # of the solver's bounds, which are no integers
LEAST = 0.1  # effort for a question however much the others took

GoOn = Callable[[], bool]


class Further(Protocol):
    """Another way to better counts, which are good if there is an order of moves for them."""

    effort: float  # that was spent, in the solver's measure

    def beyond(self, start: Counts, upper: int) -> Counts:
        """Good counts that empty more nodes, at most ``upper``; ``start`` where none are found."""

    def good(self, counts: Counts) -> bool:
        """Whether there is an order of moves."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``upper`` and ``fewest`` hold for every plan; ``fewest`` moves only if as many nodes are emptied as here."""

    counts: Counts
    upper: int  # bound on net emptied nodes
    fewest: int  # bound on moves, 0 where nothing is known
    effort: float  # that was spent

    def __add__(self, other: "Answer") -> "Answer":
        """Both together, of parts that share neither kinds nor nodes."""
        return Answer(
            self.counts + other.counts,
            self.upper + other.upper,
            self.fewest + other.fewest,
            self.effort + other.effort,
        )


@dataclass(slots=True)
class Question:
    """``effort`` in the solver's deterministic seconds, about half a second of one core each.

    ``go_on`` is asked now and then, if there is one; once it says no, the best answer so far counts.
    """

    model: Model
    effort: float
    go_on: GoOn | None
    further: Further | None = None
    spent: float = 0.0

    def ask(self, start: Counts) -> Answer:
        """The best counts found, those of ``start`` if there are no better ones."""
        model = self.model
        model.hint(start)
        model.rules.maximize(model.net)
        solver, answered = self._solve()
        found, upper, fewest = start, NO_BOUND, 0
        if answered:
            upper = int(np.floor(solver.best_objective_bound + TINY))
            found = max(start, model.read(solver), key=lambda one: one.net)
        found, sure = self._better(start, found, upper)
        if found.net <= 0:
            return Answer(start, upper, 0, self._effort)
        model.rules.add(model.net >= found.net)
        for goal in (model.moves, model.milli):
            fewer, bound = self._least(found, goal)
            fewest = fewest or bound
            if not sure or fewer == found or self._good(fewer):
                found = fewer
            model.rules.add(model.moves <= found.moves)
        return Answer(found, upper, fewest, self._effort)

    @property
    def _effort(self) -> float:
        return self.spent + (self.further.effort if self.further else 0.0)

    def _good(self, counts: Counts) -> bool:
        return self.further is not None and self.further.good(counts)

    def _better(self, start: Counts, found: Counts, upper: int) -> tuple[Counts, bool]:
        """The best of both and of what goes further, and whether an order of its moves is known."""
        if self.further is None or (found.net == start.net == upper):
            return found, False
        sound = found if self._good(found) else start
        better = self.further.beyond(sound, upper)
        return (better, True) if better.net >= found.net else (found, False)

    def _least(self, found: Counts, goal: cp_model.LinearExprT) -> tuple[Counts, int]:
        """The counts with the least of it, and what is the least at any rate."""
        self.model.hint(found)
        self.model.rules.minimize(goal)
        solver, answered = self._solve()
        if not answered:
            return found, 0
        return self.model.read(solver), int(np.ceil(solver.best_objective_bound - TINY))

    def _solve(self) -> tuple[cp_model.CpSolver, bool]:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.linearization_level = 2  # the flows are all but linear: proofs come from their relaxation
        # Long preparations find nothing in such models, and the first relaxation is often the proof
        solver.parameters.cp_model_probing_level = 0
        solver.parameters.symmetry_level = 0
        solver.parameters.max_presolve_iterations = 1
        solver.parameters.max_deterministic_time = max(self.effort - self.spent, LEAST)
        status = _attended(solver, self.model.rules, self.go_on)
        self.spent += solver.response_proto.deterministic_time
        return solver, status in ANSWERED


def _attended(solver: cp_model.CpSolver, rules: cp_model.CpModel, go_on: GoOn | None) -> cp_model.CpSolverStatus:
    """Solve, and stop as soon as the caller says so."""
    if go_on is None:
        return solver.solve(rules)
    with ThreadPoolExecutor(1) as beside:
        answer: Future[cp_model.CpSolverStatus] = beside.submit(solver.solve, rules)
        try:
            while wait([answer], ASK_EVERY_S).not_done:
                if not go_on():
                    solver.stop_search()
        except BaseException:
            solver.stop_search()
            raise
    return answer.result()
