"""A dry look at a Prometheus endpoint: whether it answers, what it measures, and whether that is of our nodes.

Two small queries, whatever the size of the cluster: which known metrics have series, and which nodes they name.
Nothing is kept.
"""

from collections.abc import Collection
from dataclasses import dataclass

from console.connectors.prometheus import Endpoint, Limits, Prometheus, Trouble
from scheduler.cluster.errors import InputError
from scheduler.telemetry.exporters import EXPORTERS, Options, Query, counting, naming
from scheduler.telemetry.merging import node_of

HURRIED = Limits(connect_s=4.0, silent_s=6.0, answer_s=8.0, answer_bytes=16 << 20)
SHOWN = 10
ALONE = Options()  # without matchers

ADVICE = {
    "dns": "Check the spelling of the address, and whether this machine's name servers know it.",
    "closed": "Check the port; Prometheus listens on 9090 unless told otherwise.",
    "unreachable": "Check the address and the port, and whether a firewall lets this machine reach it.",
    "scheme": "The address begins with https, and the endpoint answers in plain text: check the scheme and the port.",
    "tls": "Give the authority that signed its certificate, or check that the address is the one in the certificate.",
    "silent": "The address answers a connection and nothing more: check that it is Prometheus, and its scheme.",
    "cut": "The connection ended early: check the scheme of the address, and proxies on the way.",
    "unknown": "The token or password is not accepted; give a new one.",
    "forbidden": "The endpoint knows these credentials and does not let them query; allow it there.",
    "elsewhere": "Give the address that it leads to, if you know that it is the right one.",
    "foreign": "What answers is no Prometheus, or not at this path: give what stands before /api/v1/query.",
    "refused": "Check that the endpoint speaks PromQL, and whether it needs a tenant or limits queries.",
    "busy": "Try again; the server answers with an error.",
    "slow": "The endpoint is too slow for a test; it may still be asked.",
    "large": "The endpoint has more nodes than a test reads: choose this cluster's series with a label.",
    "no series": "Check that an exporter of the table runs and that this Prometheus scrapes it.",
    "matchers": "There are series of known exporters, but none with these labels: check the label and its value.",
    "no nodes": "Series name their node by none of these labels: name the label that holds it.",
    "no match": "The names in the series are not those of the cluster's nodes: name another label, or another cluster.",
}


@dataclass(frozen=True, slots=True)
class FoundExporter:
    """``metrics``: those of the table that have series, ``missing``: those that have none."""

    name: str
    series: int
    metrics: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EndpointProbe:
    """``ok``: some node of ours is measured, or some node where ours are not known.

    ``matched`` and ``of_nodes`` count our nodes with GPUs, None where no reading tells them; ``strangers`` are names
    in series that are none of our nodes, ``silent`` nodes of ours that no series names: the first few of each.
    """

    ok: bool
    url: str
    word: str = ""
    reason: str = ""
    advice: str = ""
    exporters: tuple[FoundExporter, ...] = ()
    named: int = 0
    matched: int | None = None
    of_nodes: int | None = None
    strangers: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def probe_endpoint(
    endpoint: Endpoint, options: Options, ours: Collection[str] | None, limits: Limits = HURRIED
) -> EndpointProbe:
    """``ours``: names of the cluster's nodes with GPUs, None where they are not known.  Some seconds at most."""
    wire = Prometheus(endpoint, options, limits)
    try:
        found = _exporters(wire, options)
        if not found:
            return _nothing(wire, endpoint, options)
        return _matched(endpoint, found, _names(wire, options), ours)
    except Trouble as trouble:
        return _failed(endpoint, trouble.word, str(trouble))
    except InputError as error:
        return _failed(endpoint, "foreign", str(error))
    finally:
        wire.close()


def _exporters(wire: Prometheus, options: Options) -> tuple[FoundExporter, ...]:
    series = {one.metric: int(one.value or 0) for one in wire.samples(counting(options))}
    found = []
    for exporter in EXPORTERS:
        names = [metric.name for metric in exporter.metrics]
        there = tuple(name for name in names if series.get(name))
        if there:
            missing = tuple(name for name in names if name not in there)
            found.append(FoundExporter(exporter.name, sum(series[name] for name in there), there, missing))
    return tuple(found)


def _names(wire: Prometheus, options: Options) -> set[str]:
    return {name for name in (node_of(one, options) for one in wire.samples(naming(options))) if name}


def _nothing(wire: Prometheus, endpoint: Endpoint, options: Options) -> EndpointProbe:
    """No series of the table: is it the labels that were asked for, or is nothing there at all?"""
    if options.matchers and _exporters(wire, ALONE):
        said = ", ".join(f"{label}={value}" for label, value in options.matchers)
        return _failed(endpoint, "matchers", f"no series with {said}")
    scraped = sum(int(one.value or 0) for one in wire.samples(Query("targets", "count(up)")))
    told = f"it scrapes {scraped:,} targets" if scraped else "it scrapes nothing"
    return _failed(endpoint, "no series", f"the endpoint has no series of any exporter in the table; {told}")


def _matched(
    endpoint: Endpoint, found: tuple[FoundExporter, ...], named: set[str], ours: Collection[str] | None
) -> EndpointProbe:
    known = None if ours is None else set(ours)
    matched = None if known is None else len(named & known)
    word = "" if named and matched != 0 else "no nodes" if not named else "no match"
    reasons = {"": "", "no nodes": "series name no nodes", "no match": "none of the nodes in the series is one of ours"}
    return EndpointProbe(
        ok=not word,
        url=endpoint.url,
        word=word,
        reason=reasons[word],
        advice=ADVICE.get(word, ""),
        exporters=found,
        named=len(named),
        matched=matched,
        of_nodes=None if known is None else len(known),
        strangers=() if known is None else tuple(sorted(named - known)[:SHOWN]),
        silent=() if known is None else tuple(sorted(known - named)[:SHOWN]),
    )


def _failed(endpoint: Endpoint, word: str, reason: str) -> EndpointProbe:
    return EndpointProbe(ok=False, url=endpoint.url, word=word, reason=reason, advice=ADVICE.get(word, ""))
