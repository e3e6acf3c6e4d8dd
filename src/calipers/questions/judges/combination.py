"""Combination of several judges: majority, mean, or Dawid and Skene's estimate, which weights judges by reliability.

In Dawid and Skene's model, a document has the true grade k with probability p_k. Judge j then gives it the label l with
probability pi_j[k, l], independently of other judges. EM estimates p, pi and the probability T of each true grade of
each document:

    T[i, k] ~ p_k  prod over j of pi_j[k, label of j]        p_k = mean_i T[i, k]
    pi_j[k, l] = sum of T[i, k] over documents that j calls l  /  sum of T[i, k] over documents that j labelled

Dawid & Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied Statistics 1979.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.questions.judges.grade_scales import ADVICE, MOST_GRADES, on_one_scale
from calipers.questions.judges.judge_table import JudgeTable
from calipers.results.tables import Cell, Table

STEPS = 1_000
CLOSE = 1e-9  # relative gain in log likelihood at which EM stops


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """Estimates of Dawid and Skene's model."""

    grades: Floats
    prior: Floats  # of each grade
    confusion: Floats  # [judge, true grade, label]
    posterior: Floats  # [document, true grade]; NaN for documents without labels
    log_likelihood: tuple[float, ...]  # after each step
    converged: bool

    @property
    def labels(self) -> Floats:
        """Most probable grade of each document. The lower grade wins ties. NaN for documents without labels."""
        known = ~np.isnan(self.posterior[:, 0])
        best = self.grades[np.nan_to_num(self.posterior).argmax(axis=1)]
        return np.where(known, best, np.nan)

    @property
    def accuracy(self) -> Floats:
        """Probability that a label is the true grade, for each judge."""
        return np.asarray(np.einsum("k,jkk->j", self.prior, self.confusion))


def dawid_skene(labels: Floats) -> DawidSkene:
    """Fit the model by EM, starting from the shares of votes. labels: [judge, document], NaN for missing labels.

    >>> labels = np.array([[0, 0, 1, 1, 0, 1], [0, 0, 1, 1, 0, 1], [1, 0, 0, 1, 1, 0]], float)
    >>> found = dawid_skene(labels)
    >>> found.labels.tolist(), int(found.accuracy.argmin())
    ([0.0, 0.0, 1.0, 1.0, 0.0, 1.0], 2)
    """
    known = ~np.isnan(labels)
    grades = np.unique(labels[known])
    if len(grades) > MOST_GRADES:
        raise CalipersError(
            f"{len(grades)} different grades are too many to estimate reliability: map them to fewer first"
        )
    judges, documents = labels.shape
    given = np.zeros((judges, documents, len(grades)))  # 1 at the given label
    judge, document = np.nonzero(known)
    given[judge, document, np.searchsorted(grades, labels[known])] = 1.0
    some = known.any(axis=0)
    given = given[:, some]
    posterior = given.sum(axis=0)
    posterior /= posterior.sum(axis=1, keepdims=True)
    likelihood: list[float] = []
    converged = False
    for _ in range(STEPS):
        prior, confusion = maximised(given, posterior)
        posterior, logged = expected(given, prior, confusion)
        likelihood.append(logged)
        if len(likelihood) > 1 and abs(likelihood[-1] - likelihood[-2]) <= CLOSE * abs(likelihood[-1]):
            converged = True
            break
    everything = np.full((documents, len(grades)), np.nan)
    everything[some] = posterior
    return DawidSkene(grades, prior, confusion, everything, tuple(likelihood), converged)


def maximised(given: Floats, posterior: Floats) -> tuple[Floats, Floats]:
    """Do the M step: return shares of true grades and the judges' confusion matrices. Rows without data are even."""
    prior = posterior.mean(axis=0)
    counts = np.einsum("nk,jnl->jkl", posterior, given)
    total = counts.sum(axis=2, keepdims=True)
    confusion = np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1 / given.shape[2])
    return prior, confusion


