"""Other estimators of joint information, for comparison. None is right in both of the two known cases.

The estimate should be 0 for systems without information, and the RIC of the system for copies of one system. The
plug-in value is far above 0 for systems without information. Miller and Madow's correction and shrinkage change little
if most patterns occur once. research/information.md has the numbers. `JointInformation.corrected` is right in both
cases.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calipers.lists import Ints
from calipers.questions.information.joint_information import tally
from calipers.questions.information.rankings import QueryRankings
from calipers.questions.information.sign_patterns import told

Estimator = Callable[[Ints, Ints], float]


def estimate(query: QueryRankings, by: Estimator) -> float:
    """Return an estimate of the joint information of the systems on one query, from their whole lists."""
    _, count, opposite = tally(query, query.until_last_relevant()).counts()
    return by(count, opposite)


def plug_in(count: Ints, opposite: Ints) -> float:
    return told(count, opposite)


def miller_madow(count: Ints, opposite: Ints) -> float:
    """Subtract 1 / (2 n ln 2) from the plug-in value for each pattern that occurs in both directions.

    Patterns that occur only once are not corrected, though they cause most of the bias. Miller, Note on the bias of
    information estimates, 1955.
    """
    both = float((opposite > 0).sum()) / 2
    return float(told(count, opposite) - both / (2 * np.log(2) * float(count.sum())))


def shrinkage(count: Ints, opposite: Ints) -> float:
    """Shrink the shares of patterns towards shares that carry no information.

    Hausser & Strimmer, Entropy inference and the James-Stein estimator, JMLR 2009.
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
