from django.apps import AppConfig


class RoutinesConfig(AppConfig):
    name = "console.routines"
    label = "routines"
