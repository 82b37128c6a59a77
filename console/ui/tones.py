"""Tone and icon of every state word, in one place: a word looks the same on every page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    tone: str
    icon: str
    label: str = ""


STATES: dict[str, Look] = {
    "requested": Look("", "hourglass", "Requested"),
    "planning": Look("accent", "loader-2", "Computing"),
    "proposed": Look("warn", "user-check", "Awaiting approval"),
    "nothing_to_do": Look("", "circle-minus", "Nothing to do"),
    "failed": Look("bad", "alert-octagon", "Failed"),
    "cancelled": Look("", "circle-x", "Cancelled"),
    "approved": Look("ok", "circle-check", "Approved"),
    "rejected": Look("bad", "thumb-down", "Rejected"),
    "stale": Look("bad", "alert-triangle", "Stale"),
    "expired": Look("bad", "clock-x", "Expired"),
    "executing": Look("accent", "player-play", "Running"),
    "succeeded": Look("ok", "circle-check", "Done"),
    "paused": Look("warn", "player-pause", "Paused"),
    "halted": Look("bad", "hand-stop", "Halted"),
    "aborted": Look("bad", "ban", "Aborted"),
    "waiting": Look("", "clock", "waiting"),
    "issued": Look("accent", "player-play", "in flight"),
    "dropped": Look("", "arrow-bar-to-right", "not run"),
    "failing": Look("bad", "plug-off", "failing"),
    "holds": Look("ok", "check", "holds"),
    "live": Look("ok", "plug", "live"),
    "delayed": Look("warn", "clock", "delayed"),
    "offline": Look("bad", "plug-off", "offline"),
    "frozen": Look("accent", "snowflake", "frozen"),
    "yours": Look("warn", "user-x", "yours"),
    "view_only": Look("", "eye", "view only"),
    "cordoned": Look("warn", "barrier-block", "cordoned"),
    "not_ready": Look("bad", "plug-off", "not ready"),
    "ready": Look("ok", "check", "ready"),
    "locked": Look("warn", "lock", "locked"),
}

REASON_ICONS: dict[str, str] = {
    "locked": "lock",
    "cpu": "cpu",
    "memory": "cpu-2",
    "gpus": "square-half",
    "gpu_share": "square-half",
    "gpu_memory": "cpu-2",
    "mig": "layout-grid",
    "pdb": "shield",
    "disruption_budget": "shield",
    "affinity": "magnet",
    "anti_affinity": "magnet-off",
    "gang": "users-group",
    "topology": "topology-star",
    "taint": "flag",
    "selector": "tag",
    "only_node": "pin",
    "zone": "map-pin",
    "model": "cpu",
    "max_pods": "stack-2",
    "host_port": "plug",
    "cordoned": "barrier-block",
    "not_ready": "plug-off",
    "cluster": "server",
}


def look_of(state: str) -> Look:
    """The look of a state; an unknown word keeps its own spelling, without colour."""
    found = STATES.get(state)
    return found if found is not None else Look("", "point", state.replace("_", " "))


def reason_icon(reason: str) -> str:
    return REASON_ICONS.get(reason, "point")
