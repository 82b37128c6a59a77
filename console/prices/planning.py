"""From readings to prices; only workers import it."""

import socket

from console.prices import services

NOT_YET = "Prices cannot be worked out here yet: name them in a proposal by hand."


def review(proposal_id: int) -> None:
    """New prices by the core's rule, and what the last week would have been under them."""
    work = services.begin_computing(proposal_id, socket.gethostname())
    if work is not None:
        services.fail_computing(work, NOT_YET)


def preview(proposal_id: int) -> None:
    """The last week under prices that people named."""
    work = services.begin_computing(proposal_id, socket.gethostname())
    if work is not None:
        services.fail_computing(work, NOT_YET)
