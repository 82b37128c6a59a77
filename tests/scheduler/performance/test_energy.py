from scheduler.cluster.occupancy import occupancy
from scheduler.performance.energy import board_watts, idle_watts
from tests.builders.worlds import GPU_MODEL, world


def test_idle_draw_is_the_median_of_measured_empty_nodes() -> None:
    made = world().node("n1", power_watts=900).node("n2", power_watts=1100).node("n3", power_watts=1000)
    made.node("n4").node("busy", power_watts=5000).pod("a", "busy")
    snapshot = made.snapshot()
    assert idle_watts(snapshot, occupancy(snapshot)) == {GPU_MODEL: 1000}


def test_what_is_not_measured_is_left_out() -> None:
    snapshot = world().node("n").snapshot()
    assert idle_watts(snapshot, occupancy(snapshot)) == {}


def test_a_board_draws_what_its_sheet_says() -> None:
    assert (board_watts("H100-SXM5-80GB"), board_watts("Nobody knows")) == (700, None)
