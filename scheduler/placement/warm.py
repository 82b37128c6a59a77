"""Compile the kernels and keep them on disk, so that no placement waits for a compiler."""

import numpy as np

from scheduler.placement.entropy import least_entropy, place_in_domains


def warm_up() -> None:
    slots, free = np.ones(2, np.int64), np.ones(2, np.bool_)
    least_entropy(slots, free, slots, 1)
    place_in_domains(slots, np.zeros(2, np.int32), 1, 1, free)


if __name__ == "__main__":
    warm_up()
