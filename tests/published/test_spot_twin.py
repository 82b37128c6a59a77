"""The twin of the spot trace against the published marginals of the real file."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scheduler.worlds.spot_trace import read_spot_nodes, twin_jobs, twin_nodes


def _shared() -> Path:
    root = os.environ.get("SLACKLINE_SHARED")
    assert root, "set SLACKLINE_SHARED to the directory that holds data/spot2026"
    return Path(root) / "data" / "spot2026"


def test_the_twin_has_the_published_marginals() -> None:
    said: dict[str, Any] = json.loads((_shared() / "marginals.json").read_bytes())
    jobs = twin_jobs(0)
    model = np.array(jobs.model)
    assert len(jobs.name) == said["jobs"]["total"]
    for name, counts in said["jobs_by_model"].items():
        rows = model == name
        assert [(rows & (jobs.spot == spot)).sum() for spot in (False, True)] == [counts["HP"], counts["Spot"]]
    for kind, spot in (("HP", False), ("Spot", True)):
        mine = jobs.spot == spot
        requests = said["gpu_request_counts"][kind]
        for size, count in requests.items():
            found = (jobs.gpu[mine] == float(size)).sum()
            assert found == pytest.approx(count, rel=0.08, abs=60), (kind, size)
        assert (jobs.workers[mine] > 1).sum() == pytest.approx(said["worker_num"][kind]["n_gt1"], rel=0.01)
        assert jobs.workers[mine].mean() == pytest.approx(said["worker_num"][kind]["mean"], rel=0.05)
        duration = jobs.duration_s[mine]
        for percent in (50, 75, 90):
            published = said["duration_s"][kind].get(f"p{percent}")
            if published is not None:
                assert np.quantile(duration, percent / 100) == pytest.approx(published, rel=0.35), (kind, percent)
        assert duration.mean() == pytest.approx(said["duration_s"][kind]["mean"], rel=0.3)
    hours = np.bincount(jobs.submit_s // 3600)[1:]
    assert np.median(hours) == pytest.approx(said["arrivals"]["hourly_excl_hour0"]["p50"], rel=0.1)
    assert jobs.submit_s[jobs.spot].min() >= 30 * 86_400


def test_the_twin_has_the_published_nodes() -> None:
    real, twin = read_spot_nodes((_shared() / "node_info_df.csv").read_bytes()), twin_nodes()
    assert len(twin) == len(real) == 4278
    for name in {node.gpu_model for node in real}:
        sizes = [sorted(node.gpus for node in nodes if node.gpu_model == name) for nodes in (real, twin)]
        assert sizes[0] == sizes[1], name
