"""One message along one way: a mail through Django's mailer, or a signed webhook."""

import smtplib
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, InvalidMailer, MailerDoesNotExist

from console.connectors import webhook
from console.connectors.protocol import ConnectorError
from console.oncall.choices import ContactKind
from console.oncall.selectors.people import Way
from console.oncall.services import sealing

LONGEST_ERROR = 300


class DeliveryError(Exception):
    """It did not arrive; the text is fit for a page and quotes no secret."""


@dataclass(frozen=True, slots=True)
class Text:
    """``uid`` is the same at every try, so that a receiver can tell a repeated message from a new one."""

    uid: str
    subject: str
    body: str
    facts: dict[str, Any] = field(default_factory=dict)  # for programs: what a webhook says beside the text


def send(way: Way, text: Text) -> None:
    """Raises ``DeliveryError``.  Some seconds at most."""
    if way.kind == ContactKind.MAIL:
        _mail(way.address, text)
        return
    try:
        url, secret = sealing.opened(way.sealed)
        webhook.post(url, secret, text.uid, {"subject": text.subject, "text": text.body, **text.facts})
    except (webhook.WebhookError, ConnectorError) as error:
        raise DeliveryError(str(error)[:LONGEST_ERROR]) from None


def _mail(address: str, text: Text) -> None:
    message = EmailMessage(
        " ".join(text.subject.split()),
        text.body,
        settings.DEFAULT_FROM_EMAIL,
        [address],
        headers={"Auto-Submitted": "auto-generated", "X-Slackline-Message": text.uid},
    )
    try:
        if message.send(using="default") != 1:
            raise DeliveryError("the mail server took no message")
    except (MailerDoesNotExist, InvalidMailer):
        raise DeliveryError("mail is not set up here: EMAIL_URL is not set") from None
    except (smtplib.SMTPException, OSError, ValueError) as error:
        raise DeliveryError(f"mail: {_said(error)}") from None


def _said(error: Exception) -> str:
    """The server's words on one line; of a refused recipient only the first refusal."""
    if isinstance(error, smtplib.SMTPResponseException):
        detail = error.smtp_error
        told = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        return " ".join(f"{error.smtp_code} {told}".split())[:LONGEST_ERROR]
    return (" ".join(str(error).split()) or type(error).__name__)[:LONGEST_ERROR]
