"""The drivers of a generated fleet: two versions, one for each switch, none where the vendor is another."""

from collections import defaultdict

from scheduler.cluster.build import build
from scheduler.worlds.drivers import LABEL, NEW, OLD, with_drivers
from scheduler.worlds.generate import generate


def test_nodes_under_one_switch_share_a_driver_and_both_versions_are_there() -> None:
    document = with_drivers(generate("asi", nodes=300, seed=1))
    found = defaultdict(set)
    for node in document.nodes:
        assert (LABEL in node.labels) == (not node.gpu_model.startswith("XPU"))
        if LABEL in node.labels and node.domain:
            found[node.cluster, node.domain].add(node.labels[LABEL])
    assert all(len(versions) == 1 for versions in found.values())
    snapshot = build(document)
    kept = {value for spec in snapshot.node_specs for label, value in spec.labels if label == LABEL}
    assert kept == {OLD, NEW}
