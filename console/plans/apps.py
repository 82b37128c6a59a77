from django.apps import AppConfig
from django.utils.module_loading import import_string


class PlansConfig(AppConfig):
    name = "console.plans"
    label = "plans"

    def ready(self) -> None:
        # By name: the frame reads models, which exist only now.
        import_string("console.plans.frame.register")()
