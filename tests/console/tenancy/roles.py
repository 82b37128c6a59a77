from tests.console.role_matrix import EVERYBODY, SIGNED_IN, Arguments, Route


def _no_such_token() -> Arguments:
    return {"key": "nobodys"}


ROUTES = (
    Route("tenancy:login", frozenset({"nobody"}), denied=302),  # who is signed in is sent on
    Route("tenancy:login", frozenset({"nobody"}), method="post", denied=302),
    Route("tenancy:logout", EVERYBODY, method="post", ok=302),
    Route("tenancy:tokens", SIGNED_IN),
    Route("tenancy:tokens", SIGNED_IN, method="post", body={"days": 7}),
    Route("tenancy:revoke-token", SIGNED_IN, method="post", make=_no_such_token, ok=404),  # only one's own are found
    Route("api:me", SIGNED_IN),
    Route("api:tokens", SIGNED_IN),
    Route("api:tokens", SIGNED_IN, method="post", body={"days": 7}, ok=201),
    Route("api:token", SIGNED_IN, method="delete", make=_no_such_token, ok=404),
)
