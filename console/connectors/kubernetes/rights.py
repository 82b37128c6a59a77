"""The rights that a cluster must give us, computed from the table of kinds: never more than what is read."""

from dataclasses import dataclass
from itertools import groupby

from scheduler.kubernetes.objects import KINDS, Kind

VERBS = ("list", "watch")
NAME, NAMESPACE = "slackline-observer", "slackline"
HEAD = f"""\
# What Slackline needs to observe a cluster: read verbs only, and only the kinds that it reads.
# Kinds of a group that the cluster does not have do no harm here; take out what you would rather keep from it.
# kubectl create namespace {NAMESPACE}
# kubectl create serviceaccount {NAME} --namespace {NAMESPACE}
# kubectl apply --filename FILE
# kubectl create token {NAME} --namespace {NAMESPACE} --duration 8760h
# The kubeconfig's token is not renewed: when it ends, a new one must be given. Providers cap the duration that is asked
# for (some at an hour or a day), whatever the command says; look at the end that kubectl prints with --output json.
# Pods and jobs show literal values of their environment variables to whoever may list them, Slackline too, which reads
# none of them; keep secrets in Secrets, which this role does not name.
"""


@dataclass(frozen=True, slots=True)
class Rule:
    group: str
    resources: tuple[str, ...]


def rules() -> tuple[Rule, ...]:
    """One rule for each API group, groups and resources by name."""
    pairs = sorted({(kind.group, kind.plural) for kind in KINDS.values()})
    return tuple(
        Rule(group, tuple(plural for _, plural in found)) for group, found in groupby(pairs, key=lambda pair: pair[0])
    )


def rule_text(kind: Kind) -> str:
    """The rule that a kind alone needs, as it stands in a ClusterRole."""
    return _yaml(Rule(kind.group, (kind.plural,)))


def cluster_role() -> str:
    """The ClusterRole and its binding to the account of ``HEAD``, as YAML."""
    body = "\n".join(_yaml(rule) for rule in rules())
    return f"""{HEAD}apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {NAME}
rules:
{body}
  - nonResourceURLs: ["/version"]
    verbs: ["get"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {NAME}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {NAME}
subjects:
  - kind: ServiceAccount
    name: {NAME}
    namespace: {NAMESPACE}
"""


def _yaml(rule: Rule) -> str:
    return f'  - apiGroups: ["{rule.group}"]\n    resources: [{_listed(rule.resources)}]\n    verbs: [{_listed(VERBS)}]'


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f'"{word}"' for word in words)
