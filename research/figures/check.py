"""Writes the table of the manual about what some numbers of queries can show: `python -m research.figures.check`."""

from __future__ import annotations

import calipers as cal
from calipers.changes import Check, check
from research.figures.pages import DOCS, replace

QUERIES = (25, 50, 100, 300)
DROP = 0.02


def what_queries_can_show() -> cal.Table:
    """Return one row per number of queries, for a measure with scores from 0 to 1 and alpha 0.05."""
    rows = []
    for n in QUERIES:
        unchanged = losses(n, 0)
        missed = (1 - DROP) ** n
        rows.append(
            (
                n,
                f"more than {-unchanged.decisions[0].low:.3f}",
                f"above {unchanged.floors[0].low:.3f}",
                f"{missed:.0%}" if missed >= 0.01 else f"{missed:.1%}",
                losses_that_show_worse(n),
            )
        )
    columns = (
        "queries", "drops excluded if nothing changes", "mean shown if all scores are 1",
        f"chance to miss that {DROP:.0%} of all queries lose everything",
        f"queries that must lose everything to show a drop of more than {DROP:g}",
    )  # fmt: skip
    return cal.Table(columns, tuple(rows))


def losses(queries: int, lost: int) -> Check:
    """Check a system with the score 0 on some queries and 1 on all others against one that always scores 1."""
    scores = [[1.0] * queries, [0.0] * lost + [1.0] * (queries - lost)]
    given = cal.as_scores(scores, ["old", "new"], measure="Success@1")
    return check(given, "new", baseline="old", max_drop=DROP, min=0.5)


def losses_that_show_worse(queries: int) -> int:
    """Return the fewest lost queries for which the exact limit shows a drop of more than DROP."""
    found = (losses(queries, lost).decisions[0] for lost in range(1, queries + 1))
    return next(each.losses for each in found if each.verdict == "worse" and each.limits == "exact")


if __name__ == "__main__":
    replace(DOCS / "check.md", "what queries can show", what_queries_can_show().to_markdown())
