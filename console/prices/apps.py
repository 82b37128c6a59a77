from django.apps import AppConfig
from django.utils.module_loading import import_string


class PricesConfig(AppConfig):
    name = "console.prices"
    label = "prices"

    def ready(self) -> None:
        # By name: the frame reads models, which exist only now.
        import_string("console.prices.frame.register")()
