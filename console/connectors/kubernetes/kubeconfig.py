"""Reading a kubeconfig: one context of it, complete and alone, or why not.

A kubeconfig can name programs to run and files to read on this machine.  Whoever may add a cluster must not thereby run
programs here, so that such entries are refused unless the installation allows them by name.
"""

import base64
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import yaml

from console.connectors.kubernetes.addresses import check_proxy, refuse_address
from console.connectors.kubernetes.refusals import ALLOWABLE, AccessError, SeveralContexts, sendable

MAX_BYTES = 1 << 20
PLUGINS = ("exec", "auth-provider")
USER_FILES = ("tokenFile", "client-certificate", "client-key")
CLUSTER_FILES = ("certificate-authority",)
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Login:
    """One context of a kubeconfig, complete and alone.  Its secrets are not part of its repr."""

    context: str
    server: str
    server_name: str = ""
    ca: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    insecure: bool = False
    proxy: str = ""
    files: dict[str, str] = field(default_factory=dict)  # what to read when connecting: entry of the kubeconfig -> path
    plugin: Entry | None = field(default=None, repr=False)  # "exec" or "auth-provider" with its settings

    @property
    def means(self) -> str:
        """How the caller is known: a word for pages."""
        if self.plugin is not None:
            return "plugin"
        if self.token or "tokenFile" in self.files:
            return "token"
        return "certificate" if self.certificate or "client-certificate" in self.files else "nobody"


@dataclass(frozen=True, slots=True)
class _Part:
    """One mapping of the kubeconfig and its path, which refusals name."""

    path: str
    entry: Entry

    def text(self, key: str) -> str:
        value = self.entry.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise AccessError(f"{self.path}.{key} of the kubeconfig is not text; put it in quotes")
        return value

    def decoded(self, key: str) -> bytes:
        try:
            return base64.b64decode("".join(self.text(key).split()), validate=True)
        except ValueError:
            raise AccessError(f"{self.path}.{key} of the kubeconfig is not base64") from None


def read_kubeconfig(data: bytes, context: str = "", allowed: frozenset[str] = frozenset()) -> Login:
    """The chosen context; ``allowed`` are words of ``ALLOWABLE``.  Raises ``AccessError``."""
    whole = _parsed(data)
    name = _chosen(whole, context)
    entry = _part(whole, "contexts", name, "context")
    cluster = _part(whole, "clusters", entry.text("cluster"), "cluster")
    user = _part(whole, "users", entry.text("user"), "user")
    _refuse(cluster, user, allowed)
    files = {key: user.text(key) for key in USER_FILES} | {key: cluster.text(key) for key in CLUSTER_FILES}
    proxy = cluster.text("proxy-url")
    return Login(
        context=name,
        server=_server(cluster, allowed),
        server_name=sendable(f"{cluster.path}.tls-server-name", cluster.text("tls-server-name")),
        ca=cluster.decoded("certificate-authority-data"),
        token=sendable(f"{user.path}.token of the kubeconfig", user.text("token")),
        certificate=user.decoded("client-certificate-data"),
        key=user.decoded("client-key-data"),
        insecure=bool(cluster.entry.get("insecure-skip-tls-verify")),
        proxy=check_proxy(proxy, f"{cluster.path}.proxy-url") if proxy else "",
        files={key: path for key, path in files.items() if path},
        plugin=_plugin(user),
    )


def alone(data: bytes, context: str) -> bytes:
    """The kubeconfig with nothing but one context: the keys of other clusters are not ours to keep."""
    whole = _parsed(data)
    name = _chosen(whole, context)
    chosen = _part(whole, "contexts", name, "context")
    parts = {"contexts": (name, "context", chosen.entry)}
    for key in ("cluster", "user"):
        found = chosen.text(key)
        parts[f"{key}s"] = (found, key, _part(whole, f"{key}s", found, key).entry)
    kept: Entry = {"apiVersion": "v1", "kind": "Config", "current-context": name}
    kept |= {section: [{"name": found, key: entry}] for section, (found, key, entry) in parts.items()}
    return yaml.safe_dump(kept).encode()


