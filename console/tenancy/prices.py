"""What a GPU-hour costs: what is decided upstairs for a place, else the book's own price, else a published one.

Rooms above register what they know, since this room asks nobody upstairs.  Where nobody says there is *no price*.
What LP pays may change by the hour: who keeps such quotes registers them with their past, so that every hour of use is
charged at what was in force then.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from console.tenancy.choices import EntryKind, Tier
from console.tenancy.entries import Docs
from scheduler.pricing.anchors import anchor as published

# (cluster, GPU model, tenant) -> US cents of a GPU-hour, None where nothing is decided.
type CentsOf = Callable[[str, str, str], int | None]
type Source = Callable[[Collection[str]], CentsOf]  # by the clusters that will be asked for
type Step = tuple[datetime, int | None]  # from that full hour on, until the next step; None: no quote
# (start, end) -> GPU model -> steps in time order, the first of them what was in force at the start.
type Quoted = Callable[[datetime, datetime], Mapping[str, Sequence[Step]]]

_registered: dict[str, Source] = {}
_quoted: dict[str, Quoted] = {}


@dataclass(frozen=True, slots=True)
class Price:
    """``cents`` None: no price; ``origin`` says who says so."""

    cents: int | None
    origin: str


NO_PRICE = Price(None, "no price")


def register(name: str, source: Source) -> None:
    """``name`` is what people read as the origin of these prices."""
    if name in _registered:
        raise ValueError(f"prices of {name} are registered twice")
    _registered[name] = source


def register_quotes(name: str, source: Quoted) -> None:
    """One house has one list of quotes."""
    if _quoted:
        raise ValueError(f"quotes are registered twice: {name} and {', '.join(_quoted)}")
    _quoted[name] = source


def quotes_between(start: datetime, end: datetime) -> tuple[str, Mapping[str, Sequence[Step]]]:
    """(who says so, steps by GPU model); a model that had no quote until the end is not in it."""
    for name, source in _quoted.items():
        return name, source(start, end)
    return "", {}


def anchor(model: str) -> Price:
    """The published price of a model by its name."""
    found = published(model)
    return NO_PRICE if found is None else Price(found.cents, f"published: {found.where}")


class Prices:
    """The prices that count, for a set of clusters; each registered source is asked once.

    ``at``: the instant whose quotes count for LP; None where these are looked up hour by hour elsewhere.
    """

    def __init__(self, docs: Docs, clusters: Collection[str], at: datetime | None = None) -> None:
        self.docs = docs
        self.asked = [(name, source(clusters)) for name, source in _registered.items()]
        self.origin, steps = ("", {}) if at is None else quotes_between(at, at)
        self.quoted = {model: said[-1][1] for model, said in steps.items() if said}

    def of(self, cluster: str, model: str, tenant: str, tier: Tier) -> Price:
        """LP has a published price nowhere here: what it costs is for people to say."""
        if not model:
            return NO_PRICE
        if tier is Tier.LP and self.quoted.get(model) is not None:
            return Price(self.quoted[model], self.origin)
        for name, cents_of in self.asked:
            cents = cents_of(cluster, model, tenant)
            if cents is not None:
                return Price(cents, name)
        said = self.docs.get((EntryKind.PRICE.value, model), {}).get(f"{tier.value}_cents")
        if said is not None:
            return Price(said, "the book")
        return anchor(model) if tier is Tier.HP else NO_PRICE
