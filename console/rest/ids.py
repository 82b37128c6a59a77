"""Numbers of rows in addresses."""

from django.urls.converters import IntConverter


class RowConverter(IntConverter):
    """At most 18 digits: a longer number is no row's, and no database could be asked for it."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)
