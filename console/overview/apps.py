from django.apps import AppConfig


class OverviewConfig(AppConfig):
    name = "console.overview"
    label = "overview"
