"""What machines ask."""

from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client

from console.rest import health

pytestmark = pytest.mark.django_db


def test_fit() -> None:
    answer = Client().get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"ok": True, "parts": {"database": True, "redis": True}}
    assert "no-store" in answer.headers["Cache-Control"]


def test_unfit_names_the_part_and_keeps_the_details_to_itself(settings: Any) -> None:
    settings.REDIS_URL = "redis://:secret@127.0.0.1:1/0"
    answer = Client().get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["parts"] == {"database": True, "redis": False}
    assert b"secret" not in answer.content


def test_a_broken_database_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def cursor(self) -> Any:
            raise DatabaseError("gone")

    monkeypatch.setattr(health, "connection", Broken())
    assert Client().get("/healthz").json()["parts"]["database"] is False


def test_metrics_need_the_token(settings: Any) -> None:
    settings.METRICS_TOKEN = "scrape me"
    client = Client()
    assert client.get("/metrics").status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 403
    text = client.get("/metrics", headers={"Authorization": "Bearer scrape me"}).content.decode()
    assert 'slackline_part_up{part="redis"} 1.0' in text
    assert 'slackline_queue_length{queue="plan"}' in text


def test_no_token_set_is_no_open_door(settings: Any) -> None:
    settings.METRICS_TOKEN = ""
    assert Client().get("/metrics", headers={"Authorization": "Bearer "}).status_code == 403
