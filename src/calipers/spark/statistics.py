"""Means, paired tests and discriminative power of scores on Spark.

The driver gets a few numbers per system or pair of systems. The scores of single queries stay on the cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.checks import check_alpha, check_level
from calipers.collection.arrow import arrow
from calipers.errors import CalipersError, warn_user
from calipers.lists import Floats, Ints
from calipers.plurals import counted
from calipers.record import Record
from calipers.results.averages import expansion, mean, total
from calipers.spark.columns import Frame, about, named
from calipers.spark.failures import translated
from calipers.spark.paired_sums import SummedDifferences, Sums
from calipers.spark.session import map_in_arrow, sql

if TYPE_CHECKING:
    from calipers.metaevaluation.power import DiscriminativePower
    from calipers.results.scores import Scores
    from calipers.stats.comparison import Comparison

ROWS_AT_ONCE = 1 << 18  # scores that are turned into a matrix together
FLOOR = 1e-5  # of geometric means, as in calipers.results.scores
NO_COMMON_QUERY = "no query in common: none of the runs answers a query of the judgments"


def measures_of(scores: Frame) -> list[str]:
    """Return the columns that hold scores."""
    T = sql("types")

    found = [field.name for field in scores.schema if isinstance(field.dataType, T.DoubleType)]
    if not {"system", "query"} <= set(scores.columns) or not found:
        raise CalipersError(
            "not a DataFrame of scores: expected the columns system, query and one per measure, as spark.evaluate "
            f"returns them; the columns are {', '.join(scores.columns)}"
        )
    return found


def means(scores: Frame) -> Frame:
    """Return the mean of each system over the queries that count, as a DataFrame of systems x measures.

    Counts are added up, and gm_map and gm_bpref have geometric means, as in `Scores.mean`.
    """
    return _means(scores, [about(scores, name).get("average") or "arithmetic" for name in measures_of(scores)])


def _means(scores: Frame, averages: Sequence[str]) -> Frame:
    """Return correctly rounded means. Partitions return exact sums, which are rounded once at the end."""
    T = sql("types")

    measures = measures_of(scores)
    chosen = scores.select("system", *(named(name) for name in measures))
    parts = map_in_arrow(
        chosen, _ExactSums(tuple(averages)), "system string, count array<bigint>, parts array<array<double>>"
    )
    schema = T.StructType([T.StructField("system", T.StringType())])
    for name in measures:
        schema.add(name, T.DoubleType())
    return map_in_arrow(parts.repartition(1), _ExactMeans(tuple(averages), tuple(measures)), schema)


class _ExactSums(Record):
    """Number of scores and exact sum, per system of a partition and per measure."""

    averages: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        found: dict[str, tuple[list[int], list[list[float]]]] = {}
        for batch in batches:
            coded = batch.column("system").dictionary_encode()
            code = coded.indices.to_numpy(zero_copy_only=False)
            values = [column.to_numpy(zero_copy_only=False) for column in batch.columns[1:]]
            for place, system in enumerate(coded.dictionary.to_pylist()):
                counts, parts = found.setdefault(system, ([0] * len(values), [[] for _ in values]))
                for m, (average, column) in enumerate(zip(self.averages, values, strict=True)):
                    own = column[code == place]
                    own = own[~np.isnan(own)]
                    if average == "geometric":
                        own = np.log(np.maximum(own, FLOOR))
                    counts[m] += len(own)
                    parts[m] = expansion([*parts[m], *own.tolist()])
        if found:
            yield _rows({"system": [*found], "count": [c for c, _ in found.values()],
                         "parts": [p for _, p in found.values()]}, float_lists=True)  # fmt: skip


class _ExactMeans(Record):
    """The averages of all partitions."""

    averages: tuple[str, ...]
    measures: tuple[str, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        found: dict[str, tuple[list[int], list[list[float]]]] = {}
        for batch in batches:
            for system, count, parts in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                counts, sums = found.setdefault(system, ([0] * len(count), [[] for _ in count]))
                for m in range(len(count)):
                    counts[m] += count[m]
                    sums[m] = expansion([*sums[m], *parts[m]])
        if found:
            columns = zip(*(self._averages(*each) for each in found.values()), strict=True)
            yield _rows({"system": [*found], **dict(zip(self.measures, columns, strict=True))})

    def _averages(self, counts: list[int], sums: list[list[float]]) -> list[float | None]:
        return [
            None if not n else total(parts) if how == "sum" else math.exp(m) if how == "geometric" else m
            for how, n, parts in zip(self.averages, counts, sums, strict=True)
            for m in [mean(parts, n)]
        ]


def _rows(columns: Mapping[str, Any], float_lists: bool = False) -> Any:
    pa = arrow()

    kinds = {"system": pa.string(), "count": pa.list_(pa.int64()), "parts": pa.list_(pa.list_(pa.float64()))}
    arrays = [
        pa.array(list(values), kinds[name] if float_lists or name == "system" else pa.float64())
        for name, values in columns.items()
    ]
    return pa.RecordBatch.from_arrays(arrays, [*columns])


def compare(
    scores: Frame,
    test: str = "t",
    correction: str | None = "holm",
    baseline: str | None = None,
    *,
    alpha: float = 0.05,
    level: float | None = None,
) -> Comparison:
    """Student's paired t test of every pair of systems, or of every system against a baseline, under each measure.

    The outcome is that of `calipers.compare`. The other tests need every query's difference again and again: for them
    bring the scores home with `collect`.
    """
    from calipers.results.ambiguous_names import refuse_ambiguous_names
    from calipers.stats.comparison import Comparison, pairs_of
    from calipers.stats.correction import CORRECTIONS, correction_name
    from calipers.stats.significance import Settings, _student, test_name

    known, correct = test_name(test), correction_name(correction)
    if known != "t":
        raise CalipersError(
            f"the test '{known}' needs the scores of all queries in one place, which the Spark engine does not do: use "
            "test='t', or calipers.compare(spark.collect(scores), ...)"
        )
    alpha = check_alpha(alpha)
    level = 1 - alpha if level is None else check_level(level)
    measures, systems = measures_of(scores), systems_of(scores)
    if len(systems) < 2:
        raise CalipersError(f"there is only one system ({', '.join(systems)}): nothing to compare it with")
    refuse_ambiguous_names(_named_only(scores), [] if baseline is None else [baseline])
    a, b = pairs_of(systems, baseline)
    counted = _summed(scores, measures, systems, a, b)
    if counted.queries < 2:
        raise CalipersError("there are fewer than two queries: no test can be made")
    outcomes = [_student(SummedDifferences(sums), Settings(level)) for sums in counted.pairs]
    return Comparison(
        measures=tuple(measures),
        systems=tuple(systems),
        a=a,
        b=b,
        outcomes=tuple(outcomes),
        p_adjusted=CORRECTIONS[correct](np.array([outcome.p for outcome in outcomes])),
        means=counted.means,
        alpha=alpha,
        metadata={
            "test": known,
            "correction": correct,
            "baseline": baseline,
            "alpha": alpha,
            "level": level,
            "queries": counted.queries,
            "like": about(scores, "system").get("like"),
            "exactness": about(scores, "system").get("exactness", {}),
            "standard_error": {},  # what is drawn is known on the workers alone
        },
    )


def discriminative_power(
    scores: Frame, test: str = "t", alpha: float = 0.05, *, correction: str | None = None
) -> DiscriminativePower:
    """Return the share of pairs of systems that differ significantly, per measure. Cutoffs of a measure are joined."""
    from calipers.metaevaluation.families import families
    from calipers.metaevaluation.power import power_of

    compared = compare(scores, test=test, correction=correction, alpha=alpha)
    return power_of(compared, families(_named_only(scores)))


def collect(scores: Frame, *, warn: bool = True) -> Scores:
    """Return all scores as `calipers.Scores` on the driver. Queries are sorted as text.

    warn: as in `calipers.evaluate`.
    """
    from calipers.results.messages import RunSummary, missing_names, notes_about, notes_on_lacking
    from calipers.results.scores import Coverage, Scores

    measures, systems = measures_of(scores), systems_of(scores)
    with translated():
        table = scores.select("system", "query", *(named(name) for name in measures), "about").toArrow()
    s, systems_found = _codes(table.column("system"), systems)
    queries = sorted(set(table.column("query").to_pylist()))
    q, _ = _codes(table.column("query"), queries)
    shape = (len(systems), len(queries))
    if systems_found > len(systems) or len(s) != shape[0] * shape[1]:
        raise CalipersError(
            f"expected a row for each of {counted(shape[0], 'system')} and {counted(shape[1], 'query')}, found {len(s)}"
        )
    values = np.full((len(measures), *shape), np.nan)
    reasons = np.zeros(values.shape, np.uint8)
    lists = table.column("about").combine_chunks()
    why = np.array(lists.field("reasons").to_pylist(), np.uint8).reshape(len(s), -1)
    for m, name in enumerate(measures):
        values[m, s, q] = table.column(name).to_numpy()
        reasons[m, s, q] = why[:, m]
    coverage = Coverage.blank(*shape)
    for ours, theirs in (("length", "read"), ("tied", "tied"), ("judged_at_10", "judged_at_10")):
        getattr(coverage, ours)[s, q] = lists.field(theirs).to_numpy(zero_copy_only=False)
    if coverage.missing.all():
        raise CalipersError(NO_COMMON_QUERY)
    lacked, tied = coverage.missing.sum(axis=1).tolist(), (coverage.tied > 0).sum(axis=1).tolist()
    shares = coverage.unjudged_share_at_10().tolist()
    columns = zip(systems, lacked, tied, shares, missing_names(coverage, queries), strict=True)
    seen = [
        RunSummary(name, False, 0, missing, ties, unjudged, missing=names)
        for name, missing, ties, unjudged, names in columns
    ]
    bare = _named_only(scores)
    notes = (*notes_on_lacking(seen, len(queries)), *notes_about(seen, str(bare.metadata["ties"])))
    warn_user(notes, warn)
    return Scores(
        tuple(measures), tuple(systems), tuple(queries), values, reasons, bare.definitions, coverage, bare.metadata,
        notes=notes, ambiguous_names=bare.ambiguous_names,
    )  # fmt: skip


# -- helpers ------------------------------------------------------------------------------------------


class _CollectedSums(Record):
    """Sums of all pairs per measure, means of systems, and the number of queries."""

    pairs: list[Sums]
    means: Floats
    queries: int


def systems_of(scores: Frame) -> list[str]:
    """Return the systems in the order of the request."""
    noted = about(scores, "system").get("systems")
    if noted is not None:
        return [str(system) for system in noted]
    with translated():
        return sorted(row[0] for row in scores.select("system").distinct().collect())


def _named_only(scores: Frame) -> Scores:
    """Return scores without values, for functions that read only names and definitions."""
    from calipers.measures.grammar import parse
    from calipers.results.scores import Scores

    measures = measures_of(scores)
    known = [about(scores, name).get("measure") for name in measures]
    try:
        definitions = tuple(parse(str(name)) for name in known) if all(known) else ()
    except CalipersError:  # the name of a user's own measure defines nothing here
        definitions = ()
    empty = np.zeros((len(measures), 0, 0))
    said = {key: value for key, value in about(scores, "system").items() if key not in ("systems", "ambiguous")}
    several = {str(name): tuple(files) for name, files in about(scores, "system").get("ambiguous", {}).items()}
    return Scores(
        tuple(measures), (), (), empty, empty.astype(np.uint8), definitions, metadata=said, ambiguous_names=several
    )


def _codes(column: Any, names: Sequence[str]) -> tuple[Ints, int]:
    """Return the index of each value among the names, and the number of distinct values."""
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if hasattr(coded, "combine_chunks") else coded
    place = {name: i for i, name in enumerate(names)}
    values = coded.dictionary.to_pylist()
    unknown = [value for value in values if value not in place]
    if unknown:
        raise CalipersError(f"the scores have a system '{unknown[0]}' that they do not name")
    return np.array([place[value] for value in values], np.int64)[coded.indices.to_numpy()], len(values)


def _summed(scores: Frame, measures: list[str], systems: list[str], a: Ints, b: Ints) -> _CollectedSums:
    """Add up in every partition, then the partitions."""
    chosen = scores.select("system", "query", *(named(name) for name in measures))
    moved = chosen.repartition("query").sortWithinPartitions("query")
    parts = map_in_arrow(moved, _Partial(tuple(systems), a, b), "measure int, queries long, sums binary")
    whole = map_in_arrow(parts.repartition(1), _Whole(len(measures)), parts.schema)
    with translated():
        found = {row[0]: row for row in whole.collect()}
    if not found:
        raise CalipersError("there are no scores")
    with translated():
        rows = {row["system"]: row for row in _means(scores, ["arithmetic"] * len(measures)).collect()}
    averages = np.array([[rows[system][name] if system in rows else None for system in systems] for name in measures])
    return _CollectedSums(
        [Sums.from_bytes(found[m][2]) for m in range(len(measures))], averages.astype(np.float64), int(found[0][1])
    )


class _Partial(Record):
    """The sums of one partition, which has all scores of its queries."""

    systems: tuple[str, ...]
    a: Ints
    b: Ints

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        totals: list[tuple[int, Sums]] = []
        for matrix in self._matrices(batches):
            fresh = [(matrix.shape[2], Sums.of(values, self.a, self.b)) for values in matrix]
            totals = _added(totals, fresh)
        if totals:
            yield _as_batch(totals)

    def _matrices(self, batches: Iterator[Any]) -> Iterator[Floats]:
        """Yield scores of whole queries as [measure, system, query]."""
        pa = arrow()

        waiting: list[Any] = []
        rows = 0
        for batch in batches:
            if not len(batch):
                continue
            waiting.append(batch)
            rows += len(batch)
            if rows >= ROWS_AT_ONCE:
                table = pa.Table.from_batches(waiting)
                last = _run_lengths(table.column("query"))[-1]
                if last < rows:
                    yield self._matrix(table.slice(0, rows - last))
                waiting, rows = table.slice(rows - last).to_batches(), last
        if waiting:
            yield self._matrix(pa.Table.from_batches(waiting))

    def _matrix(self, table: Any) -> Floats:
        system, _ = _codes(table.column("system"), self.systems)
        lengths = _run_lengths(table.column("query"))
        query = np.repeat(np.arange(len(lengths)), lengths)
        names = table.column_names[2:]
        matrix = np.full((len(names), len(self.systems), len(lengths)), np.nan)
        for m, name in enumerate(names):
            matrix[m, system, query] = table.column(name).to_numpy()
        return matrix


class _Whole(Record):
    """The sums of all partitions."""

    measures: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        totals: list[tuple[int, Sums]] = []
        found: dict[int, tuple[int, Sums]] = {}
        for batch in batches:
            for measure, queries, pairs in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                fresh = (queries, Sums.from_bytes(pairs))
                found[measure] = _added([found[measure]], [fresh])[0] if measure in found else fresh
        totals = [found[m] for m in range(self.measures) if m in found]
        if totals:
            yield _as_batch(totals)


def _added(totals: list[tuple[int, Sums]], fresh: list[tuple[int, Sums]]) -> list[tuple[int, Sums]]:
    if not totals:
        return fresh
    return [(n + m, x + y) for (n, x), (m, y) in zip(totals, fresh, strict=True)]


def _as_batch(totals: Iterable[tuple[int, Sums]]) -> Any:
    pa = arrow()

    rows = [(m, queries, pairs.to_bytes()) for m, (queries, pairs) in enumerate(totals)]
    columns = [*zip(*rows, strict=True)]
    kinds = [pa.int32(), pa.int64(), pa.binary()]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, ["measure", "queries", "sums"])


def _run_lengths(column: Any) -> Ints:
    """Return the lengths of runs of equal values."""
    coded = column.combine_chunks().dictionary_encode()
    code = (coded.combine_chunks() if hasattr(coded, "combine_chunks") else coded).indices.to_numpy()
    starts = np.append(0, np.flatnonzero(np.diff(code)) + 1)
    return np.diff(np.append(starts, len(code)))
