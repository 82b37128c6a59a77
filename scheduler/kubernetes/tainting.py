"""Rules by which people taint devices of DRA: as if the driver had said so itself, such devices count as failed.

Source: DeviceTaintRule of resource.k8s.io, v1alpha3 and v1beta2.  All criteria of a selector must hold, one without
criteria chooses all devices, and no selector chooses none.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from scheduler.kubernetes.builtin import AllocatedDevice, CelSelector, DeviceTaint
from scheduler.kubernetes.slices import PART_DRIVERS, WHOLE_CLASSES, SliceDevice, SliceFacts
from scheduler.kubernetes.unheld import Note, Unheld
from scheduler.kubernetes.wire import Thing, Wire

RULES = "devicetaintrules.resource.k8s.io"
BINDING = ("NoSchedule", "NoExecute")


class DeviceSelector(AllocatedDevice, frozen=True, kw_only=True):
    """The class and the expressions are of v1alpha3 alone."""

    device_class_name: str = ""
    selectors: tuple[CelSelector, ...] = ()


class TaintRuleSpec(Wire, frozen=True, kw_only=True):
    device_selector: DeviceSelector | None = None
    taint: DeviceTaint | None = None


class DeviceTaintRule(Thing, frozen=True, kw_only=True):
    spec: TaintRuleSpec = TaintRuleSpec()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Devices by name; "" chooses by nothing.  ``part`` None: whole devices and parts alike."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    part: bool | None = None

    def meets(self, place: tuple[str, str], device: SliceDevice) -> bool:
        named = ((self.driver, place[0]), (self.pool, place[1]), (self.device, device.name))
        same = all(wanted in ("", found) for wanted, found in named)
        return same and self.part in (None, bool(device.profile))


def chosen_by(rules: Iterable[DeviceTaintRule]) -> frozenset[Chosen]:
    """What rules that can be applied choose."""
    return frozenset(found for rule in rules if _binds(rule) and (found := _chosen(rule.spec.device_selector)))


def tainted(facts: SliceFacts, rules: Iterable[Chosen]) -> SliceFacts:
    """The devices that a rule chooses have failed."""
    wanted = [rule for rule in rules if rule.driver in ("", facts.place[0])]
    if not any(rule.meets(facts.place, device) for rule in wanted for device in facts.devices):
        return facts
    return replace(facts, devices=tuple(_failed(device, facts, wanted) for device in facts.devices))


def _failed(device: SliceDevice, facts: SliceFacts, rules: Iterable[Chosen]) -> SliceDevice:
    hit = any(rule.meets(facts.place, device) for rule in rules)
    return replace(device, health="failed") if hit else device


def not_applied(rules: Iterable[DeviceTaintRule]) -> list[Unheld]:
    """Rules that choose by what is not worked out; their devices are taken as healthy, which is said."""
    return [
        Note("device_taint", "unread", "$.spec.deviceSelector", _why(rule.spec.device_selector)).of(RULES, *rule.key)
        for rule in rules
        if _binds(rule) and rule.spec.device_selector is not None and _chosen(rule.spec.device_selector) is None
    ]


def _binds(rule: DeviceTaintRule) -> bool:
    return rule.spec.taint is not None and rule.spec.taint.effect in BINDING


def _chosen(selector: DeviceSelector | None) -> Chosen | None:
    """None where nobody is chosen, or nobody can tell whom."""
    if selector is None or selector.selectors:
        return None
    found = Chosen(selector.driver, selector.pool, selector.device)
    name = selector.device_class_name
    if not name:
        return found
    driver = name if name in WHOLE_CLASSES else PART_DRIVERS.get(name)
    if driver is None or selector.driver not in ("", driver):
        return None
    return replace(found, driver=driver, part=name not in WHOLE_CLASSES)


def _why(selector: DeviceSelector | None) -> str:
    found = selector or DeviceSelector()
    named = " ".join(word for word in (found.driver, found.pool, found.device) if word)
    by = "expressions" if found.selectors else f"class {found.device_class_name}"
    return f"devices of {named or 'all drivers'} chosen by {by} are not taken as failed"
