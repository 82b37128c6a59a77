"""The Celery application: three queues, routed by task name, and the two clocks that keep the console going."""

import os

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

QUEUES = ("observe", "plan", "execute")
ROUTES = {
    "inventory.*": {"queue": "observe"},
    "consolidation.*": {"queue": "plan"},
    "plans.execute": {"queue": "execute"},
    "plans.*": {"queue": "observe"},
}

app = Celery("slackline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_routes = ROUTES
app.conf.task_default_queue = "observe"
# A tick that nobody took in time is worthless: the next one is already on its way.
app.conf.beat_schedule = {
    "observe what is due": {"task": "inventory.observe_due", "schedule": 1.0, "options": {"expires": 2.0}},
    "sweep plans": {"task": "plans.sweep", "schedule": 5.0, "options": {"expires": 10.0}},
}
app.steps["worker"].add(DjangoStructLogInitStep)
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_kwargs: object) -> None:
    """Celery would replace the log set-up by its own; reading the settings has already made ours."""
    settings.LOGGING  # noqa: B018
