"""Pages that the scripts of this package write tables into."""

from __future__ import annotations

import re
from pathlib import Path

RESEARCH = Path(__file__).resolve().parent.parent
DOCS = RESEARCH.parent / "docs"


def replace(page: Path, mark: str, text: str) -> None:
    """Put the text between <!-- mark --> and <!-- /mark --> of a page."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
    whole = page.read_text(encoding="utf-8")
    assert pattern.search(whole), f"{page.name} has no place for {mark}"
    page.write_text(pattern.sub(lambda match: match[1] + text + match[2], whole), encoding="utf-8")