def expected(given: Floats, prior: Floats, confusion: Floats) -> tuple[Floats, float]:
    """Do the E step: return the probabilities of each document's true grade, and the log likelihood of all labels."""
    with np.errstate(divide="ignore"):
        log_confusion, log_prior = np.log(confusion), np.log(prior)
    judges, documents, _ = given.shape
    total = np.tile(log_prior, (documents, 1))
    for j in range(judges):
        labelled = given[j].any(axis=1)
        total[labelled] += log_confusion[j][:, given[j][labelled].argmax(axis=1)].T
    highest = total.max(axis=1, keepdims=True)
    weight = np.exp(total - highest)
    scale = weight.sum(axis=1, keepdims=True)
    return weight / scale, float((np.log(scale) + highest).sum())


# -- the three ways to combine -----------------------------------------------------------------------


def majority(labels: Floats) -> Floats:
    """Return the most frequent grade. Ties go to the grade nearest to the mean of all labels, then to the lower grade.

    >>> majority(np.array([[0, 1, 3], [0, 2, 3], [1, 2, 0], [2, 1, 0.0]])).tolist()
    [0.0, 1.0, 0.0]
    """
    known = ~np.isnan(labels)
    grades = np.unique(labels[known])
    votes = np.array([(labels == grade).sum(axis=0) for grade in grades])  # [grade, document]
    distance = np.abs(grades[:, None] - mean(labels))
    best = np.lexsort((np.broadcast_to(grades[:, None], votes.shape), np.nan_to_num(distance), -votes), axis=0)[0]
    return np.where(known.any(axis=0), grades[best], np.nan)


def mean(labels: Floats) -> Floats:
    """Return the mean grade of each document, with fractions."""
    known = ~np.isnan(labels)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, labels, 0.0).sum(axis=0) / known.sum(axis=0))


COMBINATIONS: dict[str, Callable[[Floats], Floats]] = {
    "majority": majority,
    "mean": mean,
    "dawid-skene": lambda labels: dawid_skene(labels).labels,
}
_OTHER_NAMES = {"dawid_skene": "dawid-skene", "ds": "dawid-skene", "em": "dawid-skene"}


def combination_name(name: str) -> str:
    known = _OTHER_NAMES.get(name.lower(), name.lower())
    if known not in COMBINATIONS:
        raise CalipersError(f"unknown combination '{name}'; expected one of {', '.join(COMBINATIONS)}")
    return known


def with_combined(judge_table: JudgeTable, names: Any) -> JudgeTable:
    """Return the table with further judges that combine all but the first."""
    wanted = [combination_name(name) for name in ([names] if isinstance(names, str) else names)]
    labels = judge_table.grade[1:]
    if wanted and len(labels) < 2:
        raise CalipersError("combining needs at least two judges in addition to the human")
    if wanted:
        _refuse_mixed_scales(judge_table)
    for name in dict.fromkeys(wanted):
        judge_table = judge_table.with_labels(name, COMBINATIONS[name](labels))
    return judge_table


def reliability(judge_table: JudgeTable, judges: int) -> Table:
    """Return one row per judge: accuracy, and for each grade the probability that the judge gives it if it is true.

    They come from Dawid and Skene's EM over the first `judges` judges after the human. The human's labels are not used.
    """
    found = dawid_skene(judge_table.grade[1 : judges + 1])
    rows: list[tuple[Cell, ...]] = [
        (name, float(accuracy), *np.diag(matrix).tolist())
        for name, accuracy, matrix in zip(
            judge_table.names[1 : judges + 1], found.accuracy.tolist(), found.confusion, strict=True
        )
    ]
    columns = ("judge", "accuracy", *(f"right_at_{grade:g}" for grade in found.grades.tolist()))
    about = {
        "steps": len(found.log_likelihood),
        "converged": found.converged,
        "log_likelihood": found.log_likelihood[-1],
    }
    return Table(columns, tuple(rows), about)


def _refuse_mixed_scales(judge_table: JudgeTable) -> None:
    first = 1
    for place in range(2, len(judge_table.names)):
        if {first, place} <= judge_table.same or on_one_scale(judge_table.labels(first), judge_table.labels(place)):
            continue
        raise CalipersError(
            f"judges on different scales cannot be combined: {judge_table.names[first]} has the grades "
            f"{judge_table.scale(first)}, "
            f"{judge_table.names[place]} {judge_table.scale(place)}; {ADVICE}"
        )
