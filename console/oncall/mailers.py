"""Django's mailers from one address in the environment: smtp://, smtp+tls:// (STARTTLS) or smtp+ssl://."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

SCHEMES = {"smtp": {}, "smtp+tls": {"use_tls": True}, "smtp+ssl": {"use_ssl": True}}
PORTS = {"smtp": 25, "smtp+tls": 587, "smtp+ssl": 465}
TIMEOUT_S = 8  # a worker must not hang at a mail server; what fails is tried again


def mailers(url: str, outbox: Path | None) -> dict[str, dict[str, Any]]:
    """``outbox``: where mails are written as files in the demo, so that nothing leaves the machine.

    None is configured where neither is given: then mails fail and say so.
    """
    if outbox is not None:
        options: dict[str, Any] = {"file_path": str(outbox)}
        return {"default": {"BACKEND": "django.core.mail.backends.filebased.EmailBackend", "OPTIONS": options}}
    if not url:
        return {}
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise ImproperlyConfigured(
            f"EMAIL_URL begins with {parts.scheme[:20]!r}: write {', '.join(f'{one}://' for one in SCHEMES)}, "
            "then user:password@host:port."
        )
    options = {
        "host": parts.hostname,
        "port": parts.port or PORTS[parts.scheme],
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "timeout": TIMEOUT_S,
        **SCHEMES[parts.scheme],
    }
    return {"default": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": options}}
