from django.apps import AppConfig


class PlansConfig(AppConfig):
    name = "console.plans"
    label = "plans"
