from django.apps import AppConfig
from django.utils.module_loading import import_string


class OncallConfig(AppConfig):
    name = "console.oncall"
    label = "oncall"

    def ready(self) -> None:
        # By name: the frame reads models, which exist only now.
        import_string("console.oncall.frame.register")()
