"""Disjoint groups of nodes that are solved one by one, drawn anew for every round."""

import numpy as np

from scheduler.cluster.snapshot import Ints, Longs


def partition(domain: Ints, size: int, seed: int, turn: int) -> list[Longs]:
    """Groups of about ``size`` nodes, each in ascending order.

    ``domain`` [n] is the node's access switch: switches stay whole, in an order shuffled by seed and round, because
    pods tied to a switch find their targets there.  Nodes of which nobody knows it (-1) are shuffled one by one.
    """
    nodes = len(domain)
    if nodes <= size:
        return [np.arange(nodes)] if nodes else []
    dice = np.random.default_rng([seed, turn])
    alone = domain < 0
    unit = np.where(alone, int(domain.max(initial=-1)) + 1 + np.arange(nodes), domain)
    rank = dice.permutation(int(unit.max()) + 1)
    order = np.argsort(rank[unit], kind="stable")
    return [np.sort(part) for part in np.array_split(order, -(-nodes // size))]
