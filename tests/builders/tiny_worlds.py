"""Worlds so small that every set of pods and every way to seat a job can be tried; from a seed."""

import random

from tests.builders.worlds import World, world


def tiny_world(seed: int) -> World:
    """Three small nodes of two models; pods that leave, that lose nothing, without GPUs; caps that bind."""
    dice, built = random.Random(seed), world(1000)
    for i in range(3):
        built.node(f"n{i}", dice.choice([2, 4]), gpu_model=dice.choice(["A", "B"]), cpu_milli=16_000)
    above = dice.random() < 0.3
    built.tenant("d", cohort="c", cap_gpus=dice.choice([1, 3])) if above else None
    place = {"parent": "d"} if above else {"cohort": "c"}
    built.tenant("t1", cap_gpus=dice.choice([None, 2, 4]), quotas=_quotas(dice), **place)
    built.tenant("t2", cohort="c", quotas=_quotas(dice))
    for i in range(dice.randint(2, 6)):
        gpus, tier = dice.choice([0, 1, 2, 2]), dice.choice(["LP", "LP", "HP"])
        leaves = {"terminating": True, "deleted_at_s": 990, "grace_s": 60} if dice.random() < 0.25 else {}
        built.pod(
            f"r{i}", f"n{dice.randrange(3)}", gpus, tenant=dice.choice(["t1", "t2"]), tier=tier, started_s=0,
            cpu_milli=dice.choice([1, 8, 16]) * 1000, checkpoint_s=dice.choice([500, 900, 1000]), **leaves,
        )  # fmt: skip
    many = dice.choice([1, 1, 2, 3])
    built.gang("g", many) if many > 1 else None
    for i in range(many):
        built.pod(
            f"h{i}", gpus=dice.choice([0, 0, 1, 2, 4]), cpu_milli=dice.choice([1, 8, 12]) * 1000, priority=5,
            gpu_model=dice.choice([None, "A"]),
            **({"gang": "g"} if many > 1 else {}),
        )  # fmt: skip
    return built


def _quotas(dice: random.Random) -> list[dict[str, object]]:
    return [
        {"gpu_model": model, "nominal": dice.choice([0, 1, 4]), "borrowing_limit": dice.choice([None, 0])}
        for model in dice.sample(["A", "B"], dice.randint(0, 2))
    ]
