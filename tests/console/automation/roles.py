"""Who may see scorecards and give the level back.

Who may not is refused before anything is looked for; the others are told that there is no such source (404).
"""

from tests.console.role_matrix import APPROVERS, FLEET, Route

NOWHERE = {"source": 2**52, "cluster": "default", "gpu_model": "H20", "lost": 1, "reason": "looked at it"}
ROUTES = (
    Route("automation:list", FLEET),
    Route("automation:card", FLEET, ok=404, query=f"?source={2**52}&cluster=default&gpu_model=H20"),
    Route("automation:give-back", APPROVERS, "post", 404, body=NOWHERE),
    Route("api:scorecards", FLEET),
    Route("api:automation-turns", FLEET),
    Route("api:automation-give-back", APPROVERS, "post", 404, body=NOWHERE),
)
