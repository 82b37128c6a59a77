"""A dry look at a cluster: what can be read of it, what not and why, and what to do about it.  Nothing is kept.

Every kind is listed with one object and then watched for an instant, since each needs a right of its own.  Reviews of
access are not asked for: they would need a verb that creates.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from typing import Literal

import msgspec
import structlog

from console.connectors.kubernetes.access import Access
from console.connectors.kubernetes.refusals import where
from console.connectors.kubernetes.rights import rule_text
from console.connectors.kubernetes.steps import List, Lost, Refused, Watch
from console.connectors.kubernetes.wire import Api, Patience, Trouble
from scheduler.cluster.errors import InputError
from scheduler.kubernetes.objects import KINDS, Kind, decode_list

log = structlog.get_logger(__name__)
State = Literal["readable", "forbidden", "absent", "failed"]
HURRIED = Patience(connect_s=4.0, answer_s=6.0, page_s=6.0, silent_s=6.0, page_bytes=8 << 20)
LONGEST_S = 20.0
AT_ONCE = 8
SKEW_S = 5.0

ADVICE = {
    "unreachable": "Check the address and the port, and whether a firewall lets this machine reach the API server.",
    "scheme": "The address begins with https, and the server answers in plain text: check the scheme and the port.",
    "credentials": "Give a token or certificate that can be sent.",
    "proxy": "Check the proxy-url of the kubeconfig, or HTTPS_PROXY and NO_PROXY of this process.",
    "tls": "Check the certificate-authority-data of the kubeconfig, and tls-server-name where the address differs.",
    "silent": "Something answers and says nothing: check that it is the API server, not a proxy, and the scheme.",
    "slow": "The API server is too slow for a test; it may still be followed.",
    "cut": "The connection ended early: check proxies on the way, and the scheme of the address.",
    "broken": "Check the address.",
}


@dataclass(frozen=True, slots=True)
class Found:
    """One kind.  ``advice`` is what to do, "" where nothing need be done; ``rule`` is YAML for a ClusterRole."""

    kind: str
    why: str
    needed: bool
    state: State
    reason: str = ""
    advice: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Probe:
    """``ok``: the needed kinds are readable.  ``reason`` and ``advice``: why nothing could be asked at all."""

    ok: bool
    server: str
    server_version: str
    skew_s: float | None
    reason: str
    advice: str
    kinds: tuple[Found, ...]


def probe(access: Access, kinds: Iterable[Kind] | None = None) -> Probe:
    """Some seconds at most, whatever the server does; what did not answer in that time has failed."""
    api = Api(access, HURRIED)
    chosen = list(KINDS.values() if kinds is None else kinds)
    try:
        trouble, version = _greet(api)
        if trouble is not None:
            return Probe(False, access.server, "", _skew(api), _words(trouble), _advice(trouble), ())
        found = _ask(api, chosen)
        ok = all(one.state == "readable" for one in found if one.needed)
        return Probe(ok, access.server, version, _skew(api), "", "", tuple(found))
    finally:
        api.close()


def _greet(api: Api) -> tuple[Refused | Lost | None, str]:
    """What the server says of itself.  That it will not tell its version is no obstacle; that it knows us not is."""
    try:
        return None, str(msgspec.json.decode(api.version())["gitVersion"])
    except Trouble as trouble:
        told = trouble.told
        return (told, "") if isinstance(told, Lost) or told.status == 401 else (None, "")
    except (msgspec.DecodeError, KeyError, TypeError):
        return None, ""
    except Exception as error:  # its text may quote a header
        log.error("probe.unexpected", error=type(error).__name__, where=where(error))
        return Lost("unexpected", f"{type(error).__name__} while asking"), ""


def _ask(api: Api, kinds: list[Kind]) -> list[Found]:
    found = {kind.name: _failed(kind, f"no answer within {LONGEST_S:g} s", ADVICE["slow"]) for kind in kinds}
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="probe")
    try:
        asked = [pool.submit(_look, api, kind) for kind in kinds]
        for future in as_completed(asked, timeout=LONGEST_S):
            one = future.result()
            found[one.kind] = one
    except Late:
        pass  # what has not answered keeps the words it began with
    finally:
        api.close()
        pool.shutdown(wait=False, cancel_futures=True)
    return list(found.values())


def _look(api: Api, kind: Kind) -> Found:
    version = ""

    def listed() -> None:
        nonlocal version
        version = decode_list(kind.name, api.page(kind, List(1))).resource_version

    def watched() -> None:
        with api.watch(kind, Watch(version, 1)):
            pass

    return _tried(kind, "list", listed) or _tried(kind, "watch", watched) or _of(kind, "readable")


def _tried(kind: Kind, verb: str, act: Callable[[], None]) -> Found | None:
    """None where it went well."""
    try:
        act()
    except Trouble as trouble:
        return _refused(kind, verb, trouble.told)
    except InputError as error:
        return _failed(
            kind, f"the answer is no list of {kind.plural}: {error.reason}", "Check that the address is right."
        )
    except Exception as error:  # its text may quote a header
        log.error("probe.unexpected", kind=kind.name, error=type(error).__name__, where=where(error))
        return _failed(kind, f"unexpected {type(error).__name__}", "This is a mistake of ours: the log says where.")
    return None


def _refused(kind: Kind, verb: str, told: Refused | Lost) -> Found:
    if not isinstance(told, Refused):
        return _failed(kind, told.reason, ADVICE.get(told.word, ""))
    if told.status == 403:
        place = "in all namespaces" if kind.namespaced else "of the cluster"
        advice = f"Allow the account to {verb} {kind.plural} {place}: add this rule to its ClusterRole."
        return _of(kind, "forbidden", f"403 on {verb}: {told.reason}", advice, rule_text(kind))
    if told.status == 404:
        advice = "Without this kind there is no reading." if kind.needed else ""
        return _of(kind, "absent", f"the server does not know {kind.name}", advice)
    if told.status == 401:
        return _failed(kind, f"401: {told.reason}", "The token or certificate is not accepted; give a new one.")
    if told.status == 410 and verb == "watch":
        return _of(kind, "readable")  # the version was compacted away meanwhile: the right is there
    return _failed(kind, f"{told.status}: {told.reason}", "Try again; the server answers with an error.")


def _failed(kind: Kind, reason: str, advice: str) -> Found:
    return _of(kind, "failed", reason, advice)


def _of(kind: Kind, state: State, reason: str = "", advice: str = "", rule: str = "") -> Found:
    return Found(kind.name, kind.why, kind.needed, state, reason, advice, rule)


def _words(told: Refused | Lost) -> str:
    return f"{told.status} {told.reason}".strip() if isinstance(told, Refused) else f"{told.word}: {told.reason}"


def _advice(told: Refused | Lost) -> str:
    if isinstance(told, Refused):
        return "The server does not know this token or certificate: it may have expired. Give a new one."
    return ADVICE.get(told.word, "")


def _skew(api: Api) -> float | None:
    """Seconds that the server's clock is ahead; small differences are none."""
    if not api.date_skews:
        return None
    last = api.date_skews[-1]
    return 0.0 if abs(last) < SKEW_S else round(last, 1)
