from tests.builders.books import edited, tenant_entry
from tests.console.role_matrix import EVERYBODY, FLEET, OPERATORS, SIGNED_IN, Arguments, Route


def _no_such_token() -> Arguments:
    return {"key": "nobodys"}


def _book() -> Arguments:
    """A tenant to which none of the matrix's people belongs, edited twice."""
    edited(tenant_entry("theirs", H20=1))
    edited(tenant_entry("theirs", H20=2))
    return {}


def _tenant() -> Arguments:
    _book()
    return {"name": "theirs"}


def _edition() -> Arguments:
    _book()
    return {"number": 1}


BACK = {"reason": "r", "version": 2}
EDIT = {"reason": "r", "entries": [{"name": "theirs"}]}
ROUTES = (
    Route("tenancy:tenants", SIGNED_IN, make=_book),
    Route("tenancy:tenant", FLEET, make=_tenant, denied=404),
    Route("tenancy:edit-tenant", OPERATORS, make=_tenant),
    Route("tenancy:edit-tenant", OPERATORS, method="post", make=_tenant, body={"version": 2, "quotas.H20.nominal": 3}),
    Route("tenancy:book", SIGNED_IN, make=_book),
    Route("tenancy:book", OPERATORS, method="post", make=_book, body={"version": 2, "text": "[]"}),
    Route("tenancy:add-tenant", OPERATORS, query="?name=new", ok=302),
    Route("tenancy:book-csv", SIGNED_IN, make=_book),
    Route("tenancy:edition", FLEET, make=_edition, denied=404),
    Route("tenancy:edition", OPERATORS, method="post", make=_edition, body=BACK, ok=302),
    Route("tenancy:chargeback", SIGNED_IN),
    Route("tenancy:chargeback-csv", SIGNED_IN),
    Route("api:tenants", SIGNED_IN, make=_book),
    Route("api:tenant", FLEET, make=_tenant, denied=404),
    Route("api:tenant", OPERATORS, method="put", make=_tenant, body={"reason": "r"}, ok=428),
    Route("api:quotas", SIGNED_IN, make=_book),
    Route("api:quotas", OPERATORS, method="put", make=_book, body=EDIT, ok=428),
    Route("api:quotas-preview", OPERATORS, method="post", make=_book, body=EDIT, ok=428),
    Route("api:quotas-versions", SIGNED_IN, make=_book),
    Route("api:quotas-put-back", OPERATORS, method="post", make=_edition, body={"reason": "r"}, ok=428),
    Route("api:chargeback", SIGNED_IN),
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
TOPICS = {"tenants": SIGNED_IN}
