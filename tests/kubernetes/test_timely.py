"""Servers that let their bytes trickle, so that no timeout of a socket ever ends: nobody waits for them."""

import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from console.connectors.kubernetes.access import Login, log_in
from console.connectors.kubernetes.pulse import Beat, Pulse
from console.connectors.kubernetes.steps import List, Lost, Refused, Watch
from console.connectors.kubernetes.wire import Api, Patience, Trouble
from console.connectors.prometheus import Endpoint, Limits, Prometheus
from console.connectors.prometheus import Trouble as NoSample
from scheduler.kubernetes.objects import KINDS
from scheduler.telemetry.exporters import Options, Query
from tests.kubernetes.following import until

PODS = KINDS["pods"]
BRIEF = Patience(connect_s=5.0, answer_s=0.15, page_s=5.0, silent_s=0.15)
DROP_S = 0.02
OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
# What is sent at once, and what then comes byte by byte, again and again.
TRICKLES = {
    "status": (b"HTTP/1.1 2", b"0"),
    "headers": (OK, b"X-A: b\r\n"),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "size of a chunk": (OK + CHUNKED + b"1;", b"a"),
}
REFUSED = b"HTTP/1.1 503 Service Unavailable\r\n"


@contextmanager
def trickling(first: bytes, drops: bytes) -> Iterator[int]:
    """Speaks until the client hangs up or the test is over."""
    over = threading.Event()

    def speak(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(first)
            for at in itertools.cycle(range(len(drops))):
                connection.sendall(drops[at : at + 1])
                if over.wait(DROP_S):
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=speak, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        over.set()
        listening.shutdown(socket.SHUT_RDWR)


def _asked(act: Callable[[], object]) -> BaseException:
    """What came of a question, in a thread that may be left behind."""
    found: list[BaseException] = []

    def ask() -> None:
        try:
            act()
        except Exception as error:
            found.append(error)

    threading.Thread(target=ask, daemon=True).start()
    until(lambda: bool(found), "the question ends")
    return found[0]


def _api(port: int) -> Api:
    return Api(log_in(Login("test", f"http://127.0.0.1:{port}")), BRIEF)


@pytest.mark.parametrize("what", TRICKLES)
def test_answer_that_trickles_is_silence(what: str) -> None:
    def watch(api: Api) -> None:
        with api.watch(PODS, Watch("1", 60)) as stream:
            list(stream)

    with trickling(*TRICKLES[what]) as port:
        for act in (lambda: _api(port).page(PODS, List(1)), lambda: watch(_api(port))):
            error = _asked(act)
            assert isinstance(error, Trouble)
            assert isinstance(error.told, Lost)
            assert error.told.word == "silent"
        query, limits = Query("up", "up"), Limits(silent_s=BRIEF.silent_s)
        error = _asked(lambda: Prometheus(Endpoint(f"http://127.0.0.1:{port}"), Options(), limits).samples(query))
        assert isinstance(error, NoSample)
        assert error.word == "silent"


@pytest.mark.parametrize("head", [CHUNKED + b"1;", b"Content-Length: 4000\r\n\r\n"])
def test_refusal_whose_words_trickle_is_told_by_its_status(head: bytes) -> None:
    with trickling(REFUSED + head, b"a") as port:
        error = _asked(lambda: _api(port).page(PODS, List(1)))
    assert isinstance(error, Trouble)
    assert isinstance(error.told, Refused)
    assert (error.told.status, error.told.reason) == (503, "Service Unavailable")


@pytest.mark.parametrize("what", TRICKLES)
def test_a_pulse_notices_that_no_answer_becomes_whole(what: str) -> None:
    with trickling(*TRICKLES[what]) as port:
        stop, pulse = threading.Event(), Pulse(_api(port), Beat(every_s=0.01, answer_s=0.1, lost_s=0.2))
        thread = threading.Thread(target=pulse.run, args=(stop,), daemon=True)
        thread.start()
        if what == "size of a chunk":
            until(lambda: pulse._asked_at is not None, "it has been asked")  # its head has come, which is an answer
            assert pulse.lost() == ""
        else:
            until(lambda: bool(pulse.lost()), "the loss is told")
        stop.set()


def test_a_pulse_that_hangs_for_a_reason_of_its_own_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a resolver that takes half a minute: no time of the connection holds for it."""
    api, over = _api(9), threading.Event()
    monkeypatch.setattr(api, "greet", lambda seconds: over.wait())
    stop, pulse = threading.Event(), Pulse(api, Beat(every_s=0.01, answer_s=0.05, lost_s=0.1))
    threading.Thread(target=pulse.run, args=(stop,), daemon=True).start()
    until(lambda: "a question hangs" in pulse.lost(), "the loss is told")
    stop.set()
    over.set()
    until(lambda: not pulse.lost(), "it answers")
    assert pulse.lost() == ""
