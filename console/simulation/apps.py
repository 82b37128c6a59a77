from django.apps import AppConfig
from django.utils.module_loading import import_string


class SimulationConfig(AppConfig):
    name = "console.simulation"
    label = "simulation"

    def ready(self) -> None:
        # By name: the frame reads models, which exist only now.
        import_string("console.simulation.frame.register")()
