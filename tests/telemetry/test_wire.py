"""The wire under trouble, and samplers: nobody waits, the last samples keep their age, then all is unknown."""

import threading
from collections.abc import Iterator

import pytest

from console.connectors.kubernetes import access
from console.connectors.prometheus import Endpoint, Limits, Prometheus, check_endpoint
from console.connectors.prometheus_probe import ADVICE, probe_endpoint
from console.connectors.protocol import ConnectorError
from console.connectors.sampling import Sampler
from scheduler.cluster.errors import InputError
from scheduler.cluster.records import Document, NodeRecord
from scheduler.telemetry.exporters import Options
from scheduler.telemetry.merging import Measured, Telemetry
from tests.telemetry.exposition import exposition
from tests.telemetry.player import Player, playing

SHORT = Limits(connect_s=2, silent_s=0.3, answer_s=0.5, answer_bytes=1_000_000)
DOCUMENT = Document(taken_at="2026-11-29T10:00:00Z", nodes=[NodeRecord(name="a", gpus=2)], pods=[])


@pytest.fixture
def player() -> Iterator[Player]:
    with playing(exposition(), {"DCGM_FI_DEV_THERMAL_VIOLATION": 0.0}) as one:
        yield one


def wire(player: Player, **access: str) -> Prometheus:
    return Prometheus(Endpoint(player.url, **access), Options(), SHORT)


