"""The Celery application: four queues, routed by task name, and the two clocks that keep the console going."""

import os

from celery import Celery
from celery.signals import setup_logging, worker_process_init
from django.conf import settings
from django_structlog.celery.steps import DjangoStructLogInitStep

from console.dispatch.parent import die_with_parent
from console.live.services import forget_connection

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

QUEUES = ("observe", "plan", "execute", "simulate")
ROUTES = {
    "inventory.*": {"queue": "observe"},
    "consolidation.*": {"queue": "plan"},
    "placement.*": {"queue": "plan"},
    "routines.*": {"queue": "observe"},
    "campaigns.preview": {"queue": "plan"},
    "campaigns.*": {"queue": "observe"},
    "oncall.*": {"queue": "observe"},
    "queue.unblock": {"queue": "plan"},
    "queue.foretell": {"queue": "plan"},
    "queue.*": {"queue": "observe"},
    "prices.turn": {"queue": "observe"},
    "prices.*": {"queue": "plan"},
    "spot.estimate": {"queue": "plan"},
    "spot.forecast": {"queue": "plan"},
    "spot.*": {"queue": "observe"},
    "standby.storms": {"queue": "plan"},
    "standby.*": {"queue": "observe"},
    "simulation.sweep": {"queue": "observe"},
    "simulation.*": {"queue": "simulate"},
    "plans.execute": {"queue": "execute"},
    "plans.hold": {"queue": "execute"},
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
    "look at campaigns": {"task": "campaigns.turn", "schedule": 5.0, "options": {"expires": 10.0}},
    "open routines": {"task": "routines.open_due", "schedule": 15.0, "options": {"expires": 30.0}},
    "decide plans of routines": {"task": "routines.decide", "schedule": 5.0, "options": {"expires": 10.0}},
    "explain the queue": {"task": "queue.explain_due", "schedule": 2.0, "options": {"expires": 4.0}},
    "seat who asks for spot capacity": {"task": "spot.turn", "schedule": 2.0, "options": {"expires": 4.0}},
    "look at leases": {"task": "spot.act", "schedule": 1.0, "options": {"expires": 2.0}},
    "keep the past of spot capacity": {"task": "spot.keep_past", "schedule": 30.0, "options": {"expires": 60.0}},
    "watch what HP holds": {"task": "spot.watch", "schedule": 10.0, "options": {"expires": 20.0}},
    "forecast what HP will hold": {"task": "spot.forecast", "schedule": 60.0, "options": {"expires": 120.0}},
    "look at prices": {"task": "prices.turn", "schedule": 5.0, "options": {"expires": 10.0}},
    "put to sleep and recall": {"task": "standby.act", "schedule": 1.0, "options": {"expires": 2.0}},
    "foresee storms": {"task": "standby.storms", "schedule": 60.0, "options": {"expires": 50.0}},
    "count what sleeps": {"task": "standby.sample", "schedule": 15.0, "options": {"expires": 30.0}},
    "look for lost runs": {"task": "simulation.sweep", "schedule": 10.0, "options": {"expires": 20.0}},
    "call who is on call": {"task": "oncall.sweep", "schedule": 5.0, "options": {"expires": 10.0}},
}
app.steps["worker"].add(DjangoStructLogInitStep)
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_kwargs: object) -> None:
    """Celery would replace the log set-up by its own; reading the settings has already made ours."""
    settings.LOGGING  # noqa: B018


@worker_process_init.connect
def _begin_pool_process(**_kwargs: object) -> None:
    """A pool process whose worker was killed would go on with a task that somebody else is given again."""
    die_with_parent(os.getppid())
    forget_connection()
