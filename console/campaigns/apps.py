from django.apps import AppConfig
from django.utils.module_loading import import_string


class CampaignsConfig(AppConfig):
    name = "console.campaigns"
    label = "campaigns"

    def ready(self) -> None:
        # By name: the frame reads models, which exist only now.
        import_string("console.campaigns.frame.register")()
