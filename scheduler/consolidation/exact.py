"""The exact stage: how many pods of each kind leave and reach each node, as rules for a solver.

The model knows eligibility, slots, CPU, memory, GPUs and pods that keep apart on every node.  The place on devices,
affinity, budgets and the order of moves are left out or made easier, never harder: what is proven holds for every legal
plan, and what is found has to be walked (``walk``).
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from scheduler.cluster.snapshot import Bools, Longs
from scheduler.consolidation import columns as c
from scheduler.consolidation.arena import Compiled
from scheduler.consolidation.columns import NONE, Arena
from scheduler.consolidation.kinds import GPU_MILLI, Kinds, company_terms, suits

Key = tuple[int, int]  # node, kind
Var = cp_model.IntVar
Sum = cp_model.LinearExpr | cp_model.IntVar | int


@dataclass(frozen=True, slots=True)
class Counts:
    """Pods by node and kind, where there are some."""

    leaves: dict[Key, int]
    reaches: dict[Key, int]
    drained: frozenset[int]
    opened: frozenset[int]  # empty nodes that receive

    def __add__(self, other: "Counts") -> "Counts":
        """Both together, of parts that share neither kinds nor nodes."""
        return Counts(
            self.leaves | other.leaves,
            self.reaches | other.reaches,
            self.drained | other.drained,
            self.opened | other.opened,
        )

    def without(self, other: "Counts") -> "Counts":
        """The rest, of counts that hold the other ones whole."""
        return Counts(
            {key: count for key, count in self.leaves.items() if key not in other.leaves},
            {key: count for key, count in self.reaches.items() if key not in other.reaches},
            self.drained - other.drained,
            self.opened - other.opened,
        )

    @property
    def net(self) -> int:
        return len(self.drained) - len(self.opened)

    @property
    def moves(self) -> int:
        return sum(self.leaves.values())


NOTHING = Counts({}, {}, frozenset(), frozenset())


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Nodes, and the kinds of which pods stand there; where no pod can cross its border it is best for all what is best
    for each part.
    """

    kinds: frozenset[int]
    nodes: Bools  # [n]

    def of(self, counts: Counts) -> Counts:
        """What the counts say of these nodes."""
        here = self.nodes
        return Counts(
            leaves={key: count for key, count in counts.leaves.items() if here[key[0]]},
            reaches={key: count for key, count in counts.reaches.items() if here[key[0]]},
            drained=frozenset(n for n in counts.drained if here[n]),
            opened=frozenset(n for n in counts.opened if here[n]),
        )


def parts_of(a: Arena, kinds: Kinds, usable: Bools) -> list[Part]:
    """The connected groups of kinds and the nodes where their pods stand or may go."""
    nodes, rows = len(a.node), np.flatnonzero(kinds.of != NONE)
    group, takers = np.arange(nodes), np.flatnonzero(usable)
    homes = standing(a, kinds)
    stands = [[] for _ in kinds.first]  # type: list[list[int]]
    for n, k in homes:
        stands[k].append(n)
    for k, p in enumerate(kinds.first.tolist()):
        joined = np.unique(group[np.concatenate([takers[suits(a, p, takers)], stands[k]]).astype(np.int64)])
        group[np.isin(group, joined)] = joined[0]
    home = group[a.pod[rows, c.P_NODE]]
    return [Part(frozenset(kinds.of[rows[home == g]].tolist()), group == g) for g in np.unique(home).tolist()]


