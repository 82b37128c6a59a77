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
    "not_possible": Look("bad", "circle-x", "Not possible"),
    "serving": Look("ok", "circle-check", "Serving"),
    "moot": Look("", "circle-minus", "Was awake already"),
    "failed": Look("bad", "alert-octagon", "Failed"),
    "cancelled": Look("", "circle-x", "Cancelled"),
    "approved": Look("ok", "circle-check", "Approved"),
    "observed": Look("", "eye", "Observed plan"),
    "report": Look("", "file-text", "Report"),
    "earned": Look("ok", "circle-check", "Earned"),
    "earning": Look("", "hourglass", "Not earned yet"),
    "lost": Look("bad", "alert-triangle", "Lost"),
    "given_back": Look("", "repeat", "Given back"),
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
    "suspicious": Look("warn", "alert-triangle", "suspicious"),
    "delayed": Look("warn", "clock", "delayed"),
    "offline": Look("bad", "plug-off", "offline"),
    "frozen": Look("accent", "snowflake", "frozen"),
    "yours": Look("warn", "user-x", "yours"),
    "view_only": Look("", "eye", "view only"),
    "cordoned": Look("warn", "barrier-block", "cordoned"),
    "not_ready": Look("bad", "plug-off", "not ready"),
    "ready": Look("ok", "check", "ready"),
    "locked": Look("warn", "lock", "locked"),
    "active": Look("ok", "repeat", "Active"),
    "calling": Look("warn", "bell-ringing", "Calling"),
    "quiet": Look("", "moon", "Held until morning"),
    "acknowledged": Look("accent", "eye-check", "Somebody is looking"),
    "unanswered": Look("bad", "bell-off", "Nobody answered"),
    "resolved": Look("ok", "circle-check", "Resolved"),
    "sent": Look("ok", "mail-check", "delivered"),
    "ended": Look("", "circle-x", "Ended"),
    "queued": Look("", "hourglass", "Queued"),
    "running": Look("accent", "player-play", "Running"),
    "summing": Look("accent", "loader-2", "Being summed up"),
    "draft": Look("", "pencil", "Draft"),
    "ending": Look("warn", "hourglass", "Ending"),
    "done": Look("ok", "circle-check", "Done"),
    "again": Look("warn", "repeat", "Is asked again"),
    "draining": Look("accent", "player-play", "Draining"),
    "drained": Look("warn", "barrier-block", "Drained"),
    "work": Look("warn", "tool", "Work going on"),
    "returning": Look("accent", "arrow-back-up", "Being given back"),
    "back": Look("ok", "circle-check", "Back in service"),
    "skipped": Look("", "arrow-bar-to-right", "Skipped"),
    "asked": Look("warn", "user-check", "Waits for the owner"),
    "release_ahead": Look("ok", "circle-check", "Released"),
    "release_on": Look("ok", "lock", "Released now"),
    "release_over": Look("", "clock", "Was released"),
    "refused": Look("bad", "thumb-down", "Refused"),
    "withdrawn": Look("", "circle-x", "Withdrawn"),
    "taken_back": Look("bad", "circle-x", "Taken back"),
    "over_quota": Look("bad", "alert-triangle", "over"),
    "over_cap": Look("bad", "alert-triangle", "over its cap"),
    "budget_used": Look("bad", "hand-stop", "budget used up"),
    "computing": Look("accent", "loader-2", "Computing"),
    "unchanged": Look("", "circle-minus", "Nothing to change"),
    "in_force": Look("ok", "circle-check", "In force"),
    "budget_warns": Look("warn", "alert-triangle", "budget warns"),
}


@dataclass(frozen=True, slots=True)
class Reason:
    """A closed word of the core as people read it."""

    icon: str
    label: str


