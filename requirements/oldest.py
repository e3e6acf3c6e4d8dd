"""Prints the oldest version of everything that pyproject.toml allows, as pins for pip (make test-oldest).

    python requirements/oldest.py frames packed report

Without names: of the package itself. Names of extras add theirs.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
BOUND = re.compile(r"([\w.-]+)>=([\w.]+)(\s*;.*)?")


def oldest(extras: list[str]) -> list[str]:
    """One pin per dependency.

    >>> [pin for pin in oldest(["report"]) if pin.startswith("jinja2")]
    ['jinja2==3.1']
    """
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(name for extra in extras for name in project["optional-dependencies"][extra])]
    pins = {}
    for requirement in asked:
        found = BOUND.fullmatch(requirement)
        if found is None:
            raise SystemExit(f"{requirement}: expected one lower bound")
        name, version, marker = found.groups()
        pins[name] = f"{name}=={version}{marker or ''}"
    return list(pins.values())


if __name__ == "__main__":
    print("\n".join(oldest(sys.argv[1:])))
