"""Engines of `calipers evaluate`: this machine, or Spark."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from calipers.cli.option_groups import option_group
from calipers.cli.options import note, warn
from calipers.errors import CalipersError
from calipers.plurals import counted
from calipers.results.messages import some

if TYPE_CHECKING:
    from calipers.cli.evaluate import ScoreTables
    from calipers.cli.inputs import Inputs
    from calipers.cli.output import Output
    from calipers.cli.policies import ListPolicies
    from calipers.results.tables import Table
    from calipers.spark.summary import Summary


@dataclass(frozen=True)
class Engine:
    """Engine that computes scores, and its address."""

    name: str = "local"
    master: str | None = None


# Options for reading files that only the local engine has.
LOCAL = (
    "judgments_columns",
    "systems_columns",
    "combine_grades",
    "rename_grades",
    "rollup",
    "rollup_by",
    "drop_own_ids",
    "query_ids",
)

engine_options = option_group(
    "engine", Engine,
    click.option("--engine", "name", type=click.Choice(("local", "spark")), default="local", show_default=True,
                 help="Compute on this machine, or on Spark for data that does not fit on one machine."),
    click.option("--master", metavar="URL", help="Address of Spark, such as local[2], spark://host:7077 or yarn."),
)  # fmt: skip


def evaluate_on_spark(
    inputs: Inputs, shown: ScoreTables, intents: str | None, lists: ListPolicies, engine: Engine, output: Output
) -> None:
    """Print the table that the local engine would print. Without -q, only means and counts come to the driver."""
    from calipers.conventions import convention
    from calipers.extras import load

    if shown.query_groups or shown.query_weights:
        raise CalipersError(
            "--engine spark computes no groups and no weighted means. Write scores per query (-q) first"
        )
    if shown.marks or shown.plot:
        what = "--plot" if shown.plot else "--baseline" if shown.baseline else "--test"
        raise CalipersError(f"{what} does not work with --engine spark, because it needs all scores in one place")
    if other := [name for name in LOCAL if getattr(inputs, name) not in (None, False)]:
        option = "combine" if other[0] == "combine_grades" else other[0].replace("_", "-")
        raise CalipersError(f"--{option} does not work with --engine spark")
    if lists.costs is not None:
        raise CalipersError("--costs does not work with --engine spark", file=lists.costs)
    for path in (inputs.judgments, *inputs.systems):
        if path == "-" or stat.S_ISFIFO(os.stat(path).st_mode if os.path.exists(path) else 0):
            what = "standard input" if path == "-" else f"the pipe {path}"
            raise CalipersError(f"--engine spark reads files, not {what}")
    load("pyspark", extra="spark", what="--engine spark")
    from calipers import spark
    from calipers.spark.session import sql as spark_sql

    wanted = inputs.wanted()
    subtopics = inputs.judgments_format(wanted.values()) == "subtopics"
    ties = lists.ties or convention(lists.like).ties
    probabilities = _probabilities(intents, subtopics)
    session = spark.session(engine.master, {"spark.log.level": "OFF"})  # we report errors ourselves
    known = spark.read_judgments(session, inputs.judgments, format=_format(inputs.judgments_as), subtopics=subtopics)
    runs = spark.read_runs(session, _files(inputs.systems), format=_format(inputs.systems_as), ordered=ties == "input")
    observed = {name: spark_sql().Observation() for name in ("runs", "judged")}
    unknown = ("costs", "unmatched")
    policies = {name: value for name, value in lists.policies.items() if name not in unknown}
    scores = spark.evaluate(
        known, runs, list(wanted), columns=inputs.columns, intents=probabilities, observed=observed, **policies
    ).persist()
    try:
        summary = spark.summarise(scores, warn=False)
        _check(summary, known, inputs.columns)
        warn([*_dropped(observed), *summary.notes], lists.strict)
        _note_undefined(summary, scores)
        table = (
            spark.collect(scores, warn=False).per_query()
            if shown.per_query
            else _table(summary, shown.interval, scores)
        )
    finally:
        scores.unpersist()
    output.write(table)


def _format(given: str | None) -> str | None:
    """Return the format that the Spark engine reads for a value of --judgments-as or --systems-as."""
    if given in (None, "subtopics"):
        return None
    if given not in ("qrels", "run", "parquet"):
        raise CalipersError(f"--engine spark reads TREC text and Parquet, not {given}")
    return given


def _files(systems: Sequence[str]) -> list[str]:
    """Return the files of globs and directories. A directory of Parquet files is one table; URLs are left to Spark."""
    from pathlib import Path

    from calipers.collection.run_names import named_files

    found: list[str] = []
    for system in systems:
        whole = "://" in system or (Path(system).is_dir() and any(Path(system).glob("*.parquet")))
        named = [(None, system)] if whole else named_files(system)
        if given := [name for name, _ in named if name]:
            raise CalipersError(f"the Spark engine names systems after their files: leave out '{given[0]}='")
        found += [file for _, file in named]
    return found


def _probabilities(path: str | None, subtopics: bool) -> dict[str, dict[str, float]] | None:
    from calipers.collection.subtopics import read_probabilities

    if path is None:
        return None
    if not subtopics:
        raise CalipersError("--intents needs a measure of diversity, such as ERR-IA@20", file=path)
    return read_probabilities(path)


def _check(summary: Summary, judgments: Any, columns: Any) -> None:
    """Refuse what the local engine refuses after scoring."""
    from calipers.evaluation.scoring import refuse_flat
    from calipers.measures.grammar import parse
    from calipers.results.scores import Reason
    from calipers.spark.evaluation import largest_pool
    from calipers.spark.statistics import NO_COMMON_QUERY

    if all(system.missing == summary.queries for system in summary.systems):
        raise CalipersError(NO_COMMON_QUERY)
    for name, flat in summary.of_measure[Reason.DEGENERATE].items():
        if 2 * flat > summary.queries:
            refuse_flat(name, parse(name), flat, summary.queries, largest_pool(judgments, columns))


def _dropped(observed: dict[str, Any]) -> list[str]:
    rows = {name: int(each.get.get("rows", 0)) for name, each in observed.items()}
    dropped = rows["runs"] - rows["judged"]
    return (
        [f"{dropped:,} of {rows['runs']:,} rows belong to queries without judgments and are ignored"] if dropped else []
    )


def _note_undefined(summary: Summary, scores: Any) -> None:
    from calipers.measures.exactness import exactness_notes
    from calipers.results.messages import POLICIES, counted_as
    from calipers.spark.columns import about

    said = about(scores, "system")
    if said.get("like"):
        note(f"like {said['like']}: {said['like_sentence']}")
    for (reason, plain), queries in summary.undefined.items():
        of_measure = summary.of_measure[reason].items()
        names = [name for name, count in of_measure if count and about(scores, name)["normalised"] is not plain]
        if names:
            policy = counted_as(said, POLICIES[reason.name], reason, plain)
            note(f"{queries} of {counted(summary.queries, 'query')} for {some(names)}: {reason}; {policy}")
    for sentence in exactness_notes(said["exactness"]):
        note(sentence)
    if populations := {about(scores, name)["population"] for name in summary.measures} - {None}:
        from calipers.measures.populations import what_is_shuffled

        for population in sorted(populations):
            note(what_is_shuffled(population))


def _table(summary: Summary, interval: float | None, scores: Any) -> Table:
    from calipers.results.tables import Cell, Table

    rows: list[tuple[Cell, ...]]
    if interval is None:
        rows = [(system.name, *system.mean) for system in summary.systems]
        return Table(("system", *summary.measures), tuple(rows))
    from calipers.spark.columns import about
    from calipers.stats.bounded_intervals import ends_of_means, range_around

    cells: list[list[Cell]] = [[system.name] for system in summary.systems]
    for m, name in enumerate(summary.measures):
        of = [(s.average[m], s.deviation[m], s.counted[m], s.least[m], s.most[m]) for s in summary.systems]
        mean, deviation, n, least, most = map(np.array, zip(*of, strict=True))
        known = range_around(about(scores, name).get("measure") or name, np.fmin.reduce(least), np.fmax.reduce(most))
        deviation = np.where(least == most, 0.0, deviation)
        low, high = ends_of_means(mean, deviation / np.sqrt(np.maximum(n, 1)), n, interval, "auto", known)
        for row, system in enumerate(summary.systems):
            cells[row] += [system.mean[m], float(low[row]), float(high[row])]
    columns = ("system", *(f"{name}{end}" for name in summary.measures for end in ("", " low", " high")))
    return Table(columns, tuple(map(tuple, cells)))
