"""The web console: Django apps by noun, stacked as the house's floors."""

from console.celery import app as celery_app

__all__ = ["celery_app"]
