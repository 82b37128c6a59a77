"""A policy of our own: the node whose free room loses least of its worth.

The worth of the room on a node, in GPU thousandths, is the sum of three answers to "what will still be used here?":

    one more     R - F: idle thousandths that the next typical request could use, as FGD counts them
    filled up    half of: sum over typical shapes of their share * what copies of this shape alone could take, of CPU
                 counted in fractions
    bid price    the least of: sum over devices of price(left) + price of CPU * free CPU, over the price lists of the
                 parts of its GPU model (see ``shadow_prices``)

FGD asks whether one more request fits.  That does not see a node whose cores run out before its GPUs do (the second
term does), a model that others need more, or a rest that no share fills (the third).  The least over price lists is
what duality gives: each list bounds from above what the room is worth, so the least is nearest, and it is concave,
which balances cores with GPUs.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Ints, Longs
from scheduler.replay.filling import (
    NOWHERE,
    WHOLE,
    Filled,
    Floats,
    Mix,
    Nodes,
    Requests,
    _allowed,
    _fits,
    _fragment,
    _idle,
    _take,
    _take_whole,
)
from scheduler.replay.shadow_prices import Market, Prices

BANDS = np.array([2.0, 5.0, 8.0, 12.0, 20.0])  # cores for each idle GPU: bounds between the parts of one GPU model
DEMAND = 1.2  # times the idle GPUs are taken to be asked for: not all that comes can be served
REPRICED = 0.15  # of the idle GPUs asked for since: time for new prices
LEAST_STEP = 0.005  # of all GPUs: never more often than that
FILLED_UP = 0.5
UNFIT = int(np.iinfo(np.int64).max)
SCALE = 1000.0  # scores are whole: equal to a millionth of a GPU is equal, whatever the order of rows


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Parts of the cluster: GPU models, and in each the bands of cores for each idle GPU."""

    model: Longs  # [n] which of the models
    bits: Longs  # of each model
    market: Market

    def prices(self, nodes: Nodes, mix: Mix) -> Prices:
        idle = np.maximum(nodes.left_milli, 0).sum(axis=1)
        cores = np.where(idle > 0, nodes.cpu_milli / np.maximum(idle, 1), np.inf)
        part = self.model * (BANDS.size + 1) + np.searchsorted(BANDS, cores, side="right")
        count = self.bits.size * (BANDS.size + 1)
        devices = np.zeros((count, WHOLE_GPU_MILLI + 1), dtype=np.int64)
        rows, columns = np.nonzero(nodes.left_milli >= 0)
        np.add.at(devices, (part[rows], nodes.left_milli[rows, columns]), 1)
        cpu = np.zeros(count, dtype=np.int64)
        np.add.at(cpu, part, nodes.cpu_milli)
        asked = float((mix.share * mix.gpus * mix.gpu_milli).sum())
        return self.market.prices(cpu, devices, mix.share * (DEMAND * float(idle.sum()) / asked))


def fill_by_worth(nodes: Nodes, requests: Requests, mix: Mix) -> Filled:
    """Place ``requests`` one by one, as ``filling.fill`` does; ``nodes`` are changed.

    Prices follow what is left and what has arrived, never what is to come.  ValueError where no shape of the mix asks
    for a GPU.
    """
    if not (mix.gpus * mix.share).any():
        raise ValueError("no typical shape asks for a GPU")
    bits, model = np.unique(nodes.model_bit, return_inverse=True)
    most = np.array([nodes.devices[model == one].max() for one in range(bits.size)], dtype=np.int64)
    parts = _Parts(model, bits, Market(mix, np.repeat(bits, BANDS.size + 1), np.repeat(most, BANDS.size + 1)))
    total = requests.cpu_milli.size
    board = _open_board(nodes, mix, int(requests.kind.max(initial=-1)) + 1)
    answer = Filled(np.empty(total, np.int64), np.empty(total), np.empty(total, np.int32))
    arrived = (requests.gpus * requests.gpu_milli).cumsum()
    least = LEAST_STEP * WHOLE * float(nodes.devices.sum())
    row, taken, before = 0, 0, 0
    while row < total:
        step = max(least, REPRICED * float(np.maximum(nodes.left_milli, 0).sum()))
        upto = min(total, max(row + 1, int(np.searchsorted(arrived, before + step))))
        taken = _fill(nodes, requests, mix, parts.prices(nodes, mix), model, board, (row, upto, taken), answer)
        row, before = upto, int(arrived[upto - 1])
    return answer


class _Board(NamedTuple):
    """What holds until something is placed on a node, whatever the prices.  Axes: n node, k kind, d device."""

    version: Ints  # [n]
    useful: Floats  # [n]
    fragment: Floats  # [n]
    known: Ints  # [k, n] the version that ``wasted`` is of
    wasted: Floats  # [k, n, d] by what ``useful`` falls, the share on d; of whole GPUs and none the first column


def _open_board(nodes: Nodes, mix: Mix, kinds: int) -> _Board:
    n, d = nodes.left_milli.shape
    board = _Board(
        np.zeros(n, np.int32), np.empty(n), np.empty(n), np.full((kinds, n), -1, np.int32), np.empty((kinds, n, d))
    )
    for node in range(n):
        _refresh(nodes, node, mix, board)
    return board


