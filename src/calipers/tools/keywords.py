"""Keywords that the functions of this package hand on to `evaluate`."""

from __future__ import annotations

from typing import TypedDict

from calipers.conventions import Convention
from calipers.native.columns import Precision
from calipers.support.checks import Policy
from calipers.support.choices import TieRule


class ScoringKeywords(TypedDict, total=False):
    """Scoring options by name, as `evaluate` takes them. A test compares them with `ScoringOptions`."""

    like: str | Convention | None
    ties: TieRule | None
    relevant: float | None
    depth: int | None
    condensed: bool
    empty: Policy | None
    missing: Policy | None
    degenerate: Policy | None
    precision: Precision | None
