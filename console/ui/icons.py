"""Icons as inline SVG, read once from the icon set that npm installs: no font to wait for, no style to allow."""

import re
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe

BODY = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)
NAME = re.compile(r"[a-z0-9-]+")


class MissingIconError(LookupError):
    """The icon set has no drawing of that name."""


def _file(name: str) -> Path:
    return Path(settings.NPM_ROOT) / "@tabler" / "icons" / "icons" / "outline" / f"{name}.svg"


@lru_cache(maxsize=256)
def icon(name: str) -> SafeString:
    """The drawing as <svg class="sl-icon">; raises MissingIconError for a name that the set does not have."""
    path = _file(name)
    if not NAME.fullmatch(name) or not path.is_file():
        raise MissingIconError(f"no icon {name!r} in {path.parent}")
    match = BODY.search(path.read_text(encoding="utf-8"))
    if match is None:
        raise MissingIconError(f"{path} holds no drawing")
    body = re.sub(r"\s*\n\s*", "", match.group(1))
    return mark_safe(
        '<svg class="sl-icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" '
        f'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">{body}</svg>'
    )
