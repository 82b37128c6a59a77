"""Asking the solver: most nodes and fewest moves in one question, then fewest GPUs in another.

One worker, one seed and the solver's own measure of work instead of a clock: equal questions have equal answers.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from scheduler.consolidation.exact import Counts, Model

ASK_EVERY_S = 0.25
FOR_GPUS = 0.25  # share of the effort that the second question may take
ANSWERED = (cp_model.OPTIMAL, cp_model.FEASIBLE)
NO_BOUND = np.iinfo(np.int64).max

GoOn = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Answer:
    """``upper`` and ``fewest`` hold for every plan; ``fewest`` moves only if as many nodes are emptied as here."""

    counts: Counts
    upper: int  # bound on net emptied nodes
    fewest: int  # bound on moves, 0 where nothing is known
    effort: float  # that was spent


@dataclass(slots=True)
class Question:
    """``effort`` in the solver's deterministic seconds, about half a second of one core each.

    ``go_on`` is asked now and then, if there is one; once it says no, the best answer so far counts.
    """

    model: Model
    effort: float
    go_on: GoOn | None
    spent: float = 0.0

    def ask(self, start: Counts) -> Answer:
        """The best counts found, those of ``start`` if there are no better ones."""
        model, weight = self.model, sum(self.model.stands.values()) + 1
        model.hint(start)
        model.rules.maximize(weight * model.net - model.moves)
        solver, answered = self._solve(self.effort)
        upper, fewest, found = NO_BOUND, 0, start
        if answered:
            best = int(solver.best_objective_bound)
            found, upper = max(start, model.read(solver), key=lambda one: (one.net, -one.moves)), -(-best // weight)
            fewest = weight * found.net - best if upper == found.net else 0
        if found.net > 0:
            found = self._lightest(found)
        return Answer(found, upper, fewest, self.spent)

    def _lightest(self, found: Counts) -> Counts:
        """As many nodes with no more moves, and the fewest GPUs moved."""
        model = self.model
        model.hint(found)
        model.rules.add(model.net >= found.net)
        model.rules.add(model.moves <= found.moves)
        model.rules.minimize(model.milli)
        solver, answered = self._solve(self.effort * FOR_GPUS)
        return model.read(solver) if answered else found

    def _solve(self, effort: float) -> tuple[cp_model.CpSolver, bool]:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.linearization_level = 2  # the flows are all but linear: proofs come from their relaxation
        solver.parameters.max_deterministic_time = effort
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
