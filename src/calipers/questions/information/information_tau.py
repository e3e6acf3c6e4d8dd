"""Information tau: rank correlation in bits, also conditional on other orderings.

    tau_I(R, S)     = I(X_R; X_S) = (1 + t)/2 lg(1 + t) + (1 - t)/2 lg(1 - t)          t = Kendall's tau, without ties
    tau_I(R, S | T) = H(R, T) + H(S, T) - H(R, S, T) - H(T)

X_R is 1 for an ordered pair whose first item R ranks above the second, and -1 otherwise. Information tau ignores the
sign: it is largest for an ordering and its reverse too. It can be larger given T than without T, so the difference
cannot be read as "bits explained by T".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calipers.errors import CalipersError, chosen_measure
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats
from calipers.questions.information.sign_patterns import check_number_of_lists
from calipers.results.result import Result, Tables
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.tables import Cell, Table, as_number
from calipers.support.checks import check_type
from calipers.support.plurals import counted

TIES = ("null", "drop")
CELLS_AT_ONCE = 4_000_000  # pairs of items, over several queries


def tau_between(x: ArrayLike, y: ArrayLike, given: Sequence[ArrayLike] = (), *, ties: str = "null") -> float:
    """Return the information tau of two orderings of the same items.

    x, y: the scores of the items in the two orderings. given: scores of further orderings that are taken as known.
    ties: `null` treats a tie as a third outcome; `drop` leaves out pairs that are tied in any of the orderings. Items
    with an undefined score are left out. The value lies between 0 and 1 without ties, and between 0 and lg 3 with
    ties as a third outcome.

    >>> round(tau_between([0, 1, 2, 3], [1, 0, 2, 3]), 9)             # Kendall's tau is 2/3
    0.349977578
    >>> round(tau_between([0, 1, 2, 3], [0, 1, 3, 2], [[1, 0, 2, 3]]), 9)
    0.316689088
    """
    check_type("given", given, Iterable, "lists of scores")
    try:
        lists = [np.asarray(scores, np.float64) for scores in (x, y, *given)]
    except (TypeError, ValueError):
        raise CalipersError("expected lists of scores, with one score for each item") from None
    shapes = {scores.shape for scores in lists}
    if len(shapes) > 1 or lists[0].ndim != 1:
        raise CalipersError(f"expected lists of scores of equal length, found the shapes {', '.join(map(str, shapes))}")
    return float(_of_queries(np.array(lists)[:, :, None], ties)[0])


@dataclass(frozen=True, eq=False, repr=False)
class InformationTau(Result):
    """Information tau of pairs of measures, for each query."""

    queries: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]  # x, y, and the given measures
    values: Floats  # [row, query]; NaN if no pair of systems counts
    metadata: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: tuple[str, ...]) -> Floats:
        """Return the values for each query: `found["ERR", "nDCG"]`, or `found["ERR", "nDCG", "AP"]` given AP."""
        for row, values in zip(self.rows, self.values, strict=True):
            if (row[0], row[1], *row[2]) == key:
                return np.asarray(values)
        raise CalipersError(f"no information tau of {', '.join(key)}")

    @property
    def title(self) -> str:
        """Title with the numbers of pairs of measures and of queries."""
        return f"Information tau: {counted(len(self.rows), 'pair')} of measures, {counted(len(self.queries), 'query')}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        rows = [row for row in self.table() if row["tau_I"] == row["tau_I"]]
        if not rows:
            return "No query has a pair of systems that can be compared under both measures."
        most = max(rows, key=lambda row: as_number(row["tau_I"]))
        given = f" given {most['given']}" if most["given"] else ""
        return f"{most['x']} and {most['y']} agree most{given}: information tau {as_number(most['tau_I']):.4f}."

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"means": self._means, "queries": self.per_query})

    def _means(self) -> Table:
        """x, y, given, tau_I (the mean over queries), queries (how many count): Golbus & Aslam's (2013) table 1."""
        rows: list[tuple[Cell, ...]] = []
        for (x, y, given), values in zip(self.rows, self.values, strict=True):
            defined = values[~np.isnan(values)]
            mean = float(defined.mean()) if len(defined) else math.nan
            rows.append((x, y, " ".join(given), mean, len(defined)))
        return Table(("x", "y", "given", "tau_I", "queries"), tuple(rows), self.metadata)

    def per_query(self) -> Table:
        """query, x, y, given, tau_I: the points of figure 1."""
        rows = [
            (query, x, y, " ".join(given), float(value))
            for q, query in enumerate(self.queries)
            for (x, y, given), value in zip(self.rows, self.values[:, q], strict=True)
        ]
        return Table(("query", "x", "y", "given", "tau_I"), tuple(rows), self.metadata)


