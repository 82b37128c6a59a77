"""The linear relaxation of a model's rules: a bound that costs a second where the solver's own search needs many."""

from ortools.linear_solver.python import model_builder
from ortools.sat.python import cp_model

LIMIT = 1 << 60  # of the solver's own infinity
EFFORT = "max_deterministic_time: {}"


def least(rules: cp_model.CpModel, effort: float) -> float | None:
    """The least that the objective of ``rules`` (linear, to be minimised) can be with fractions; None if not found.

    ``effort`` in the solver's deterministic seconds: equal rules have equal answers.
    """
    model = as_linear(rules, whole=False)
    solver = model_builder.Solver("glop")
    solver.set_solver_specific_parameters(EFFORT.format(effort))
    if solver.solve(model) != model_builder.SolveStatus.OPTIMAL:
        return None
    return float(solver.objective_value)


def as_linear(rules: cp_model.CpModel, *, whole: bool) -> model_builder.Model:
    """The same linear rules for another solver; ``whole``: without fractions."""
    model = model_builder.Model()  # type: ignore[no-untyped-call]
    to = model.helper
    for variable in rules.proto.variables:
        low, high = variable.domain
        to.set_var_integrality(to.add_var(), whole)
        to.set_var_lower_bound(to.num_variables() - 1, low)
        to.set_var_upper_bound(to.num_variables() - 1, high)
    for rule in rules.proto.constraints:
        row = to.add_linear_constraint()
        low, high = rule.linear.domain
        to.set_constraint_lower_bound(row, low if low > -LIMIT else -float("inf"))
        to.set_constraint_upper_bound(row, high if high < LIMIT else float("inf"))
        for column, times in zip(rule.linear.vars, rule.linear.coeffs, strict=True):
            to.add_term_to_constraint(row, column, times)
    goal = rules.proto.objective
    for column, times in zip(goal.vars, goal.coeffs, strict=True):
        to.set_var_objective_coefficient(column, times)
    return model
