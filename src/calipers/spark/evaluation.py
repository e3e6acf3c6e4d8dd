"""Evaluation of DataFrames of judgments and runs. It takes one exchange, one sort and one pass through Python.

judgments ─┐ (system -1)
           ├─ union ─ exchange by query ─ sort by system, query ─ mapInArrow ─ scores
runs ──────┘ only judged queries; only documents that can rank in the first k
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calipers.conventions import Convention
from calipers.errors import CalipersError
from calipers.evaluation.inputs import reads_subtopics
from calipers.evaluation.options import Policy, ScoringOptions
from calipers.evaluation.scoring import refuse_flat
from calipers.measures.exactness import drawn_orders, inexact_measures, may_sample
from calipers.measures.forms.base import deepest
from calipers.measures.grammar import DEFAULT_MEASURES, MeasuresLike, parse_all
from calipers.measures.normalisation import population_of_bounds
from calipers.measures.populations import OF_LISTS
from calipers.measures.registry import Measure
from calipers.native.columns import Precision
from calipers.spark.columns import ORDER, Frame, about_systems, judgment_rows, known_systems, named, run_rows
from calipers.spark.session import map_in_arrow, sql, translated
from calipers.spark.worker import JUDGMENTS, DegeneratePools, Task
from calipers.support.choices import TieRule
from calipers.support.record import Record

LARGEST_LIST = 20_000_000  # rows of one list, or of one query's judgments, that a worker holds: about 2 GB
MOST_BROADCAST = 1_000_000  # judged queries that are sent to every executor, to drop the rows of all others early
DEEPEST_CUT = 100  # a cut below this rank drops too little of the usual thousand to pay for itself
NEVER_LESS = 10  # ranks that are always kept, because the share of judged documents in them is counted
ABOUT = "struct<read:int,tied:int,judged_at_10:int,reasons:array<tinyint>>"


def evaluate(
    judgments: Frame,
    runs: Frame,
    measures: MeasuresLike = DEFAULT_MEASURES,
    *,
    like: str | Convention | None = None,
    ties: TieRule | None = None,
    relevant: float | None = None,
    depth: int | None = None,
    condensed: bool = False,
    empty: Policy | None = None,
    missing: Policy | None = None,
    degenerate: Policy | None = None,
    precision: Precision | None = None,
    population: str | None = None,
    columns: Mapping[str, str] | None = None,
    systems: Sequence[str] | None = None,
    name: str = "run",
    intents: Mapping[str, Mapping[str, float]] | None = None,
    precut: bool | None = None,
    partitions: int | None = None,
    largest_list: int = LARGEST_LIST,
    observed: Mapping[str, Any] | None = None,
) -> Frame:
    """Score runs on judgments, query by query, in Spark: the numbers of `calipers.evaluate`, to rounding.

    judgments: a DataFrame with columns for query, document and grade (and subtopic, for measures of diversity).
    runs: one with columns for query, document and score, and for the system where there are several. Columns are found
        by their usual names, or as `columns` says, as {"query": "topic_id", "document": "url"}.
    measures, like, ties, relevant, depth, condensed, empty, missing, degenerate, precision: as in `calipers.evaluate`.
        ties="input" needs a column with the order of the rows: columns={"order": ...}; `read_runs` has one.
    population: of normalised measures that do not name one: pool, retrieved, union or collection(N).
    systems: their names, in this order; without it they are looked for, which reads that column once.
    name: of the run, where there is no column of systems. intents: {query: {subtopic: probability}}.
    precut: drop what cannot rank in the first k before anything is moved, k being what the measures read; True or
        False, or by default where that is worth it. No score depends on what is dropped, and nobody looks at it: a
        document that a list holds twice is refused only where both rows are kept.
    partitions: of the exchange, by default Spark's own choice.
    largest_list: the most rows of one list, or of one query's judgments, that a worker is to hold.
    observed: Observations of Spark that count rows: `runs` all of them, `judged` those of judged queries.

    Returns one row per system and judged query: `system`, `query`, one column per measure, named as it was typed and
    null where a score is skipped, and `about`: what was `read` of the list (0 where the run lacks the query), documents
    in ties, judged documents among the first ten, and for each measure the `Reason` where it is undefined.
    The judgments are read at once, for their number and largest grade; the rest happens when the result is used.
    """
    options = ScoringOptions(
        like=like,
        ties=ties,
        relevant=relevant,
        depth=depth,
        condensed=condensed,
        empty=empty,
        missing=missing,
        degenerate=degenerate,
        precision=precision,
    )
    rules = options.like
    asked = parse_all(measures, _Defaults(rules, population), options.shown_defaults)
    by_subtopic = reads_subtopics(measure for _, measure in asked)
    judged = judgment_rows(judgments, columns, by_subtopic)
    rows = run_rows(runs, columns, name, ordered=options.ties == "input")
    facts = _Facts.of(judged)
    bound = {typed: measure.bind(facts.as_pool(rules, by_subtopic)) for typed, measure in asked}
    known = _systems(runs, rows, columns, name, systems)
    task = Task(
        systems=tuple(known),
        measures=bound,
        options=options,
        buckets=_buckets(judgments, facts.queries, len(known)),
        largest_list=largest_list,
        by_subtopic=by_subtopic,
        intents=intents,
    )
    _refuse_flat(judged, bound, task)
    numbered = _watched(_numbered(rows, judgments, known), observed, "runs")
    if facts.queries <= MOST_BROADCAST:
        numbered = _watched(_of_judged_queries(numbered, judged), observed, "judged")
    cut = _cut(bound.values(), depth, condensed, precut)
    if cut is not None:
        numbered = _precut(numbered, cut, options.precision)
    several = about_systems(runs, columns).get("ambiguous", {})
    return _scored(_exchanged(judged, numbered, task.buckets, partitions), task, bound, several)


class _Defaults(Record):
    """Defaults of a convention and of the requested population for parameters that a measure leaves open."""

    rules: Convention
    population: str | None

    def __call__(self, measure: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        said = self.rules.defaults(measure, given)
        return said if self.population is None else {**said, "population": self.population}


# -- facts about the judgments ------------------------------------------------------------------------


class _Facts(Record):
    """Approximate number of judged queries, and the largest grade."""

    queries: int
    largest_grade: float
    kind: str = "grades"

    @classmethod
    def of(cls, judged: Frame) -> _Facts:
        F = sql("functions")

        with translated():
            found = judged.agg(F.count(F.lit(1)), F.approx_count_distinct("query"), F.max("value")).first()
        if not found[0]:
            raise CalipersError("there are no judgments", file="judgments")
        return cls(int(found[1]), max(float(found[2]), 0.0))

    def as_pool(self, rules: Convention, by_subtopic: bool) -> Any:
        """Return an object that measures can bind to in place of a pool."""
        largest = float(int(self.largest_grade)) if rules.whole_grades else self.largest_grade
        return _Facts(self.queries, largest, "subtopics" if by_subtopic else "grades")


def largest_pool(judgments: Frame, columns: Mapping[str, str] | None = None) -> int:
    """Return the number of judged documents of the query that has the most."""
    F = sql("functions")

    with translated():
        found = judgment_rows(judgments, columns, False).groupBy("query").count().agg(F.max("count")).first()
    return int(found[0] or 0)


def _systems(
    runs: Frame, rows: Frame, columns: Mapping[str, str] | None, name: str, given: Sequence[str] | None
) -> list[str]:
    found = list(given) if given is not None else known_systems(runs, columns)
    if found is None:
        from calipers.collection.column_names import columns_of

        roles = {role: column for role, column in (columns or {}).items() if role not in ("subtopic", ORDER)}
        if "system" not in columns_of(runs.columns, "score", roles, file="runs", ranks=False):
            return [name]
        with translated():
            found = sorted(row[0] for row in rows.select("system").distinct().collect())
    if not found:
        raise CalipersError("there is no run to evaluate", file="runs")
    if len(set(found)) < len(found):
        raise CalipersError("a system is named twice", file="runs")
    return found


def _buckets(frame: Frame, queries: int, systems: int) -> int:
    """Parts into which the systems of a query are dealt where there are too few queries to keep all cores busy."""
    try:
        wanted = 4 * int(frame.sparkSession.sparkContext.defaultParallelism)
    except AttributeError:  # a session over Spark Connect knows no context
        wanted = 4 * int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    return max(1, min(systems, -(-wanted // max(queries, 1)) if queries < wanted else 1))


def _refuse_flat(judged: Frame, bound: Mapping[str, Measure], task: Task) -> None:
    """Stop where a normalisation has hardly any query to work on, as the local engine does: from the judgments alone.

    What depends on the lists (the populations `union` and `retrieved`) or on which queries somebody answers
    (missing="skip") is not known here.
    """
    F = sql("functions")

    of_pools = {
        name: measure for name, measure in bound.items() if population_of_bounds(measure.form) not in (None, *OF_LISTS)
    }
    if not of_pools or task.options.missing == "skip":
        return
    only = {name: task.measures[name] for name in of_pools}
    flat = DegeneratePools(_replaced(task, measures=only))
    parts = judged.repartition("query").sortWithinPartitions("query")
    counted = map_in_arrow(parts, flat, "queries long, largest long, flat array<long>")
    sums = [F.sum(F.col("flat")[i]) for i in range(len(only))]
    with translated():
        queries, largest, *found = counted.agg(F.sum("queries"), F.max("largest"), *sums).first()
    for (name, measure), count in zip(of_pools.items(), found, strict=True):
        refuse_flat(name, measure, int(count), int(queries), int(largest))


def _replaced(task: Task, **changes: Any) -> Task:
    return Task(**{**{name: getattr(task, name) for name in Task._names}, **changes})


# -- rows, before they move --------------------------------------------------------------------------


def _numbered(rows: Frame, frame: Frame, systems: Sequence[str]) -> Frame:
    """Systems as numbers, which take less room and sort faster; rows of systems that are not asked for go."""
    F = sql("functions")

    if len(systems) == 1:
        return rows.filter(F.col("system") == systems[0]).withColumn("system", F.lit(0))
    numbers = frame.sparkSession.createDataFrame([(s, i) for i, s in enumerate(systems)], "system string, number int")
    joined = rows.join(F.broadcast(numbers), "system")
    kept = [name for name in rows.columns if name != "system"]
    return joined.select(F.col("number").alias("system"), *kept)


def _of_judged_queries(rows: Frame, judged: Frame) -> Frame:
    F = sql("functions")

    return rows.join(F.broadcast(judged.select("query").distinct()), "query", "left_semi")


def _watched(rows: Frame, observed: Mapping[str, Any] | None, name: str) -> Frame:
    F = sql("functions")

    if observed is None or name not in observed:
        return rows
    return rows.observe(observed[name], F.count(F.lit(1)).alias("rows"))


def _cut(measures: Iterable[Measure], depth: int | None, condensed: bool, wanted: bool | None) -> int | None:
    """Return the rank below which rows can be dropped, or None to keep all rows."""
    if wanted is False:
        return None
    read = None if condensed else deepest(measure.form for measure in measures)
    limits = [limit for limit in (read, depth) if limit is not None]
    if not limits:
        return None
    cut = max(min(limits), NEVER_LESS)
    return cut if wanted or cut <= DEEPEST_CUT else None


def _precut(rows: Frame, cut: int, precision: Precision) -> Frame:
    """Drop rows whose tie starts below the cut. Spark drops most of them before the exchange."""
    Window = sql().Window
    F = sql("functions")

    score = F.col("value").cast("float") if precision == "single" else F.col("value")
    window = Window.partitionBy("system", "query").orderBy(score.desc())
    return rows.withColumn("first", F.rank().over(window)).filter(F.col("first") <= cut).drop("first")


def _exchanged(judged: Frame, rows: Frame, buckets: int, partitions: int | None) -> Frame:
    """Bring all rows of a query to one partition, sorted by system and query, with the judgments first."""
    F = sql("functions")

    kept = [name for name in ("query", "document", "value") if name in rows.columns]
    order = [name for name in rows.columns if name.startswith(ORDER)]
    graded = [F.lit(JUDGMENTS).alias("system"), *kept, *(F.lit(0).cast("long").alias(name) for name in order)]
    scored = ["system", *kept, *order]
    if "subtopic" in judged.columns:
        graded.append("subtopic")
        scored.append(F.lit(None).cast("binary").alias("subtopic"))
    keys = ["query"]
    if buckets > 1:
        graded.append(F.explode(F.sequence(F.lit(0), F.lit(buckets - 1))).alias("bucket"))
        scored.append((F.col("system") % buckets).alias("bucket"))
        keys = ["bucket", "query"]
    together = judged.select(*graded).unionByName(rows.select(*scored))
    moved = together.repartition(*keys) if partitions is None else together.repartition(partitions, *keys)
    return moved.sortWithinPartitions(*(["bucket"] if buckets > 1 else []), "system", "query", *order)


# -- scores ------------------------------------------------------------------------------------------


def _scored(rows: Frame, task: Task, bound: Mapping[str, Measure], ambiguous: Mapping[str, Sequence[str]]) -> Frame:
    T = sql("types")

    schema = T.StructType([T.StructField("system", T.StringType()), T.StructField("query", T.StringType())])
    for name in bound:
        schema.add(name, T.DoubleType())
    schema.add("about", T.DataType.fromDDL(ABOUT))
    scores = map_in_arrow(rows, task, schema)
    # Ties and lengths of lists are not known here, so every measure that may be sampled is reported as sampled.
    drawn = list(may_sample(bound.values(), ties=task.options.ties == "average"))
    said = {
        "systems": list(task.systems),
        "ambiguous": ambiguous,
        **task.options.as_metadata(),
        "exactness": inexact_measures(bound, drawn),
        "missing_is_given": task.options.missing is not None,
        "drawn": drawn_orders(bound, [name for place, name in enumerate(bound) if place in drawn]),
    }
    noted = {"system": said} | {
        name: {
            "measure": repr(measure),
            "average": measure.declaration.average,
        }
        for name, measure in bound.items()
    }
    return scores.select(
        *(
            named(name).alias(name, metadata={"calipers": noted[name]}) if name in noted else named(name)
            for name in scores.columns
        )
    )