def tau(
    evaluation: Evaluation | ScoresLike,
    *,
    x: str | None = None,
    y: str | None = None,
    given: str | Iterable[str] = (),
    ties: str = "null",
) -> InformationTau:
    """Return how similarly measures order the systems on each query, in bits.

    Each pair of measures has an unconditional value, a value given each measure in `given`, and a value given all of
    them.

    evaluation: an experiment, or scores.
    x, y: two measures. By default, all pairs of measures that are not in `given`.
    given: measures that are taken as known.
    ties: `null` treats a tie of two systems as a third outcome, `drop` leaves tied pairs out.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[[4.], [3.], [2.], [1.]], [[3.], [4.], [2.], [1.]]], measure=["ERR", "nDCG"])
    >>> round(float(cal.questions.information.tau(scores)["ERR", "nDCG"][0]), 9)
    0.349977578
    """
    scores = evaluation.scores if isinstance(evaluation, Evaluation) else as_scores(evaluation)
    given = [given] if isinstance(given, str) else given
    known = [scores.measures[chosen_measure(name, scores.measures)] for name in given]
    if (x is None) != (y is None):
        raise CalipersError("give both x and y, or neither for all pairs of measures")
    if x is not None and y is not None:
        of_x, of_y = (scores.measures[chosen_measure(name, scores.measures)] for name in (x, y))
        pairs = [(of_x, of_y)]
    else:
        pairs = list(combinations([name for name in scores.measures if name not in known], 2))
    if not pairs:
        raise CalipersError(
            f"information tau needs two measures that are not given; the measures are {', '.join(scores.measures)}"
        )
    if len(scores.systems) < 2:
        raise CalipersError(
            f"information tau needs at least two systems, but there is only {', '.join(scores.systems)}"
        )
    check_number_of_lists(2 + len(known), "measures")
    conditions: list[tuple[str, ...]] = [(), *((name,) for name in known)]
    if len(known) > 1:
        conditions.append(tuple(known))
    rows = [(one, other, condition) for one, other in pairs for condition in conditions]
    values = [
        _of_queries(np.array([scores[name] for name in (one, other, *condition)]), ties)
        for one, other, condition in rows
    ]
    about = {"systems": len(scores.systems), "ties": ties}
    return InformationTau(scores.queries, tuple(rows), np.array(values), about)


# -- entropies ---------------------------------------------------------------------------------------


def _of_queries(lists: Floats, ties: str) -> Floats:
    """Return I(first; second | others) for each query, from scores as [list, item, query]."""
    if ties not in TIES:
        raise CalipersError(f"ties={ties} is not one of {', '.join(TIES)}")
    check_number_of_lists(len(lists), "orderings")
    _, items, queries = lists.shape
    a, b = np.triu_indices(items, 1)
    result = np.full(queries, np.nan)
    step = max(1, CELLS_AT_ONCE // max(len(a), 1))
    for start in range(0, queries, step):
        part = lists[:, :, start : start + step]
        difference = np.moveaxis(part[:, a] - part[:, b], 1, 2)  # [list, query, pair]
        counted = np.asarray(~np.isnan(difference).any(axis=0))
        sign = np.sign(np.where(counted, difference, 0.0)).astype(np.int64)
        if ties == "drop":
            counted = counted & np.asarray((sign != 0).all(axis=0))
        first, second, rest = range(1), range(1, 2), range(2, len(lists))
        entropy = [_entropy(sign[[*some]], counted) for some in ((*first, *rest), (*second, *rest), range(len(lists)))]
        bits = entropy[0] + entropy[1] - entropy[2] - (_entropy(sign[2:], counted) if len(lists) > 2 else 0.0)
        # If all pairs are tied in one list, the value is 0. If no pair counts, the value is undefined.
        result[start : start + step] = np.where(counted.any(axis=1), np.maximum(bits, 0.0), np.nan)
    return result


def _entropy(sign: NDArray[np.int64], counted: NDArray[np.bool_]) -> Floats:
    """Return the entropy of the patterns of the counted pairs for each query. Each pair is taken in both directions."""
    code = np.zeros(sign.shape[1:], np.int64)
    for i, each in enumerate(sign):
        code += each * np.int64(3**i)
    # A pair and its reverse have opposite patterns. |code| counts both, with half the share each.
    code = np.where(counted, np.abs(code), -1)
    code.sort(axis=1)
    queries, pairs = counted.shape
    flat = code.ravel()
    fresh = np.ones(flat.shape, bool)
    fresh[1:] = flat[1:] != flat[:-1]
    fresh[::pairs] = True
    start = np.flatnonzero(fresh)
    count = np.diff(np.append(start, flat.size)).astype(np.float64)
    query, pattern = start // pairs, flat[start]
    total = counted.sum(axis=1)[query]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = count / total
        bits = np.where(pattern > 0, -share * np.log2(share / 2), -share * np.log2(share))
    return np.bincount(query, np.where(pattern >= 0, bits, 0.0), queries).astype(np.float64)
