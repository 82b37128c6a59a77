"""What the generator of the schema needs: somebody who may see everything, so that every view can be described."""

from typing import Any

from drf_spectacular.plumbing import build_mock_request


class Describer:
    """The generator's person: holds every permission and exists nowhere else."""

    pk = id = 0
    role = ""
    is_authenticated = is_active = True
    is_anonymous = False

    def has_perm(self, permission: str) -> bool:
        return True

    def get_username(self) -> str:
        return "schema"


def mock_request(*args: Any, **kwargs: Any) -> Any:
    request = build_mock_request(*args, **kwargs)  # type: ignore[no-untyped-call]
    request.user = Describer()
    return request
