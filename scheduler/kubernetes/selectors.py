"""Selectors of Kubernetes in one canonical form, whom they match, and the names that we derive from them.

The snapshot format knows ``key=value`` alone.  Whatever else a selector says is held exactly all the same: the objects
that match get a label of ours, named by a digest of the selector, and the record asks for that label.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b

from scheduler.kubernetes.wire import LabelSelector, NodeSelector, Requirement

Labels = Mapping[str, str]
Expression = tuple[str, str, tuple[str, ...]]  # key, operator, sorted values
Selector = tuple[Expression, ...]  # all must hold, so () matches everything
NAME_FIELD = "metadata.name"
Term = tuple[Selector, Selector]  # on labels, on fields
Terms = tuple[Term, ...]  # one must hold, so () matches nothing
HOSTNAME = "kubernetes.io/hostname"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
SPACE = "namespace:"  # before labels of a pod's namespace; no label has a colon
UNKNOWN_SPACE = {"unknown:namespace": "true"}
# Labels that say how a machine is built or what it is called: a hundred of them on a GPU node, most of them on every
# node another value.  Records leave them out; a pod that selects by one is held by a derived label.
NOISE = ("feature.node.kubernetes.io/", "beta.kubernetes.io/", "beta.amd.com/", "node.alpha.kubernetes.io/")


def noisy(label: str) -> bool:
    """Whether records leave a node label out."""
    return label == HOSTNAME or label.startswith(NOISE)


def canonical(selector: LabelSelector | None) -> Selector | None:
    """None matches nothing, as an absent selector does; equal selectors are equal however they were written."""
    if selector is None:
        return None
    pairs = [(key, "In", (value,)) for key, value in selector.match_labels.items()]
    return tuple(sorted({*pairs, *map(_expression, selector.match_expressions)}))


def terms(selector: NodeSelector) -> Terms:
    """The terms of a node selector; one without anything matches no node and is left out."""
    found = {
        (
            tuple(sorted(map(_expression, term.match_expressions))),
            tuple(sorted(map(_expression, term.match_fields))),
        )
        for term in selector.node_selector_terms
        if term.match_expressions or term.match_fields
    }
    return tuple(sorted(found))


def _expression(requirement: Requirement) -> Expression:
    # Gt and Lt want exactly one value, and two equal ones are two
    values = requirement.values if requirement.operator in ("Gt", "Lt") else set(requirement.values)
    return requirement.key, requirement.operator, tuple(sorted(values))


def matches(selector: Selector, labels: Labels) -> bool:
    """Whether all of it holds; an operator that nobody knows holds nowhere."""
    return all(_holds(key, operator, values, labels) for key, operator, values in selector)


def _holds(key: str, operator: str, values: tuple[str, ...], labels: Labels) -> bool:
    found = labels.get(key)
    match operator:
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt":
            return _compares(operator, found, values)
    return False


def _compares(operator: str, found: str | None, values: tuple[str, ...]) -> bool:
    have, limit = _integer(found), _integer(values[0] if len(values) == 1 else None)
    if have is None or limit is None:
        return False
    return have > limit if operator == "Gt" else have < limit


@lru_cache(maxsize=4096)
def _integer(text: str | None) -> int | None:
    """What Go's ParseInt reads: a sign and ASCII digits."""
    digits = (text or "").removeprefix("-") if not (text or "").startswith("+") else (text or "")[1:]
    return int(text or "") if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def node_matches(wanted: Terms, name: str, labels: Labels) -> bool:
    fields = {NAME_FIELD: name}
    return any(matches(on_labels, labels) and matches(on_fields, fields) for on_labels, on_fields in wanted)


def hosts(wanted: Terms) -> set[str] | None:
    """Values of the host name label outside which nothing matches; None where that is not plain."""
    found: set[str] = set()
    for on_labels, _ in wanted:
        named = [values for key, operator, values in on_labels if key == HOSTNAME and operator == "In"]
        if not named:
            return None
        found.update(named[0])
    return found


def pairs(selector: Selector) -> dict[str, str] | None:
    """The selector as ``key=value`` pairs, None if it says more than such pairs can."""
    found: dict[str, str] = {}
    for key, operator, values in selector:
        if operator != "In" or len(values) != 1 or found.get(key, values[0]) != values[0]:
            return None
        found[key] = values[0]
    return found


def single(selector: Selector) -> str | None:
    """The selector as one ``key=value``, None if it is not one."""
    found = pairs(selector)
    if found is None or len(found) != 1:
        return None
    return "=".join(next(iter(found.items())))


def anchor(selector: Selector) -> tuple[str, str] | None:
    """A label that all who match must have, by which they are found quickly; None if there is no such label."""
    return next(((key, values[0]) for key, operator, values in selector if operator == "In" and len(values) == 1), None)


@lru_cache(maxsize=65_536)
def digest(selector: Selector | Terms) -> str:
    """A short name for a selector, the same in every process."""
    return blake2b(repr(selector).encode(), digest_size=8).hexdigest()


def in_spaces(selector: Selector, spaces: Selector) -> Selector:
    """A selector on pods and one on their namespaces, as one on the labels of ``with_space``."""
    return both([selector, tuple((SPACE + key, operator, values) for key, operator, values in spaces)])


def with_space(labels: Labels, namespace: str, of_space: Labels | None) -> dict[str, str]:
    """A pod's labels and those of its namespace; None where nobody knows the namespace but by name."""
    told = UNKNOWN_SPACE if of_space is None else {SPACE + key: value for key, value in of_space.items()}
    return {**labels, **told, SPACE + NAMESPACE_NAME: namespace}


def both(selectors: Iterable[Selector]) -> Selector:
    """What must hold so that all of them hold."""
    return tuple(sorted({expression for selector in selectors for expression in selector}))
