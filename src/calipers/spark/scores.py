"""Means of scores on Spark, and all scores on the driver."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.collection.arrow import arrow
from calipers.errors import CalipersError, warn_user
from calipers.lists import Ints
from calipers.results.averages import expansion, mean, total
from calipers.spark.columns import Frame, about, named
from calipers.spark.session import map_in_arrow, sql, translated
from calipers.support.plurals import counted
from calipers.support.record import Record

if TYPE_CHECKING:
    from calipers.measures.registry import Measure
    from calipers.results.scores import Scores


OF_FRAMES = ("systems", "ambiguous", "drawn", "missing_is_given")  # facts that `Scores` has elsewhere
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
            yield _rows(
                {"system": [*found], "count": [c for c, _ in found.values()], "parts": [p for _, p in found.values()]},
                float_lists=True,
            )


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


def collect(scores: Frame, *, warn: bool = True) -> Scores:
    """Return all scores as `calipers.Scores` on the driver. Queries are sorted as text.

    warn: as in `calipers.evaluate`.
    """
    from calipers.results.messages import RunSummary, incomplete_runs, missing_names, notes_about, notes_on_lacking
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
    said = about(scores, "system")
    notes = (*notes_on_lacking(seen, len(queries)), *notes_about(seen, said["ties"], drawn=said["drawn"]))
    warn_user(notes, warn)
    return Scores(
        measures=tuple(measures),
        systems=tuple(systems),
        queries=tuple(queries),
        values=values,
        reasons=reasons,
        definitions=_definitions(scores, measures),
        coverage=coverage,
        metadata={
            **{key: value for key, value in said.items() if key not in OF_FRAMES},
            "incomplete": {} if said["missing_is_given"] else incomplete_runs(coverage, systems),
        },
        notes=notes,
        ambiguous_names={str(name): tuple(files) for name, files in said.get("ambiguous", {}).items()},
    )


# -- helpers ------------------------------------------------------------------------------------------


def systems_of(scores: Frame) -> list[str]:
    """Return the systems in the order of the request."""
    noted = about(scores, "system").get("systems")
    if noted is not None:
        return [str(system) for system in noted]
    with translated():
        return sorted(row[0] for row in scores.select("system").distinct().collect())


def _definitions(scores: Frame, measures: Sequence[str]) -> tuple[Measure, ...]:
    """Return the measures, or nothing if a name is that of a user's own measure, which is unknown here."""
    from calipers.measures.grammar import parse

    known = [about(scores, name).get("measure") for name in measures]
    try:
        return tuple(parse(str(name)) for name in known) if all(known) else ()
    except CalipersError:
        return ()


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
