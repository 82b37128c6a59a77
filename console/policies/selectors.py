"""Which value counts where, and where it comes from."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from django.db.models import Q, QuerySet

from console.policies.choices import SCOPES, SETTINGS, Merge, Named, Place, Scope
from console.policies.models import Setting
from console.tenancy.services import require


@dataclass(frozen=True, slots=True)
class Said:
    """A value that was decided for a place."""

    place: Place
    value: int | None
    version: int

    @property
    def origin(self) -> str:
        return self.place.words


@dataclass(frozen=True, slots=True)
class Resolved:
    """The value of one setting that counts; ``said`` is where it was decided, None where nobody decided anything."""

    setting: Named
    value: int | None
    said: Said | None
    others: tuple[Said, ...] = ()  # decided for other places that apply, too

    @property
    def words(self) -> str:
        return self.setting.said(self.value)

    @property
    def origin(self) -> str:
        return "built in" if self.said is None else self.said.origin

    @property
    def also(self) -> list[tuple[str, str]]:
        """(place, value in words) of what was decided for other places."""
        return [(one.origin, self.setting.said(one.value)) for one in self.others]


type Policy = Mapping[str, Resolved]


def policy_for(cluster: str, pools: Iterable[str] = (), tenants: Iterable[str] = ()) -> Policy:
    """Every setting as it counts for something that touches these pools (GPU models) and tenants of one cluster.

    One query.  Where it touches several places, each is asked, and the most careful answer is taken.
    """
    models, owners = sorted(set(pools)), sorted(set(tenants) - {""})
    applies = Q(scope=Scope.FLEET) | Q(scope=Scope.CLUSTER, cluster=cluster)
    if models:
        applies |= Q(scope=Scope.POOL, cluster=cluster)  # narrowed below: a list may be longer than a query takes
    if owners:
        applies |= Q(scope=Scope.TENANT)
    found: dict[str, list[Said]] = {name: [] for name in SETTINGS}
    wanted, whose = set(models), set(owners)
    for row in decided().filter(applies):
        of_pool = row.scope != Scope.POOL or row.gpu_model in wanted
        if row.name in found and of_pool and (row.scope != Scope.TENANT or row.tenant in whose):
            found[row.name].append(Said(row.place, row.value, row.version))
    return {name: _resolved(SETTINGS[name], said, models, owners) for name, said in found.items()}


def merged(setting: Named, said: list[Said], place: Place) -> Resolved:
    """What would count at ``place`` if this was all that is decided."""
    return _resolved(setting, said, [place.gpu_model], [place.tenant])


def nearest_of(cluster: str, names: Collection[str]) -> Callable[[str, str], dict[str, int | None]]:
    """For a pool (GPU model) and a tenant: what counts there, of each of these settings.  One query for all of them."""
    applies = Q(scope__in=(Scope.FLEET, Scope.TENANT)) | Q(scope__in=(Scope.CLUSTER, Scope.POOL), cluster=cluster)
    said: dict[str, list[Said]] = {name: [] for name in names}
    for row in decided().filter(applies, name__in=list(names)):
        said[row.name].append(Said(row.place, row.value, row.version))

    @cache
    def there(pool: str, tenant: str) -> dict[str, int | None]:
        place = {name: [one for one in found if _covers(one.place, pool, tenant)] for name, found in said.items()}
        return {name: _nearest(SETTINGS[name], found, [pool], [tenant]).value for name, found in place.items()}

    return there


def gpu_hour_cents(clusters: Collection[str]) -> Callable[[str, str, str], int | None]:
    """(cluster, pool, tenant) -> US cents of a GPU-hour as decided there, None where nobody says.

    One query where nothing is decided, else one more for each cluster that is asked for.
    """
    name = "usd_cents_per_gpu_hour"
    if not decided().filter(name=name).exists():
        return lambda cluster, pool, tenant: None
    there = {cluster: nearest_of(cluster, [name]) for cluster in clusters}
    return lambda cluster, pool, tenant: there[cluster](pool, tenant)[name]


def rows_of(name: str, cluster: str, pools: Iterable[str], tenants: Iterable[str]) -> list[Setting]:
    """What was decided of one setting for places that apply, with who decided it."""
    models, owners = set(pools), set(tenants) - {""}
    rows = decided().filter(name=name).filter(
        Q(scope__in=(Scope.FLEET, Scope.TENANT)) | Q(scope__in=(Scope.CLUSTER, Scope.POOL), cluster=cluster)
    )  # fmt: skip
    return [
        row
        for row in rows.select_related("by")
        if (row.scope != Scope.POOL or row.gpu_model in models) and (row.scope != Scope.TENANT or row.tenant in owners)
    ]


def resolved_from(name: str, rows: Iterable[Setting], pools: Iterable[str], tenants: Iterable[str]) -> Resolved:
    """What would count if these rows were all that is decided; "" among the tenants: pods of none."""
    said = [Said(row.place, row.value, row.version) for row in rows]
    return _resolved(SETTINGS[name], said, sorted(set(pools)), sorted(set(tenants)))


def pools_said(cluster: str) -> list[str]:
    """The GPU models of a cluster for which anything is decided."""
    rows = decided().filter(scope=Scope.POOL, cluster=cluster).order_by()
    return sorted(rows.values_list("gpu_model", flat=True).distinct())


def most_said(name: str) -> int:
    """The highest value that is decided anywhere, or built in."""
    values = decided().filter(name=name).order_by().values_list("value", flat=True)
    return max([SETTINGS[name].default or 0, *(value for value in values if value is not None)])


def decided() -> QuerySet[Setting]:
    """What is decided now, at every place."""
    return Setting.objects.filter(newest=True, cleared=False)


def tenant_limits(policy: Policy, name: str) -> dict[str, int]:
    """Values that were decided for single tenants and are lower than what counts for all others."""
    resolved = policy[name]
    every = [one for one in (resolved.said, *resolved.others) if one is not None]
    return {one.place.tenant: one.value for one in every if one.place.scope == Scope.TENANT and one.value is not None}


def for_all_tenants(policy: Policy, name: str) -> int | None:
    """What counts for tenants of which nothing of their own was decided."""
    resolved = policy[name]
    every = [one for one in (resolved.said, *resolved.others) if one is not None]
    wide = [one for one in every if one.place.scope != Scope.TENANT]
    return _careful(resolved.setting, wide).value if wide else resolved.setting.default


def _resolved(setting: Named, said: list[Said], pools: list[str], tenants: list[str]) -> Resolved:
    if not said:
        return Resolved(setting, setting.default, None)
    if setting.merge == Merge.NEAREST:
        return _nearest(setting, said, pools, tenants)
    chosen = _careful(setting, said)
    if _leaves_out(said, pools, tenants) and _key(setting, setting.default) < _key(setting, chosen.value):
        return Resolved(setting, setting.default, None, tuple(said))
    return Resolved(setting, chosen.value, chosen, tuple(one for one in said if one is not chosen))


def _leaves_out(said: list[Said], pools: list[str], tenants: list[str]) -> bool:
    """Is there a pool with a tenant for which nobody decided anything, so that the built-in value counts there?"""
    if any(one.place.scope in (Scope.FLEET, Scope.CLUSTER) for one in said):
        return False
    of_pools = {one.place.gpu_model for one in said if one.place.scope == Scope.POOL}
    of_tenants = {one.place.tenant for one in said if one.place.scope == Scope.TENANT}
    return bool(set(pools or [""]) - of_pools) and bool(set(tenants or [""]) - of_tenants)


def _nearest(setting: Named, said: list[Said], pools: list[str], tenants: list[str]) -> Resolved:
    """Each pool with each tenant for itself, then the most careful of what they say."""
    answers: list[Said | None] = []
    for pool, tenant in product(pools or [""], tenants or [""]):
        here = [one for one in said if _covers(one.place, pool, tenant)]
        answers.append(max(here, key=lambda one: SCOPES.index(one.place.scope), default=None))
    known = [one for one in answers if one is not None]
    chosen = _careful(setting, known) if known else None
    if chosen is None or (None in answers and _key(setting, setting.default) < _key(setting, chosen.value)):
        return Resolved(setting, setting.default, None, tuple(said))
    return Resolved(setting, chosen.value, chosen, tuple(one for one in said if one is not chosen))


def _covers(place: Place, pool: str, tenant: str) -> bool:
    return (place.scope != Scope.POOL or place.gpu_model == pool) and (
        place.scope != Scope.TENANT or place.tenant == tenant
    )


def _careful(setting: Named, said: list[Said]) -> Said:
    """Of equal values the widest place is named."""
    return min(said, key=lambda one: (_key(setting, one.value), SCOPES.index(one.place.scope), one.place.words))


def _key(setting: Named, value: int | None) -> float:
    """The more careful, the lower; no limit is the least careful of all."""
    if value is None:
        return float("inf")
    return -value if setting.merge == Merge.MOST else value


# --- what people read ------------------------------------------------------------------------------------------------
def settings_said(viewer: Any) -> QuerySet[Setting]:
    """What is decided now, by scope."""
    require(viewer, "policies.view_policy")
    return decided().select_related("by")


def by_scope(viewer: Any) -> list[Setting]:
    order = list(SETTINGS)
    rows = [row for row in settings_said(viewer) if row.name in SETTINGS]
    return sorted(rows, key=lambda row: (SCOPES.index(Scope(row.scope)), row.place.words, order.index(row.name)))


def history(viewer: Any) -> QuerySet[Setting]:
    """Every version of everything, newest first."""
    require(viewer, "policies.view_policy")
    return Setting.objects.select_related("by")


def setting_at(viewer: Any, name: str, place: Place) -> Setting | None:
    """The newest version, cleared or not; None where nothing was ever decided there."""
    require(viewer, "policies.view_policy")
    return at_place(name, place)


def at_place(name: str, place: Place) -> Setting | None:
    return Setting.objects.filter(newest=True, name=name, **names_of(place)).select_related("by").first()


def names_of(place: Place) -> dict[str, str]:
    return {
        "scope": place.scope.value,
        "cluster": place.cluster,
        "gpu_model": place.gpu_model,
        "tenant": place.tenant,
    }


def effective(viewer: Any, cluster: str, pools: Iterable[str], tenants: Iterable[str]) -> Policy:
    require(viewer, "policies.view_policy")
    return policy_for(cluster, pools, tenants)
