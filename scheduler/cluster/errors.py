"""Errors that a user can read and act on."""


class InputError(ValueError):
    """Bad input: names the place (JSON path, or file and line), the offending value and the reason."""

    def __init__(self, path: str, value: object, reason: str) -> None:
        self.path, self.value, self.reason = path, value, reason
        super().__init__(f"{path}: {reason} (got {value!r})" if value is not None else f"{path}: {reason}")


class ParamError(ValueError):
    """A parameter outside its range; ``field`` names it."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        self.field, self.value, self.reason = field, value, reason
        super().__init__(f"{field}: {reason} (got {value!r})")


def within(field: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParamError(field, value, f"must be a whole number from {low} to {high}")