def _parsed(data: bytes) -> Entry:
    if len(data) > MAX_BYTES:
        raise AccessError(f"a kubeconfig has at most {MAX_BYTES >> 20} MiB")
    try:
        whole = yaml.safe_load(data)
    except Exception:  # of any kind: a tag of YAML may ask for a number, a date, a key of nothing
        raise AccessError("this is not YAML") from None  # the parser's text quotes the file
    if not isinstance(whole, dict) or not all(isinstance(whole.get(key), list) for key in ("clusters", "contexts")):
        raise AccessError("this is not a kubeconfig: it has no list of clusters and of contexts")
    return whole


def _chosen(whole: Entry, context: str) -> str:
    names = [str(entry["name"]) for entry in whole["contexts"] if isinstance(entry, dict) and "name" in entry]
    if not names:
        raise AccessError("the kubeconfig has no context")
    if not all(name.isprintable() for name in names):
        raise AccessError("the kubeconfig has a context whose name holds a control character")
    if context and context not in names:
        raise AccessError(f"the kubeconfig has no context {context}; it has {', '.join(names)}")
    if not context and len(names) > 1:
        raise SeveralContexts(names, str(whole.get("current-context") or ""))
    return context or names[0]


def _part(whole: Entry, section: str, name: str, key: str) -> _Part:
    """The mapping under ``key`` of the one entry of that name."""
    entries = whole.get(section) or []
    if not isinstance(entries, list):
        raise AccessError(f"{section} of the kubeconfig is not a list")
    found = [at for at, one in enumerate(entries) if name and isinstance(one, dict) and str(one.get("name")) == name]
    if len(found) != 1:
        raise AccessError(f"the kubeconfig has {'no' if not found else 'more than one'} {section[:-1]} {name!r}")
    path, inner = f"{section}[{found[0]}].{key}", entries[found[0]].get(key)
    if not isinstance(inner, dict | None):
        raise AccessError(f"{path} of the kubeconfig is not a mapping")
    if not all(isinstance(one, str) for one in inner or {}):
        raise AccessError(f"{path} of the kubeconfig has a key that is not text")
    return _Part(path, inner or {})


def _refuse(cluster: _Part, user: _Part, allowed: frozenset[str]) -> None:
    files = [key for key in (*CLUSTER_FILES, *USER_FILES) if key in cluster.entry or key in user.entry]
    asked = {
        "exec": "exec" in user.entry,
        "auth-provider": "auth-provider" in user.entry,
        "files": bool(files),
        "insecure": bool(cluster.entry.get("insecure-skip-tls-verify")),
        "proxy": bool(cluster.entry.get("proxy-url")),
    }
    for word, wanted in asked.items():
        if wanted and word not in allowed:
            named = f" ({', '.join(sorted(files))})" if word == "files" else ""
            raise AccessError(
                f"the kubeconfig asks for {ALLOWABLE[word]}{named}, which this installation does not allow; "
                f"SLACKLINE_KUBECONFIG_ALLOW={word} would"
            )
    if "username" in user.entry or "password" in user.entry:
        raise AccessError("the kubeconfig has a user name and a password, which no API server accepts any more")
    if any(key.startswith("as") for key in user.entry):
        raise AccessError("the kubeconfig acts as somebody else (as, as-groups), which is not supported")


def _plugin(user: _Part) -> Entry | None:
    for word in PLUGINS:
        if word in user.entry:
            settings = user.entry[word]
            if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
                raise AccessError(f"{user.path}.{word} of the kubeconfig is not a mapping")
            return {word: settings}
    return None


def _server(cluster: _Part, allowed: frozenset[str]) -> str:
    path, server = f"{cluster.path}.server", cluster.text("server").strip().rstrip("/")
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError:
        raise AccessError(f"{path} of the kubeconfig is not an address: check its port and brackets") from None
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise AccessError(f"the server in the kubeconfig is not an https address ({path})")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AccessError(f"the server in the kubeconfig is more than an address ({path})")
    if port == 0 or not server.isascii() or not server.isprintable() or " " in server:
        raise AccessError(f"{path} of the kubeconfig is not an address: it has port 0, white space or other letters")
    if parts.scheme == "http" and "plain-http" not in allowed:
        raise AccessError(
            f"the server is reached by {ALLOWABLE['plain-http']}; SLACKLINE_KUBECONFIG_ALLOW=plain-http would allow it"
        )
    refuse_address(parts.hostname)
    return server
