"""Which pods match which selectors, kept up to date while both come and go.

A selector is watched for a role: budgets count their pods, peers are named by pod affinity, and wide ones by
anti-affinity in larger places than a node.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from scheduler.kubernetes.selectors import Selector, anchor, matches
from scheduler.kubernetes.wire import Key

Role = Literal["budget", "peers", "wide"]
Watched = tuple[str, Selector]  # namespace
Labels = Mapping[str, str]


class Watchlist:
    """Selectors by namespace, found by a label that their pods must have.

    New selectors wait until ``settle``, where all of a namespace meet its pods in one go: a cluster that is read
    for the first time has thousands of each.
    """

    def __init__(self) -> None:
        self._roles: dict[Watched, Counter[Role]] = {}
        self._anchored: dict[str, dict[tuple[str, str], list[Selector]]] = defaultdict(lambda: defaultdict(list))
        self._loose: dict[str, list[Selector]] = defaultdict(list)
        self._members: dict[Watched, set[Key]] = {}
        self._matched: dict[Key, tuple[Selector, ...]] = {}
        self._unsettled: set[str] = set()  # namespaces

    @property
    def idle(self) -> bool:
        """Nothing is watched, so no pod need be placed."""
        return not self._roles

    def watch(self, watched: Watched, role: Role) -> set[Key]:
        """Watch once more; returns the pods for which that is news, as far as they are known to match."""
        roles = self._roles.get(watched)
        if roles is None:
            roles = self._roles[watched] = Counter()
            self._list_of(watched).append(watched[1])
            self._members[watched] = set()
            self._unsettled.add(watched[0])
        roles[role] += 1
        return set(self._members[watched]) if roles[role] == 1 or role == "budget" else set()

    def unwatch(self, watched: Watched, role: Role) -> set[Key]:
        """Watch once less; returns the pods for which that is news."""
        roles = self._roles[watched]
        roles[role] -= 1
        if roles[role]:
            # One budget less may leave a pod with one, which may then move
            return set(self._members[watched]) if role == "budget" else set()
        del roles[role]
        touched = set(self._members[watched])
        if not roles:
            self._remove(watched)
        return touched

    def settle(self, pods_of: Callable[[str], Iterable[tuple[Key, Labels]]]) -> set[Key]:
        """Find the pods of new selectors; returns those for which that is news.  ``pods_of`` a namespace."""
        news = {key for space in self._unsettled for key, labels in pods_of(space) if self.place(key, labels)}
        self._unsettled.clear()
        return news

    def _remove(self, watched: Watched) -> None:
        selector = watched[1]
        self._list_of(watched).remove(selector)
        for key in self._members.pop(watched):
            rest = tuple(one for one in self._matched.get(key, ()) if one != selector)
            if rest:
                self._matched[key] = rest
            else:
                self._matched.pop(key, None)
        del self._roles[watched]

    def _list_of(self, watched: Watched) -> list[Selector]:
        namespace, selector = watched
        pair = anchor(selector)
        return self._loose[namespace] if pair is None else self._anchored[namespace][pair]

    def place(self, key: Key, labels: Labels) -> bool:
        """A pod that is new or has other labels; whether it matches other selectors than before."""
        found = self._matching(key[0], labels)
        before = self._matched.get(key, ())
        if found == before:
            return False
        for selector in before:
            self._members[key[0], selector].discard(key)
        for selector in found:
            self._members[key[0], selector].add(key)
        if found:
            self._matched[key] = found
        else:
            del self._matched[key]
        return True

    def remove(self, key: Key) -> None:
        for selector in self._matched.pop(key, ()):
            self._members[key[0], selector].discard(key)

    def _matching(self, namespace: str, labels: Labels) -> tuple[Selector, ...]:
        anchored, loose = self._anchored.get(namespace), self._loose.get(namespace)
        if not anchored and not loose:
            return ()
        candidates = list(loose or ())
        for pair in labels.items() if anchored else ():
            candidates += anchored.get(pair, ()) if anchored else ()
        return tuple(sorted({selector for selector in candidates if matches(selector, labels)}))

    def matched(self, key: Key) -> tuple[tuple[Selector, Counter[Role]], ...]:
        """The selectors that a pod matches, and for what each is watched."""
        found = self._matched.get(key)
        if not found:
            return ()
        return tuple((selector, self._roles[key[0], selector]) for selector in found)

    def members(self, watched: Watched) -> set[Key]:
        return self._members.get(watched, set())
