"""Answers of Prometheus for tests."""

import json
from typing import Any

NOW_S = 1_790_000_000.0


def series(name: str, value: float | str, **labels: str) -> dict[str, Any]:
    text = value if isinstance(value, str) else repr(value)
    return {"metric": {"__name__": name, **labels}, "value": [NOW_S, text]}


def answer(*rows: dict[str, Any], **changes: Any) -> bytes:
    data = {"resultType": "vector", "result": list(rows)}
    return json.dumps({"status": "success", "data": data, **changes}).encode()


def dcgm(name: str, value: float | str, gpu: int = 0, node: str = "n1", **labels: str) -> dict[str, Any]:
    return series(name, value, gpu=str(gpu), UUID=f"GPU-{node}-{gpu}", hostname=node, **labels)
