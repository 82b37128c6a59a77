"""A campaign, its groups in their order, and the nodes of each."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from console.campaigns.choices import FINAL, OVER, GroupState, Order, Refused, Selects, State


class Campaign(models.Model):
    """Nodes that are drained group by group, handed over for work, and given back.

    ``turn`` is moved by compare-and-set with every change, so that of two workers who decide at once one acts.
    """

    name = models.CharField(max_length=100)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    source = models.ForeignKey("inventory.Source", on_delete=models.PROTECT, related_name="+")
    cluster = models.CharField(max_length=253)

    selects = models.CharField(max_length=10, choices=Selects.choices)
    wanted = models.JSONField(default=dict)  # of the selector: label and value, model, names
    chosen = models.CharField(max_length=300)  # the same in words
    done_label = models.CharField(max_length=320, blank=True, default="")  # done where a node has it with that value
    done_value = models.CharField(max_length=63, blank=True, default="")
    grouping = models.CharField(max_length=63)  # a level of the network, "zone" or "none"
    protect = models.CharField(max_length=63, blank=True, default="")  # level or "zone": never two groups in one
    order = models.CharField(max_length=10, choices=Order.choices)
    most_per_group = models.PositiveIntegerField(null=True)

    at_once = models.PositiveIntegerField()
    most_out = models.PositiveIntegerField(null=True)
    most_out_per_cent = models.PositiveIntegerField(null=True)  # of the nodes of the GPU models in it
    work_minutes = models.PositiveIntegerField()
    stop_after = models.PositiveIntegerField()
    most_asks = models.PositiveIntegerField()
    when_refused = models.CharField(max_length=10, choices=Refused.choices)

    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    state_reason = models.TextField(blank=True, default="")
    waits_for = models.TextField(blank=True, default="")  # why no further group begins, as last seen
    forgiven = models.PositiveIntegerField(default=0)  # failed groups at which somebody has looked
    turn = models.PositiveBigIntegerField(default=0)
    looked_at = models.DateTimeField(null=True)
    previewing_at = models.DateTimeField(null=True)  # a worker who computes previews was alive then
    out_now = models.PositiveIntegerField(null=True)  # nodes of its models out of service, whatever the reason
    may_be_out = models.PositiveIntegerField(null=True)

    since = models.DateTimeField(default=timezone.now)
    begun_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=State.values), name="campaign_state_is_known"),
            models.CheckConstraint(
                condition=Q(most_out__isnull=False) | Q(most_out_per_cent__isnull=False), name="campaign_has_a_limit"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["state"], name="campaign_by_state")]

    def __str__(self) -> str:
        return f"{self.name}: {self.chosen}"

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


class Group(models.Model):
    """Nodes that are drained together, by one plan at a time."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="groups")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=300)
    domains = models.JSONField(default=list)  # of the protected level; "" = unknown
    nodes = models.PositiveIntegerField()
    gpus = models.PositiveIntegerField()
    pods = models.PositiveIntegerField()  # that stood there when the campaign was made
    used_gpu_milli = models.PositiveBigIntegerField()

    state = models.CharField(max_length=10, choices=GroupState.choices, default=GroupState.WAITING)
    reason = models.TextField(blank=True, default="")
    outcome = models.CharField(max_length=10, blank=True, default="")  # what it becomes once it is given back
    plan = models.ForeignKey("plans.Plan", on_delete=models.PROTECT, null=True, related_name="+")
    asks = models.PositiveIntegerField(default=0)
    tries = models.PositiveIntegerField(default=0)  # how often somebody had it tried again
    again_at = models.DateTimeField(null=True)
    allowed = models.BooleanField(default=False)  # an approver let it be taken out of service without a move
    marked = models.BooleanField(default=False)  # somebody said that its work is done

    asked_at = models.DateTimeField(null=True)
    draining_at = models.DateTimeField(null=True)
    work_at = models.DateTimeField(null=True)
    returning_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    preview = models.JSONField(null=True)  # services.previews: whether it alone could be drained; None: not computed
    previewed_at = models.DateTimeField(null=True)
    previewed_revision = models.BigIntegerField(null=True)

    class Meta:
        ordering: ClassVar = ["campaign", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["campaign", "position"], name="campaign_group_once"),
            models.CheckConstraint(condition=Q(state__in=GroupState.values), name="campaign_group_state_is_known"),
            models.UniqueConstraint(fields=["plan"], name="campaign_group_one_per_plan"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of campaign {self.campaign_id}"

    @property
    def under_way(self) -> bool:
        return self.state not in OVER and self.state != GroupState.WAITING


class Member(models.Model):
    """A node of a group, and what the campaign does with it."""

    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="members")
    name = models.CharField(max_length=253)
    gpus = models.PositiveIntegerField()
    gpu_model = models.CharField(max_length=253, blank=True, default="")
    left_out = models.TextField(blank=True, default="")  # why nothing is done with it
    was_cordoned = models.BooleanField(default=False)  # by others, when its group began
    held_at = models.DateTimeField(null=True)  # the campaign has it cordoned since
    given_back_at = models.DateTimeField(null=True)
    trouble = models.TextField(blank=True, default="")  # what the cluster answered where it would not

    class Meta:
        ordering: ClassVar = ["group", "name"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["group", "name"], name="campaign_member_once")]
        indexes: ClassVar = [models.Index(fields=["name"], name="campaign_member_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_held(self) -> bool:
        return self.held_at is not None and self.given_back_at is None
