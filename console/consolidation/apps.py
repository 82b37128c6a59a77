from django.apps import AppConfig


class ConsolidationConfig(AppConfig):
    name = "console.consolidation"
    label = "consolidation"
