"""How people are reached: said by each for themselves.  Secrets are sealed as the credentials of clusters are."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from console.audit import services as audit
from console.connectors import webhook
from console.connectors.kubernetes.credentials import NoKeyError
from console.oncall import selectors
from console.oncall.choices import ContactKind
from console.oncall.models import Contact
from console.oncall.services import sealing, sending
from console.rest.errors import FieldError
from console.tenancy.services import require


def set_contact(user: Any, kind: str, address: str) -> str:
    """How ``user`` is reached from now on; of a webhook the secret that signs it, shown this once, else "".

    Raises ``FieldError``, which does not quote a webhook's address: it often is a secret itself.
    """
    require(user, "oncall.answer")
    if kind == ContactKind.MAIL:
        _keep(user, ContactKind.MAIL, _mail(address), "")
        return ""
    if kind != ContactKind.WEBHOOK:
        raise FieldError("kind", "mail or webhook")
    try:
        url = webhook.check_url(address)
        secret = webhook.new_secret()
        sealed = sealing.sealed(url, secret)
    except (webhook.WebhookError, NoKeyError) as wrong:
        raise FieldError("address", str(wrong)) from None
    _keep(user, ContactKind.WEBHOOK, webhook.host_of(url), sealed)
    return secret


def forget_contact(user: Any, kind: str) -> None:
    """This way is no longer tried."""
    require(user, "oncall.answer")
    with transaction.atomic():
        for row in Contact.objects.select_for_update().filter(user=user, kind=kind):
            _forget(row)
            audit.record(
                actor=user,
                action="contact.forgotten",
                target_kind="contact",
                target_id=user.get_username(),
                detail={"kind": kind},
            )


def try_contact(user: Any) -> str:
    """Sends one message along the first way, now; where it went.  Raises ``FieldError`` with what went wrong."""
    require(user, "oncall.answer")
    ways = selectors.ways_of(user)
    if not ways:
        raise FieldError("address", "there is no address to try: give one first")
    text = sending.Text(
        f"trial-{user.pk}-{int(timezone.now().timestamp())}",
        "[Slackline] A trial of your on-call address",
        "Somebody signed in as you asked for this message. Calls look like it.",
    )
    try:
        sending.send(ways[0], text)
    except sending.DeliveryError as wrong:
        raise FieldError("address", str(wrong)) from wrong
    audit.record(actor=user, action="contact.tried", target_kind="contact", target_id=user.get_username())
    return f"{ways[0].kind} to {ways[0].address}"


def _mail(address: str) -> str:
    text = address.strip()
    try:
        validate_email(text)
    except ValidationError as wrong:
        raise FieldError("address", "one mail address, such as ada@example.org") from wrong
    if len(text) > 253:
        raise FieldError("address", "at most 253 characters")
    return text


def _keep(user: Any, kind: ContactKind, shown: str, sealed: str) -> None:
    with transaction.atomic():
        for row in Contact.objects.select_for_update().filter(user=user, kind=kind):
            _forget(row)
        Contact.objects.create(user=user, kind=kind, shown=shown, sealed=sealed)
        audit.record(
            actor=user, action="contact.set", target_kind="contact", target_id=user.get_username(),
            detail={"kind": kind.value},
        )  # fmt: skip


def _forget(row: Contact) -> None:
    sealed = row.sealed
    row.delete()
    if sealed:
        sealing.forget(sealed)
