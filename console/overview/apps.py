from django.apps import AppConfig

from console.ui.shell import Entry, register_entry


class OverviewConfig(AppConfig):
    name = "console.overview"
    label = "overview"

    def ready(self) -> None:
        register_entry(Entry("fleet", "Fleet", "overview:fleet", "layout-grid", order=10))
