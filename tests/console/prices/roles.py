"""Who may read, propose, approve and bind prices."""

from typing import Any

from tests.console.prices.scene import H100, computed, price, proposed
from tests.console.role_matrix import APPROVERS, FLEET, OPERATORS, SIGNED_IN, Route


def priced() -> dict[str, Any]:
    price()
    return {}


def named() -> dict[str, Any]:
    price()
    return {"gpu_model": H100}


def drafted() -> dict[str, Any]:
    price()
    return {"proposal_id": computed((H100, 206)).pk}


def waiting() -> dict[str, Any]:
    price()
    return {"proposal_id": proposed().pk}


def approving() -> dict[str, Any]:
    return {**waiting(), "action": "approve"}


# Without the version or digest the right is asked for first: 428 is the answer of those who may.
EDIT: dict[str, Any] = {"prices": [{"gpu_model": H100, "cents": 205}], "reason": "because"}
SAID: dict[str, Any] = {"reason": "because"}
ROUTES = (
    Route("prices:list", SIGNED_IN, make=priced),
    Route("prices:history-csv", SIGNED_IN, make=priced),
    Route("prices:quotes-csv", SIGNED_IN, make=priced),
    Route("prices:terms", FLEET, make=priced),
    Route("prices:terms", APPROVERS, "post", 302, priced, {"gpu_model": "", "version": 0, "change_percent": 4, **SAID}),
    Route("prices:open", OPERATORS, "post", 302, priced),
    Route("prices:proposal", FLEET, make=drafted),
    Route("prices:document", FLEET, make=drafted),
    Route("prices:edit", OPERATORS, "post", 428, drafted, {"price_0": "2.05"}),
    Route("prices:send", OPERATORS, "post", 428, drafted, SAID),
    Route("prices:act", APPROVERS, "post", 428, approving, SAID),
    Route("api:prices", SIGNED_IN, make=priced),
    Route("api:price", SIGNED_IN, make=named),
    Route("api:price-history", SIGNED_IN, make=priced),
    Route("api:price-terms", SIGNED_IN, make=priced),
    Route("api:price-terms", APPROVERS, "put", 428, priced, {"change_percent": 4, **SAID}),
    Route("api:price-proposals", FLEET, make=priced),
    Route("api:price-proposals", OPERATORS, "post", 202, priced, {"gpu_models": [H100]}),
    Route("api:price-proposal", FLEET, make=drafted),
    Route("api:price-proposal", OPERATORS, "patch", 428, drafted, EDIT),
    Route("api:price-document", FLEET, make=drafted),
    Route("api:price-send", OPERATORS, "post", 428, drafted, SAID),
    Route("api:price-approve", APPROVERS, "post", 428, waiting, SAID),
    Route("api:price-reject", APPROVERS, "post", 428, waiting, SAID),
    Route("api:price-withdraw", OPERATORS, "post", 200, waiting, SAID),
)
TOPICS = {"prices": SIGNED_IN}
