"""From readings to prices; only workers import it."""

import socket

import structlog

from console.prices import services
from console.prices.planning.market import Market, markets_of
from console.prices.planning.quoting import line_of, preview_of
from console.rest.errors import Conflict
from scheduler.cluster.errors import InputError, ParamError

log = structlog.get_logger(__name__)


def review(proposal_id: int) -> None:
    """New prices by the core's rule, and what the last week would have been under them."""
    _compute(proposal_id)


def preview(proposal_id: int) -> None:
    """The last week under prices that people named."""
    _compute(proposal_id)


def _compute(proposal_id: int) -> None:
    """Under a lease: whoever has lost it writes nothing."""
    work = services.begin_computing(proposal_id, socket.gethostname())
    if work is None:
        log.info("prices.not_taken", proposal=proposal_id)
        return
    try:
        _answer(work)
    except Conflict as lost:
        log.info("prices.lost", proposal=proposal_id, reason=lost.reason)
    except (ParamError, InputError) as error:
        services.fail_computing(work, f"No prices came of it: {error}.")
    except Exception as error:
        services.fail_computing(work, f"The prices could not be worked out: {type(error).__name__}: {error}")
        raise


def _answer(work: services.Work) -> None:
    markets: dict[str, Market] = markets_of(work.models, work.now_at)
    if not services.still_wanted(work):
        return
    lines = [line_of(work, asked, markets[asked.gpu_model]) for asked in work.models]
    replayed = preview_of(work, lines, markets, lambda: services.still_wanted(work))
    if replayed is not None:
        services.write_answer(work, lines, replayed)
