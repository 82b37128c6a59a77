from tests.console.role_matrix import SIGNED_IN, Route

ROUTES = (Route("overview:fleet", SIGNED_IN),)
