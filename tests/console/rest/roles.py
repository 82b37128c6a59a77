from tests.console.role_matrix import EVERYBODY, FLEET, SIGNED_IN, Route

ROUTES = (
    Route("rest:healthz", EVERYBODY),
    Route("rest:metrics", FLEET, nobody=403),  # a scraper brings a token and cannot sign in
    Route("api:schema", SIGNED_IN),
)
