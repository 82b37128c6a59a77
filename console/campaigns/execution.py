"""The only place where a campaign acts on a cluster: it cordons nodes of groups that are drained, and gives them back.

What is asked of the cluster was written down before, under a key that names the reading it follows from: a worker that
dies in between is followed by another that asks for the same.
"""

import structlog

from console.campaigns import services
from console.connectors.protocol import ConnectorError
from console.connectors.registry import connect
from scheduler.plan.operations import Cordon

log = structlog.get_logger(__name__)


def look() -> int:
    """One look at every campaign that is at work; how many nodes were cordoned or given back."""
    return sum(look_at(campaign_id) for campaign_id in services.turns_due())


def look_at(campaign_id: int) -> int:
    try:
        return sum(_send(held) for held in services.turn(campaign_id))
    except Exception:
        # One campaign that cannot be looked at must not keep the others from it.
        log.exception("campaign.failed", campaign=campaign_id)
        return 0


def _send(held: services.Held) -> bool:
    operation = Cordon(cluster=held.cluster, node=held.node, lift=held.back)
    try:
        outcome = connect(held.source.kind, held.source.config).execute(operation, held.key)
    except ConnectorError as error:
        services.note_trouble(held.member, str(error))
        return False
    services.note_trouble(held.member, outcome.detail if outcome.state == "failed" else "")
    return outcome.state == "succeeded"
