"""Who asks where a job should go: everybody; who sees nodes: those who see the fleet."""

from console.placement import planning, services
from console.placement.models import Question
from tests.builders.fleets import observed
from tests.builders.people import operator
from tests.builders.worlds import world
from tests.console.role_matrix import FLEET, SIGNED_IN, Arguments, Route


def _fleet() -> Arguments:
    observed(world().asw("asw-1").nodes("n1", "n2"))
    return {}


def _asked() -> Arguments:
    source = observed(world().asw("asw-1").nodes("n1", "n2")).source_id
    question = services.ask(operator(), source_id=source, cluster="default", asked={"pods": 2})
    planning.answer(question.pk)
    return {"question_id": Question.objects.get().pk}


ROUTES = (
    Route("placement:ask", SIGNED_IN, make=_fleet),
    Route("placement:ask", SIGNED_IN, "post", 400, _fleet),
    Route("placement:together", SIGNED_IN, "post", 400, _fleet),
    Route("placement:answer", FLEET, make=_asked, denied=404),
    Route("placement:map", FLEET, make=_asked),
    Route("placement:map-layout", FLEET, make=_asked),
    Route("api:placements", SIGNED_IN, make=_fleet),
    Route("api:placements", SIGNED_IN, "post", 400, _fleet, {"source": 1, "cluster": "nowhere"}),
    Route("api:placements-together", SIGNED_IN, "post", 400, _fleet, {"source": 1, "cluster": "nowhere"}),
    Route("api:placement", FLEET, make=_asked, denied=404),
)
TOPICS = {"placement": SIGNED_IN}
