"""What must be true before anything is built for a release; TAG names the tag, where there is one."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def problems(root: Path, tag: str) -> list[str]:
    """One line for each thing that is not ready."""
    version = re.search(r'__version__ = "(.+)"', _text(root / "src/calipers/_version.py"))[1]  # type: ignore[index]
    found = []
    if tag and tag != f"v{version}":
        found.append(f"the tag is {tag}, the version {version}: tag v{version}")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", _text(root / "CHANGELOG.md"), re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading '## [{version}] - DATE'")
    if f"\nversion: {version}\n" not in _text(root / "CITATION.cff"):
        found.append(f"CITATION.cff names another version than {version}")
    if tag and "/OWNER/" in _text(root / "pyproject.toml"):
        found.append("pyproject.toml: OWNER in the URLs is a placeholder: name the repository")
    return found


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    said = problems(ROOT, os.environ.get("TAG", ""))
    print("\n".join(said) or "ready")
    sys.exit(bool(said))
