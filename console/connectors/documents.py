"""Files given to us, kept whole under the sha256 of their bytes."""

import hashlib
import zlib
from collections.abc import Iterable
from contextlib import suppress

from django.db.models import ProtectedError

from console.connectors.choices import Purpose
from console.connectors.models import StoredDocument
from console.connectors.protocol import ConnectorError

_LEVEL = 3  # documents are read rarely and written while somebody waits


def keep(content: bytes, purpose: Purpose = Purpose.GIVEN) -> str:
    """Stores ``content`` once and returns its digest."""
    digest = hashlib.sha256(content).hexdigest()
    known = StoredDocument.objects.filter(pk=digest)
    if not known.exists():
        fresh = {"content": zlib.compress(content, _LEVEL), "size": len(content), "purpose": purpose}
        StoredDocument.objects.get_or_create(pk=digest, defaults=fresh)
    elif purpose == Purpose.GIVEN:
        known.update(purpose=purpose)
    return digest


def fetch(digest: str) -> bytes:
    """The bytes kept under ``digest``; raises ``ConnectorError`` where there are none."""
    row = StoredDocument.objects.filter(pk=digest).values_list("content", flat=True).first()
    if row is None:
        raise ConnectorError(f"the file {digest[:12]} is no longer stored")
    return zlib.decompress(row)


def drop_base(digest: str) -> None:
    """Deletes a base that no simulated cluster refers to any more; what people gave stays."""
    with suppress(ProtectedError):
        StoredDocument.objects.filter(pk=digest, purpose=Purpose.BASE).delete()


def drop_given(digests: Iterable[str]) -> None:
    """Deletes files that were refused."""
    for digest in digests:
        with suppress(ProtectedError):
            StoredDocument.objects.filter(pk=digest, purpose=Purpose.GIVEN).delete()
