from django.apps import AppConfig

from console.ui.shell import Entry, register_entry


class AuditConfig(AppConfig):
    name = "console.audit"
    label = "audit"

    def ready(self) -> None:
        register_entry(Entry("audit", "Audit", "audit:list", "list-details", order=90, permission="audit.view_entries"))
