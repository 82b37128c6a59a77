"""Writing down what runs did, losing and giving back the level, and starting plans by it."""

from console.automation.services.deciding import decide
from console.automation.services.standing import give_back
from console.automation.services.writing import settle

__all__ = ["decide", "give_back", "settle"]