REASONS: dict[str, Reason] = {
    "locked": Reason("lock", "Locked pod"),
    "budget": Reason("shield", "Disruption budget used up"),
    "resting": Reason("zzz", "Moved lately, rests"),
    "move_never": Reason("hand-stop", "Owner forbids moves"),
    "terminating": Reason("hourglass", "Pod is terminating"),
    "lender": Reason("moon", "Sleeping pod lends its GPUs"),
    "gang": Reason("users-group", "Gang would fall below its minimum"),
    "agent": Reason("server", "Node agent"),
    "topology": Reason("topology-star", "Topology required"),
    "gpus": Reason("square-half", "No target with free GPUs"),
    "gpu_share": Reason("square-half", "No device with enough left"),
    "gpu_memory": Reason("cpu-2", "Device memory too small"),
    "mig": Reason("layout-grid", "No free MIG slice"),
    "resource": Reason("database", "Too little of a counted resource, such as disk"),
    "cpu": Reason("cpu", "Target short of CPU"),
    "memory": Reason("cpu-2", "Target short of memory"),
    "model": Reason("cpu", "Other GPU model"),
    "selector": Reason("tag", "Node selector"),
    "taint": Reason("flag", "Taint not tolerated"),
    "zone": Reason("map-pin", "Volume in another zone"),
    "only_node": Reason("pin", "Pinned to this node"),
    "max_pods": Reason("stack-2", "Pod limit of target"),
    "host_port": Reason("plug", "Host port in use"),
    "affinity": Reason("magnet", "Pod affinity"),
    "anti_affinity": Reason("magnet-off", "Pod anti-affinity"),
    "together": Reason("magnet", "Pods that want each other would have to go together"),
    "cordoned": Reason("barrier-block", "Cordoned"),
    "not_ready": Reason("plug-off", "Not ready"),
    "cluster": Reason("server", "Other cluster"),
    "receives": Reason("arrow-bar-to-right", "Takes pods of others"),
    "scope": Reason("point", "Outside the scope"),
    "max_moves": Reason("point", "Limit on moves reached"),
    "stopped": Reason("player-pause", "Search was stopped before"),
    "whole": Reason("users-group", "All or nothing, and others stay"),
    "apart": Reason("barrier-block", "Nodes kept for others, or to be drained next"),
    "emptied": Reason("circle-minus", "Emptied by this plan"),
    "cut": Reason("scissors", "Left out by a cut"),
    "not_worth_it": Reason("scale", "Costs more than it gains"),
    "empty": Reason("circle-minus", "Empty, and stays so"),
    "gone": Reason("circle-x", "Pod has ended"),
    "moved_on": Reason("arrow-bar-to-right", "Pod stands elsewhere by now"),
    "back": Reason("circle-check", "Stands where it stood already"),
    "node_gone": Reason("server-off", "Node is no longer there"),
    "refilled": Reason("stack-2", "Node was refilled since"),
    "misconfigured": Reason("alert-triangle", "Misconfigured"),
    "no_such_model": Reason("cpu", "No such GPU model"),
    "quota": Reason("scale", "Quota"),
    "constraint": Reason("tag", "Placement constraint"),
    "fragmentation": Reason("layout-grid", "Fragmentation"),
    "capacity": Reason("square-half", "Not enough free GPUs"),
    "queued": Reason("stack-2", "Behind others in the queue"),
    "waiting_for_victims": Reason("hourglass", "Waiting for pods to leave"),
    "not_evaluated": Reason("point", "Not evaluated yet"),
    "budget_ran_out": Reason("player-pause", "Search budget ran out"),
    "fits_now": Reason("circle-check", "Would start now"),
}


def look_of(state: str) -> Look:
    """The look of a state; an unknown word keeps its own spelling, without colour."""
    found = STATES.get(state)
    return found if found is not None else Look("", "point", state.replace("_", " "))


def reason_of(word: str) -> Reason:
    """How a reason is read; an unknown word keeps its own spelling."""
    return REASONS.get(word) or Reason("point", word.replace("_", " "))
