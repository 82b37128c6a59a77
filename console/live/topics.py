"""Which topics exist and who may listen: each app registers its own when it is ready."""

import re
from collections.abc import Callable
from typing import Any

Allowed = Callable[[Any, str], bool]
_allowed: dict[str, Allowed] = {}
_FORM = re.compile(r"[a-z][a-z_]*(:[A-Za-z0-9_-]{1,64})?")


def register(prefix: str, allowed: Allowed) -> None:
    """``prefix`` is the part of a topic before its colon; ``allowed(user, topic)`` may read the database."""
    if prefix in _allowed:
        raise ValueError(f"topic {prefix} is registered twice")
    _allowed[prefix] = allowed


def prefixes() -> tuple[str, ...]:
    return tuple(sorted(_allowed))


def may_listen(user: Any, topic: object) -> bool:
    """False for topics that nobody has registered: silence and absence look alike to those outside."""
    if not isinstance(topic, str) or not _FORM.fullmatch(topic):
        return False
    allowed = _allowed.get(topic.partition(":")[0])
    return allowed is not None and user.is_active and allowed(user, topic)
