from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "console.demo"
    label = "demo"
