"""Figures of the manual are those of their scripts."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import calipers as cal
from calipers.questions.check import check
from conftest import ROOT
from research.figures.check import (
    ALPHA,
    DROP,
    drops_of_trec_8,
    losses_that_show_worse,
    shown_drop,
    what_queries_can_show,
    wrong_verdicts,
)

PAGE = (ROOT / "docs/check.md").read_text(encoding="utf-8")


def test_the_manual_has_the_table_of_what_queries_can_show() -> None:
    assert what_queries_can_show().to_markdown() in PAGE


def test_the_manual_has_the_table_of_wrong_verdicts() -> None:
    table = wrong_verdicts()
    assert table.to_markdown() in PAGE
    assert table["Student's limit"] == ["82%", "55%", "36%", "13%"]


def test_the_manual_has_the_shares_of_drops_that_are_found(data: Path) -> None:
    """The rows of 25 queries; the other rows come from the same script."""
    rows = drops_of_trec_8(data, (25,)).to_markdown().splitlines()
    assert len(rows) == 4
    for row in rows:
        assert row in PAGE.splitlines()


@pytest.mark.parametrize("lost", [0, 2, 6, 12])
def test_the_rule_of_the_script_is_that_of_check(lost: int) -> None:
    random = np.random.default_rng(lost)
    for _ in range(10):
        old = np.round(random.random(25), 2)
        new = np.clip(old + random.normal(-0.03, 0.05, 25), 0, 1)
        new[:lost] = 0
        scores = cal.as_scores([old, new], ["old", "new"], measure="AP")
        (decision,) = check(scores, "new", baseline="old", max_drop=DROP, alpha=ALPHA).decisions
        assert shown_drop(new - old).check == (decision.verdict == "worse")
        assert shown_drop(new - old).exact == (decision.verdict == "worse" and not decision.approximate)


def test_losses_that_show_a_drop_are_rare_without_it() -> None:
    """If 2% of all queries lose everything, so many losses have a probability of at most alpha."""
    for n in (25, 50, 100):
        least = losses_that_show_worse(n)
        assert sum(math.comb(n, lost) * 0.02**lost * 0.98 ** (n - lost) for lost in range(least, n + 1)) < 0.05
