"""What a proposal says of its price, at the rates of its pools and tenants."""

from typing import Any

import pytest

from console.consolidation.planning import worth_its_cost
from console.plans.services import pricing
from console.policies.choices import CHECKPOINTS, PRICES, Place, Scope
from scheduler.consolidation.planner import Params, consolidate
from scheduler.consolidation.worth import at_rates
from scheduler.plan.plan import Plan
from scheduler.pricing.rates import KNOWN, stated
from tests.builders.worlds import GPU_MODEL, World, world
from tests.console.policies.test_settings import FLEET, decide

pytestmark = pytest.mark.django_db
HOUR = 3600
POOL = Place(Scope.POOL, "default", GPU_MODEL)


def flat_rates() -> None:
    """100 GPU-seconds for each GPU that moves, whoever it is."""
    for name, value in (
        ("start_seconds", 100), ("image_mib", 0), ("state_per_cent", 0), ("rebuild_seconds", 0),
        ("failure_per_mille", 0),
    ):  # fmt: skip
        decide(name, FLEET, value)


def two_nodes_to_empty() -> World:
    made = world().asw("asw-1").nodes("n1", "n2", power_watts=2000).node("n3").node("idle", power_watts=1000)
    return made.pod("a", "n1", 1).pod("b", "n2", 3, tenant="t2").pod("l", "n3", 4, locked=True)


def planned(made: World) -> tuple[Plan, Any]:
    snapshot = made.snapshot()
    return consolidate(snapshot, Params()), snapshot


def test_a_price_is_the_sum_of_its_moves_and_what_nobody_states_is_unknown() -> None:
    flat_rates()
    price = pricing.price(*planned(two_nodes_to_empty()))
    assert (price["start"], price["spent"], price["lost"]) == (400, 400, 0)
    assert (price["gained"], price["worth"], price["chains"]) == (2 * 8 * 4 * HOUR, 576, 2)
    assert [(row["node"], row["worth"]) for row in price["dearest"]] == [("n2", 384), ("n1", 1152)]
    assert price["freed"] == [{"gpus": 8, "nodes": 2}]
    assert price["tenants"] == 2
    assert (price["usd_spent"], price["usd_gained"]) == (None, None)
    assert price["kwh_spent"] == pytest.approx(400 / HOUR * 0.7)  # 700 W by the data sheet
    assert price["kwh_saved"] == pytest.approx(2 * 1.0 * 4)  # as the empty node draws
    assert [one["peak"] for one in price["surge"]] == [4]


def test_rates_are_those_of_each_tenant_and_money_needs_a_price_for_all() -> None:
    flat_rates()
    decide("start_seconds", Place(Scope.TENANT, tenant="t2"), 1000)
    decide("usd_cents_per_gpu_hour", POOL, 360)
    price = pricing.price(*planned(two_nodes_to_empty()))
    assert price["spent"] == 100 + 3 * 1000
    assert price["usd_spent"] == pytest.approx(3.1)
    assert price["usd_gained"] == pytest.approx(2 * 8 * 4 * 3.6)
    origins = {one["name"]: one["origin"] for one in price["settings"]}
    assert origins["usd_cents_per_gpu_hour"] == f"pool {GPU_MODEL} in default"
    assert origins["gain_hours"] == "built in"


def test_traffic_is_told_for_the_fullest_wave() -> None:
    flat_rates()
    decide("image_mib", POOL, 1024)
    price = pricing.price(*planned(two_nodes_to_empty()))
    assert (price["image_mib"], price["wave_asw"], price["wave_asw_mib"]) == (2048, "asw-1", 2048)


def test_what_costs_more_than_it_gains_is_left_alone() -> None:
    flat_rates()
    answer, snapshot = planned(two_nodes_to_empty())
    assert worth_its_cost(snapshot, answer) is answer
    decide("least_worth", POOL, 500)
    dearer = worth_its_cost(snapshot, answer)
    assert dearer.emptied_nodes == ("n1",)
    assert [row.reason for row in dearer.kept if row.node == "n2"] == ["not_worth_it"]


def test_one_query_for_each_question_however_many_moves(django_assert_max_num_queries: Any) -> None:
    made = world().nodes(*(f"n{i}" for i in range(6))).node("big", 64, cpu_milli=512_000)
    for i in range(6):
        made.pod(f"p{i}", f"n{i}", 1, tenant=f"t{i}")
    made.pod("stays", "big", 1, locked=True)
    answer, snapshot = planned(made)
    assert len(answer.moves) >= 5
    with django_assert_max_num_queries(4):
        pricing.price(answer, snapshot)


def test_the_command_line_prices_as_the_page_does() -> None:
    """The same names, bounds and defaults (but for the least worth, which nobody sets there), and so the same sums."""
    page = {one.name: (one.default, one.low, one.high) for one in (*PRICES, *CHECKPOINTS)}
    assert {**KNOWN, "least_worth": page["least_worth"]} == page
    answer, snapshot = planned(two_nodes_to_empty())
    priced = pricing.price(answer, snapshot)
    _plan, at_command = at_rates(answer, snapshot, stated(["least_worth=1"]))
    assert at_command == {name: value for name, value in priced.items() if name != "settings"}
