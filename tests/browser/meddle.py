"""What happens to a simulated cluster from outside: ``python -m tests.browser.meddle VERB SOURCE ...``.

found NAME FILE       a quiet simulated cluster that starts as this snapshot file, read and measured
lock SOURCE POD       somebody locks the pod (namespace/name), and the cluster is read at once
strand SOURCE N       N of its nodes are cordoned, and the cluster is read at once; prints the revision
dark SOURCE           the largest ASW goes not ready, and the cluster is read at once; prints its name
close SOURCE          the smallest pool of several nodes is cordoned, and the cluster is read at once
luck SOURCE SHARE S   so many of its moves fail from now on (0 to 1), and a copy takes S seconds to come up
"""

import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import django


def _cluster(source: Any) -> Any:
    rows = import_module("console.connectors.models").SimulatedCluster.objects
    return rows.get(uid=source.config["cluster"])


def _happen(source: Any, changes: list[Any]) -> None:
    simulated = import_module("console.connectors.simulated")
    connector = simulated.SimulatedConnector(source.config["cluster"])
    with connector._held() as (row, world):
        world.apply(changes)
        simulated._write(row, world, connector._now_s(row), "tests", changes)
    # Either this process reads it or waits for the worker that does.
    services, now = import_module("console.inventory.services"), import_module("django.utils.timezone").now()
    observation = import_module("console.inventory.planning").observe(source.pk) or services.fresh(source.pk, now)[0]
    print(observation.revision)


def _found(name: str, file: str) -> None:
    document = import_module("scheduler.cluster.codec").parse(Path(file).read_bytes()).document
    source = import_module("console.inventory.services").establish_world(name, document, seed=1, lively=False)
    import_module("console.inventory.planning").read_first(source)


def _lock(source: Any, pod: str) -> None:
    facts = import_module("console.connectors.changes")
    cluster = _world(source).clusters()[0]
    fields = {"locked": True, "locked_by": "owner", "lock_reason": "checkpoint running"}
    _happen(source, [facts.PodSet(pod=(cluster, pod), fields=fields)])


def _strand(source: Any, count: str) -> None:
    order = _world(source).order
    chosen = order[:: len(order) // int(count)][: int(count)]
    _set_nodes(source, chosen, {"cordoned": True})


def _dark(source: Any) -> None:
    nodes = _world(source).nodes
    place = {node: record.asw or record.domain for node, record in nodes.items()}
    switches = Counter(name for name in place.values() if name)
    name = max(switches, key=lambda switch: (switches[switch], switch))
    _set_nodes(source, [node for node in nodes if place[node] == name], {"ready": False})
    print(name)


def _close(source: Any) -> None:
    nodes = _world(source).nodes
    pools = Counter((record.cluster, record.gpu_model) for record in nodes.values() if record.gpu_model)
    pool = min((pool for pool in pools if pools[pool] > 1), key=lambda pool: (pools[pool], pool))
    found = [node for node, record in nodes.items() if (record.cluster, record.gpu_model) == pool]
    _set_nodes(source, found, {"cordoned": True})


def _set_nodes(source: Any, nodes: list[Any], fields: dict[str, Any]) -> None:
    facts = import_module("console.connectors.changes")
    _happen(source, [facts.NodeSet(node=node, fields=fields) for node in nodes])


def _luck(source: Any, share: str, seconds: str) -> None:
    row = _cluster(source)
    row.tide = {**row.tide, "fail": float(share), "startup_s": [int(seconds), int(seconds)]}
    row.save(update_fields=["tide"])


def _world(source: Any) -> Any:
    simulated = import_module("console.connectors.simulated")
    with simulated.SimulatedConnector(source.config["cluster"])._held() as (_row, world):
        return world


def main(verb: str, name: str, *words: str) -> None:
    if verb == "found":
        _found(name, *words)
        return
    source = import_module("console.inventory.models").Source.objects.get(name=name)
    {"lock": _lock, "strand": _strand, "dark": _dark, "close": _close, "luck": _luck}[verb](source, *words)


if __name__ == "__main__":
    django.setup()
    main(*sys.argv[1:])
