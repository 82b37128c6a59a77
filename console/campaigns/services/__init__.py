"""Every write to campaigns: one transaction each, permission asked, audit recorded, event published."""

from console.campaigns.services.deciding import (
    end_campaign,
    mark_done,
    pause_campaign,
    resume_campaign,
    skip_group,
    take_out,
    try_again,
)
from console.campaigns.services.making import Draft, begin_campaign, draft, look_anew, make_campaign
from console.campaigns.services.previews import group_to_preview, keep_preview, newest_of, note_trouble, question_of
from console.campaigns.services.turning import Held, turn, turns_due

__all__ = [
    "Draft",
    "Held",
    "begin_campaign",
    "draft",
    "end_campaign",
    "group_to_preview",
    "keep_preview",
    "look_anew",
    "make_campaign",
    "mark_done",
    "newest_of",
    "note_trouble",
    "pause_campaign",
    "question_of",
    "resume_campaign",
    "skip_group",
    "take_out",
    "try_again",
    "turn",
    "turns_due",
]
