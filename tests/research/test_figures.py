"""Figures of the manual that need no data are those of their scripts."""

from __future__ import annotations

import math

from conftest import ROOT
from research.figures.check import losses_that_show_worse, what_queries_can_show


def test_the_manual_has_the_table_of_what_queries_can_show() -> None:
    assert what_queries_can_show().to_markdown() in (ROOT / "docs/check.md").read_text(encoding="utf-8")


def test_losses_that_show_a_drop_are_rare_without_it() -> None:
    """If 2% of all queries lose everything, so many losses have a probability of at most alpha."""
    for n in (25, 50, 100):
        least = losses_that_show_worse(n)
        assert sum(math.comb(n, lost) * 0.02**lost * 0.98 ** (n - lost) for lost in range(least, n + 1)) < 0.05
