"""Several jobs at once: who is seated where, so that most GPUs are seated, then most jobs, then with least entropy.

The OSDI '26 study places the largest job first, each with least entropy; ``Joint.greedy`` is what that gives.  Here an
exact stage assigns jobs to domains (CP-SAT over domains as bins of GPUs, an upper bound that ends in a proof where the
nodes hold what it says), and a local search over the order of jobs starts from the better of the two.  What is worse
than the greedy in any of these is never returned, and where nothing is better the greedy itself is.

Jobs that are not plain (see ``decoding``) are placed after those that are, the largest first, one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from ortools.sat.python import cp_model

from scheduler.cluster.errors import within
from scheduler.cluster.feasibility import eligibility
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.room import faults
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import NO_LIMIT, UNKNOWN, Bools, Ints, Longs, Snapshot
from scheduler.fragmentation.shapes import CLUSTER
from scheduler.placement.company import terms_of
from scheduler.placement.decoding import NONE, V_ENTROPY, V_GPUS, Jobs, Room, Values, seat_in_order
from scheduler.placement.entropy import entropy, gpus_by_place
from scheduler.placement.filters import Few
from scheduler.placement.gang import Domain, Seating
from scheduler.placement.ground import Ground, ground_of
from scheduler.placement.options import Expecting, Predicted, entropy_level, gpus_on, predict
from scheduler.placement.parts import part_of
from scheduler.placement.planner import place
from scheduler.placement.policy import DEFAULT, Policy
from scheduler.placement.request import Request
from scheduler.placement.resolving import Resolved, only_rows, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Raises ``ParamError`` for the first field out of range."""

    tries: int = 400  # orders of jobs that are looked at
    exact: int = 40_000  # pairs of job and domain up to which the solver is asked; 0: never
    solver: float = 2.0  # deterministic seconds of the solver

    def __post_init__(self) -> None:
        within("tries", self.tries, 0, 1_000_000)
        within("exact", self.exact, 0, 10_000_000)


@dataclass(frozen=True, slots=True)
class Seated:
    """One job; no assignment: it has no place."""

    assignment: tuple[tuple[str, str], ...]  # member, node
    entropy: float | None
    predicted: Predicted | None
    gpus: int  # it asks for


@dataclass(frozen=True, slots=True)
class Outcome:
    """[job] in the order of the requests."""

    jobs: tuple[Seated, ...]
    opened: int  # nodes on which nobody worked

    @property
    def seated_jobs(self) -> int:
        return sum(bool(one.assignment) for one in self.jobs)

    @property
    def seated_gpus(self) -> int:
        return sum(one.gpus for one in self.jobs if one.assignment)

    @property
    def all_reduce_s(self) -> float | None:
        """Sum over seated jobs with GPUs, each weighing as these, in GPU-seconds; None where one is unknown."""
        seated = [one for one in self.jobs if one.assignment and one.gpus]
        times = [None if one.predicted is None else one.predicted.all_reduce for one in seated]
        known = [time.seconds for time in times if time is not None]
        return sum(s * one.gpus for s, one in zip(known, seated, strict=True)) if len(known) == len(seated) else None

    @property
    def worth(self) -> tuple[int, int, float, int]:
        spread = sum((one.entropy or 0.0) * one.gpus for one in self.jobs if one.assignment)
        return self.seated_gpus, self.seated_jobs, -round(spread, 6), -self.opened


@dataclass(frozen=True, slots=True)
class Joint:
    found: Outcome
    greedy: Outcome
    most_gpus: int  # no assignment seats more of the plain jobs; the others count as seated
    proven: bool  # nobody can seat more GPUs


def place_jointly(
    snapshot: Snapshot,
    requests: Sequence[Request],
    policy: Policy = DEFAULT,
    effort: Effort | None = None,
    *,
    seed: int = 0,
    expecting: Expecting | None = None,
) -> Joint:
    """The best of what was looked at.  Raises as ``planner.place`` does."""
    work = _Work(snapshot, tuple(requests), policy, expecting or Expecting())
    return work.run(effort or Effort(), seed)


