"""Adding a Kubernetes cluster, changing it, trying its connection.  Credentials come in here and never go out again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction

from console.audit.services import record as write_down
from console.connectors import registry
from console.connectors.kubernetes import credentials, logins
from console.connectors.kubernetes.access import Access, AccessError, SeveralContexts, in_cluster, log_in
from console.connectors.kubernetes.connector import options_of
from console.connectors.kubernetes.probe import Probe, probe
from console.connectors.kubernetes.rights import cluster_role
from console.connectors.protocol import ConnectorError
from console.inventory.choices import SourceKind
from console.inventory.models import Source
from console.live.services import publish
from console.rest.errors import FieldError
from console.tenancy.services import require
from scheduler.cluster.errors import InputError

__all__ = [
    "Asked",
    "ClusterError",
    "add_cluster",
    "change_cluster",
    "cluster_role",
    "follow_anew",
    "forget_cluster",
    "free_name",
    "reseal_credentials",
    "try_cluster",
    "try_source",
]

SHORTEST_PERIOD_S, LONGEST_PERIOD_S = 2, 3600


class ClusterError(FieldError):
    """One field of what was asked is wrong.  ``choices`` are the contexts, where one must be chosen."""

    def __init__(self, field: str, reason: str, choices: Sequence[str] = (), current: str = "") -> None:
        super().__init__(field, reason)
        self.choices, self.current = tuple(choices), current

    @property
    def detail(self) -> dict[str, Any]:
        """Nobody sends a kind: what is wrong with it is wrong with the whole."""
        return {"non_field_errors": [self.reason]} if self.field == "kind" else super().detail


@dataclass(frozen=True, slots=True)
class Asked:
    """A cluster as somebody describes it.  ``kubeconfig`` None leaves the credentials as they are.

    ``levels`` is the name of a preset, or pairs (level, node label) with the widest first.
    """

    name: str
    way: str
    kubeconfig: bytes | None = field(default=None, repr=False)
    context: str = ""
    period_s: int = 10
    levels: str | tuple[tuple[str, str], ...] = "auto"
    tenant_labels: tuple[str, ...] = ()
    namespace_tenants: bool = True
    low_classes: tuple[str, ...] = ()
    low_below: int | None = None
    low_labels: tuple[tuple[str, str], ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        low = {"classes": list(self.low_classes), "below": self.low_below, "labels": [*map(list, self.low_labels)]}
        return {
            "levels": self.levels if isinstance(self.levels, str) else [*map(list, self.levels)],
            "tenant_labels": list(self.tenant_labels),
            "namespace_tenants": self.namespace_tenants,
            "low_priority": low,
        }


def try_cluster(user: Any, asked: Asked, source: Source | None = None) -> Probe:
    """What could be read of the cluster.  Nothing is kept.  Raises ``ClusterError``; some seconds at most."""
    require(user, "inventory.load_cluster")
    _check_enabled()
    if source is not None and asked.way == logins.KUBECONFIG and asked.kubeconfig is None:
        return try_source(user, source)
    access, facts = _way(asked)
    return _probed(user, asked.name.strip()[:100], access, facts)


def try_source(user: Any, source: Source) -> Probe:
    """The same with the credentials that are kept.  Raises ``ClusterError``."""
    require(user, "inventory.load_cluster")
    try:
        access = logins.way_in(source.config)
    except ConnectorError as error:
        raise ClusterError("kubeconfig", str(error)) from None
    facts = {key: source.config[key] for key in ("way", "context", "server", "means")}
    return _probed(user, source.name, access, facts)


def _probed(user: Any, name: str, access: Access, facts: dict[str, str]) -> Probe:
    """Written down before anything is sent: whoever tests chooses an address that our process connects to."""
    write_down(actor=user, action="source.tested", target_kind="source", target_id=name, detail=facts)
    return probe(access)


@transaction.atomic
def add_cluster(user: Any, asked: Asked) -> Source:
    """A new source that watch processes take up by themselves.  Raises ``ClusterError``."""
    require(user, "inventory.load_cluster")
    _check_enabled()
    name = free_name(asked.name)
    _check_options(asked)
    access, facts = _way(asked)
    access.close()
    config = {"cluster": name, "generation": 1, "options": asked.options, **facts, **_sealed(asked, facts)}
    try:
        with transaction.atomic():
            source = Source.objects.create(
                name=name, kind=SourceKind.KUBERNETES, config=config, period_s=asked.period_s
            )
    except IntegrityError:
        raise ClusterError("name", "there is a source of that name already") from None
    _write(user, "source.added", source, {"options": asked.options, **facts})
    return source


@transaction.atomic
def change_cluster(user: Any, source: Source, asked: Asked) -> Source:
    """Other settings, and other credentials where some are given; the name stays.  Raises ``ClusterError``."""
    require(user, "inventory.load_cluster")
    source = Source.objects.select_for_update().get(pk=source.pk)
    before = source.config
    _check_options(asked)
    facts = {key: before[key] for key in ("way", "context", "server", "means")}
    sealed = {"credential": before.get("credential")}
    renewed = asked.kubeconfig is not None or asked.way != before["way"]
    if renewed:
        access, facts = _way(asked)
        access.close()
        sealed = _sealed(asked, facts)
    generation = before["generation"] + 1
    source.config = {**before, "generation": generation, "options": asked.options, **facts, **sealed}
    source.period_s = asked.period_s
    source.save(update_fields=["config", "period_s"])
    if renewed and before.get("credential"):
        credentials.forget(before["credential"])
    detail = {"options": asked.options, "period_s": asked.period_s, **facts}
    _write(user, "source.changed", source, {**detail, "credentials": "replaced" if renewed else "kept"})
    return source


@transaction.atomic
def follow_anew(user: Any, source: Source) -> None:
    """Whoever follows the source drops what it knows and lists everything again."""
    require(user, "inventory.load_cluster")
    source = Source.objects.select_for_update().get(pk=source.pk)
    source.config = {**source.config, "generation": source.config["generation"] + 1}
    source.save(update_fields=["config"])
    _write(user, "source.retried", source, {})


def forget_cluster(config: dict[str, Any]) -> None:
    """The source is gone: so are its credentials."""
    for owner in (config, config.get("telemetry") or {}):
        if owner.get("credential"):
            credentials.forget(owner["credential"])


def reseal_credentials() -> int:
    """Seals all credentials with the first key; returns how many had another one.  Raises ``ConnectorError``."""
    return credentials.reseal()


def _way(asked: Asked) -> tuple[Access, dict[str, str]]:
    """A way into the cluster, and what may be told of it."""
    try:
        if asked.way == logins.IN_CLUSTER:
            access = in_cluster()
            return access, {"way": asked.way, "context": "", "server": access.server, "means": "account of this pod"}
        if not asked.kubeconfig:
            raise ClusterError("kubeconfig", "paste a kubeconfig, or choose its file")
        login = logins.login_of(asked.kubeconfig, asked.context)
        facts = {"way": asked.way, "context": login.context, "server": login.server, "means": login.means}
        return log_in(login), facts
    except SeveralContexts as error:
        raise ClusterError("context", str(error), error.names, error.current) from None
    except AccessError as error:
        raise ClusterError("kubeconfig" if asked.way == logins.KUBECONFIG else "way", str(error)) from None


def _sealed(asked: Asked, facts: dict[str, str]) -> dict[str, str | None]:
    if asked.way != logins.KUBECONFIG or asked.kubeconfig is None:
        return {"credential": None}
    try:
        return {"credential": credentials.keep(logins.alone(asked.kubeconfig, facts["context"]))}
    except credentials.NoKeyError as error:
        raise ClusterError("kubeconfig", str(error)) from None


def _check_enabled() -> None:
    if not registry.allowed(SourceKind.KUBERNETES):
        raise ClusterError("kind", "Kubernetes clusters are not enabled here: name kubernetes in SLACKLINE_CONNECTORS")


def free_name(given: str) -> str:
    """The name as it is kept.  Raises ``ClusterError`` where it is none, too long or taken."""
    name = given.strip()
    if not name or len(name) > 100:
        raise ClusterError("name", "a source needs a name of 1 to 100 characters")
    if Source.objects.filter(name=name).exists():
        raise ClusterError("name", "there is a source of that name already")
    return name


def _check_options(asked: Asked) -> None:
    if not SHORTEST_PERIOD_S <= asked.period_s <= LONGEST_PERIOD_S:
        raise ClusterError("period_s", f"from {SHORTEST_PERIOD_S} to {LONGEST_PERIOD_S} seconds")
    try:
        options_of(asked.options)
    except InputError as error:
        raise ClusterError(error.path, error.reason) from None


def _write(user: Any, action: str, source: Source, detail: dict[str, Any]) -> None:
    write_down(actor=user, action=action, target_kind="source", target_id=source.name, detail=detail)
    publish("source", action, source=source.name)
    publish(f"source:{source.pk}", action)
