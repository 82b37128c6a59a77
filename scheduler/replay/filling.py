"""One pass over arrivals: each request goes to the node that a policy likes best, and nothing ever ends.

A node's score for a class of requests is kept until something is placed there: one placement changes one node, so some
0.1 million scores are worked out where 13 million are compared.

The fragment of a node for a shape, F, is that of Weng et al. (ATC '23) as their simulator counts it: all idle GPU
thousandths where the shape asks for no GPU or does not fit, else those on devices that are too small for its share;
memory plays no part.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.snapshot import Ints, Longs
from scheduler.replay.policies import Policy

type Floats = NDArray[np.float64]

NOWHERE = -1
UNFIT = -1  # instead of a score
ABSENT = -1  # what a device that a node does not have has left: no share is that small
WHOLE = 1000
MOST_CPU_MILLI, MOST_GPU_MILLI = 128_000, 8_000  # what the published simulator takes for the largest node
BEST, HALF, THIRD, QUARTER = 100, 50, 33, 25
_RANDOM, _DOT, _CLUSTERING, _PACKING, _BEST_FIT, _FGD = (int(policy) for policy in Policy)


class Nodes(NamedTuple):
    """What is left; the pass changes it.  Axes: n node, d device."""

    cpu_milli: Longs  # [n]
    memory_mib: Longs  # [n]
    left_milli: Longs  # [n, d] ABSENT beyond the node's devices
    devices: Longs  # [n]
    model_bit: Longs  # [n] one bit for its GPU model
    rank: Longs  # [n] of equal scores the lowest rank wins


class Requests(NamedTuple):
    """In order of arrival.  Axis: r request."""

    cpu_milli: Longs
    memory_mib: Longs
    gpus: Longs
    gpu_milli: Longs  # of each device; 0 without a GPU
    models: Longs  # bits of the models that it may have; 0 for any
    kind: Longs  # equal for equal CPU, GPUs, thousandths and models


class Mix(NamedTuple):
    """Shapes that are typical and how often they come.  Axis: s shape."""

    cpu_milli: Longs
    gpus: Longs
    gpu_milli: Longs
    models: Longs
    share: Floats  # sums to 1


class Filled(NamedTuple):
    """After each arrival.  Axis: r request."""

    allocated_milli: Longs
    fragment_milli: Floats  # F of all nodes
    node: Ints  # NOWHERE where it did not fit


def fill(nodes: Nodes, requests: Requests, mix: Mix, policy: Policy, seed: int = 0) -> Filled:
    """Place ``requests`` one by one.  ``nodes`` are changed; ``seed`` counts for the random policy alone."""
    draws = np.random.default_rng(seed).random((len(requests.cpu_milli) if policy == Policy.RANDOM else 0, 2))
    kinds = int(requests.kind.max()) + 1 if requests.kind.size else 0
    return Filled(*_fill(nodes, requests, mix, int(policy), kinds, draws))


@numba.njit(cache=True)
def _fill(nodes, requests, mix, policy, kinds, draws):  # type: ignore[no-untyped-def]
    n, total = nodes.cpu_milli.size, requests.cpu_milli.size
    version, scored = np.zeros(n, np.int32), np.full((kinds, n), -1, np.int32)
    scores, devices = np.zeros((kinds, n), np.int16), np.full((kinds, n), -1, np.int8)
    fragment, sizes = np.empty(n), np.zeros(n, np.int64)
    scratch = np.empty(nodes.left_milli.shape[1], np.int64)
    allocated, fragments, places = np.empty(total, np.int64), np.empty(total), np.empty(total, np.int32)
    fits, found, memory = np.empty(n, np.int64), np.empty(n, np.int64), nodes.memory_mib
    for node in range(n):
        fragment[node] = _fragment(nodes.cpu_milli[node], nodes.left_milli[node], nodes.model_bit[node], mix)
    taken, broken = 0, fragment.sum()
    for row in range(total):
        kind, needed, count = requests.kind[row], requests.memory_mib[row], 0
        for node in range(n):
            if scored[kind, node] != version[node]:
                score, device = _score(policy, nodes, node, requests, row, mix, fragment[node], sizes[node], scratch)
                scores[kind, node], devices[kind, node], scored[kind, node] = score, device, version[node]
            if scores[kind, node] != UNFIT and memory[node] >= needed:  # requests of a kind differ in their memory
                fits[count], found[count] = node, scores[kind, node]
                count += 1
        place = NOWHERE
        if count:
            if policy == _RANDOM:
                place = fits[int(draws[row, 0] * count)]
                device = _drawn(nodes.left_milli[place], requests.gpu_milli[row], draws[row, 1])
            else:
                place = fits[_best(policy, fits, found, count, nodes.rank)]
                device = devices[kind, place]
            taken += _take(nodes, place, requests, row, device)
            sizes[place] |= _size(requests, row)
            version[place] += 1
            broken -= fragment[place]
            fragment[place] = _fragment(nodes.cpu_milli[place], nodes.left_milli[place], nodes.model_bit[place], mix)
            broken += fragment[place]
        allocated[row], fragments[row], places[row] = taken, broken, place
    return allocated, fragments, places


@numba.njit(cache=True)
def _fits(nodes, node, requests, row):  # type: ignore[no-untyped-def]
    """But for memory."""
    if nodes.cpu_milli[node] < requests.cpu_milli[row]:
        return False
    need = requests.gpus[row]
    if not need:
        return True
    if requests.models[row] and not requests.models[row] & nodes.model_bit[node]:
        return False
    for left in nodes.left_milli[node]:
        if left >= requests.gpu_milli[row]:
            need -= 1
            if not need:
                return True
    return False


@numba.njit(cache=True)
def _best(policy, fits, found, count, rank):  # type: ignore[no-untyped-def]
    """Position of the highest score, of equal ones that with the lowest rank."""
    if policy == _BEST_FIT:  # stretched to 0 to 100 and truncated once more, as the simulator does
        low, high = found[:count].min(), found[:count].max()
        for one in range(count):
            found[one] = (found[one] - low) * BEST // (high - low) if high > low else BEST
    best = 0
    for one in range(1, count):
        if found[one] > found[best] or (found[one] == found[best] and rank[fits[one]] < rank[fits[best]]):
            best = one
    return best


@numba.njit(cache=True)
def _take(nodes, node, requests, row, device):  # type: ignore[no-untyped-def]
    """Thousandths that were taken.  A share takes ``device`` or the tightest one, whole GPUs the first free ones."""
    nodes.cpu_milli[node] -= requests.cpu_milli[row]
    nodes.memory_mib[node] -= requests.memory_mib[row]
    need, milli, left = requests.gpus[row], requests.gpu_milli[row], nodes.left_milli[node]
    if need == 1 and milli < WHOLE:
        left[device if device >= 0 else _tightest(left, milli)] -= milli
        return milli
    _take_whole(left, need)
    return need * milli


@numba.njit(cache=True)
def _take_whole(left, need):  # type: ignore[no-untyped-def]
    for device in range(left.size):
        if need and left[device] == WHOLE:
            left[device] = 0
            need -= 1


@numba.njit(cache=True)
def _tightest(left, milli):  # type: ignore[no-untyped-def]
    best = -1
    for device in range(left.size):
        if left[device] >= milli and (best < 0 or left[device] < left[best]):
            best = device
    return best


@numba.njit(cache=True)
def _drawn(left, milli, draw):  # type: ignore[no-untyped-def]
    """Any device with room for the share; ``draw`` is from 0 to below 1."""
    chosen = int(draw * (left >= milli).sum())
    for device in range(left.size):
        if left[device] >= milli:
            if not chosen:
                return device
            chosen -= 1
    return -1


@numba.njit(cache=True)
def _idle(left):  # type: ignore[no-untyped-def]
    idle = 0
    for one in left:
        idle += max(one, 0)
    return idle


@numba.njit(cache=True)
def _fragment(cpu_milli, left, model_bit, mix):  # type: ignore[no-untyped-def]
    idle = _idle(left)
    fragment = 0.0
    for shape in range(mix.share.size if idle else 0):
        lost = idle
        if mix.gpus[shape] and cpu_milli >= mix.cpu_milli[shape] and _allowed(mix.models[shape], model_bit):
            enough, small = 0, 0
            for one in left:
                if one >= mix.gpu_milli[shape]:
                    enough += 1
                else:
                    small += max(one, 0)
            if enough >= mix.gpus[shape]:
                lost = small
        fragment += mix.share[shape] * lost
    return fragment


@numba.njit(cache=True)
def _allowed(models, model_bit):  # type: ignore[no-untyped-def]
    return not models or models & model_bit != 0


@numba.njit(cache=True)
def _size(requests, row):  # type: ignore[no-untyped-def]
    """A bit for a size of requests: a share, or so many whole GPUs; none without a GPU."""
    if not requests.gpus[row]:
        return 0
    return 1 if requests.gpu_milli[row] < WHOLE else 1 << requests.gpus[row]


@numba.njit(cache=True)
def _score(policy, nodes, node, requests, row, mix, fragment, sizes, scratch):  # type: ignore[no-untyped-def]
    """(score, device), UNFIT where the node cannot run it; the device counts for FGD alone."""
    if not _fits(nodes, node, requests, row):
        return UNFIT, -1
    left, cpu = nodes.left_milli[node], nodes.cpu_milli[node]
    need, milli, asked = requests.gpus[row], requests.gpu_milli[row], requests.cpu_milli[row]
    if policy == _FGD:
        return _gradient(cpu - asked, left, nodes.model_bit[node], need, milli, mix, fragment, scratch)
    if policy == _BEST_FIT:
        rest = (cpu - asked) / MOST_CPU_MILLI * 0.5 + (_idle(left) - need * milli) / MOST_GPU_MILLI * 0.5
        return int((1.0 - rest) * BEST), -1
    if policy == _DOT:
        like = (cpu / MOST_CPU_MILLI) * (asked / MOST_CPU_MILLI)
        like += (_idle(left) / MOST_GPU_MILLI) * (need * milli / MOST_GPU_MILLI)
        return int(BEST * (1.0 - like / 2)), -1
    if policy == _CLUSTERING:
        return _clustered(_size(requests, row), sizes, _idle(left)), -1
    if policy == _PACKING:
        return _packed(left, nodes.devices[node], need, milli, scratch), -1
    return 0, -1


@numba.njit(cache=True)
def _gradient(cpu_after, left, model_bit, need, milli, mix, fragment, scratch):  # type: ignore[no-untyped-def]
    scratch[:] = left
    if not (need == 1 and milli < WHOLE):
        _take_whole(scratch, need)
        return _steep(fragment - _fragment(cpu_after, scratch, model_bit, mix)), -1
    best, chosen = -1, -1
    for device in range(left.size):
        if left[device] < milli:
            continue
        scratch[device] -= milli
        score = _steep(fragment - _fragment(cpu_after, scratch, model_bit, mix))
        scratch[device] += milli
        if score > best:
            best, chosen = score, device
    return best, chosen


@numba.njit(cache=True)
def _steep(less):  # type: ignore[no-untyped-def]
    """A logistic curve of what the fragment shrinks by, in GPUs."""
    return int(BEST / (1.0 + math.exp(-less / WHOLE)))


@numba.njit(cache=True)
def _clustered(size, sizes, idle):  # type: ignore[no-untyped-def]
    if not size:
        return 0
    full = QUARTER * (MOST_GPU_MILLI - idle) // MOST_GPU_MILLI
    if sizes & size:
        return full + (3 * QUARTER if sizes == size else 2 * QUARTER)
    return full + (QUARTER if not sizes else 0)


@numba.njit(cache=True)
def _packed(left, devices, need, milli, scratch):  # type: ignore[no-untyped-def]
    if not need:
        return 0
    free = 0
    for one in left:
        free += one == WHOLE
    if free == devices:
        return max(THIRD - free, free)
    scratch[:] = left
    fresh, percent = 0, 0
    for _ in range(need):
        device = _tightest(scratch, milli)
        fresh += scratch[device] == WHOLE
        percent += scratch[device] * BEST // WHOLE
        scratch[device] = ABSENT
    return max(HALF - fresh, THIRD) if fresh else max(BEST - percent // 10, HALF)
