"""SQL queries per page: one line of JSON, {page: [queries, seconds of the second visit]}.

python -m benchmarks._queries          (on the database that the environment names)
"""

import json
import os
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth import get_user_model  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from console.inventory.addresses import node_address, pod_address  # noqa: E402
from console.inventory.selectors import Filters, node_rows, pod_rows  # noqa: E402


def pages() -> dict[str, str]:
    operator = get_user_model().objects.get(username="operator")
    node = node_rows(operator, Filters(), size=1).rows[0]
    pod = pod_rows(operator, Filters(), size=1).rows[0]
    return {
        "fleet": "/",
        "fleet, one model": f"/?model={node.gpu_model or ''}",
        "nodes": "/fleet/nodes/",
        "a node": node_address(node.cluster, node.name, node.source),
        "pods": "/fleet/pods/",
        "a pod": pod_address(pod.cluster, pod.key, pod.source),
        "plans": "/plans/",
        "new plan": "/consolidation/new/",
        "audit": "/audit/",
        "sources": "/sources/",
        "map of nodes": "/fleet/map/nodes/latest",
        "map of GPUs": "/fleet/map/gpus/latest",
    }


def main() -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client()
    client.force_login(get_user_model().objects.get(username="operator"), "console.tenancy.backend.RoleBackend")
    found = {}
    for name, address in pages().items():
        client.get(address)
        with CaptureQueriesContext(connection) as seen:
            began = time.process_time()
            answer = client.get(address)
            took = time.process_time() - began
        if answer.status_code != 200:
            raise SystemExit(f"{address}: {answer.status_code}")
        found[name] = [len(seen), round(took, 3)]
    print(json.dumps(found))


main()
