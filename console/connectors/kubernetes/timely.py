"""Answers that come in time: the head as a whole, and each piece of a body.

The timeout of a socket begins anew with each byte, so that a server which lets them trickle holds a thread for days.
"""

import io
import socket
import time
from http.client import HTTPResponse


class _Bytes(io.RawIOBase):
    """What a socket brings until the time is over, however many pieces it comes in."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._raw = sock, sock.makefile("rb", buffering=0)
        self._patience_s = sock.gettimeout()
        self.begin()

    def begin(self) -> None:
        """The time begins anew."""
        self._until = None if self._patience_s is None else time.monotonic() + self._patience_s

    def readable(self) -> bool:
        return True

    def readinto(self, into: "memoryview[int]") -> int | None:  # type: ignore[override]
        if self._until is not None:
            left_s = self._until - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("timed out")
            self._sock.settimeout(left_s)
        return self._raw.readinto(into)

    def close(self) -> None:
        self._raw.close()
        super().close()


class TimelyResponse(HTTPResponse):
    """For ``response_class`` of a connection, whose timeout it takes for the whole of what was for each byte."""

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None):
        super().__init__(sock, debuglevel, method, url)
        self.fp.close()
        self._bytes = _Bytes(sock)
        self.fp = io.BufferedReader(self._bytes)

    def begin(self) -> None:
        self._bytes.begin()
        super().begin()

    def read(self, amt: int | None = None) -> bytes:
        self._bytes.begin()
        return super().read(amt)

    def read1(self, n: int = -1) -> bytes:
        self._bytes.begin()
        return super().read1(n)
