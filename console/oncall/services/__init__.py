"""Every write to rotas, contacts and alerts.  One transaction each, right asked, audit recorded, event published."""

from console.oncall.services.answering import acknowledge, hand_on
from console.oncall.services.calling import sweep
from console.oncall.services.contacts import forget_contact, set_contact, try_contact
from console.oncall.services.delivering import deliver
from console.oncall.services.rotas import change_rota, end_cover, end_rota, ensure_rota, make_rota, take_over

__all__ = [
    "acknowledge",
    "change_rota",
    "deliver",
    "end_cover",
    "end_rota",
    "ensure_rota",
    "forget_contact",
    "hand_on",
    "make_rota",
    "set_contact",
    "sweep",
    "take_over",
    "try_contact",
]
