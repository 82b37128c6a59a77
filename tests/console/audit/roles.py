from tests.console.role_matrix import FLEET, Route

ROUTES = (
    Route("audit:list", FLEET),
    Route("audit:csv", FLEET),
    Route("api:audit-entries", FLEET),
)
