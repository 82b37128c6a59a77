"""What pools have earned, and whether the policy may start a plan; viewer first where people read."""

from console.automation.selectors.deciding import Allowance, Verdict, allowance_of, verdict
from console.automation.selectors.pages import card_for, lost_pools, outlook, scorecards, turns
from console.automation.selectors.pools import Pool, node_models, pool_for, pools_of, touched_models
from console.automation.selectors.scorecards import Criterion, Figures, Scorecard, card_of, cards_of, sentence
from console.automation.selectors.watching import Fault, faults_of, kept_of, lossy, promised_of, unsettled

__all__ = [
    "Allowance",
    "Criterion",
    "Fault",
    "Figures",
    "Pool",
    "Scorecard",
    "Verdict",
    "allowance_of",
    "card_for",
    "card_of",
    "cards_of",
    "faults_of",
    "kept_of",
    "lossy",
    "lost_pools",
    "node_models",
    "outlook",
    "pool_for",
    "pools_of",
    "promised_of",
    "scorecards",
    "sentence",
    "touched_models",
    "turns",
    "unsettled",
    "verdict",
]