class Model:
    """Variables and rules of one part, or of all; the tables stand as before any move.

    ``usable`` [n]: ready and not cordoned.  The rules of a node are written so that they hold with fractions of it
    emptied, too: a node's whole room goes with it, and the sum of all nodes' rules is a flow of the resource.
    """

    def __init__(self, compiled: Compiled, kinds: Kinds, usable: Bools, part: Part) -> None:
        a = compiled.arena
        self.kinds, self.part, self.rules = kinds, part, cp_model.CpModel()
        able = (a.node[:, c.N_DRAINABLE] == 1) & (a.node[:, c.N_WORK] > 0) & (a.node[:, c.N_PINNED] == 0)
        takers = np.flatnonzero(usable & part.nodes)
        self.drained = self._switches(able & part.nodes)
        self.opened = self._switches(compiled.empty_before & part.nodes)
        self.stands = {key: n for key, n in standing(a, kinds).items() if part.nodes[key[0]]}
        self.leaves = {key: self.rules.new_int_var(0, n, "") for key, n in self.stands.items()}
        self.most = self._arrivals(a, takers)
        self.reaches = {key: self.rules.new_int_var(0, n, "") for key, n in self.most.items()}
        self.net: Sum = sum(self.drained.values()) - sum(self.opened.values())
        self.moves: Sum = sum(self.leaves.values())
        self.milli: Sum = sum(int(kinds.asks[k, GPU_MILLI]) * var for (_, k), var in self.leaves.items())
        self._flow()
        self._room(takers)
        self._apart(a)

    def _switches(self, nodes: Bools) -> dict[int, Var]:
        return {n: self.rules.new_bool_var("") for n in np.flatnonzero(nodes).tolist()}

    def _arrivals(self, a: Arena, takers: Longs) -> dict[Key, int]:
        """How many of a kind a node could take once all that may leave has left, where that is not nobody."""
        could, total = self.kinds.free.copy(), dict.fromkeys(sorted(self.part.kinds), 0)
        for (n, k), count in self.stands.items():
            could[n] += count * self.kinds.asks[k]
            total[k] += count
        found = {}
        for k, count in total.items():
            eligible = takers[suits(a, int(self.kinds.first[k]), takers)]
            asked = self.kinds.asks[k] > 0
            most = np.min(could[eligible][:, asked] // self.kinds.asks[k, asked], axis=1, initial=count)
            for n, fits in zip(eligible.tolist(), most.tolist(), strict=True):
                if fits > 0:
                    found[n, k] = fits
        return found

    def _flow(self) -> None:
        """What leaves arrives; what is emptied keeps nobody and takes nobody; closed nodes take nobody."""
        balance: dict[int, list[Sum]] = defaultdict(list)
        for (n, k), left in self.leaves.items():
            balance[k].append(left)
            if n in self.drained:
                self.rules.add(left >= self.stands[n, k] * self.drained[n])
        for (n, k), reached in self.reaches.items():
            balance[k].append(-reached)
            if n in self.drained or n in self.opened:
                self.rules.add(reached <= self._while_there(n, self.most[n, k]))
        for terms in balance.values():
            self.rules.add(sum(terms) == 0)

    def _while_there(self, n: int, amount: int) -> Sum:
        """The amount, but nothing once the node is emptied, or as long as it is not opened."""
        if n in self.drained:
            return amount - amount * self.drained[n]
        return amount * self.opened[n] if n in self.opened else amount

    def _room(self, takers: Longs) -> None:
        used: dict[int, list[tuple[Var, int, int]]] = defaultdict(list)
        for sign, variables in ((1, self.reaches), (-1, self.leaves)):
            for (n, k), var in variables.items():
                used[n].append((var, k, sign))
        stock = np.zeros_like(self.kinds.free)
        for (n, k), count in self.stands.items():
            stock[n] += count * self.kinds.asks[k]
        asks, free, stocks = self.kinds.asks.tolist(), self.kinds.free.tolist(), stock.tolist()
        for n in takers.tolist():
            for r, (room, held) in enumerate(zip(free[n], stocks[n], strict=True)):
                terms = [sign * asks[k][r] * var for var, k, sign in used[n] if asks[k][r]]
                if terms:
                    self.rules.add(sum(terms) + held <= self._while_there(n, room + held))

    def _apart(self, a: Arena) -> None:
        """Of the pods that refuse and carry one label, or use one port, a node holds one and nobody beside it."""
        among, beside, fixed = _terms(a, self.kinds)
        for term, kinds in among.items():
            for n in {n for n, k in (*self.leaves, *self.reaches) if k in kinds}:
                self._one_of(n, kinds, beside[term], fixed[n, term])

    def _one_of(self, n: int, kinds: set[int], others: set[int], fixed: int) -> None:
        """What already stands against the rule may stay so, and agents stay on a node that is emptied."""
        if sum(self.stands.get((n, k), 0) for k in kinds) + fixed > 1:
            return
        movable = sum(self._stays(n, k) for k in sorted(kinds))
        here = movable + fixed
        self.rules.add(movable <= self._while_there(n, 1 - fixed))
        for k in sorted(others):
            if (n, k) in self.reaches:
                reached = self.reaches[n, k]
                most = self.most[n, k]
                self.rules.add(reached + most * here <= most)

    def _stays(self, n: int, k: int) -> Sum:
        """How many of the kind stand on the node in the end."""
        return self.stands.get((n, k), 0) - self.leaves.get((n, k), 0) + self.reaches.get((n, k), 0)

    def demand(self, most_moves: int | None, drained: Iterable[int]) -> None:
        """At most so many moves, and these nodes among the emptied ones."""
        if most_moves is not None:
            self.rules.add(self.moves <= most_moves)
        for n in drained:
            self.rules.add(self.drained[n] == 1)

    def hint(self, counts: Counts) -> None:
        """Where the solver begins."""
        self.rules.clear_hints()  # type: ignore[no-untyped-call]
        for variables, known in ((self.leaves, counts.leaves), (self.reaches, counts.reaches)):
            for key, var in variables.items():
                self.rules.add_hint(var, known.get(key, 0))
        for switches, on in ((self.drained, counts.drained), (self.opened, counts.opened)):
            for n, switch in switches.items():
                self.rules.add_hint(switch, n in on)

    def read(self, solver: cp_model.CpSolver) -> Counts:
        """The counts of the solver's last answer; whoever is followed by their like stays instead."""
        leaves, reaches = _positive(solver, self.leaves), _positive(solver, self.reaches)
        return Counts(
            leaves=_less(leaves, reaches),
            reaches=_less(reaches, leaves),
            drained=frozenset(n for n, var in self.drained.items() if solver.value(var)),
            opened=frozenset(n for n, var in self.opened.items() if solver.value(var)),
        )


def standing(a: Arena, kinds: Kinds) -> dict[Key, int]:
    """How many pods of each kind stand on each node."""
    pods = np.flatnonzero(kinds.of != NONE)
    keys, counts = np.unique(np.stack([a.pod[pods, c.P_NODE], kinds.of[pods]], 1), axis=0, return_counts=True)
    return {(n, k): count for (n, k), count in zip(keys.tolist(), counts.tolist(), strict=True)}


def _terms(a: Arena, kinds: Kinds) -> tuple[dict[int, set[int]], dict[int, set[int]], dict[Key, int]]:
    """Kinds that a term keeps apart from their like, kinds that must not stand beside those, fixed pods by node."""
    among, beside = defaultdict(set), defaultdict(set)
    for k, p in enumerate(kinds.first.tolist()):
        apart, near = company_terms(a, p)
        for term in apart:
            among[term].add(k)
        for term in near - apart:
            beside[term].add(k)
    fixed: dict[Key, int] = defaultdict(int)
    stay = (a.pod[:, c.P_NODE] >= 0) & (kinds.of == NONE) & (a.pod[:, c.P_FIXED] != c.LENT)
    for p in np.flatnonzero(stay).tolist():
        for term in company_terms(a, p)[0]:
            fixed[int(a.pod[p, c.P_NODE]), term] += 1
    return among, beside, fixed


def _less(counts: dict[Key, int], others: dict[Key, int]) -> dict[Key, int]:
    return {key: count - others.get(key, 0) for key, count in counts.items() if count > others.get(key, 0)}


def _positive(solver: cp_model.CpSolver, variables: dict[Key, Var]) -> dict[Key, int]:
    return {key: value for key, var in variables.items() if (value := solver.value(var))}
