"""Whoever runs ten times as long follows a tenth as often: a fleet keeps the shares that it starts with."""

import numpy as np
import pytest

from scheduler.replay import columns as c
from scheduler.replay.asi import DAY_S, LASTING, _renewed

SPAN_S = 80 * DAY_S


def test_shares_do_not_drift() -> None:
    """200 jobs of 8 GPUs and 200 services of 1: each kind asks for as many GPUs later as at the start."""
    kinds = np.zeros((400, c.J_LANE), np.int64)
    kinds[:, c.J_GPUS], kinds[:, c.J_POOLS] = np.repeat([8, 1], 200), 1
    lasting = np.repeat([1.0, LASTING], 200)
    asked, names = _renewed(kinds, lasting, 2 * SPAN_S, np.random.default_rng(0))
    assert len(set(names)) == len(names) == len(asked)
    begun, ended = asked[:, c.J_ARRIVAL], asked[:, c.J_ARRIVAL] + asked[:, c.J_DURATION]
    for start in (0, SPAN_S):
        inside = np.maximum(0, np.minimum(ended, start + SPAN_S) - np.maximum(begun, start))
        for gpus in (1, 8):
            running = inside[asked[:, c.J_GPUS] == gpus].sum() / SPAN_S
            assert running == pytest.approx(200, rel=0.1)