TROUBLES = {
    "silent": "silent",
    "slow": "took longer",
    "endless": "larger than",
    "cut": "broke",
    "401": "refuses these credentials",
    "302": "not followed",
    "503": "(503): $: not valid JSON",
    "404": "(404): $: not valid JSON",
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_has_a_reason(player: Player, trouble: str) -> None:
    player.trouble = trouble
    with pytest.raises(ConnectorError) as caught:
        wire(player).measure()
    assert TROUBLES[trouble] in str(caught.value)
    assert len(player.asked) == 1  # no second try, nothing elsewhere


def test_an_endpoint_that_is_not_there_has_a_reason() -> None:
    with pytest.raises(ConnectorError, match="cannot be reached"):
        Prometheus(Endpoint("http://127.0.0.1:1"), Options(), SHORT).measure()


PROBED = {
    "silent": "silent",
    "slow": "slow",
    "endless": "large",
    "cut": "cut",
    "401": "unknown",
    "403": "forbidden",
    "302": "elsewhere",
    "503": "busy",
    "404": "foreign",
}


@pytest.mark.parametrize("trouble", PROBED)
def test_a_dry_test_names_the_trouble_and_what_to_do(player: Player, trouble: str) -> None:
    player.trouble = trouble
    found = probe_endpoint(Endpoint(player.url), Options(), None, SHORT)
    assert (found.ok, found.word, found.advice) == (False, PROBED[trouble], ADVICE[PROBED[trouble]])
    assert found.reason and player.methods == {"GET"}


def test_a_dry_test_tells_name_port_and_certificate_apart(player: Player) -> None:
    closed, nameless, encrypted = "http://127.0.0.1:1", "http://nowhere.invalid", player.url.replace("http", "https")
    words = [probe_endpoint(Endpoint(url), Options(), None, SHORT).word for url in (closed, nameless, encrypted)]
    assert words == ["closed", "dns", "scheme"]


def test_a_dry_test_of_an_endpoint_without_devices(player: Player) -> None:
    player.text = ""
    found = probe_endpoint(Endpoint(player.url), Options(), None, SHORT)
    assert (found.ok, found.word) == (False, "no series") and "1 targets" in found.reason


def test_a_handful_of_reads_and_nothing_else(player: Player) -> None:
    wire(player).measure()
    assert len(player.asked) == 6
    assert player.methods == {"GET"}


def test_secrets_are_sent_and_never_shown(player: Player) -> None:
    wire(player, means="bearer", secret="s3cret").measure()
    assert player.headers[-1]["Authorization"] == "Bearer s3cret"
    wire(player, means="basic", user="me", secret="s3cret").measure()
    assert player.headers[-1]["Authorization"] == "Basic bWU6czNjcmV0"
    assert "s3cret" not in repr(Endpoint("http://x", "bearer", secret="s3cret"))


WRONG = [
    ("ftp://x", "none", "", "url"),
    ("https://u:p@x", "none", "", "url"),
    ("https://x/?a=1", "none", "", "url"),
    ("http://169.254.169.254", "none", "", "url"),
    ("http://x", "bearer", "", "url"),
    ("https://x", "magic", "", "means"),
    ("https://x", "basic", "a:b", "user"),
]


@pytest.mark.parametrize(("url", "means", "user", "field"), WRONG)
def test_addresses_are_checked_before_anything_is_kept(url: str, means: str, user: str, field: str) -> None:
    with pytest.raises(InputError) as caught:
        check_endpoint(url, means, user, "", plain=False)
    assert caught.value.path == field


def test_a_name_that_leads_to_a_forbidden_address_gets_nothing(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is looked at once more when the connection stands."""

    def refuse(host: str) -> None:
        raise access.AccessError(f"{host} is refused")

    monkeypatch.setattr(access, "refuse_address", refuse)
    with pytest.raises(ConnectorError, match="cannot be reached"):
        wire(player).measure()
    assert player.asked == []


# --- samplers -------------------------------------------------------------------------------------------------------
class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def found(sm: float, xid: int = 0) -> Telemetry:
    return Telemetry({"a": (Measured("", 0, {"busy": sm, "xid": xid}),)}, 1, 0, 0)


def laid(sampler: Sampler, beneath: str = "1") -> tuple[str, Document]:
    """As a reading does it: the version, then the document."""
    return sampler.version(beneath), sampler.laid_over(DOCUMENT)


def use_of(document: Document) -> int | None:
    devices = document.nodes[0].devices
    return devices[0].utilisation.sm if devices and devices[0].utilisation else None


def test_samples_stay_while_they_are_fresh_and_then_all_is_unknown() -> None:
    clock, answers = Clock(), [found(40)]

    def measure() -> Telemetry:
        if not answers:
            raise ConnectorError("the endpoint is silent")
        return answers.pop()

    sampler = Sampler(measure, clock=clock)
    assert sampler.told()["state"] == "waiting"
    assert laid(sampler)[1] is DOCUMENT
    sampler.ask()
    first, document = laid(sampler)
    assert use_of(document) == 40
    clock.now = 299
    sampler.ask()
    assert (sampler.told()["state"], sampler.told()["error"]) == ("late", "the endpoint is silent")
    again, document = laid(sampler)
    assert (again, use_of(document)) == (first, 40)
    clock.now = 301
    gone, document = laid(sampler)
    assert gone != first and use_of(document) is None
    assert sampler.told()["state"] == "unknown"


def test_use_alone_makes_no_reading_for_a_while() -> None:
    clock, rounds = Clock(), [found(40), found(50), found(60), found(70)]
    sampler = Sampler(lambda: rounds.pop(0), clock=clock)
    sampler.ask()
    first = laid(sampler)
    clock.now = 60
    sampler.ask()
    assert laid(sampler)[0] == first[0] and use_of(laid(sampler)[1]) == 40
    second = laid(sampler, beneath="2")  # the cluster itself has changed: its reading gets the newest
    assert use_of(second[1]) == 50
    assert laid(sampler, beneath="2")[0] == second[0]
    clock.now = 120
    sampler.ask()
    assert use_of(laid(sampler, beneath="2")[1]) == 50
    clock.now = 291
    sampler.ask()
    third = laid(sampler, beneath="2")
    assert third[0] != second[0] and use_of(third[1]) == 70


@pytest.mark.parametrize("there_and_back", [(0, 79), (79, 0)])
def test_a_device_that_falls_ill_or_is_well_again_is_told_at_once(there_and_back: tuple[int, int]) -> None:
    clock, rounds = Clock(), [found(40, xid) for xid in there_and_back]
    sampler = Sampler(lambda: rounds.pop(0), clock=clock)
    sampler.ask()
    first, document = laid(sampler)
    clock.now = 60
    sampler.ask()
    again, after = laid(sampler)
    assert first != again
    healths = [one.nodes[0].devices[0].health for one in (document, after)]
    assert healths == ["failed" if xid else "ok" for xid in there_and_back]


def test_a_hanging_endpoint_delays_no_reading() -> None:
    release, entered = threading.Event(), threading.Event()

    def measure() -> Telemetry:
        entered.set()
        release.wait(30)
        return found(1)

    sampler = Sampler(measure)
    sampler.start("a")
    try:
        assert entered.wait(10)
        assert laid(sampler)[1] is DOCUMENT  # while the question hangs
        assert sampler.told()["state"] == "waiting"
    finally:
        sampler.stop()
        release.set()


def test_an_unexpected_mistake_is_a_reason_and_no_end() -> None:
    def measure() -> Telemetry:
        raise ZeroDivisionError

    sampler = Sampler(measure)
    sampler.ask()
    assert sampler.told()["error"] == "unexpected ZeroDivisionError"
