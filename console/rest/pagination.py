"""Lists come in pages behind a cursor: a page costs the same at the end of a long list as at its start."""

from rest_framework.pagination import CursorPagination


class CursorPages(CursorPagination):
    """50 rows, up to 200 on request; newest first unless the view sets ``ordering``."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = "-pk"