@numba.njit(cache=True)
def _refresh(nodes, node, mix, board):  # type: ignore[no-untyped-def]
    cpu, left, bit = nodes.cpu_milli[node], nodes.left_milli[node], nodes.model_bit[node]
    board.useful[node] = _useful(cpu, left, bit, mix)
    board.fragment[node] = _fragment(cpu, left, bit, mix)


@numba.njit(cache=True)
def _fill(nodes, requests, mix, prices, model, board, span, answer):  # type: ignore[no-untyped-def]
    n, (begin, end, taken) = nodes.cpu_milli.size, span
    scored = np.full(board.known.shape, -1, np.int32)
    scores, devices = np.empty(scored.shape, np.int64), np.empty(scored.shape, np.int8)
    scratch = np.empty(nodes.left_milli.shape[1], np.int64)
    broken = board.fragment.sum()
    for row in range(begin, end):
        kind, needed, place = requests.kind[row], requests.memory_mib[row], NOWHERE
        for node in range(n):
            if scored[kind, node] != board.version[node]:
                score, device = _loss(nodes, node, requests, row, mix, prices, model[node], board, scratch)
                scores[kind, node], devices[kind, node], scored[kind, node] = score, device, board.version[node]
            if scores[kind, node] == UNFIT or nodes.memory_mib[node] < needed:
                continue
            if place == NOWHERE or _before(scores[kind], nodes.rank, node, place):
                place = node
        if place != NOWHERE:
            taken += _take(nodes, place, requests, row, devices[kind, place])
            board.version[place] += 1
            broken -= board.fragment[place]
            _refresh(nodes, place, mix, board)
            broken += board.fragment[place]
        answer.allocated_milli[row], answer.fragment_milli[row], answer.node[row] = taken, broken, place
    return taken


@numba.njit(cache=True)
def _before(scores, rank, one, other):  # type: ignore[no-untyped-def]
    return scores[one] < scores[other] or (scores[one] == scores[other] and rank[one] < rank[other])


@numba.njit(cache=True)
def _loss(nodes, node, requests, row, mix, prices, model, board, scratch):  # type: ignore[no-untyped-def]
    """(loss, device), UNFIT where the node cannot run it; a share takes the device with the least loss."""
    if not _fits(nodes, node, requests, row):
        return UNFIT, -1
    left, bit, cpu = nodes.left_milli[node], nodes.model_bit[node], nodes.cpu_milli[node]
    need, milli, asked, kind = requests.gpus[row], requests.gpu_milli[row], requests.cpu_milli[row], requests.kind[row]
    wasted, known = board.wasted[kind, node], board.known[kind, node] == board.version[node]
    board.known[kind, node] = board.version[node]
    price, useful = _price(cpu, left, prices, model), board.useful[node]
    scratch[:] = left
    if not (need == 1 and milli < WHOLE):
        _take_whole(scratch, need)
        if not known:
            wasted[0] = useful - _useful(cpu - asked, scratch, bit, mix)
        return _whole(wasted[0] + price - _price(cpu - asked, scratch, prices, model)), -1
    least, chosen = UNFIT, -1
    for device in range(left.size):
        if left[device] < milli or _seen(left, device):
            continue
        scratch[device] -= milli
        if not known:
            wasted[device] = useful - _useful(cpu - asked, scratch, bit, mix)
        loss = _whole(wasted[device] + price - _price(cpu - asked, scratch, prices, model))
        scratch[device] += milli
        if loss < least:
            least, chosen = loss, device
    return least, chosen


@numba.njit(cache=True)
def _whole(loss):  # type: ignore[no-untyped-def]
    return np.int64(np.rint(SCALE * loss))


@numba.njit(cache=True)
def _seen(left, device):  # type: ignore[no-untyped-def]
    """Devices with as much left are alike: the first one stands for all."""
    return (left[:device] == left[device]).any()


@numba.njit(cache=True)
def _useful(cpu, left, model_bit, mix):  # type: ignore[no-untyped-def]
    """One more, and half of filled up."""
    idle, worth = _idle(left), 0.0
    for shape in range(mix.share.size if idle else 0):
        gpus, milli, asked = mix.gpus[shape], mix.gpu_milli[shape], mix.cpu_milli[shape]
        if not gpus or cpu < asked or not _allowed(mix.models[shape], model_bit):
            continue
        enough, small, slots = 0, 0, 0
        for one in left:
            if one >= milli:
                enough += 1
                slots += one // milli
            else:
                small += max(one, 0)
        if enough < gpus:
            continue
        copies = float(slots // gpus)
        if asked:
            copies = min(copies, cpu / asked)
        worth += mix.share[shape] * (idle - small + FILLED_UP * copies * gpus * milli)
    return worth


@numba.njit(cache=True)
def _price(cpu, left, prices, model):  # type: ignore[no-untyped-def]
    lists = BANDS.size + 1
    least = np.inf
    for part in range(model * lists, (model + 1) * lists):
        price = prices.core[part] * cpu
        for one in left:
            if one > 0:
                price += prices.device[part, one]
        least = min(least, price)
    return least
