"""A page as a browser reads it: how its template is broken into lines does not matter."""

import re


def squeezed(html: str) -> str:
    """Runs of white space become one space, and none is left beside a tag or inside its end."""
    return re.sub(r"\s*(</?[a-zA-Z][^<>]*?|<!--[^<>]*?--)\s*>\s*", r"\1>", " ".join(html.split()))
