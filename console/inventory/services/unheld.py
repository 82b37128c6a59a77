"""What a reading could not hold, kept once for all readings that say the same of it."""

import hashlib
import json
from collections import Counter as Tally
from collections.abc import Sequence

from django.utils import timezone

from console.connectors.protocol import Aside
from console.inventory.models import Unheld
from console.inventory.packed import pack_json

KEPT_ROWS = 5_000  # object by object; beyond, the counts still tell
LONGEST = 500  # characters of one detail


def keep_unheld(aside: Sequence[Aside] | None) -> Unheld | None:
    """None where the connector never says; an empty list is kept as such, since it says that all was held."""
    if aside is None:
        return None
    tally = Tally((one.what, one.done, one.kind) for one in aside)
    groups = [[*key, count] for key, count in sorted(tally.items(), key=lambda item: (-item[1], item[0]))]
    rows = [[text[:LONGEST] for text in one] for one in sorted(aside)[:KEPT_ROWS]]
    content = json.dumps(rows, ensure_ascii=False).encode()
    digest = hashlib.sha256(json.dumps([len(aside), groups]).encode() + content).hexdigest()
    # Told again, it counts as new: the sweep must not take what a reading is about to name.
    if Unheld.objects.filter(pk=digest).update(stored_at=timezone.now()):
        return Unheld.objects.get(pk=digest)
    fresh = {"total": len(aside), "groups": groups, "rows": pack_json(rows), "kept": len(rows)}
    return Unheld.objects.get_or_create(pk=digest, defaults=fresh)[0]
