"""Who reads the queue: everybody its own."""

from console.queue import services
from console.queue.models import Job
from tests.builders.people import operator
from tests.builders.worlds import world
from tests.console.queue.scene import explained
from tests.console.role_matrix import FLEET, SIGNED_IN, Arguments, Route


def _job() -> Arguments:
    explained(world().node("n1").pod("a", gpus=4, tenant="theirs"))
    return {"cluster": "default", "namespace": "jobs", "name": "a"}


def _none() -> Arguments:
    _job()
    return {}


def _id() -> Arguments:
    _job()
    return {"job_id": Job.objects.get().pk}


def _asked() -> Arguments:
    found = _id()
    services.ask_unblock(operator(), Job.objects.get())
    return found


def _start_asked() -> Arguments:
    found = _id()
    services.ask_start(operator(), Job.objects.get())
    return found


ROUTES = (
    Route("queue:list", SIGNED_IN, make=_none),
    Route("queue:csv", SIGNED_IN, make=_none),
    Route("queue:job", FLEET, make=_job, denied=404),
    Route("queue:job-named", FLEET, make=_none, query="?cluster=default&name=jobs/a", denied=404),
    Route("queue:start", FLEET, "post", 302, _id, denied=404),
    Route("api:queue-start", FLEET, make=_start_asked, denied=404),
    Route("api:queue-start", FLEET, "post", 202, _id, denied=404),
    Route("queue:unblock", FLEET, "post", 302, _id, denied=404),
    Route("api:queue-job", FLEET, make=_none, query="?cluster=default&name=jobs/a", denied=404),
    Route("api:queue-unblock", FLEET, make=_asked, denied=404),
    Route("api:queue-unblock", FLEET, "post", 202, _id, denied=404),
    Route("api:queue", SIGNED_IN, make=_none),
    Route("api:queue-totals", SIGNED_IN, make=_none),
    Route("api:queue-running", SIGNED_IN, make=_none),
)
TOPICS = {"queue": SIGNED_IN}
