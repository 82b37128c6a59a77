"""Why a cluster cannot be reached like this, in words for people; and what may be said of errors that hold secrets."""

import traceback
from pathlib import Path

ALLOWABLE = {
    "exec": "a plugin that runs a program on this machine",
    "auth-provider": "an authentication provider that may run a program or call another server",
    "files": "files on this machine",
    "insecure": "TLS without checking the certificate",
    "plain-http": "http, which shows the credentials to everybody on the way",
    "proxy": "a proxy of its own",
}


class AccessError(Exception):
    """Why a cluster cannot be reached like this; fit for a person, without secrets."""


class SeveralContexts(AccessError):
    """The kubeconfig has several contexts and none was chosen."""

    def __init__(self, names: list[str], current: str) -> None:
        super().__init__(f"choose one of the contexts {', '.join(names)}")
        self.names, self.current = names, current


def sendable(what: str, text: str) -> str:
    """``text`` without white space around it, fit for a header.  Raises ``AccessError``, which does not quote it."""
    found = text.strip()
    if text and not found:
        raise AccessError(f"{what} is blank")
    if not found.isascii() or not found.isprintable():
        raise AccessError(
            f"{what} holds a line break, a control character or a letter outside ASCII, which no header can carry"
        )
    return found


def where(error: BaseException) -> str:
    """The last places of our mistake, for a log: files and lines, never the text, which may quote a header."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    return ", ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
