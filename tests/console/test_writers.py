"""Writers that come at the same time wait for each other; nobody is told that the database is locked."""

import threading
import time

import pytest
from django.db import connection, transaction

from console.audit.models import Entry
from console.audit.services import record

WRITERS, EACH = 8, 25


@pytest.mark.django_db(transaction=True)
def test_many_writers_at_once() -> None:
    failures: list[Exception] = []

    def write() -> None:
        try:
            for number in range(EACH):
                with transaction.atomic():
                    Entry.objects.count()  # a read first: a lock asked for only after it would fail at once
                    record(actor=None, action="thing.done", target_kind="thing", target_id=number)
                    time.sleep(0.001)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=write) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert Entry.objects.count() == WRITERS * EACH


@pytest.mark.django_db
def test_sqlite_is_set_up_to_wait() -> None:
    if connection.vendor != "sqlite":
        assert connection.vendor == "postgresql"
        return
    with connection.cursor() as cursor:
        modes = [
            cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "busy_timeout", "synchronous")
        ]
    assert modes == ["wal", 30000, 1]
    assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
