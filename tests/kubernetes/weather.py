"""Changes by chance: what a living cluster does while a feed follows it."""

import random
from dataclasses import dataclass

from tests.kubernetes import worlds
from tests.kubernetes.player.cluster import Cluster

FEW, MANY = 12, 60  # pods of a small cluster


@dataclass(slots=True)
class Weather:
    """Each ``blow`` changes one thing.  Call it in the player's thread."""

    cluster: Cluster
    rng: random.Random
    born: int = 0

    def blow(self) -> None:
        store, draw = self.cluster.store, self.rng.random()
        pods = list(store.resources[worlds.PODS].objects)
        if len(pods) < FEW or (draw < 0.3 and len(pods) < MANY):
            self.born += 1
            store.put(worlds.PODS, worlds.pod(f"born{self.born}", on=f"n{self.rng.randrange(3)}"))
        elif draw < 0.5:
            store.delete(worlds.PODS, self.rng.choice(pods))
        elif draw < 0.6:
            self._again(self.rng.choice(pods))
        elif draw < 0.9:
            mood = str(self.rng.random())
            store.change(worlds.PODS, self.rng.choice(pods), lambda pod: pod["metadata"]["labels"].update(mood=mood))
        else:
            self._node()

    def _again(self, key: tuple[str, str]) -> None:
        """The same name for another object, as a StatefulSet does it."""
        store = self.cluster.store
        store.delete(worlds.PODS, key)
        store.put(worlds.PODS, worlds.pod(key[1], on="n0", namespace=key[0]))

    def _node(self) -> None:
        store = self.cluster.store
        name = f"n{self.rng.randrange(6)}"
        if ("", name) not in store.resources[worlds.NODES].objects:
            store.put(worlds.NODES, worlds.node(name))
        elif self.rng.random() < 0.4:
            store.delete(worlds.NODES, ("", name))
        else:
            tired = self.rng.random() < 0.5
            store.change(worlds.NODES, ("", name), lambda node: node["spec"].update(unschedulable=tired))
