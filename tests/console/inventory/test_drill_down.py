"""From a node to its devices, from a device to its pod, from a pod to what made it; and nobody else's on the way."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from console.inventory import archive, selectors
from console.inventory.addresses import node_address, pod_address, workload_address
from tests.builders.fleets import observed
from tests.builders.pages import squeezed
from tests.builders.people import stranger, tenant, viewer
from tests.builders.worlds import World, world

pytestmark = pytest.mark.django_db
JOB = {"kind": "Job", "name": "trainer"}


def page(address: str, user: Any = None) -> str:
    client = Client()
    client.force_login(user or viewer())
    answer = client.get(address)
    assert answer.status_code == 200
    return squeezed(answer.content.decode())


def api(route: str, user: Any = None, **query: str) -> Any:
    client = APIClient()
    client.force_authenticate(user or viewer())
    return client.get(reverse(f"api:{route}"), {"cluster": "default", **query})


def held(built: World, user: Any = None) -> tuple[dict[int, list[str]], list[str], list[int]]:
    """Holders by device, pods of which the devices are not known, devices that these may hold."""
    observed(built)
    card = selectors.node_card(user or viewer(), "default", "n1")
    devices = {row.index: [pod.name for pod in row.holders] for row in card.devices}
    return devices, [pod.name for pod in card.unplaced], [row.index for row in card.devices if row.open]


def test_listed_devices_name_their_pods() -> None:
    built = world().node("n1", 4).pod("a", "n1", 2, devices=[0, 3]).pod("b", "n1", 1, devices=[1])
    assert held(built) == ({0: ["a"], 1: ["b"], 2: [], 3: ["a"]}, [], [])
    assert api("pod", name="jobs/a").json()["devices"] == [0, 3]


def test_where_several_pods_list_nothing_it_is_not_known_which() -> None:
    built = world().node("n1", 4).pod("a", "n1", 1, devices=[0]).pod("b", "n1", 1).pod("c", "n1", 1)
    assert held(built) == ({0: ["a"], 1: [], 2: [], 3: []}, ["b", "c"], [1, 2, 3])
    assert api("pod", name="jobs/b").json()["devices"] is None
    words = page(reverse("inventory:node", args=["default", "n1"]))
    assert words.count("not known which") == 3 and 'id="unplaced"' in words
    assert "not known which" in page(reverse("inventory:pod", args=["default", "jobs/b"]))


def test_where_nothing_is_known_of_any_device_the_page_says_so_in_a_line() -> None:
    assert held(world().node("n1", 4).pod("b", "n1", 1).pod("c", "n1", 1))[0] == {0: [], 1: [], 2: [], 3: []}
    words = page(reverse("inventory:node", args=["default", "n1"]))
    assert "The source lists no devices of this node." in words and "not known which" not in words
    assert 'id="unplaced"' in words and "/fleet/pods/default/jobs/c" in words


def test_the_last_pod_holds_all_that_is_left() -> None:
    built = world().node("n1", 4).pod("a", "n1", 2, devices=[0, 3]).pod("b", "n1", 2)
    assert held(built) == ({0: ["a"], 1: ["b"], 2: ["b"], 3: ["a"]}, [], [])


def test_a_failed_device_holds_nobody() -> None:
    devices = [{"index": 0, "health": "failed"}, {"index": 1, "uuid": "GPU-1"}, {"index": 2}]
    assert held(world().node("n1", 3, devices=devices).pod("a", "n1", 2)) == ({0: [], 1: ["a"], 2: ["a"]}, [], [])


def test_what_is_lent_or_shared_is_not_guessed() -> None:
    lent = world().node("n1", 2).pod("sleeper", "n1", 1, standby=True, devices=[0])
    lent.pod("guest", "n1", 1, tier="LP", lent_by="jobs/sleeper")
    assert held(lent)[1] == ["guest"]
    shared = world().node("n1", 1).pod("a", "n1", 1, gpu_milli=500)
    assert held(shared)[1] == ["a"]


def test_two_pods_may_share_a_device() -> None:
    built = world().node("n1", 1).pod("a", "n1", 1, gpu_milli=400, devices=[0])
    assert held(built.pod("b", "n1", 1, gpu_milli=500, devices=[0]))[0] == {0: ["a", "b"]}


def test_a_tenant_gets_its_own_devices_and_pods_only() -> None:
    built = world().node("n1", 4).pod("mine", "n1", 1, devices=[2], tenant="t1")
    built.pod("theirs", "n1", 1, devices=[0], tenant="t2").pod("secretly", "n1", 1, tenant="t2").pod("late", "n1", 1)
    assert held(built, tenant("t1")) == ({2: ["mine"]}, ["late"], [])
    words = page(reverse("inventory:node", args=["default", "n1"]), tenant("t1"))
    assert "mine" in words and "theirs" not in words and "secretly" not in words


def team() -> World:
    built = world(now_s=1000).asw("s1").node("n1").asw("s2").node("n2").asw(None).node("n3")
    same = {"namespace": "a", "workload": "trainer", "gang": "ring", "priority": 7}
    built.rows["gangs"].append({"name": "ring", "namespace": "a", "min_members": 1})
    built.pod("trainer-0", "n1", 4, **same, checkpoint_s=700).pod("trainer-1", "n2", 2, **same)
    built.pod("trainer-2", None, 2, **same).pod("done", "n3", 8, **same, phase="Succeeded")
    built.pod("trainer-0", "n2", 2, namespace="b", workload="trainer", tenant="t2")
    return built.pod("loner", "n3", 1, namespace="a", owner=JOB)


def test_names_count_within_their_namespace() -> None:
    """Case C50: a/trainer-0 is not b/trainer-0."""
    observed(team())
    here, there = (selectors.workload_card(viewer(), "default", f"{space}/trainer") for space in ("a", "b"))
    assert [(each.pod.key, each.pod.node) for each in there.pods] == [("b/trainer-0", "n2")]
    assert (here.gpu_milli, there.gpu_milli, here.tenants, there.tenants) == (6000, 2000, ("t1",), ("t2",))
    assert all(each.pod.namespace == "a" for each in here.pods)


def test_a_workload_lists_its_pods_with_all_that_counts() -> None:
    observed(team())
    card = selectors.workload_card(viewer(), "default", "a/trainer")
    assert (card.pods_total, card.live, card.waiting, card.nodes, card.asws) == (4, 2, 1, 2, 2)
    rows = {each.pod.name: each for each in card.pods}
    first = rows["trainer-0"]
    assert (first.asw, first.gang, first.pod.gpus, first.pod.priority, first.pod.tier) == ("s1", "ring", 4, 7, "HP")
    assert (first.since_checkpoint_s, rows["trainer-1"].since_checkpoint_s) == (300, None)
    assert (rows["trainer-2"].pod.node, rows["trainer-2"].asw) == (None, None)
    words = page(reverse("inventory:workload", args=["default", "a/trainer"]))
    assert words.count('<th scope="row">') == 4 and "no data" in words and "5 min" in words


def test_a_pod_leads_to_its_owner_and_the_owner_back() -> None:
    observed(team())
    whole = page(reverse("inventory:pod", args=["default", "a/trainer-1"]))
    assert f'href="{workload_address("default", "a/trainer", "file")}"' in whole
    owner = page(workload_address("default", "a/trainer", "file"))
    assert "/fleet/pods/default/a/trainer-1" in owner and "/fleet/nodes/default/n2" in owner
    lone = page(reverse("inventory:pod", args=["default", "a/loner"]))
    assert workload_address("default", "a/trainer", "file") not in lone
    assert workload_address("default", "a/Job/trainer", "file").replace("&", "&amp;") in lone
    job = api("workload", name="a/Job/trainer").json()
    assert (job["kinds"], [row["pod"]["name"] for row in job["pods"]]) == (["Job"], ["loner"])


def test_page_and_api_say_the_same() -> None:
    observed(team())
    told = api("workload", name="a/trainer").json()
    card = selectors.workload_card(viewer(), "default", "a/trainer")
    assert [row["pod"]["name"] for row in told["pods"]] == [row.pod.name for row in card.pods]
    assert (told["gpu_milli"], told["nodes"]) == (card.gpu_milli, card.nodes)
    assert api("workload", name="a/nothing").status_code == 404
    assert api("workload").status_code == 400


def test_a_name_that_no_path_survives_stands_in_the_query() -> None:
    observed(world().node("n1").pod("p", "n1", 1, workload="../odd name/x?"))
    address = workload_address("default", "jobs/../odd name/x?", "file")
    assert address.startswith("/fleet/workload?") and "odd name" in page(address)


def test_of_a_tenants_workload_others_see_nothing() -> None:
    built = team().pod("trainer-9", "n3", 1, namespace="b", workload="trainer", tenant="t1")
    observed(built)
    seen = selectors.workload_card(tenant("t1"), "default", "b/trainer")
    assert ([each.pod.name for each in seen.pods], seen.tenants, seen.gpu_milli) == (["trainer-9"], ("t1",), 1000)
    assert api("workload", tenant("t1"), name="b/trainer").json()["pods_total"] == 1
    foreign, absent = (api("workload", stranger(), name=name) for name in ("b/trainer", "b/none"))
    assert foreign.status_code == absent.status_code == 404 and foreign.json() == absent.json()


def test_queries_do_not_grow_with_the_workload() -> None:
    def asked(count: int) -> int:
        built = world().nodes(*(f"n{n}" for n in range(count)))
        for n in range(count):
            built.pod(f"p{n}", f"n{n}", 1, workload="w")
        observed(built, f"of-{count}")
        client = Client()
        client.force_login(viewer())
        address = f"{reverse('inventory:workload', args=['default', 'jobs/w'])}?source=of-{count}"
        client.get(address)
        archive.forget()
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200
        return len(queries)

    assert asked(2) == asked(60) <= 20


def test_an_agent_stays_and_labels_derived_for_the_planner_are_not_shown() -> None:
    derived = {"slackline.io/affinity-0123456789abcdef": "true", "slackline.io/matches-0123456789abcdef": "true"}
    built = (
        world().node("n1", 4, labels={"rack": "r7", **derived}).agent("exporter", "n1").pod("a", "n1", labels=derived)
    )
    observed(built)
    node = page(node_address("default", "n1"))
    assert "agent, stays" in node and "r7" in node
    assert "agent, stays" in page(pod_address("default", "sys/exporter"))
    other = page(pod_address("default", "jobs/a"))
    assert "agent, stays" not in other and "by copy" in other
    assert not any(word in node + other for word in ("affinity-", "matches-"))
