"""Credentials of clusters, sealed at rest: opened only to reach a cluster, and never handed to a page.

The keys stand in the settings, so that a copy of the database alone opens nothing.  The first key seals; all of them
open, so that a new key can be put in front of an old one.
"""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from console.connectors.models import Credential
from console.connectors.protocol import ConnectorError

LABEL = b"slackline credentials of clusters:"


class NoKeyError(Exception):
    """This installation has no key; fit for a person."""


def keep(secret: bytes) -> str:
    """Stores ``secret`` and returns the name under which ``fetch`` finds it.  Raises ``NoKeyError``."""
    return str(Credential.objects.create(sealed=_box().encrypt(secret).decode()).pk)


def fetch(name: str) -> bytes:
    """Raises ``ConnectorError`` where it is gone, or sealed with a key that is no longer here."""
    sealed = Credential.objects.filter(pk=name).values_list("sealed", flat=True).first()
    if sealed is None:
        raise ConnectorError("the credentials of this cluster are gone: give them again")
    try:
        return _box().decrypt(sealed.encode())
    except (InvalidToken, NoKeyError):
        raise ConnectorError(
            "the credentials of this cluster are sealed with a key that SLACKLINE_CREDENTIALS_KEYS does not have: "
            "put that key back, or give the credentials again"
        ) from None


def forget(name: str) -> None:
    Credential.objects.filter(pk=name).delete()


def reseal() -> int:
    """Seals everything with the first key; returns how many another one had sealed.

    Raises ``ConnectorError`` where some are sealed with a key that is not here; all others are sealed anew then, too.
    """
    changed, closed = 0, 0
    first = Fernet(_keys()[0])
    for name, sealed in Credential.objects.values_list("pk", "sealed"):
        try:
            first.decrypt(sealed.encode())
        except InvalidToken:
            try:
                anew = first.encrypt(_box().decrypt(sealed.encode())).decode()
            except InvalidToken:
                closed += 1
            else:
                changed += Credential.objects.filter(pk=name, sealed=sealed).update(sealed=anew)
    if closed:
        raise ConnectorError(
            f"{closed} of the credentials are sealed with a key that SLACKLINE_CREDENTIALS_KEYS does not have: "
            f"put that key back, or give them again; sealed anew: {changed}"
        )
    return changed


def _box() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in _keys()])


def _keys() -> list[bytes]:
    """Each text of the settings becomes a key; its length is not prescribed, as that of a password is not."""
    texts = [text for text in settings.CREDENTIALS_KEYS if text]
    if not texts:
        raise NoKeyError(
            "This installation has no key to encrypt credentials with: "
            "set SLACKLINE_CREDENTIALS_KEYS to a long random text, and keep it apart from the database's backup."
        )
    return [base64.urlsafe_b64encode(hashlib.sha256(LABEL + text.encode()).digest()) for text in texts]
