"""Errors that a user can read and act on."""


class InputError(ValueError):
    """Bad input: names the place (JSON path, or file and line), the offending value and the reason."""

    def __init__(self, path: str, value: object, reason: str) -> None:
        self.path, self.value, self.reason = path, value, reason
        super().__init__(f"{path}: {reason} (got {value!r})" if value is not None else f"{path}: {reason}")
