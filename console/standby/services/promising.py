"""The room of pods that wake, promised to them until they serve."""

from console.standby.choices import RecallState
from console.standby.models import Recall
from scheduler.cluster.promised import Promise


def promises(source_id: int) -> tuple[Promise, ...]:
    """One for each recall that is under way; an asked one counts already."""
    rows = Recall.objects.filter(source=source_id, state__in=(RecallState.ASKED, RecallState.RUNNING))
    return tuple(Promise(cluster=row.cluster, node=row.node, claimant=row.pod, gpu_milli=row.gpu_milli) for row in rows)
