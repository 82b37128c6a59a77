from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "console.campaigns"
    label = "campaigns"
