"""Is there anybody to send work to?  With the broker away nothing is started."""

from celery import current_app
from kombu.exceptions import OperationalError

from console.plans.services.transition import Conflict


def require_broker() -> None:
    """Raises ``Conflict`` where the message broker does not answer within two seconds."""
    try:
        with current_app.connection_for_write(
            transport_options={"socket_timeout": 2, "socket_connect_timeout": 2}
        ) as wire:
            wire.ensure_connection(max_retries=1, interval_start=0, timeout=2)
            wire.default_channel.client.ping()  # type: ignore[attr-defined]  # Redis channels have one
    except (OperationalError, ConnectionError, OSError) as error:
        raise Conflict(
            "The message broker does not answer, so no executor would hear of this run; nothing was started.",
            next_step="Bring the broker back and start again.",
        ) from error