@dataclass(slots=True, eq=False)
class _Work:
    snapshot: Snapshot
    requests: tuple[Request, ...]
    policy: Policy
    expecting: Expecting
    ground: Ground = field(init=False)
    world: Snapshot = field(init=False)  # with every pod that is made up
    found: list[Resolved] = field(init=False)
    plain: list[int] = field(init=False)  # rows of ``requests``
    jobs: Jobs = field(init=False)
    room: Room = field(init=False)
    nodes: Ints = field(init=False)  # those of ``room``

    def __post_init__(self) -> None:
        self.ground, self.world, self.found = ground_of(self.snapshot), self.snapshot, []
        for request in self.requests:
            one = resolve(self.world, request)
            self.world = one.snapshot
            self.found.append(one)
        self.plain = [i for i in range(len(self.requests)) if self._is_plain(i)]
        self._compile()

    def _is_plain(self, i: int) -> bool:
        request, found = self.requests[i], self.found[i]
        group = request.groups[0]
        rules = group.spec
        company = rules.affinity or rules.anti_affinity or rules.host_ports or rules.labels or rules.resources
        sliced = group.mig or rules.mig or group.slice_pods or group.required or group.preferred
        lends = self.world.pod_lender[found.rows[0][0]] != UNKNOWN
        alone = len(request.groups) == 1 and not len(found.stay) and request.pods >= request.min_members
        levels = all(not level or level in self.ground.levels for level in (request.required, request.preferred))
        shares = group.gpus > 0 and group.gpu_milli < WHOLE_GPU_MILLI
        return bool(
            alone
            and levels
            and not request.may_mix_models
            and not (company or sliced or lends or shares or group.gpu_memory_mib)
        )

    def _compile(self) -> None:
        """Tables of integers for the kernel."""
        shapes: dict[tuple[object, ...], int] = {}
        shape: list[int] = []
        asks: list[list[int]] = []
        most: list[Longs] = []
        for i in list(self.plain):
            group = self.requests[i].groups[0]
            key = (group.gpus, group.cpu_milli, group.memory_mib, group.spec, self.requests[i].tier)
            if key not in shapes:
                shapes[key] = len(asks)
                asks.append([group.gpus, group.cpu_milli, group.memory_mib, 1])
                most.append(self._slots(i))
            if group.count > 1 and group.gpus and self._models(most[shapes[key]]) > 1:
                self.plain.remove(i)  # the kernel knows no models, and no job is to be spread over two
            else:
                shape.append(shapes[key])
        count = len(self.snapshot.node_name)
        table = np.array(most, np.int64).reshape(-1, count)
        self.nodes = np.flatnonzero(table.max(axis=0, initial=0) > 0).astype(np.int32)
        self.jobs = Jobs(
            np.array([self.requests[i].pods for i in self.plain], np.int64), np.array(shape, np.int64),
            np.array([self._level(self.requests[i].required) for i in self.plain], np.int64),
            np.array([self._level(self.requests[i].preferred) for i in self.plain], np.int64),
        )  # fmt: skip
        self.room = Room(
            self._left(), np.array(asks, np.int64).reshape(-1, 4), np.ascontiguousarray(table[:, self.nodes]),
            *self._domains(), ~self.ground.untouched[self.nodes],
        )  # fmt: skip

    def _slots(self, i: int) -> Longs:
        row = int(self.found[i].rows[0][0])
        rules = Few({row: eligibility(only_rows(self.world, self.found[i].rows[0][:1])).reasons(0)})
        return self.ground.room.asking(self.world, rules, terms_of(self.world, [row])).slots(
            part_of(self.world, (row,))
        )

    def _models(self, slots: Longs) -> int:
        return len(np.unique(self.snapshot.node_model[slots > 0]))

    def _level(self, level: str) -> int:
        return NONE if level in ("", CLUSTER) else self.ground.levels.index(level)

    def _left(self) -> Longs:
        capacity, held, n = self.ground.capacity, self.ground.occupancy, self.nodes
        pods = self.snapshot.node_max_pods.astype(np.int64) - np.where(
            self.snapshot.node_max_pods == NO_LIMIT, 0, held.pods
        )
        return np.stack([capacity.free[n], capacity.cpu_milli[n], capacity.memory_mib[n], pods[n]], axis=1)

    def _domains(self) -> tuple[Ints, Longs]:
        """Those of every level, numbered among the nodes that take part; last the level of entropy without unknowns."""
        rows: list[Longs] = []
        counts: list[int] = []
        for level in (*self.ground.levels, entropy_level(self.ground)):
            place = self.ground.domains_at(level)[self.nodes].astype(np.int64)
            if len(rows) == len(self.ground.levels):
                place = np.where(place == UNKNOWN, len(self.ground.untouched) + self.nodes, place)
            names, numbered = np.unique(place, return_inverse=True)
            unknown = len(names) > 0 and names[0] == UNKNOWN
            rows.append(numbered - (1 if unknown else 0))
            counts.append(len(names) - (1 if unknown else 0))
        return np.array(rows, np.int32).reshape(len(counts), -1), np.array(counts, np.int64)

    # ---- the search ------------------------------------------------------------------------------------------------
    def run(self, effort: Effort, seed: int) -> Joint:
        size = self.jobs.pods * self.room.asks[self.jobs.shape, 0] if self.plain else np.zeros(0, np.int64)
        largest = np.lexsort((np.arange(len(size)), -size)).astype(np.int64)
        anywhere = np.full(len(size), NONE, np.int64)
        greedy = self._outcome(seat_in_order(largest, self.jobs, self.room, anywhere, False)[0])
        fixed, bound, optimal = self._solve(size, effort, seed)
        starts = [(largest, anywhere), (self._first(largest, fixed), fixed)]
        found = self._outcome(self._improve(starts, effort, seed, size))
        best = found if found.worth > greedy.worth and found.seated_jobs >= greedy.seated_jobs else greedy
        plain = sum(best.jobs[i].gpus for i in self.plain if best.jobs[i].assignment)
        others = sum(self.requests[i].gpus for i in range(len(self.requests)) if i not in self.plain)
        missing = any(not best.jobs[i].assignment for i in range(len(self.requests)) if i not in self.plain)
        return Joint(best, greedy, bound + others, optimal and plain >= bound and not missing)

    @staticmethod
    def _first(order: Longs, fixed: Longs) -> Longs:
        """Those that have a domain before all others."""
        return np.concatenate([order[fixed[order] != NONE], order[fixed[order] == NONE]])

    def _improve(self, starts: Sequence[tuple[Longs, Longs]], effort: Effort, seed: int, size: Longs) -> Ints:
        """Swap jobs in the order, or draw one that has no seat to the front; what is not worse is kept."""
        looked = [(self._value(order, fixed), order, fixed) for order, fixed in starts]
        (value, seats), order, fixed = max(looked, key=lambda one: tuple(one[0][0]))
        rng, count = np.random.default_rng(seed), len(order)
        for _ in range(effort.tries if count > 1 else 0):
            if value[V_GPUS] == size.sum() and value[V_ENTROPY] == 0:
                break
            other, loose = order.copy(), fixed.copy()
            waiting = np.flatnonzero(seats[order].sum(axis=1) == 0)
            if len(waiting) and rng.random() < 0.5:
                at, to = int(rng.choice(waiting)), int(rng.integers(0, count))
                moved = other[at]
                other = np.insert(np.delete(other, at), min(at, to), moved)
                loose[moved] = NONE
            else:
                a, b = rng.integers(0, count, 2)
                other[a], other[b] = other[b], other[a]
                loose[other[[a, b]]] = NONE
            better, changed = self._value(other, loose)
            if tuple(better) >= tuple(value):
                value, seats, order, fixed = better, changed, other, loose
        return seats

    def _value(self, order: Longs, fixed: Longs) -> tuple[Values, Ints]:
        seats, value = seat_in_order(order, self.jobs, self.room, fixed, True)
        return value, seats

    def _solve(self, size: Longs, effort: Effort, seed: int) -> tuple[Longs, int, bool]:
        """[j] A domain for each job that requires one, the most GPUs that can be seated, and whether that is proven."""
        fixed = np.full(len(size), NONE, np.int64)
        free = int(self.room.left[:, 0].sum()) if len(self.nodes) else 0
        wants = [j for j in range(len(size)) if self.jobs.required[j] != NONE]
        pairs = sum(int(self.room.domains[self.jobs.required[j]]) for j in wants)
        levels = {int(self.jobs.required[j]) for j in wants}
        if not wants or pairs > effort.exact or len(levels) > 1:
            return fixed, min(int(size.sum()), free), False
        return _assign(self, size, wants, levels.pop(), effort, seed)

    # ---- from seats to words -----------------------------------------------------------------------------------------
    def _outcome(self, seats: Ints) -> Outcome:
        """Judged by the law, and the jobs that are not plain after them."""
        taken: dict[int, Seating] = {}
        there: dict[int, list[int]] = {}
        for at, i in enumerate(self.plain):
            chosen = np.flatnonzero(seats[at])
            if len(chosen):
                nodes = np.repeat(self.nodes[chosen], seats[at][chosen])
                if self._allowed(nodes, self.found[i].rows[0], there):
                    taken[i] = Seating(Domain(CLUSTER, 0), (nodes,))
        taken |= self._odd_ones(taken)
        touched = {n for one in taken.values() for nodes in one.nodes for n in nodes.tolist()}
        opened = sum(bool(self.ground.untouched[n]) for n in touched)
        return Outcome(tuple(self._seated(i, taken.get(i)) for i in range(len(self.requests))), opened)

    def _allowed(self, nodes: Ints, rows: Ints, there: dict[int, list[int]]) -> bool:
        more: dict[int, list[int]] = {}
        for n, row in zip(nodes.tolist(), rows.tolist(), strict=True):
            more.setdefault(n, []).append(row)
        for n, pods in more.items():
            arrivals = [*there.get(n, ()), *pods]
            if next(faults(self.world, n, self.ground.residents(n), arrivals), None) is not None:
                return False
        for n, pods in more.items():
            there.setdefault(n, []).extend(pods)
        return True

    def _odd_ones(self, taken: dict[int, Seating]) -> dict[int, Seating]:
        odd = [i for i in range(len(self.requests)) if i not in self.plain]
        if not odd:
            return {}
        world, found = self.snapshot, {}
        for i, seating in taken.items():
            world = _with_bound(world, self.requests[i], seating)
        for i in sorted(odd, key=lambda i: (-self.requests[i].gpus, i)):
            placement = place(world, self.requests[i], self.policy)
            if placement.best is not None:
                at = {name: n for n, name in enumerate(self.snapshot.node_name)}
                where = iter([at[node] for _, node in placement.assignment])
                groups = [np.array([next(where) for _ in range(g.count)], np.int32) for g in self.requests[i].groups]
                found[i] = Seating(Domain(CLUSTER, 0), tuple(groups))
                world = _with_bound(world, self.requests[i], found[i])
        return found

    def _seated(self, i: int, seating: Seating | None) -> Seated:
        request = self.requests[i]
        if seating is None:
            return Seated((), None, None, request.gpus)
        counted = self.ground.domains_at(entropy_level(self.ground))
        members = tuple(
            (member, self.snapshot.node_name[n])
            for group, nodes in zip(request.groups, seating.nodes, strict=True)
            for member, n in zip(group.members, nodes.tolist(), strict=True)
        )
        spread = entropy(gpus_by_place(counted, gpus_on(request, seating)))
        return Seated(members, spread, predict(self.snapshot, request, seating, self.expecting, counted), request.gpus)


