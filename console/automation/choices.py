"""How a pool stands, what turned it, and when a move still counts as having come as predicted."""

from django.db.models import TextChoices


class Turn(TextChoices):
    EARNED = "earned", "Earned"
    LOST = "lost", "Lost"
    GIVEN_BACK = "given_back", "Given back"


class Standing(TextChoices):
    EARNING = "earning", "Not earned yet"
    EARNED = "earned", "Earned"
    LOST = "lost", "Lost"


# A move came in time if it took at most so many times what was expected, or at most so many seconds more.
LATE_TIMES = 2
LATE_LEAST_S = 30
ACTOR = "policy"  # who decides in the audit log where no person did
