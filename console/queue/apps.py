from django.apps import AppConfig
from django.utils.module_loading import import_string


class QueueConfig(AppConfig):
    name = "console.queue"
    label = "queue"

    def ready(self) -> None:
        # By name: the frame reads models, which exist only now.
        import_string("console.queue.frame.register")()
