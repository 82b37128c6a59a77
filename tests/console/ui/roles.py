from tests.console.role_matrix import SIGNED_IN, Route

ROUTES = (
    Route("ui:palette", SIGNED_IN),
    Route("ui:api-docs", SIGNED_IN),
)
