"""Where a message may go, how it is signed, and that no error is swallowed or tells a secret."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
import urllib3
from django.core.exceptions import ImproperlyConfigured

from console.connectors import webhook
from console.oncall.choices import ContactKind
from console.oncall.mailers import mailers
from console.oncall.selectors.people import Way
from console.oncall.services import sealing, sending

URL = "https://hooks.example.org/T0/secret-path"
TEXT = sending.Text("uid-1", "[Slackline]\r\nBcc: all@example.org", "body", {"plan": 7})


@pytest.fixture(autouse=True)
def _one_host(settings: Any) -> None:
    settings.WEBHOOK_HOSTS = frozenset({"hooks.example.org", "169.254.169.254", "metadata"})


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/x",
        "https://elsewhere.example.org/x",
        "https://hooks.example.org.evil.org/x",
        "https://user:pw@hooks.example.org/x",
        "https://hooks.example.org@evil.org/x",
        "https://169.254.169.254/latest/meta-data/",
        "https://hooks.example.org/x#f",
        "https://hooks.example.org/a b",
        "file:///etc/passwd",
        "",
    ],
)
def test_only_named_hosts_over_tls(url: str) -> None:
    with pytest.raises(webhook.WebhookError) as refused:
        webhook.check_url(url)
    assert "secret" not in str(refused.value) and "pw" not in str(refused.value)


def test_webhooks_are_off_where_no_host_is_named(settings: Any) -> None:
    settings.WEBHOOK_HOSTS = frozenset()
    with pytest.raises(webhook.WebhookError, match="are off here"):
        webhook.post(URL, webhook.new_secret(), "1", {})


class _Answer:
    def __init__(self, status: int) -> None:
        self.status = status

    def close(self) -> None:
        pass


def test_a_webhook_is_signed_and_follows_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def request(self: Any, method: str, url: str, **given: Any) -> _Answer:
        asked.append({"method": method, "url": url, **given})
        return _Answer(204 if len(asked) == 1 else 302)

    monkeypatch.setattr(urllib3.PoolManager, "request", request)
    secret = webhook.new_secret()
    webhook.post(URL, secret, "uid-1", {"plan": 7})
    (sent,) = asked
    assert (sent["method"], sent["url"], sent["redirect"], sent["retries"]) == ("POST", URL, False, False)
    heads = sent["headers"]
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"uid-1.{heads['webhook-timestamp']}.".encode() + sent["body"]
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert heads["webhook-signature"] == f"v1,{wanted}" and json.loads(sent["body"]) == {"plan": 7}
    with pytest.raises(webhook.WebhookError, match=r"hooks\.example\.org answered 302"):
        webhook.post(URL, secret, "uid-1", {})


def test_a_name_that_leads_to_a_forbidden_address_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection stands before it is known where it leads; nothing is sent over it."""
    sent: list[bytes] = []

    class Sock:
        def getpeername(self) -> tuple[str, int]:
            return ("169.254.169.254", 443)

        def sendall(self, data: bytes) -> None:
            sent.append(data)

        def close(self) -> None:
            pass

    def connect(self: Any) -> None:
        self.sock = Sock()

    monkeypatch.setattr("urllib3.connection.HTTPSConnection.connect", connect)
    with pytest.raises(webhook.WebhookError, match="cannot be reached"):
        webhook.post(URL, webhook.new_secret(), "1", {"a": 1})
    assert sent == []


@pytest.mark.django_db
def test_an_error_says_what_happened_and_no_secret(settings: Any, mailoutbox: Any) -> None:
    name = sealing.sealed(URL, webhook.new_secret())
    assert sealing.opened(name)[0] == URL
    settings.CREDENTIALS_KEYS = ["another key"]
    with pytest.raises(sending.DeliveryError, match="cannot be opened here"):
        sending.send(Way(ContactKind.WEBHOOK, "hooks.example.org", name), TEXT)
    sending.send(Way(ContactKind.MAIL, "ada@example.org"), TEXT)
    assert mailoutbox[0].subject == "[Slackline] Bcc: all@example.org" and mailoutbox[0].to == ["ada@example.org"]
    settings.MAILERS = {}
    with pytest.raises(sending.DeliveryError, match="EMAIL_URL is not set"):
        sending.send(Way(ContactKind.MAIL, "ada@example.org"), TEXT)


def test_mailers_from_one_address(tmp_path: Any) -> None:
    found = mailers("smtp+tls://ada%40example.org:p%3Aw@mail.example.org", None)["default"]
    assert found["OPTIONS"] == {
        "host": "mail.example.org", "port": 587, "username": "ada@example.org", "password": "p:w", "timeout": 8,
        "use_tls": True,
    }  # fmt: skip
    assert mailers("", None) == {}
    assert mailers("smtp://mail", tmp_path)["default"]["OPTIONS"] == {"file_path": str(tmp_path)}
    with pytest.raises(ImproperlyConfigured):
        mailers("filemail:///tmp", None)
