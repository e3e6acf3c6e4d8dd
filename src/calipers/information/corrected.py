"""What systems know together, corrected for chance.

The plug-in value of the joint RIC is biased upward: with many systems hardly two pairs of documents share a pattern,
and everything seems to be known. A correction has to be right at two ends: systems that know nothing have 0, and copies
of one system have the RIC of that system. Shuffling the ranks of each system by itself breaks what the systems have in
common, so that subtracting what is left is wrong for copies. Here the *labels* are dealt anew among the judged
documents, the rankings staying as they are: what is then told is chance, for these very rankings. With J the joint
value and C its mean over such deals,

    corrected = (J - C) / (1 - C)

which is 0 where the systems tell no more than chance, and 1 where they tell everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers.information.joint import SEED, tally
from calipers.information.rankings import QueryRankings, Rankings, in_parallel
from calipers.information.sign_patterns import told
from calipers.lists import Floats, Ints

DEALS = 3  # of the labels of each query: the mean over queries is what matters


@dataclass(frozen=True, eq=False)
class CorrectedInformation:
    """The joint RIC of some systems query by query, less what chance would give the same rankings."""

    queries: tuple[str, ...]
    joint: Floats  # plug-in
    chance: Floats  # the mean over deals of the labels

    @property
    def corrected(self) -> Floats:
        """Of each query; NaN where chance tells everything already."""
        open_part = 1.0 - self.chance
        return np.where(
            open_part > 1e-9, (self.joint - self.chance) / np.where(open_part > 1e-9, open_part, 1.0), np.nan
        )

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.corrected))

    @property
    def error(self) -> float:
        """The standard error of the mean, over queries."""
        counted = self.corrected[~np.isnan(self.corrected)]
        return float(counted.std(ddof=1) / np.sqrt(len(counted))) if len(counted) > 1 else float("nan")


def corrected_of(
    rankings: Rankings,
    deals: int = DEALS,
    seed: int = SEED,
    progress: Callable[[int], None] | None = None,
    jobs: int | None = None,
) -> CorrectedInformation:
    """The corrected joint value of rankings that are read already."""

    def of_query(query: QueryRankings) -> tuple[str, float, float]:
        random = np.random.default_rng([seed, query.place, 1])
        chance = [
            estimate(query, query.rank[:, random.permutation(query.rank.shape[1])], plug_in) for _ in range(deals)
        ]
        return query.query, estimate(query, query.rank, plug_in), float(np.mean(chance))

    found = []
    for each in in_parallel(of_query, rankings.queries(), jobs):
        found.append(each)
        if progress:
            progress(1)
    names, joint, chance = zip(*found, strict=True)
    return CorrectedInformation(tuple(names), np.array(joint), np.array(chance))


# -- other estimators, to compare with ---------------------------------------------------------------

Estimator = Callable[[Ints, Ints], float]


def estimate(query: QueryRankings, rank: NDArray[np.int32], by: Estimator) -> float:
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
