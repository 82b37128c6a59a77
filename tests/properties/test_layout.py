"""Free GPUs and shared rests agree with the independent judge on every node of every world."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.occupancy import occupancy
from tests.builders.checker import Judge
from tests.builders.layout import WHOLE, cpu_of, device_rests, memory_of
from tests.builders.random_worlds import random_world


@given(seed=st.integers(0, 2**31))
@settings(max_examples=200, deadline=None)
def test_both_lay_pods_on_devices_alike(seed: int) -> None:
    world = random_world(seed)
    judge, snapshot = Judge(world.document()), world.snapshot()
    used = occupancy(snapshot)
    for index, name in enumerate(snapshot.node_name):
        there = judge.on(name)
        assert used.used_cpu_milli[index] == cpu_of(there)
        assert used.used_memory_mib[index] == memory_of(there)
        rests = device_rests(judge.nodes[name], there)
        if rests is None:
            assert used.over_committed_milli[index] > 0
            continue
        assert used.free_gpus[index] == sum(rest == WHOLE for rest in rests), name
        assert used.shared_rest_milli[index] == sum(rest for rest in rests if rest < WHOLE), name
