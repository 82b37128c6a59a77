from typing import Any

from rest_framework import generics

from console.audit import selectors
from console.audit.filters import EntryFilter
from console.audit.serializers import EntrySerializer
from console.rest.permissions import NeedsPermission


class EntryList(generics.ListAPIView[Any]):
    """Decisions, newest first: who did what, when, why, and the digest that was signed."""

    permission = "audit.view_entries"
    permission_classes = (NeedsPermission,)
    serializer_class = EntrySerializer
    filterset_class = EntryFilter

    def get_queryset(self) -> Any:
        return selectors.entries(self.request.user)
