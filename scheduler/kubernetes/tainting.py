"""Rules by which people taint devices of DRA.  Rules may choose by expressions, so who is meant is not worked out."""

from collections.abc import Iterable

from scheduler.kubernetes.builtin import AllocatedDevice, DeviceTaint
from scheduler.kubernetes.unheld import Note, Unheld
from scheduler.kubernetes.wire import Thing, Wire

RULES = "devicetaintrules.resource.k8s.io"
BINDING = ("NoSchedule", "NoExecute")


class TaintRuleSpec(Wire, frozen=True, kw_only=True):
    """A selector without fields means all devices."""

    device_selector: AllocatedDevice | None = None
    taint: DeviceTaint | None = None


class DeviceTaintRule(Thing, frozen=True, kw_only=True):
    spec: TaintRuleSpec = TaintRuleSpec()


def not_applied(rules: Iterable[DeviceTaintRule]) -> list[Unheld]:
    """The devices of a rule are taken as healthy, which is said; a rule of no effect binds nobody."""
    return [
        Note("device_taint", "unread", "$.spec", _meant(rule.spec)).of(RULES, *rule.key)
        for rule in rules
        if rule.spec.taint is not None and rule.spec.taint.effect in BINDING
    ]


def _meant(spec: TaintRuleSpec) -> str:
    found = spec.device_selector or AllocatedDevice()
    named = " ".join(word for word in (found.driver, found.pool, found.device) if word)
    return f"devices of {named or 'all drivers'} are not taken as failed"
