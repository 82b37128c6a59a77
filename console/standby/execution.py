"""The only place where standby acts on a cluster: pods are put to sleep, and recalled.

Every operation has a key of its own that was written down before: two workers that send it at once, or one that dies
while it does, make it happen once, and whoever comes next goes on with it.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial

import structlog
from django.utils import timezone

from console.connectors.protocol import Connector, ConnectorError
from console.connectors.registry import connect
from console.inventory.choices import LENDING
from console.inventory.models import Source
from console.standby import services
from console.standby.choices import GRACE_S
from console.standby.models import Recall, Sleeper
from scheduler.plan import operations

log = structlog.get_logger(__name__)


def act(now: datetime | None = None) -> int:
    """One look at every source where something can be done; how many operations were sent."""
    return sum(_look(source, now or timezone.now()) for source in Source.objects.filter(kind__in=LENDING))


def _look(source: Source, now: datetime) -> int:
    services.put_to_sleep(source, now)
    services.wake_due(source, now)
    sleepers, recalls = services.untold(source), services.open_recalls(source)
    if not sleepers and not recalls:
        return 0
    try:
        connector = connect(source.kind, source.config)
    except ConnectorError as error:
        log.warning("standby.out_of_reach", source=source.name, error=str(error))
        return 0
    # Who wakes comes first.
    sends = [(one.pod, partial(_recall, connector, one)) for one in recalls]
    sends += [(one.pod, partial(_sleep, connector, one)) for one in sleepers]
    return sum(_sent(pod, send) for pod, send in sends)


def _sent(pod: str, send: Callable[[], None]) -> bool:
    """One that the cluster does not take keeps the others from nothing; it is sent again with the next look."""
    try:
        send()
    except ConnectorError as error:
        log.warning("standby.not_sent", pod=pod, error=str(error))
        return False
    except Exception:
        log.exception("standby.failed", pod=pod)
        return False
    return True


def _sleep(connector: Connector, row: Sleeper) -> None:
    if not services.begin_telling(row):
        return
    operation = operations.Sleep(
        cluster=row.window.cluster, pod=row.pod, uid=row.pod_uid, until=row.until_at.isoformat()
    )
    services.note_sleep(row, connector.execute(operation, row.key))


def _recall(connector: Connector, row: Recall) -> None:
    operation = operations.Recall(cluster=row.cluster, pod=row.pod, uid=row.pod_uid, grace_s=GRACE_S)
    services.note_recall(row, connector.execute(operation, f"recall:{row.uid}"))
