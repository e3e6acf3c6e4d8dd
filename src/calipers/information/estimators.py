"""Other estimates of what systems know together, to compare with: none is right at both ends.

Systems that know nothing should have 0, and copies of one system the RIC of that system. The plug-in value is far above
0 for the former; Miller and Madow's correction and shrinkage change little where a pattern occurs once;
research/information.md has the figures. `JointInformation.corrected` is right at both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calipers.information.joint_information import tally
from calipers.information.rankings import QueryRankings
from calipers.information.sign_patterns import told
from calipers.lists import Ints

Estimator = Callable[[Ints, Ints], float]


def estimate(query: QueryRankings, by: Estimator, rank: NDArray[np.int32] | None = None) -> float:
    """What some systems know together on one query, from their whole lists."""
    _, count, opposite = tally(query, query.until_last_relevant(rank)).counts()
    return by(count, opposite)


def plug_in(count: Ints, opposite: Ints) -> float:
    return told(count, opposite)


def miller_madow(count: Ints, opposite: Ints) -> float:
    """Less 1 / (2 n ln 2) for each pattern that occurs in both directions (Miller, Note on the bias of information
    estimates, 1955): what occurs only once is not corrected, and there it matters.
    """
    both = float((opposite > 0).sum()) / 2
    return float(told(count, opposite) - both / (2 * np.log(2) * float(count.sum())))


def shrinkage(count: Ints, opposite: Ints) -> float:
    """Shares drawn towards those of patterns that tell nothing (Hausser & Strimmer, Entropy inference and the
    James-Stein estimator, JMLR 2009).
    """
    total = float(count.sum())
    share, half = count / total, (count + opposite) / (2 * total)
    unseen = half[opposite == 0]  # directions that do not occur
    apart = float(((half - share) ** 2).sum() + (unseen**2).sum())
    drawn = 1.0 if apart == 0 else min(1.0, max(0.0, (1 - float((share**2).sum())) / ((total - 1) * apart)))
    one = drawn * half + (1 - drawn) * share
    other = drawn * unseen
    with np.errstate(divide="ignore", invalid="ignore"):
        known = float(np.where(one > 0, one * np.log2(one / half), 0.0).sum())
        return known + float(np.where(other > 0, other * np.log2(other / unseen), 0.0).sum())


ESTIMATORS: dict[str, Estimator] = {"plug-in": plug_in, "Miller-Madow": miller_madow, "shrinkage": shrinkage}
