from django.apps import AppConfig


class RestConfig(AppConfig):
    name = "console.rest"
    label = "rest"
