"""Who simulates: operators and approvers; who reads of it: those who see the fleet.  Tenant users see no study."""

from typing import Any

from console.simulation import services
from tests.builders.people import operator
from tests.console.role_matrix import FLEET, OPERATORS, Arguments, Route
from tests.console.simulation.small import SMALL, asked, kept_study


def _open() -> Arguments:
    return {"study_id": asked().pk}


def _over() -> Arguments:
    study = asked()
    services.cancel_study(operator(), study.pk)
    return {"study_id": study.pk}


def _done() -> Arguments:
    return {"study_id": kept_study().pk}


def _trace() -> Arguments:
    return {"trace_id": services.receive_files(operator(), "given", {"a.csv": b"x"}).pk}


FORM: dict[str, Any] = {"name": "", "source": "asi"}
ROUTES = (
    Route("simulation:list", FLEET),
    Route("simulation:new", OPERATORS),
    Route("simulation:new", OPERATORS, "post", 400, body=FORM),
    Route("simulation:estimate", OPERATORS),
    Route("simulation:study", FLEET, make=_done),
    Route("simulation:trade-off", FLEET, make=_done),
    Route("simulation:cancel", OPERATORS, "post", 302, _open),
    Route("simulation:delete", OPERATORS, "post", 302, _over),
    Route("simulation:report", FLEET, make=_done),
    Route("simulation:csv", FLEET, make=_done),
    Route("simulation:traces", FLEET),
    Route("simulation:upload", OPERATORS, "post", 400),
    Route("simulation:record", OPERATORS, "post", 400),
    Route("simulation:delete-trace", OPERATORS, "post", 302, _trace),
    Route("api:studies", FLEET),
    Route("api:studies", OPERATORS, "post", 202, body=SMALL),
    Route("api:study", FLEET, make=_open),
    Route("api:study", OPERATORS, "delete", 204, _over),
    Route("api:study-cancel", OPERATORS, "post", 200, _open),
    Route("api:study-report", FLEET, make=_done),
    Route("api:study-trade-off", FLEET, make=_done),
    Route("api:study-comparison", FLEET, make=_done, query="?first=greedy&second=fifo"),
    Route("api:study-traces", FLEET),
    Route("api:study-traces", OPERATORS, "post", 400),
    Route("api:study-trace-files", OPERATORS, "post", 415),
    Route("api:study-trace", FLEET, make=_trace),
    Route("api:study-trace", OPERATORS, "delete", 204, _trace),
)
TOPICS = {"studies": FLEET, "study": FLEET}
