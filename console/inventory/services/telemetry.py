"""Attaching a Prometheus endpoint to a cluster, and trying one.  Its secret comes in here and never goes out again."""

from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings
from django.db import transaction

from console.audit.services import record as write_down
from console.connectors import prometheus
from console.connectors.kubernetes import credentials
from console.connectors.prometheus_probe import EndpointProbe, probe_endpoint
from console.connectors.protocol import ConnectorError
from console.inventory import archive
from console.inventory.choices import WATCHED
from console.inventory.models import Observation, Source
from console.inventory.services.clusters import ClusterError
from console.inventory.services.idling import IDLE_BELOW
from console.live.services import publish
from console.tenancy.services import require
from scheduler.cluster.errors import InputError


@dataclass(frozen=True, slots=True)
class TelemetryAsked:
    """An endpoint as somebody describes it.  ``secret`` "" leaves the one that is kept, where the means are the same.

    ``matchers``: (label, value) of the series that are this cluster's; ``idle_below`` in percent of SMs.
    """

    url: str
    means: str = prometheus.NOBODY
    user: str = ""
    secret: str = field(default="", repr=False)
    ca: str = ""
    node_labels: tuple[str, ...] = ()
    matchers: tuple[tuple[str, str], ...] = ()
    idle_below: int = IDLE_BELOW


@transaction.atomic
def set_telemetry(user: Any, source: Source, asked: TelemetryAsked) -> Source:
    """Whoever follows the cluster takes it up.  Raises ``ClusterError`` with the field."""
    require(user, "inventory.load_cluster")
    source = Source.objects.select_for_update().get(pk=source.pk)
    if source.kind not in WATCHED:
        raise ClusterError("url", "only clusters that are followed can have telemetry")
    before = source.config.get("telemetry") or {}
    kept = _checked(asked)
    kept["credential"] = _credential(asked, kept, before)
    if before.get("credential") and before["credential"] != kept["credential"]:
        credentials.forget(before["credential"])
    _keep(user, source, kept, "source.telemetry_set")
    return source


def try_telemetry(user: Any, source: Source, asked: TelemetryAsked | None = None) -> EndpointProbe:
    """What the endpoint tells of this cluster; without ``asked`` the one that is kept.  Nothing is kept.

    Some seconds at most.  Raises ``ClusterError`` with the field.
    """
    require(user, "inventory.load_cluster")
    before = source.config.get("telemetry") or {}
    if asked is None and not before:
        raise ClusterError("url", "this cluster has no telemetry endpoint")
    kept = before if asked is None else _checked(asked)
    try:
        credential = _known_credential(kept, before) if asked is None or not asked.secret else None
        endpoint = prometheus.endpoint_of({**kept, "credential": credential})
    except ConnectorError as error:
        raise ClusterError("secret", str(error)) from None
    if asked is not None and asked.secret:
        endpoint = replace(endpoint, secret=_secret(asked))
    # Written down before anything is sent: whoever tests chooses an address that our process connects to.
    detail = {name: kept[name] for name in ("url", "means", "matchers")}
    write_down(actor=user, action="source.telemetry_tested", target_kind="source", target_id=source.name, detail=detail)
    return probe_endpoint(endpoint, prometheus.options_of(kept), _nodes_of(source))


def _nodes_of(source: Source) -> list[str] | None:
    """Names of the nodes with GPUs in the newest reading; None where there is none yet."""
    digest = Observation.objects.filter(source=source).values_list("digest", flat=True).first()
    if digest is None:
        return None
    try:
        snapshot = archive.load(digest)
    except archive.GoneError:
        return None
    return [name for name, gpus in zip(snapshot.node_name, snapshot.node_gpus, strict=True) if gpus]


@transaction.atomic
def drop_telemetry(user: Any, source: Source) -> None:
    """Forgets the endpoint and its secret."""
    require(user, "inventory.load_cluster")
    source = Source.objects.select_for_update().get(pk=source.pk)
    before = source.config.get("telemetry") or {}
    if before.get("credential"):
        credentials.forget(before["credential"])
    _keep(user, source, None, "source.telemetry_dropped")


def _checked(asked: TelemetryAsked) -> dict[str, Any]:
    kept: dict[str, Any] = {
        "means": asked.means,
        "user": asked.user if asked.means == prometheus.BASIC else "",
        "ca": asked.ca.strip(),
        "node_labels": list(asked.node_labels),
        "matchers": [list(pair) for pair in asked.matchers],
        "idle_below": asked.idle_below,
    }
    if not 1 <= asked.idle_below <= 100:
        raise ClusterError("idle_below", "from 1 to 100 percent")
    try:
        plain = "plain-http" in settings.KUBECONFIG_ALLOW
        kept["url"] = prometheus.check_endpoint(asked.url, asked.means, asked.user, kept["ca"], plain=plain)
        prometheus.options_of(kept)
    except InputError as error:
        raise ClusterError(error.path.removeprefix("telemetry."), error.reason) from None
    return kept


def _credential(asked: TelemetryAsked, kept: dict[str, Any], before: dict[str, Any]) -> str | None:
    """A secret is kept for the address that it was given for: another address never gets it."""
    if asked.means == prometheus.NOBODY:
        return None
    if not asked.secret:
        return _known_credential(kept, before)
    try:
        return credentials.keep(_secret(asked).encode())
    except credentials.NoKeyError as error:
        raise ClusterError("secret", str(error)) from None


def _secret(asked: TelemetryAsked) -> str:
    try:
        return prometheus.check_secret(asked.means, asked.secret)
    except InputError as error:
        raise ClusterError(error.path, error.reason) from None


def _known_credential(kept: dict[str, Any], before: dict[str, Any]) -> str | None:
    if kept["means"] == prometheus.NOBODY:
        return None
    same = all(before.get(name) == kept[name] for name in ("url", "means", "user"))
    if same and before.get("credential"):
        return str(before["credential"])
    raise ClusterError("secret", "give the token or password; for another address it must be given anew")


def _keep(user: Any, source: Source, kept: dict[str, Any] | None, action: str) -> None:
    config = {**source.config, "generation": source.config["generation"] + 1, "telemetry": kept}
    source.config = config
    source.save(update_fields=["config"])
    detail = {name: kept[name] for name in ("url", "means", "node_labels", "matchers", "idle_below")} if kept else {}
    write_down(actor=user, action=action, target_kind="source", target_id=source.name, detail=detail)
    publish("source", action, source=source.name)
    publish(f"source:{source.pk}", action)
