from django.apps import AppConfig
from django.utils.module_loading import import_string


class SpotConfig(AppConfig):
    name = "console.spot"
    label = "spot"

    def ready(self) -> None:
        # By name: the frame reads models, which exist only now.
        import_string("console.spot.frame.register")()
