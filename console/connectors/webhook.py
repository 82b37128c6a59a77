"""Signed JSON to an address outside: only to hosts that this installation names, over TLS, never where credentials of
machines are kept, and no redirect is followed.

Signed as the specification Standard Webhooks asks: HMAC-SHA256 over id, time and body, so that a receiver can tell
who sent it, and a repeated or an old message from a new one.
"""

import base64
import hashlib
import hmac
import json
import secrets
import time
from typing import Any
from urllib.parse import urlsplit

import urllib3
from django.conf import settings

from console.connectors.kubernetes.access import AccessError, guard, refuse_address

SECRET_MARK = "whsec_"
SECRET_BYTES = 32
LONGEST_URL = 2000
AGENT = "slackline (calls)"
TIMEOUT = urllib3.Timeout(connect=4.0, read=6.0)


class WebhookError(Exception):
    """It was not taken, or may not be sent there; the text quotes neither address nor secret."""


def new_secret() -> str:
    return SECRET_MARK + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def host_of(url: str) -> str:
    return str(urlsplit(url).hostname)


def check_url(url: str) -> str:
    """The address as it is kept.  Raises ``WebhookError``."""
    text = url.strip()
    try:
        parts = urlsplit(text)
        sound = parts.port != 0 and text.isascii() and text.isprintable() and " " not in text
    except ValueError:
        sound = False
    if not sound or len(text) > LONGEST_URL:
        raise WebhookError("this is no address")
    if parts.scheme != "https" or not parts.hostname:
        raise WebhookError("the address must begin with https://")
    if parts.username or parts.password or parts.fragment:
        raise WebhookError("an address without a user, a password and a fragment")
    _refuse_host(parts.hostname)
    return text


def post(url: str, secret: str, uid: str, body: dict[str, Any]) -> None:
    """Sends ``body`` once.  Raises ``WebhookError`` unless the answer is 2xx."""
    check_url(url)  # the list of hosts may have become shorter since
    payload = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    sent_at = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": AGENT,
        "webhook-id": uid,
        "webhook-timestamp": str(sent_at),
        "webhook-signature": signature(secret, uid, sent_at, payload),
    }
    try:
        with _pools() as pools:
            answer = pools.request(
                "POST", url, body=payload, headers=headers, timeout=TIMEOUT, retries=False, redirect=False,
                preload_content=False,
            )  # fmt: skip
            status = answer.status
            answer.close()  # what it says is of no use here, and may be endless
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise WebhookError(f"{host_of(url)}: {_said(error)}") from None
    if not 200 <= status < 300:
        raise WebhookError(f"{host_of(url)} answered {status}")


def signature(secret: str, uid: str, sent_at: int, payload: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_MARK))
    signed = hmac.new(key, f"{uid}.{sent_at}.".encode() + payload, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def _refuse_host(host: str) -> None:
    if not settings.WEBHOOK_HOSTS:
        raise WebhookError("webhooks are off here: SLACKLINE_WEBHOOK_HOSTS names no host")
    if host.lower() not in settings.WEBHOOK_HOSTS:
        raise WebhookError(f"{host[:100]} is not among the hosts that SLACKLINE_WEBHOOK_HOSTS names")
    try:
        refuse_address(host)
    except AccessError:
        raise WebhookError(f"{host[:100]} is an address to which nothing is sent") from None


def _pools() -> urllib3.PoolManager:
    pools = urllib3.PoolManager(num_pools=1, maxsize=1)
    guard(pools)
    return pools


def _said(error: Exception) -> str:
    """What went wrong, without names of our classes and addresses of objects in memory."""
    words = {
        urllib3.exceptions.NameResolutionError: "its name leads to no address",
        urllib3.exceptions.NewConnectionError: "it cannot be reached",  # before its own parent
        urllib3.exceptions.ConnectTimeoutError: "it does not answer",
        urllib3.exceptions.ReadTimeoutError: "it takes the message and says nothing",
        urllib3.exceptions.SSLError: "its certificate is not accepted",
    }
    return next((said for kind, said in words.items() if isinstance(error, kind)), "the connection broke")
