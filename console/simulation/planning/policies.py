"""Plain fields of a study's policy as the core's rules."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scheduler.placement.policy import TERMS
from scheduler.replay.rules import Rules, named

CONSOLIDATION = "consolidation_"


def rules_of(policy: Mapping[str, Any]) -> Rules:
    """Raises ``ParamError`` for the first field that the core refuses."""
    base = named(policy["base"])
    changes = dict(policy["changes"])
    terms = {term: changes.pop(term) for term in TERMS if term in changes}
    ours = [field for field in changes if field.startswith(CONSOLIDATION)]
    params = {field.removeprefix(CONSOLIDATION): changes.pop(field) for field in ours}
    return replace(
        base,
        name=policy["name"],
        placement=replace(base.placement, **terms),
        consolidation=replace(base.consolidation, **params),
        **changes,
    )
