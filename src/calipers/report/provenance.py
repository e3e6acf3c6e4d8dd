"""The origin of a report: command, versions and files, to repeat it and to see that nothing has changed."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from calipers._version import __version__

PACKAGES = ("numpy", "scipy", "vl-convert-python")
BLOCK = 1 << 20


@dataclass(frozen=True)
class File:
    """One file that was read."""

    role: str
    name: str
    size: int | None
    sha256: str


@dataclass(frozen=True)
class Provenance:
    """The command, the versions and the files."""

    command: str
    versions: dict[str, str]
    files: tuple[File, ...]

    @classmethod
    def of(cls, files: Iterable[tuple[str, str]], command: str = "") -> Provenance:
        """Describe files, each with its role. Reads each file to compute its hash."""
        distinct = dict.fromkeys(files)  # a table may hold several runs
        return cls(command, versions(), tuple(described(role, path) for role, path in distinct))


def versions() -> dict[str, str]:
    """Return the versions of Calipers, of Python and of the packages that a report depends on."""
    found = {"calipers": __version__, "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def described(role: str, path: str) -> File:
    """Return the size and SHA-256 of a file. Other sources (standard input, a dict) have only a name."""
    try:
        if not Path(path).is_file():
            return File(role, path, None, "")
        digest, size = hashlib.sha256(), 0
        with open(path, "rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
                size += len(block)
    except OSError:
        return File(role, path, None, "")
    return File(role, path, size, digest.hexdigest())
