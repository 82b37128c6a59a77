from tests.console.role_matrix import SIGNED_IN, Route

ROUTES = (
    Route("ui:palette", SIGNED_IN),
    Route("ui:frame", SIGNED_IN, make=lambda: {"part": "banners"}),
    Route("ui:api-docs", SIGNED_IN),
)
