from django.apps import AppConfig


class DispatchConfig(AppConfig):
    name = "console.dispatch"
    label = "dispatch"
