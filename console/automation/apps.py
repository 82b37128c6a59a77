from django.apps import AppConfig


class AutomationConfig(AppConfig):
    name = "console.automation"
    label = "automation"