def _with_bound(snapshot: Snapshot, request: Request, seating: Seating) -> Snapshot:
    """The snapshot in which the job runs there."""
    found = resolve(snapshot, request)
    node, live = found.snapshot.pod_node.copy(), found.snapshot.pod_live.copy()
    for rows, nodes in zip(found.rows, seating.nodes, strict=True):
        node[rows], live[rows] = nodes, True
    return replace(found.snapshot, pod_node=frozen(node), pod_live=frozen(live))


def _assign(
    work: _Work, size: Longs, wants: list[int], level: int, effort: Effort, seed: int
) -> tuple[Longs, int, bool]:
    """Jobs to domains as bins of GPUs: what the nodes hold of each job alone, and of all jobs together in sum."""
    rules, room = cp_model.CpModel(), work.room
    domains = int(room.domains[level])
    free = np.zeros(domains, np.int64)
    known: Bools = room.domain[level] != NONE
    np.add.at(free, room.domain[level][known], room.left[known, 0])
    chosen = {}
    for j in wants:
        holds = np.zeros(domains, np.int64)
        np.add.at(holds, room.domain[level][known], room.most[work.jobs.shape[j]][known])
        for d in np.flatnonzero(holds >= work.jobs.pods[j]).tolist():
            chosen[j, d] = rules.new_bool_var("")
    anywhere = {j: rules.new_bool_var("") for j in range(len(size)) if j not in set(wants)}
    for j in wants:
        rules.add_at_most_one([var for (i, _), var in chosen.items() if i == j])
    for d in range(domains):
        inside = [size[j] * var for (j, e), var in chosen.items() if e == d]
        if inside:
            rules.add(sum(inside) <= int(free[d]))
    every = [*((j, var) for (j, _), var in chosen.items()), *anywhere.items()]
    seated = cp_model.LinearExpr.weighted_sum([var for _, var in every], [int(size[j]) for j, _ in every])
    rules.add(seated <= int(room.left[:, 0].sum()))
    rules.maximize(seated)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.random_seed = 1, seed % (1 << 31)
    solver.parameters.max_deterministic_time = effort.solver
    status = solver.solve(rules)
    fixed = np.full(len(size), NONE, np.int64)
    most = min(int(size.sum()), int(room.left[:, 0].sum()))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return fixed, most, False
    for (j, d), var in chosen.items():
        if solver.value(var):
            fixed[j] = d
    return fixed, min(most, int(np.floor(solver.best_objective_bound + 1e-6))), True
