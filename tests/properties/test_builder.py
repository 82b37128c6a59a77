"""A builder that follows documents gives what a fresh one gives, whatever has changed between two of them."""

import json
import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.build import Builder, build
from scheduler.cluster.codec import parse
from scheduler.cluster.errors import InputError
from scheduler.cluster.packing import pack
from scheduler.cluster.records import Document, PodRecord
from tests.properties.documents import document

SEEDS = st.integers(0, 2**32)
CHANGES = ("uid", "node", "priority", "labels", "phase", "gpus", "name", "started_s", "gang", "lent_by", "host_ports")


def records(seed: int) -> Document:
    return parse(json.dumps(document(seed)).encode()).document


def changed(pod: PodRecord, dice: random.Random) -> PodRecord:
    """Another record with some fields of another pod, some of which it may not have."""
    field = dice.choice(CHANGES)
    donors = records(dice.randrange(2**32)).pods
    value = getattr(dice.choice(donors), field) if donors else getattr(pod, field)
    if field == "host_ports" and dice.random() < 0.2:
        value = [70_000]
    return msgspec.structs.replace(pod, **{field: value})


def after(last: Document, dice: random.Random) -> Document:
    """What may follow: some of the same objects, some changed, some gone, some new, in any order."""
    pods = [changed(pod, dice) if dice.random() < 0.2 else pod for pod in last.pods if dice.random() < 0.8]
    other = records(dice.randrange(2**32))
    taken = {(pod.cluster, pod.namespace, pod.name) for pod in pods}
    pods += [pod for pod in other.pods if (pod.cluster, pod.namespace, pod.name) not in taken]
    if pods and dice.random() < 0.05:
        pods.append(dice.choice(pods))
    if dice.random() < 0.5:
        dice.shuffle(pods)
    return msgspec.structs.replace(other if dice.random() < 0.3 else last, pods=pods)


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.integers(1, 8))
def test_a_builder_that_follows_gives_what_a_fresh_one_gives(seed: int, steps: int) -> None:
    dice, builder = random.Random(seed), Builder()
    here = records(seed)
    for _ in range(steps):
        try:
            fresh = build(here)
        except InputError:
            refused = True
        else:
            refused = False
        try:
            found = builder.build(here)
        except InputError:
            assert refused
        else:
            assert not refused
            assert pack(found) == pack(fresh)
        here = after(here, dice)
