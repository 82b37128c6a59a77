"""The network above the nodes: which labels or objects name its levels, and what the domains are called.

A domain is its whole path (block and rack), because racks of two blocks may share a name.  It is called by its own
value as long as nobody else is called so.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scheduler.cluster.records import DomainRecord
from scheduler.kubernetes.custom import HyperNode, Topology
from scheduler.kubernetes.options import AGG, ASW, AUTO, PRESETS, Level, Options
from scheduler.kubernetes.selectors import HOSTNAME, canonical, matches
from scheduler.kubernetes.unheld import Note

Path = tuple[tuple[str, str], ...]  # (level, value), widest first; levels that a node does not tell are left out
AUTOMATIC = ("topograph", "topograph-names", "gke", "provider", "plain")


@dataclass(frozen=True, slots=True)
class Levels:
    """``labels`` name the levels, widest first; ``words`` are all other names under which somebody asks for one."""

    levels: tuple[Level, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    tree: "Tree | None" = None

    def word(self, asked: str) -> str | None:
        """The level that is meant by a node label, an alias or a tier; None if it is none of those read."""
        return self.words.get(asked)

    def path(self, node: str, labels: Mapping[str, str]) -> Path:
        if self.tree is not None:
            return self.tree.path(node)
        return tuple((level.name, value) for level in self.levels if (value := labels.get(level.label, "").strip()))


@dataclass(frozen=True, slots=True)
class Tree:
    """HyperNodes: by node, its path; ``notes`` by HyperNode."""

    paths: Mapping[str, Path]
    notes: tuple[tuple[str, Note], ...] = ()

    def path(self, node: str) -> Path:
        return self.paths.get(node, ())


def of_labels(levels: Iterable[Level], aliases: Mapping[str, str] | None = None) -> Levels:
    listed = tuple(levels)
    words = {level.label: level.name for level in listed}
    words |= {level.name: level.name for level in listed}
    for alias, label in (aliases or {}).items():
        if label in words:
            words.setdefault(alias, words[label])
    return Levels(listed, words)


def find_levels(
    options: Options,
    topologies: Iterable[Topology],
    hypernodes: Iterable[HyperNode],
    nodes: Mapping[str, Mapping[str, str]],
) -> Levels:
    """The levels of the cluster: as chosen, else as its own objects say, else by the first preset that fits.

    ``nodes`` = labels by node name.
    """
    if options.levels is not None:
        return of_labels(options.levels)
    listed = sorted((t for t in topologies if t.spec.levels), key=lambda t: (-len(t.spec.levels), t.metadata.name))
    if listed:
        return _of_topology(listed[0])
    tree = sorted(hypernodes, key=lambda one: one.metadata.name)
    if tree:
        return _of_hypernodes(tree, nodes)
    present = set().union(*nodes.values()) if nodes else set()
    for preset in AUTOMATIC:
        levels = [level for level in PRESETS[preset] if level.label in present]
        if levels:
            return of_labels(levels)
    return Levels()


def _of_topology(topology: Topology) -> Levels:
    """The level closest to the nodes is called ``asw``, the next ``agg``; further ones by their label's last word."""
    named = [level for level in topology.spec.levels if level.node_label != HOSTNAME]
    words = [ASW, AGG]
    levels = []
    for i, level in enumerate(reversed(named)):
        word = words[i] if i < len(words) else level.node_label.rpartition("/")[2]
        levels.append(Level(word, level.node_label))
    return of_labels(reversed(levels), {level.alias: level.node_label for level in named if level.alias})


def _of_hypernodes(hypernodes: list[HyperNode], nodes: Mapping[str, Mapping[str, str]]) -> Levels:
    tiers = sorted({one.spec.tier for one in hypernodes})
    named = {one.spec.tier: one.spec.tier_name for one in hypernodes if one.spec.tier_name}
    fixed = dict(zip(tiers, (ASW, AGG), strict=False))
    levels = {tier: fixed.get(tier, f"tier-{tier}") for tier in tiers}
    words = {f"tier {tier}": level for tier, level in levels.items()}
    words |= {level: level for level in levels.values()}
    words |= {name: levels[tier] for tier, name in named.items()}
    return Levels((), words, _tree(hypernodes, nodes, levels))


def _tree(hypernodes: list[HyperNode], nodes: Mapping[str, Mapping[str, str]], levels: Mapping[int, str]) -> Tree:
    names = [one.metadata.name for one in hypernodes]
    parent: dict[str, str] = {}
    home: dict[str, str] = {}
    tier = {one.metadata.name: one.spec.tier for one in hypernodes}
    notes: list[tuple[str, Note]] = []
    for one in sorted(hypernodes, key=lambda one: (one.spec.tier, one.metadata.name)):
        for member in one.spec.members:
            inside = member.type == "HyperNode"
            table = parent if inside else home
            found = _members(member.selector, names if inside else nodes, {} if inside else nodes)
            for name in found:
                if table.setdefault(name, one.metadata.name) != one.metadata.name:
                    detail = f"{name} already stands in {table[name]}"
                    notes.append((one.metadata.name, Note("topology", "ignored", "$.spec.members", detail)))
    paths = {node: _path(place, parent, tier, levels) for node, place in home.items()}
    return Tree(paths, tuple(notes))


def _members(selector: object, names: Iterable[str], labels: Mapping[str, Mapping[str, str]]) -> list[str]:
    exact, regex = getattr(selector, "exact_match", None), getattr(selector, "regex_match", None)
    wanted = canonical(getattr(selector, "label_match", None))
    if exact is not None:
        return [exact.name] if exact.name in names else []
    if regex is not None:
        try:
            pattern = re.compile(regex.pattern)
        except re.error:
            return []
        return [name for name in names if pattern.search(name)]
    return [name for name, own in labels.items() if matches(wanted, own)] if wanted is not None else []


def _path(place: str, parent: Mapping[str, str], tier: Mapping[str, int], levels: Mapping[int, str]) -> Path:
    chain: list[tuple[str, str]] = []
    at: str | None = place
    below = 0
    while at is not None and tier[at] > below:  # tiers rise, so that a ring of parents ends
        chain.append((levels[tier[at]], at))
        below, at = tier[at], parent.get(at)
    return tuple(reversed(chain))


def name_domains(paths: Iterable[Path]) -> dict[Path, str]:
    """A name of its own for every domain on the paths: the value alone, or as much of the path as tells it apart."""
    domains = sorted({path[: i + 1] for path in set(paths) for i in range(len(path))})
    claims = Counter(path[-1][1] for path in domains)
    names = {path: path[-1][1] for path in domains if claims[path[-1][1]] == 1}
    taken = set(names.values())
    for path in domains:
        if path not in names:
            name = "/".join(f"{level}={value}" for level, value in path)
            while name in taken:
                name += "'"
            names[path] = name
            taken.add(name)
    return names


def domain_records(names: Mapping[Path, str], cluster: str) -> list[DomainRecord]:
    found = [
        DomainRecord(name=name, level=path[-1][0], parent=names[path[:-1]] if len(path) > 1 else None, cluster=cluster)
        for path, name in names.items()
    ]
    return sorted(found, key=lambda one: (one.level, one.name))


def by_level(names: Mapping[Path, str]) -> dict[str, int]:
    """How many domains each level has."""
    counts: dict[str, int] = defaultdict(int)
    for path in names:
        counts[path[-1][0]] += 1
    return dict(counts)


__all__ = ["AUTO", "Levels", "Path", "Tree", "by_level", "domain_records", "find_levels", "name_domains", "of_labels"]
