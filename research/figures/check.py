"""Writes the tables of docs/check.md: `python -m research.figures.check [DATA]`.

DATA is a folder with scores/adhoc8_ap.csv and scores/adhoc8_rr.csv (TREC-8: 129 systems, 50 topics). Without it, only
the tables that need no data are written. Scores are from 0 to 1, and alpha is 0.05, throughout.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, t

import calipers as cal
from calipers.lists import Floats
from calipers.questions.check import Check, check, p_of_drop
from calipers.statistics import shown_below
from research.figures.pages import DOCS, replace

ALPHA = 0.05
QUERIES = (25, 50, 100, 300)
DROP = 0.02
FEW = (10, 30, 50, 100)  # queries of samples that are enumerated
RARE, ALLOWED = 0.02, 0.01  # a query loses everything with this probability; the drop that is allowed
DRAWN = (25, 50, 100)  # queries of samples that are drawn
DRAWS, SEED = 1_000, 42
LARGE = (0.05, 1.0)  # drops of the mean that are to be found
HARMLESS = (0.0, DROP)  # drops that are allowed


# -- what some numbers of queries can show -----------------------------------------------------------


def what_queries_can_show() -> cal.Table:
    """Return one row per number of queries."""
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
        "queries",
        "drops excluded if nothing changes",
        "mean shown if all scores are 1",
        f"chance to miss that {DROP:.0%} of all queries lose everything",
        f"queries that must lose everything to show a drop of more than {DROP:g}",
    )
    return cal.Table(columns, tuple(rows))


def losses(queries: int, lost: int, max_drop: float = DROP) -> Check:
    """Check a system with the score 0 on some queries and 1 on all others against one that always scores 1."""
    scores = [[1.0] * queries, [0.0] * lost + [1.0] * (queries - lost)]
    given = cal.as_scores(scores, ["old", "new"], measure="Success@1")
    return check(given, "new", baseline="old", max_drop=max_drop, min=0.5, alpha=ALPHA)


def losses_that_show_worse(queries: int) -> int:
    """Return the fewest lost queries for which the exact limit shows a drop of more than DROP."""
    found = (losses(queries, lost).decisions[0] for lost in range(1, queries + 1))
    return next(each.losses for each in found if each.verdict == "worse" and each.limits == "exact")


# -- how often a verdict is wrong --------------------------------------------------------------------


def wrong_verdicts() -> cal.Table:
    """Return the probability of a wrong "not worse", over all samples: one row per number of queries."""
    rows = []
    for n in FEW:
        by_student = exact = 0.0
        for lost in range(n + 1):
            probability = float(binom.pmf(lost, n, RARE))
            if probability < 1e-9:
                continue
            differences = np.repeat([-1.0, 0.0], [lost, n - lost])
            by_student += probability * (students_limits(differences)[0] > -ALLOWED)
            exact += probability * (losses(n, lost, ALLOWED).decisions[0].verdict == "not worse")
        rows.append((n, f"{by_student:.0%}", f"{exact:.0%}"))
    return cal.Table(("queries", "Student's limit", "exact limit"), tuple(rows))


def students_limits(differences: Floats) -> tuple[float, float]:
    """Return Student's one-sided limits of a mean, which have no width for equal differences."""
    n = len(differences)
    width = float(t.ppf(1 - ALPHA, n - 1)) * float(np.std(differences, ddof=1)) / math.sqrt(n)
    return float(differences.mean()) - width, float(differences.mean()) + width


# -- how often a drop is found -----------------------------------------------------------------------


class Shown(NamedTuple):
    """Whether a drop of more than DROP is shown, or the share of samples in which it is, under three rules."""

    student: float
    check: float  # the exact limit; or Student's limit and the sign-flip test
    exact: float


def shown_drop(differences: Floats) -> Shown:
    """Return which rules show a drop. differences: new - old of each query."""
    student = students_limits(differences)[1] < -DROP
    exact = shown_below(differences, -DROP, 1.0, ALPHA)
    return Shown(student, exact or (student and p_of_drop(differences) <= ALPHA), exact)


def found_drops(scores: Floats, drops: tuple[float, float], queries: int, draws: int = DRAWS) -> Shown:
    """Draw pairs of systems, and some of their queries with replacement, and return how often a drop is shown.

    scores: [system, query]. drops: the smallest and the largest drop of the mean over all queries.
    """
    random = np.random.default_rng(SEED)
    mean = scores.mean(axis=1)
    drop = mean[:, None] - mean
    pairs = np.argwhere((drop >= drops[0]) & (drop <= drops[1]) & ~np.eye(len(mean), dtype=bool))
    shown = np.zeros(3)
    for _ in range(draws):
        chosen = pairs[random.integers(len(pairs))]
        old, new = scores[chosen][:, random.integers(scores.shape[1], size=queries)]
        shown += shown_drop(new - old)
    return Shown(*(shown / draws).tolist())


def drops_of_trec_8(data: Path, queries: tuple[int, ...] = DRAWN) -> cal.Table:
    """Return how often drops are found between the systems of TREC-8, one row per measure and number of queries."""
    ap, rr = (np.loadtxt(data / f"scores/adhoc8_{name}.csv", delimiter=",", skiprows=1).T for name in ("ap", "rr"))
    rows = []
    for name, scores in (("AP", ap), ("Success@1", (rr == 1).astype(float))):
        for n in queries:
            large, harmless = (found_drops(scores, drops, n) for drops in (LARGE, HARMLESS))
            rows.append((name, n, *(f"{share:.1%}" for share in (*large, *harmless))))
    rules = ("Student's limit", "check", "exact limit")
    kinds = (f"drop of {LARGE[0]:g} or more", f"drop 0 to {DROP:g}")
    return cal.Table(("measure", "queries", *(f"{kind}: {rule}" for kind in kinds for rule in rules)), tuple(rows))


if __name__ == "__main__":
    replace(DOCS / "check.md", "what queries can show", what_queries_can_show().to_markdown())
    replace(DOCS / "check.md", "wrong verdicts", wrong_verdicts().to_markdown())
    if sys.argv[1:]:
        replace(DOCS / "check.md", "drops of TREC-8", drops_of_trec_8(Path(sys.argv[1])).to_markdown())
