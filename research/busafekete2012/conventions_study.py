"""The study of Busa-Fekete et al. (2012) on any learning-to-rank collection: rankers trained under several conventions
of nDCG, and evaluated under several.

Busa-Fekete, Szarvas, Élteto & Kégl, An apple-to-apple comparison of learning-to-rank algorithms in terms of normalized
discounted cumulative gain, 2012.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

from calipers import CalipersError, Table, evaluate
from calipers.collection import ArrayRun
from calipers.conventions import convention
from calipers.lists import Floats, Ints
from calipers.results import Cell
from calipers.statistics import rank_correlation
from research.rankers import ranker as make
from research.study_folder import LetorCollection, Say, TrainingFolder

SIX = ("adarank", "lambdamart", "ranknet", "coordinateascent", "rankboost", "ranksvm")
FOUR = SIX[:4]  # of figure 1
CONVENTIONS = ("definition", "yahoo", "letor4")
CUTOFFS = tuple(range(1, 11))
METRIC = "nDCG@10"


@dataclass(frozen=True, eq=False)
class ConventionStudy:
    """nDCG of every query, for each ranker, convention of training, convention of evaluation and cutoff."""

    name: str
    rankers: tuple[str, ...]
    conventions: tuple[str, ...]
    values: Floats  # [ranker, trained, evaluated, cutoff, query]
    fold: Ints  # of each query
    scores: dict[tuple[str, str], tuple[Floats, ...]]  # of (ranker, trained), for each fold
    empty: float  # share of the queries without a relevant document
    short: float  # share of the queries with fewer documents than the largest cutoff

    @cached_property
    def means(self) -> Floats:
        """[ranker, trained, evaluated, cutoff]: the mean over folds of the means over their queries."""
        return np.asarray(np.mean([self.values[..., self.fold == f].mean(axis=-1) for f in self._folds], axis=0))

    @cached_property
    def errors(self) -> Floats:
        """The standard errors of the queries' scores in each fold, averaged in quadrature over the folds."""
        of_folds = []
        for f in self._folds:
            part = self.values[..., self.fold == f]
            of_folds.append(part.std(axis=-1, ddof=1) / math.sqrt(part.shape[-1]))
        return np.asarray(np.sqrt((np.array(of_folds) ** 2).sum(axis=0)) / len(of_folds))

    @property
    def _folds(self) -> list[int]:
        return sorted(set(self.fold.tolist()))

    def curves(self) -> Table:
        """ranker, trained, evaluated, cutoff, nDCG, error (figure 1; figure 2 where trained is the first)."""
        rows: list[tuple[Cell, ...]] = [
            (
                ranker,
                trained,
                evaluated,
                cutoff,
                float(self.means[r, t, e, k]),
                float(self.errors[r, t, e, k]),
            )
            for r, ranker in enumerate(self.rankers)
            for t, trained in enumerate(self.conventions)
            for e, evaluated in enumerate(self.conventions)
            for k, cutoff in enumerate(CUTOFFS)
        ]
        return Table(("ranker", "trained", "evaluated", "cutoff", "nDCG", "error"), tuple(rows))

    def at_ten(self) -> Table:
        """ranker, trained, and nDCG@10 with its error under each convention of evaluation."""
        columns = [name for each in self.conventions for name in (each, f"{each} +-")]
        rows: list[tuple[Cell, ...]] = []
        for r, ranker in enumerate(self.rankers):
            for t, trained in enumerate(self.conventions):
                cells = [
                    value
                    for e in range(len(self.conventions))
                    for value in (float(self.means[r, t, e, -1]), float(self.errors[r, t, e, -1]))
                ]
                rows.append((ranker, trained, *cells))
        return Table(("ranker", "trained", *columns), tuple(rows))

    def training(self) -> Table:
        """What another convention in training changes: the difference in nDCG@10 to training under the first one, both
        evaluated under that; its standard error, the p value of a paired t test over the queries, and in how many folds
        the two models rank all documents alike.
        """
        from scipy.special import stdtr

        rows: list[tuple[Cell, ...]] = []
        base = self.conventions[0]
        for r, ranker in enumerate(self.rankers):
            for t, trained in enumerate(self.conventions[1:], 1):
                difference = self.values[r, t, 0, -1] - self.values[r, 0, 0, -1]
                n = len(difference)
                error = float(difference.std(ddof=1)) / math.sqrt(n)
                mean = float(difference.mean())
                p = 1.0 if error == 0 else float(2 * stdtr(n - 1, -abs(mean / error)))
                same = sum(
                    bool((one == other).all())
                    for one, other in zip(self.scores[ranker, base], self.scores[ranker, trained], strict=True)
                )
                rows.append((ranker, trained, mean, error, p, same))
        columns = ("ranker", "trained", f"difference to {base}", "error", "p", "same models")
        return Table(columns, tuple(rows))

    def orders(self) -> Table:
        """Kendall's tau between the orders of the rankers (trained under the first convention) that two conventions of
        evaluation give, at nDCG@10, and which ranker each puts first.
        """
        rows: list[tuple[Cell, ...]] = []
        for one, other in combinations(range(len(self.conventions)), 2):
            left, right = self.means[:, 0, one, -1], self.means[:, 0, other, -1]
            first, second = self.rankers[int(np.argmax(left))], self.rankers[int(np.argmax(right))]
            tau = rank_correlation(left, right, "tau-b")
            rows.append((self.conventions[one], self.conventions[other], tau, first, second))
        return Table(("evaluated", "against", "tau", "best", "best against"), tuple(rows))

    def offsets(self) -> Table:
        """evaluated, against, cutoff, and the least, mean and largest difference over all models."""
        rows: list[tuple[Cell, ...]] = []
        for e, evaluated in enumerate(self.conventions[1:], 1):
            for k, cutoff in enumerate(CUTOFFS):
                found = self.means[:, :, e, k] - self.means[:, :, 0, k]
                rows.append((evaluated, cutoff, float(found.min()), float(found.mean()), float(found.max())))
        return Table(("evaluated", "cutoff", "least", "mean", "largest"), tuple(rows))

    def tables(self) -> dict[str, tuple[str, Table]]:
        """All tables by name, each with its title."""
        base = self.conventions[0]
        return {
            "at-ten": ("nDCG@10 by convention of training (rows) and of evaluation (columns)", self.at_ten()),
            "training": (f"What training under another convention changes, evaluated under {base}", self.training()),
            "orders": ("How far two conventions of evaluation order the rankers alike", self.orders()),
            "offsets": (f"How far another evaluation lies from {base}, over all models", self.offsets()),
            "curves": ("nDCG@1 to @10 of every ranker, training and evaluation", self.curves()),
        }

    def __repr__(self) -> str:
        return f"<ConventionStudy: {self.name}, {len(self.rankers)} rankers>\n{self.at_ten()}"


