"""What is wrong with what somebody said of on-call."""


class RotaError(ValueError):
    """One field is wrong; HTTP 400."""

    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason
        super().__init__(f"{field}: {reason}")
