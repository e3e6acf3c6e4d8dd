"""Joint information of several systems about the judgments, and the part of it that is chance.

    RIC(S_1, ..., S_m) = sum over sign vectors s of f(s) lg(2 f(s) / (f(s) + f(-s)))

f(s) is the share of pairs, better document first, that the systems order as the signs s say. With many systems, few
pairs have the same sign vector, so even random systems seem to have all information. So the result also has the null
value: the joint value of copies of the systems whose ranks are shuffled among the judged documents.

A correction must be right in two cases. It must give 0 for systems without information, and the RIC of the system for
copies of one system. Shuffling each system separately removes what the systems have in common, so subtracting the null
value would be wrong for copies. Instead we shuffle the *grades* among the judged documents and keep the rankings. The
joint value is then due to chance alone, for exactly these rankings. With the joint value J and its mean C over several
shuffles of the grades,

    corrected = (J - C) / (1 - C)

This is 0 if the systems have no more information than chance, and 1 if they have all of it.

Other estimators of joint information (`ESTIMATORS`) do not pass these two cases. The plug-in value is far above 0 for
systems without information. Miller and Madow's correction and shrinkage change little if most patterns occur once.
research/information.md has the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats, Ints
from calipers.measures.information import order_information
from calipers.native.scanner import bits_of_groups
from calipers.questions.information.rankings import QueryRankings, Rankings, in_parallel
from calipers.questions.information.sign_patterns import MOST_NATIVE, Tally, check_number_of_lists, told
from calipers.results.result import Result, Tables
from calipers.results.tables import Table
from calipers.support.checks import check_seed, check_type, check_whole
from calipers.support.plurals import counted

DRAWS = 20
DEALS = 3  # shuffles of the grades of each query; few suffice for a mean over queries
SEED = 42
NOTHING = 1e-9  # if less is left above chance, the corrected value is undefined


@dataclass(frozen=True, eq=False, repr=False)
class JointInformation(Result):
    """Joint information of systems in bits, for each query."""

    systems: tuple[str, ...]
    queries: tuple[str, ...]
    joint: Floats  # of each query
    null: Floats  # [draw, query]: joint value with shuffled ranks
    alone: Floats  # [system, query]: RIC
    chance: Floats  # of each query: mean joint value with shuffled grades
    skipped: int = 0  # number of queries whose judged documents all have the same grade
    run_notes: tuple[str, ...] = ()  # notes about the runs
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return float(self.joint.mean())

    @property
    def null_mean(self) -> float:
        return float(self.null.mean())

    @property
    def null_sd(self) -> float:
        """Standard deviation over draws of the mean null value over queries."""
        return float(self.null.mean(axis=1).std(ddof=1)) if len(self.null) > 1 else float("nan")

    @property
    def corrected(self) -> Floats:
        """Joint information beyond chance for each query. NaN if chance alone gives all information."""
        left = 1.0 - self.chance
        some = left > NOTHING
        return np.where(some, (self.joint - self.chance) / np.where(some, left, 1.0), np.nan)

    @property
    def corrected_mean(self) -> float:
        counted = self.corrected[~np.isnan(self.corrected)]
        return float(counted.mean()) if len(counted) else float("nan")

    @property
    def corrected_error(self) -> float:
        """The standard error of the corrected mean, over queries."""
        counted = self.corrected[~np.isnan(self.corrected)]
        return float(counted.std(ddof=1) / np.sqrt(len(counted))) if len(counted) > 1 else float("nan")

    @property
    def mostly_bias(self) -> bool:
        """True if systems with shuffled ranks get more than half of the joint value."""
        return self.null_mean > self.mean / 2

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on runs without judged documents, and on an estimate that is mostly bias."""
        bias = (
            f"the estimate is mostly bias: systems with shuffled ranks get {self.null_mean:.4f} of the "
            f"{self.mean:.4f} bits; use fewer systems, or more judged documents"
        )
        return (*self.run_notes, bias) if self.mostly_bias else self.run_notes

    @property
    def title(self) -> str:
        """Title with the numbers of systems and queries."""
        return f"Joint information of {counted(len(self.systems), 'system')} on {counted(len(self.queries), 'query')}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        return (
            f"The joint information of the systems is {self.mean:.4f} bits. Systems with shuffled ranks get "
            f"{self.null_mean:.4f}. Corrected for chance it is {self.corrected_mean:.4f}."
        )

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"means": self._means, "queries": self.per_query})

    def _means(self) -> Table:
        """systems (how many), joint, null_mean, null_sd, corrected, corrected_error."""
        row = (len(self.systems), self.mean, self.null_mean, self.null_sd, self.corrected_mean, self.corrected_error)
        columns = ("systems", "joint", "null_mean", "null_sd", "corrected", "corrected_error")
        return Table(columns, (row,), self.metadata)

    def per_query(self) -> Table:
        """query, joint, null_mean, null_sd, the largest RIC of a single system, and the corrected value."""
        spread = self.null.std(axis=0, ddof=1) if len(self.null) > 1 else np.full(len(self.queries), np.nan)
        columns = (self.joint, self.null.mean(axis=0), spread, self.alone.max(axis=0), self.corrected)
        rows = tuple(zip(self.queries, *(column.tolist() for column in columns), strict=True))
        names = ("query", "joint", "null_mean", "null_sd", "best alone", "corrected")
        return Table(names, rows, self.metadata)


