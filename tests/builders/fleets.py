"""Observed fleets for tests of the console: worlds loaded, read and measured.  Needs the database."""

from typing import Any

from console.connectors.simulated import establish
from console.connectors.tide import QUIET
from console.inventory import planning, services
from console.inventory.models import Observation, Source
from scheduler.cluster import codec
from tests.builders.people import operator
from tests.builders.worlds import World
from tests.kubernetes.player.on_port import kubeconfig


def file_source(built: World, name: str = "file") -> Source:
    """A source that is a file; its cluster is not read yet."""
    services.load_snapshot_file(operator(), name, built.json())
    return Source.objects.get(name=name)


def simulated_source(built: World, name: str = "sim", seed: int = 1, tide: Any = QUIET) -> Source:
    """A source that is a simulated cluster, by default one in which nothing moves by itself."""
    uid = establish(name, codec.parse(built.json()).document, seed=seed, tide=tide)
    return Source.objects.create(name=name, kind="simulated", config={"cluster": uid}, period_s=2)


def read(source: Source) -> Observation:
    """One reading, drawn and measured as the workers do it."""
    observation = planning.observe(source.pk)
    assert observation is not None, Source.objects.get(pk=source.pk).last_error
    planning.measure(observation.pk)
    return observation


def observed(built: World, name: str = "file") -> Observation:
    return read(file_source(built, name))


def kubernetes_source(
    name: str = "k8s", server: str = "https://127.0.0.1:9", token: str = "t0p-s3cret-t0ken"
) -> Source:
    """A Kubernetes cluster that was added with a token; nobody follows it, and by default nothing answers there."""
    return services.add_cluster(operator(), services.Asked(name, "kubeconfig", kubeconfig(server, token), period_s=2))