def convention_study(
    collection: LetorCollection,
    folder: str,
    *,
    rankers: Sequence[str] = SIX,
    like: Sequence[str] = CONVENTIONS,
    preset: str = "quick",
    normalize: str = "none",
    seed: int = 42,
    jobs: int = 1,
    say: Say | None = None,
    progress: Callable[[int], None] | None = None,
) -> ConventionStudy:
    """Train rankers for nDCG@10 under each convention, and evaluate them under each at cutoffs 1 to 10.

    folder: where models and scores are kept; a study that was stopped goes on from there.
    """
    names, likes = tuple(dict.fromkeys(rankers)), tuple(dict.fromkeys(like))
    for name in names:
        make(name, preset)
    for each in likes:
        convention(each)
    if len(likes) < 2:
        raise CalipersError("name at least two conventions: they are compared")
    settings = {
        "study": "conventions",
        "preset": preset,
        "normalize": normalize,
        "seed": seed,
        "queries": collection.queries,
        "data": collection.digest(),
    }
    trained = TrainingFolder.open(str(Path(folder) / collection.name), settings, say or (lambda text: None))
    scores: dict[tuple[str, str], list[Floats]] = {(name, each): [] for name in names for each in likes}
    for each in likes:
        for fold in collection.folds:
            for name in names:
                machine = make(name, preset, metric=METRIC, like=each, normalize=normalize, seed=seed)
                if "jobs" in machine.get_params():
                    machine.set_params(jobs=jobs)
                part = "".join(c if c.isalnum() or c in "-_." else "_" for c in each)
                scores[name, each].append(trained.scores(machine, collection, fold, part))
                if progress:
                    progress(1)
    return _evaluated(collection, names, likes, {key: tuple(each) for key, each in scores.items()})


def _evaluated(
    collection: LetorCollection,
    names: tuple[str, ...],
    likes: tuple[str, ...],
    scores: dict[tuple[str, str], tuple[Floats, ...]],
) -> ConventionStudy:
    measures = [f"nDCG@{k}" for k in CUTOFFS]
    parts, folds, empty, short = [], [], [], []
    for f, fold in enumerate(collection.folds):
        judgments = collection.labels(fold).judgments()
        runs = [ArrayRun(scores[name, like][f], f"{name} {like}") for name in names for like in likes]
        found = np.stack([evaluate(judgments, runs, measures, like=like, jobs=1, warn=False).values for like in likes])
        shape = (len(likes), len(CUTOFFS), len(names), len(likes), len(judgments.queries))
        parts.append(found.reshape(shape).transpose(2, 3, 0, 1, 4))
        folds.append(np.full(len(judgments.queries), f))
        empty.append(judgments.pool.relevant(1) == 0)
        short.append(judgments.pool.size < CUTOFFS[-1])
    return ConventionStudy(
        name=collection.name,
        rankers=names,
        conventions=likes,
        values=np.concatenate(parts, axis=-1),
        fold=np.concatenate(folds),
        scores=scores,
        empty=float(np.concatenate(empty).mean()),
        short=float(np.concatenate(short).mean()),
    )
