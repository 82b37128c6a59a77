"""Finds the listed front-end files where npm has put them, under the prefix "npm/"."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.checks import CheckMessage
from django.core.checks import Warning as CheckWarning
from django.core.files.storage import FileSystemStorage

PREFIX = "npm"


class NpmFinder(BaseFinder):
    """Only files named in ``NPM_FILES`` are served; the packages carry sources and tests as well."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        self.root = Path(settings.NPM_ROOT)
        self.storage = FileSystemStorage(location=str(self.root))
        self.storage.prefix = PREFIX  # type: ignore[attr-defined]  # collectstatic reads it

    def check(self, **_kwargs: Any) -> list[CheckMessage]:
        missing = [package for package in settings.NPM_FILES if not (self.root / package).is_dir()]
        if not missing:
            return []
        return [
            CheckWarning(f"Front-end packages are not installed: {', '.join(missing)}. Run: make install", id="ui.W001")
        ]

    def find(self, path: str, find_all: bool = False, **_kwargs: Any) -> Any:
        found = self._locate(path)
        if found is None:
            return []  # Django's way to say none, also where one is asked for
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        for package, patterns in settings.NPM_FILES.items():
            for pattern in patterns:
                for file in sorted((self.root / package).glob(pattern)):
                    yield file.relative_to(self.root).as_posix(), self.storage

    def _locate(self, path: str) -> str | None:
        prefix, _, inner = path.replace("\\", "/").partition("/")
        if prefix != PREFIX:
            return None
        for package, patterns in settings.NPM_FILES.items():
            rest = inner.removeprefix(package + "/")
            if rest != inner and any(fnmatch(rest, pattern) for pattern in patterns):
                file = self.root / inner
                return str(file) if file.is_file() else None
        return None
