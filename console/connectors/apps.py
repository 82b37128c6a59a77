from django.apps import AppConfig


class ConnectorsConfig(AppConfig):
    name = "console.connectors"
    label = "connectors"
