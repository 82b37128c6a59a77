"""The only caller of the storm planner; only workers import it."""

import structlog
from django.utils import timezone

from console.inventory import services as inventory
from console.inventory.choices import LENDING
from console.inventory.models import Source
from console.standby import services
from scheduler.performance.leaving import fitted, law_of
from scheduler.performance.stopping import StopCosts
from scheduler.placement.named import VictimRules
from scheduler.spot.standby import clock_offset
from scheduler.spot.storm import Store, StormRules, foresee

log = structlog.get_logger(__name__)


def storms() -> int:
    """Look ahead on every source that lends; how many storms are foreseen.

    Each call is drawn as far ahead as its storm asks for: the sleeper's row then says when it is woken.
    """
    return sum(_look(source) for source in Source.objects.filter(kind__in=LENDING))


def _look(source: Source) -> int:
    newest = inventory.newest(source)
    if newest is None:
        return 0
    snapshot, now = newest[1], timezone.now()
    offset = clock_offset(snapshot)
    seen = services.exits_of(source)
    costs = StopCosts(usual=fitted(seen, law_of("paper")))
    rules = StormRules(victims=VictimRules(costs=costs), gap_s=services.STORM_GAP_S)
    store = Store(write_mib_per_s=services.STORE_MIB_PER_S)
    ahead = []
    for cluster, ends in services.ends_of_windows(source).items():
        on_clock = {pod: int(at.timestamp()) - offset for pod, at in ends.items()}
        now_s = int(now.timestamp()) - offset
        found = foresee(snapshot, on_clock, now_s=now_s, store=store, rules=rules, cluster=cluster)
        ahead += [(cluster, storm) for storm in found]
    log.info("standby.storms", source=source.name, storms=len(ahead), exits=len(seen))
    return services.keep_storms(source, ahead, offset, len(seen), now)
