from django.apps import AppConfig
from django.utils.module_loading import import_string


class PlacementConfig(AppConfig):
    name = "console.placement"
    label = "placement"

    def ready(self) -> None:
        # By name: the frame reads models, which exist only now.
        import_string("console.placement.frame.register")()