def joint(
    evaluation: Evaluation, *, rel: float = 1.0, cut: str = "relevant", draws: int = DRAWS, seed: int = SEED
) -> JointInformation:
    """Return the joint information of the runs about the judgments, and corrected for chance.

    rel: the smallest grade that is relevant.
    cut: lists end after their last relevant document (`relevant`), or are not cut (`none`).
    draws, seed: number of times the ranks are shuffled to get the value of systems without information, and the seed.

    >>> import calipers as cal
    >>> judgments = {"q": {"r1": 1, "r2": 1, "a": 0, "b": 0, "c": 0}}
    >>> runs = {"A": {"q": {"r1": 3, "a": 2, "r2": 1}}, "B": {"q": {"r2": 3, "b": 2, "r1": 1}}}
    >>> found = cal.questions.information.joint(cal.Experiment(judgments, runs, warn=False))
    >>> round(found.mean, 6), found.alone.round(6).tolist()
    (0.666667, [[0.349978], [0.349978]])
    """
    check_type("evaluation", evaluation, Evaluation, "an Experiment")
    check_whole("draws", draws)
    check_seed(seed)
    check_number_of_lists(len(evaluation.runs))
    found = joint_of(Rankings.of_evaluation(evaluation, rel, cut), draws, seed, evaluation.progress, evaluation.jobs)
    warn_user(found.notes, evaluation.warn)
    return found


def joint_of(
    rankings: Rankings,
    draws: int = DRAWS,
    seed: int = SEED,
    progress: Callable[[int], None] | None = None,
    jobs: int | None = None,
) -> JointInformation:
    """Return the joint information of these rankings."""
    check_number_of_lists(len(rankings.systems))
    names, joint, null, alone, chance = [], [], [], [], []

    def of_query(query: QueryRankings) -> tuple[str, float, Floats, list[float], float]:
        pattern, count, opposite = tally(query, query.until_last_relevant()).counts()
        singles = alone_of(pattern, count, len(rankings.systems))
        null = [known_together(query, each) for each in _shuffled(query, draws, seed)]
        random = np.random.default_rng([seed, query.draw, 1])
        dealt = (query.rank[:, random.permutation(query.rank.shape[1])] for _ in range(DEALS))
        chance = [known_together(query, query.until_last_relevant(each)) for each in dealt]
        return query.query, told(count, opposite), singles, null, float(np.mean(chance))

    for name, own, singles, shuffled, dealt in in_parallel(of_query, rankings.queries(), jobs):
        names.append(name)
        joint.append(own)
        alone.append(singles)
        null.append(shuffled)
        chance.append(dealt)
        if progress:
            progress(1)
    if not names:
        raise CalipersError(
            "no query has a relevant document and documents of different grades", file=rankings.judgments.name
        )
    return JointInformation(
        systems=rankings.systems,
        queries=tuple(names),
        joint=np.array(joint),
        null=np.array(null).T,
        alone=np.array(alone).T,
        chance=np.array(chance),
        skipped=len(rankings.judgments.queries) - len(names),
        run_notes=rankings.notes,
        metadata={"draws": draws, "seed": seed, "rel": rankings.rel, "cut": rankings.cut},
    )


def known_together(query: QueryRankings, rank: NDArray[np.int32]) -> float:
    """Return the joint RIC of systems on one query, from ranks after the cut."""
    return tally(query, rank).told()


def known_by_groups(query: QueryRankings, groups: Ints) -> Floats:
    """Return the joint RIC of many groups of systems, [group, member]. Lists are cut and compared only once."""
    sides = list(query.sides(query.until_last_relevant(), *query.ties))
    if groups.shape[1] <= MOST_NATIVE and all(better.dtype == np.int16 and better.ndim == 3 for better, _ in sides):
        blocks = [(better[:, :, 0], worse[:, 0, :]) for better, worse in sides]
        pairs = query.size * len(query.ties)
        return np.asarray(bits_of_groups(blocks, groups, np.iinfo(np.int16).max) / pairs)
    counted = Tally(groups.shape[1], query.size)
    found = np.empty(len(groups))
    for i, group in enumerate(groups):
        counted.clear()
        for better, worse in sides:
            counted.add(better[group], worse[group])
        found[i] = counted.told()
    return found


def tally(query: QueryRankings, rank: NDArray[np.int32]) -> Tally:
    """Count the pairs of a query per pattern. With ties, each pair is counted once per way to break them."""
    counted = Tally(len(rank), query.size)
    for better, worse in query.sides(rank, *query.ties):
        counted.add(better, worse)
    return counted


def alone_of(pattern: Ints, count: Ints, lists: int) -> Floats:
    """Return the RIC of each system, from the joint patterns."""
    right, wrong = np.zeros(lists), np.zeros(lists)
    rest = pattern.astype(np.int64)
    for i in range(lists):
        sign = (rest + 1) % 3 - 1
        right[i], wrong[i] = count[sign > 0].sum(), count[sign < 0].sum()
        rest = (rest - sign) // 3
    return np.asarray(order_information(right, wrong) / count.sum())


def _shuffled(query: QueryRankings, draws: int, seed: int) -> Iterator[NDArray[np.int32]]:
    """Yield copies of the systems. The ranks of each system are shuffled separately among the judged documents."""
    random = np.random.default_rng([seed, query.draw])
    for _ in range(draws):
        yield query.until_last_relevant(query.shuffled(random))


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
