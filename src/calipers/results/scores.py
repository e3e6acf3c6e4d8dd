"""Scores by measure, system and query, with the reason for each score that is undefined."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from calipers.collection.query_facts import QueryGroups, QueryWeights, read_query_weights
from calipers.errors import CalipersError, UnknownName, chosen_measure, place_of
from calipers.lists import Floats, Ints
from calipers.measures.registry import Measure
from calipers.results.averages import mean, total
from calipers.results.result import SHOWN_IN_NOTEBOOKS, Result, Tables, html_of, in_short, protect_arrays
from calipers.results.tables import Table, as_number, four_digits
from calipers.support.plurals import counted, verb

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from calipers.results.averages import ScoresByGroup

NAMED = 3  # number of systems with the same mean that the summary names
ROUNDING = 1e-13  # largest relative difference between scores that are equal apart from rounding


class Reason(IntEnum):
    """The reason why a score is undefined. The policy decides how such a query counts."""

    DEFINED = 0
    NO_RELEVANT = 1  # undefined for every ranking of the query
    NOTHING_FOUND = 2  # undefined for this list
    MISSING = 3  # the run lacks the query, and missing queries are skipped
    DEGENERATE = 4  # every ranking scores the same

    def __str__(self) -> str:
        return {
            Reason.DEFINED: "defined",
            Reason.NO_RELEVANT: "no relevant document",
            Reason.NOTHING_FOUND: "nothing relevant found",
            Reason.MISSING: "query missing from the run",
            Reason.DEGENERATE: "all rankings score the same",
        }[self]


@dataclass(frozen=True, eq=False)
class Coverage:
    """Facts about the lists, as arrays of system x query."""

    length: Ints  # documents retrieved
    tied: Ints  # documents that have the same score as another document
    judged_at_10: Ints  # judged documents among the first ten
    unjudged_queries: Ints  # [system]: answered queries without judgments
    read: Ints  # documents down to the deepest rank that a measure reads
    judged: Ints  # judged documents down to this rank
    sampled: dict[int, float] = field(default_factory=dict)  # {index of a sampled measure: largest standard error}

    @classmethod
    def blank(cls, systems: int, queries: int) -> Coverage:
        """Return the coverage of empty lists."""
        length, tied, judged_at_10, read, judged = (np.zeros((systems, queries), np.int64) for _ in range(5))
        return cls(length, tied, judged_at_10, np.zeros(systems, np.int64), read, judged)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """True for each query that a system lacks."""
        return np.asarray(self.length == 0)

    @property
    def lacks_most(self) -> NDArray[np.bool_]:
        """True for each system that lacks more than half of the queries."""
        return np.asarray(2 * self.missing.sum(axis=1) > self.length.shape[1])

    def mostly_unjudged(self, reach: int | None) -> bool:
        """Return True if more than half of the documents down to this rank are unjudged (None: all that were read).

        For ranks up to 10, the first ten documents are counted.
        """
        judged, read = self.judged, self.read
        if reach is not None and reach <= 10:
            judged, read = self.judged_at_10, np.minimum(self.length, 10)
        return bool(2 * judged.sum() < read.sum())

    def unjudged_share_at_10(self) -> Floats:
        """Return the share of unjudged documents among the first ten of the lists of each system."""
        shown = np.minimum(self.length, 10).sum(axis=1)
        return np.asarray(1.0 - self.judged_at_10.sum(axis=1) / np.maximum(shown, 1))


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Result):
    """The scores of systems on queries under measures.

    The tables are `means`, one row per system, and `per_query`, one row per system and query. Text formats write the
    means if no table is named. Data frames hold one row per system and query if no table is named.

    >>> import calipers as cal
    >>> scores = cal.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 2, "c": 1}, "q2": {"c": 1}}, ["RR", "AP"])
    >>> scores["RR"]
    array([[1., 0.]])
    >>> print(scores)
    Means of 1 system on 2 queries
    system      RR      AP
    ------  ------  ------
    run     0.5000  0.5000
    RR of run: 0.5000. AP of run: 0.5000.
    """

    measures: tuple[str, ...]  # as they were named
    systems: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats  # [measure, system, query]; NaN if skipped
    reasons: NDArray[np.uint8]  # [measure, system, query]: a Reason for each score
    definitions: tuple[Measure, ...] = ()
    coverage: Coverage | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # sentences about the runs: missing queries, ties, unjudged documents
    ambiguous_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # {name: files that it could mean}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.coverage is not None:
            protect_arrays(self.coverage)

    @overload
    def __getitem__(self, key: str) -> Floats: ...
    @overload
    def __getitem__(self, key: tuple[str, str]) -> Floats: ...
    def __getitem__(self, key: str | tuple[str, str]) -> Floats:
        """Return the scores of one measure (system x query), or of one measure and system (one score per query).

        Measures are known by every name that `evaluate` takes.

        >>> import calipers as cal
        >>> scores = cal.as_scores([[0.5, 0.3], [1.0, 0.2]], ["old", "new"], ["q1", "q2"], "RR")
        >>> scores["RR", "new"], scores["MRR", "old"]
        (array([1. , 0.2]), array([0.5, 0.3]))
        """
        measure, *rest = (key,) if isinstance(key, str) else key
        values = self.values[self._measure(measure)]
        for system in rest:
            values = values[place_of("system", system, self.systems)]
        return np.asarray(values)

    def _measure(self, name: str) -> int:
        """Return the index of a measure, which may be given by another of its names: MRR for RR, map for AP."""
        try:
            return chosen_measure(name, self.measures)
        except UnknownName:
            meant = _parsed(name)
            for place, measure in enumerate(self.measures):
                if meant is not None and _parsed(measure) == meant:
                    return place
            raise

    # -- as a result -------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The number of systems and queries."""
        return f"Means of {counted(len(self.systems), 'system')} on {counted(len(self.queries), self.unit)}"

    @property
    def summary(self) -> str:
        """The best system under the first two measures."""
        return in_short(self.conclusions())

    def conclusions(self) -> list[str]:
        """Return one sentence per measure: the system with the best mean.

        >>> import calipers as cal
        >>> cal.as_scores([[0.5, 0.3], [0.9, 0.2]], ["old", "new"], measure="AP").conclusions()
        ['AP: new is best (0.5500)']
        """
        table = self.mean()
        return [_best_mean(table, name, smallest=name in self.lower) for name in self.measures]

    def tables(self) -> Tables:
        """Return the means, and the scores by query."""
        return Tables({"means": lambda: self.best_in_bold(self.mean()), "per_query": self.per_query})

    def to_pandas(self, table: str | None = "per_query") -> pd.DataFrame:
        """Return a table as a pandas frame. Without a name: one row per system and query."""
        return super().to_pandas(table)

    def to_polars(self, table: str | None = "per_query") -> pl.DataFrame:
        """Return a table as a polars frame. Without a name: one row per system and query."""
        return super().to_polars(table)

    def to_arrow(self, table: str | None = "per_query") -> pa.Table:
        """Return a table as a pyarrow table. Without a name: one row per system and query."""
        return super().to_arrow(table)

    def _repr_html_(self) -> str:
        """Return the means for a notebook, each with half of its 95% confidence interval."""
        marks = {
            (s, m + 1): f"±{width:.3f}"
            for m, values in enumerate(self.values)
            for s, row in enumerate(values)
            if (width := _half_interval(row[~np.isnan(row)])) is not None
        }
        table = self.table("means").changed(marks=marks).head(SHOWN_IN_NOTEBOOKS)
        return html_of(self.title, table, ("±: 95% confidence intervals.", self.summary, *self.notes))

    # -- about the measures ------------------------------------------------------------------------

    @property
    def exactness(self) -> dict[str, str]:
        """{measure: `exact`, `sampled`, `greedy` or `sorted`}: how exact the scores of each measure are."""
        known: dict[str, str] = self.metadata.get("exactness", {})
        return {name: known.get(name, "exact") for name in self.measures}

    @property
    def errors(self) -> dict[str, float]:
        """{measure: largest standard error of a score}, for measures that are estimated from random samples."""
        known: dict[str, float] = self.metadata.get("standard_error", {})
        return dict(known)

    @property
    def lower(self) -> frozenset[str]:
        """The measures for which smaller values are better: errors, such as TER."""
        return frozenset(self.metadata.get("lower", ())).intersection(self.measures)

    @property
    def unit(self) -> str:
        """The noun for the items that systems are scored on: `query`, or `document` for summaries."""
        return str(self.metadata.get("unit", "query"))

    @property
    def signs(self) -> Floats:
        """The factor for each measure, 1 or -1, that makes larger scores better."""
        return np.array([-1.0 if name in self.lower else 1.0 for name in self.measures])

    @property
    def larger_is_better(self) -> Scores:
        """The scores with errors negated and called -TER, so that larger values are better under every measure."""
        if not self.lower:
            return self
        names = tuple(f"-{name}" if name in self.lower else name for name in self.measures)
        about = {key: value for key, value in self.metadata.items() if key != "lower"}
        ends: dict[str, tuple[float | None, float | None]] = dict(self.metadata.get("ends", {}))
        for name in self.lower & ends.keys():
            low, high = ends.pop(name)
            ends[f"-{name}"] = None if high is None else -high, None if low is None else -low
        return replace(
            self, measures=names, values=self.values * self.signs[:, None, None], metadata={**about, "ends": ends}
        )

    def best_in_bold(self, table: Table) -> Table:
        """Return a table with one column per measure, with the best figure of each column in bold."""
        more = [name for name in self.measures if name not in self.lower]
        less = [name for name in self.measures if name in self.lower]
        return table.with_best(more).with_best(less, smallest=True)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences about the conventions of the scores, about undefined queries, and about sampling.

        >>> import calipers as cal
        >>> cal.evaluate({"q1": {"a": 1}, "q2": {"a": 0}}, {"q1": {"a": 1}, "q2": {"a": 1}}, "AP").remarks
        ('1 of 2 queries for AP: no relevant document; counted as 0',)
        """
        from calipers.results.messages import remarks_about

        return tuple(remarks_about(self))

    # -- over queries ------------------------------------------------------------------------------

    def mean(self, query_weights: QueryWeights | None = None) -> Table:
        """Return the mean over the defined queries: a table of systems x measures.

        Some measures have another average: counts are added up, and gm_map and gm_bpref have the geometric mean.

        query_weights: {query: weight} or a file, for the weighted mean sum(w x) / sum(w).
        """
        if query_weights is not None:
            columns_of_means = self.weighted_means(self.weights(query_weights)).tolist()
            return Table(
                ("system", *self.measures), tuple(zip(self.systems, *columns_of_means, strict=True)), self.metadata
            )
        averages = [AVERAGES[measure.declaration.average] for measure in self.definitions] or [
            _arithmetic for _ in self.measures
        ]
        columns: list[list[float | int]] = []
        for average, values in zip(averages, self.values, strict=True):
            if average is _arithmetic:
                columns.append(means(values).tolist())
            else:
                cells = (row[~np.isnan(row)] for row in values)
                columns.append([_number(average(cell)) if len(cell) else math.nan for cell in cells])
        rows = tuple(zip(self.systems, *columns, strict=True))
        return Table(("system", *self.measures), rows, self.metadata)

    def weights(self, query_weights: QueryWeights) -> Floats:
        """Return the weight of each query. Every query needs one.

        >>> import calipers as cal
        >>> cal.as_scores([[0.1, 0.2]], queries=["a", "b"]).weights({"b": 1, "a": 3, "c": 5})
        array([3., 1.])
        """
        known = read_query_weights(query_weights)
        if lacking := [query for query in self.queries if query not in known]:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise CalipersError(f"every query needs a weight: the weight of {lacking[0]}{more} is missing")
        return np.array([known[query] for query in self.queries])

    def weighted_means(self, weights: Floats) -> Floats:
        """Return sum(w x) / sum(w) over the defined scores, [measure, system]."""
        for definition in self.definitions:
            if definition.declaration.average != "arithmetic":
                raise CalipersError(f"{definition.name} is not averaged over queries: it takes no weights")
        defined = ~np.isnan(self.values)
        with np.errstate(invalid="ignore"):
            total = np.where(defined, self.values, 0.0) @ weights
            return np.asarray(total / (defined @ weights))

    def median(self) -> Table:
        """Return the median score of each system under each measure."""
        return self.aggregate(np.median)

    def gmean(self, floor: float = 1e-5) -> Table:
        """Return the geometric mean. Scores below the floor count as the floor (as in trec_eval's gm_map)."""
        return self.aggregate(lambda x: _geometric(x, floor))

    def std(self) -> Table:
        """Return the sample standard deviation of the scores."""
        return self.aggregate(lambda x: np.std(x, ddof=1) if len(x) > 1 else np.nan)

    def counted(self) -> Table:
        """Return the number of queries in each mean."""
        return self.aggregate(len)

    def aggregate(self, function: Callable[[Floats], Any]) -> Table:
        """Apply a function to the defined scores of each system under each measure."""
        return self._table(lambda values: _number(function(values)) if len(values) else math.nan)

    def _table(self, function: Callable[[Floats], Any]) -> Table:
        rows = []
        for s, system in enumerate(self.systems):
            cells = self.values[:, s]
            rows.append((system, *(function(row[~np.isnan(row)]) for row in cells)))
        return Table(("system", *self.measures), tuple(rows), self.metadata)

    # -- query by query ----------------------------------------------------------------------------

    def per_query(self) -> Table:
        """Return one row per system and query: system, query, and the score of each measure."""
        by_row = np.moveaxis(self.values, 0, -1).tolist()
        rows = tuple(
            (system, query, *by_row[s][q])
            for s, system in enumerate(self.systems)
            for q, query in enumerate(self.queries)
        )
        return Table(("system", "query", *self.measures), rows, self.metadata)

    def reason(self, measure: str, system: str, query: str) -> str:
        """Return why a score is undefined, or 'defined'."""
        code = self.reasons[
            self._measure(measure),
            place_of("system", system, self.systems),
            place_of("query", query, self.queries),
        ]
        return str(Reason(int(code)))

    def undefined(self, reason: Reason) -> Ints:
        """Return for each measure the number of scores that are undefined for this reason."""
        return np.asarray((self.reasons == reason).sum(axis=(1, 2)))

    def by_name(self) -> Scores:
        """Return the scores with systems and queries in alphabetical order.

        Tests draw samples in this order, so that no result depends on the order of lines or files.
        """
        systems, queries = order_of(self.systems), order_of(self.queries)
        cells = np.ix_(range(len(self.measures)), systems, queries)
        return replace(
            self,
            systems=tuple(self.systems[s] for s in systems),
            queries=tuple(self.queries[q] for q in queries),
            values=self.values[cells],
            reasons=self.reasons[cells],
            coverage=None,
        )

    def of_measures(self, measures: Sequence[str]) -> Scores:
        """Return the scores under these measures only."""
        place = [self._measure(measure) for measure in measures]
        return replace(
            self,
            measures=tuple(self.measures[p] for p in place),
            values=self.values[place],
            reasons=self.reasons[place],
            definitions=tuple(self.definitions[p] for p in place) if self.definitions else (),
        )

    def of_systems(self, systems: Sequence[str]) -> Scores:
        """Return the scores of these systems only."""
        place = [place_of("system", system, self.systems) for system in systems]
        return Scores(
            self.measures,
            tuple(systems),
            self.queries,
            self.values[:, place],
            self.reasons[:, place],
            self.definitions,
            None,
            self.metadata,
            ambiguous_names=self.ambiguous_names,
        )

    def by(self, query_groups: QueryGroups) -> ScoresByGroup:
        """Return the scores of each group of queries.

        query_groups: {query: group}, or a file of queries and groups.
        """
        from calipers.results.averages import ScoresByGroup

        return ScoresByGroup(self, query_groups)

    def of_queries(self, queries: Sequence[str]) -> Scores:
        """Return the scores on these queries only."""
        known = {query: q for q, query in enumerate(self.queries)}
        if unknown := [query for query in queries if query not in known]:
            raise UnknownName.among("query", unknown[0], self.queries)
        place = [known[query] for query in queries]
        return replace(
            self,
            queries=tuple(queries),
            values=self.values[:, :, place],
            reasons=self.reasons[:, :, place],
            coverage=None,
        )


def _parsed(name: str) -> Measure | None:
    """Return the measure of a name, or None for names of other scores."""
    from calipers.measures.grammar import parse

    try:
        return parse(name)
    except CalipersError:
        return None


def _best_mean(table: Table, measure: str, smallest: bool) -> str:
    """Return a sentence about the best mean under a measure. Systems with the same printed mean share it."""
    means = {str(row["system"]): as_number(row[measure]) for row in table if row[measure] == row[measure]}
    if not means:
        return f"{measure} is undefined for every system"
    best = four_digits((min if smallest else max)(means.values()))
    names = [name for name, mean in means.items() if four_digits(mean) == best]
    if len(table) == 1:
        return f"{measure} of {names[0]}: {best}"
    *first, last = names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"]
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{measure}: {listed} {verb(len(names), 'is', 'are')} best ({best})"


def _half_interval(values: Floats) -> float | None:
    """Return half the width of Student's 95% interval of a mean, or None if all scores are equal."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 2 or all_equal(values):
        return None
    return float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(n))


def _geometric(values: Floats, floor: float = 1e-5) -> float:
    return math.exp(_arithmetic(np.log(np.maximum(values, floor))))


def _arithmetic(values: Floats) -> float:
    return mean(values.tolist())


def order_of(names: Sequence[str]) -> list[int]:
    """Return the indices that put names in alphabetical order.

    >>> order_of(("b", "a"))
    [1, 0]
    """
    return sorted(range(len(names)), key=names.__getitem__)


def all_equal(values: Floats) -> bool:
    """Return True if scores are equal apart from rounding.

    >>> all_equal(np.array([0.3, 0.1 + 0.2])), all_equal(np.array([0.3, 0.31]))
    (True, False)
    """
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


def means(values: Floats) -> Floats:
    """Return correctly rounded means of the defined scores over the last axis, or NaN if no score is defined."""
    rows = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])  # -1 would fail without queries
    found, sure = _quick_means(rows)
    for r in np.flatnonzero(~sure).tolist():
        found[r] = _arithmetic(rows[r][~np.isnan(rows[r])])
    return found.reshape(values.shape[:-1])


def _quick_means(rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the mean of each row, computed in double-double arithmetic, and True if it is correctly rounded.

    The sum is s + e, where e is the sum of the rounding errors of all additions. The quotient is q + c, where c comes
    from e and from the remainder of the division.
    """
    n = np.count_nonzero(~np.isnan(rows), axis=1).astype(np.float64)
    with np.errstate(all="ignore"):  # a row with overflow or underflow is not sure to be correctly rounded
        s, e = _pairwise_sums(np.nan_to_num(rows, nan=0.0, posinf=np.inf, neginf=-np.inf))
        largest = np.nansum(np.abs(rows), axis=1)
        q = s / n
        high = q * 134217729.0  # 2^27 + 1: splits q into two halves, so that their products with n are exact
        high -= high - q
        left = (s - q * n) - ((high * n - q * n) + (q - high) * n)
        c = (left + e) / n
        steps = rows.shape[1].bit_length()
        error = 8 * (steps + 1) ** 2 * 2.0**-106 * largest + 2.0**-50 * np.abs(c)
        found = q + (c - error)
        sure = (found == q + (c + error)) & (np.abs(q) > 1e-200) & (largest < 1e200) & (rows.shape[1] < 1 << 20)
    nothing = (largest == 0) & (n > 0)
    return np.where(nothing, 0.0, found), sure | nothing


def _pairwise_sums(rows: Floats) -> tuple[Floats, Floats]:
    """Return the sum of each row, and the sum of the rounding errors of its additions.

    Each step adds the second half of the columns to the first (Knuth's two-sum, which finds the rounding error of an
    addition exactly), so n columns take log2(n) steps.
    """
    s, e = rows, np.zeros_like(rows)
    while (width := s.shape[1]) > 1:
        half = width // 2
        one, other, odd = s[:, :half], s[:, half : 2 * half], s[:, 2 * half :]
        t = one + other
        part = t - one
        lost = (one - (t - part)) + (other - part)
        s = np.hstack([t, odd])
        e = np.hstack([e[:, :half] + e[:, half : 2 * half] + lost, e[:, 2 * half :]])
    return s.sum(axis=1), e.sum(axis=1)  # one column, or none


def _sum(values: Floats) -> float:
    return total(values.tolist())


AVERAGES: dict[str, Callable[[Floats], Any]] = {"arithmetic": _arithmetic, "geometric": _geometric, "sum": _sum}


def _number(value: Any) -> float | int:
    return value if isinstance(value, int) else float(value)
