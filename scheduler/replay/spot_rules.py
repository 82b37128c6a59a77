"""Policies of lending that are compared with one another: ours, the study's, its baseline, and GFS's."""

from dataclasses import replace

from scheduler.replay.rules import NAMED, Rules

OURS, GFS = NAMED["lending"], NAMED["gfs"]
PAPER = replace(NAMED["paper"], consolidate_every_s=0, meaning="the study's order and victims, without its moves")
_PACKING = replace(PAPER.placement, same_class=0.0, eviction_history=0.0)
BASELINE = Rules(
    name="baseline",
    meaning="fewest free GPUs alone; on the node with the fewest to leave who began last leaves",
    placement=_PACKING,
    preempt="fewest",
)
SPOT_RULES = {"ours": OURS, "paper": PAPER, "baseline": BASELINE, "gfs": GFS}
