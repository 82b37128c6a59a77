"""Since when the use of teams is told apart from their department's, and what of a department is of no team."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta

from console.tenancy.choices import EntryKind
from console.tenancy.models import Entry
from console.tenancy.selectors.book import book_now
from console.tenancy.standing import Standing
from console.tenancy.teams import Teams

TENANT = EntryKind.TENANT.value


def teams_now() -> Teams:
    """Whose namespaces are whose, by the newest edition.  For admission; no viewer."""
    return Teams(book_now().docs)


def told_apart_since(names: Collection[str] | None = None) -> dict[str, datetime]:
    """Team -> the edition from which on it has had namespaces of the same department without a break.

    Only of teams that have some now; of these names, or of all.  What was used before is in no sum of the team.
    """
    rows = Entry.objects.filter(kind=TENANT).order_by("edition_id")
    if names is not None:
        rows = rows.filter(name__in=sorted(names))
    found: dict[str, datetime] = {}
    parents: dict[str, str | None] = {}
    for name, removed, document, at in rows.values_list("name", "removed", "document", "edition__at"):
        if removed or not document.get("namespaces"):
            found.pop(name, None)
        elif name not in found or parents.get(name) != document["parent"]:
            found[name] = at
        parents[name] = None if removed else document["parent"]
    return found


def first_whole(since: datetime, *, days: bool) -> datetime:
    """The first hour (or day) of UTC that begins at or after an instant."""
    begin = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    step = timedelta(hours=1)
    if days:
        begin, step = begin.replace(hour=0), timedelta(days=1)
    return begin if begin >= since else begin + step


def of_no_team(whole: Standing, teams: Iterable[Standing]) -> Standing:
    """What a department itself holds and waits for; quotas are divided in the book, so nothing is said of them."""
    every = list(teams)
    hp, lp, pending = (
        max(0, getattr(whole, field) - sum(getattr(one, field) for one in every)) for field in ("hp", "lp", "pending")
    )
    return Standing(None, None, None, hp, lp, pending, 0, 0, 0, None)
