"""Who is behind a session right now, and may they listen to a topic right now.

Every event is checked anew.  All sockets of one session that carry the same event share one answer, so that a hundred
tabs cost one look at the database, not a hundred.
"""

import asyncio
from collections import OrderedDict
from enum import Enum
from typing import Any

from channels.auth import get_user
from channels.db import database_sync_to_async
from django.contrib.sessions.backends.db import SessionStore

from console.live import topics


class Verdict(Enum):
    YES = "yes"
    NO = "no"
    NOBODY = "nobody"


_REMEMBERED = 4096
_Key = tuple[int, str | None, object, int]
_answers: OrderedDict[_Key, asyncio.Task[Verdict]] = OrderedDict()


async def person(session_key: str | None) -> Any | None:
    """The signed-in, active user of a session as stored now, or None."""
    if session_key is None:
        return None
    user = await get_user({"session": SessionStore(session_key)})
    return user if user.is_authenticated and user.is_active else None


async def check(session_key: str | None, topic: object, seq: int | None = None) -> Verdict:
    """Whether the session's user may get event ``seq`` of ``topic``; without ``seq`` the answer is never shared."""
    if seq is None:
        return await _look(session_key, topic)
    key = (id(asyncio.get_running_loop()), session_key, topic, seq)
    task = _answers.get(key)
    if task is None:
        task = _answers[key] = asyncio.create_task(_look(session_key, topic))
        while len(_answers) > _REMEMBERED:
            _answers.popitem(last=False)
    # Most who ask find the answer there; waiting for it all the same costs more than the answer.
    return task.result() if task.done() else await asyncio.shield(task)


async def _look(session_key: str | None, topic: object) -> Verdict:
    user = await person(session_key)
    if user is None:
        return Verdict.NOBODY
    allowed = await database_sync_to_async(topics.may_listen)(user, topic)
    return Verdict.YES if allowed else Verdict.NO
