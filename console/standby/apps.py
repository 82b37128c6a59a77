from django.apps import AppConfig
from django.utils.module_loading import import_string


class StandbyConfig(AppConfig):
    name = "console.standby"
    label = "standby"

    def ready(self) -> None:
        # By name: the frame reads models, which exist only now.
        import_string("console.standby.frame.register")()
