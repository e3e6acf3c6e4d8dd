"""Engines of `calipers evaluate`: this machine, or Spark."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.option_groups import option_group
from calipers.cli.options import warn
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.cli.evaluate import ScoreTables
    from calipers.cli.inputs import Inputs
    from calipers.cli.policies import ListPolicies
    from calipers.results.scores import Scores


@dataclass(frozen=True)
class Engine:
    """Engine that computes scores, and its address."""

    name: str = "local"
    master: str | None = None


# Options of tables that only the local engine has.
LOCAL_TABLES = ("query_groups", "query_weights", "baseline", "test", "plot")

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
    "engine",
    Engine,
    click.option(
        "--engine",
        "name",
        type=click.Choice(("local", "spark")),
        default="local",
        show_default=True,
        help="Compute on this machine, or on Spark for data that does not fit on one machine.",
    ),
    click.option("--master", metavar="URL", help="Address of Spark, such as local[2], spark://host:7077 or yarn."),
)


def scores_on_spark(
    inputs: Inputs, shown: ScoreTables, intents: str | None, lists: ListPolicies, engine: Engine
) -> Scores:
    """Return the scores that the local engine would return. Prints the notes about them."""
    from calipers.conventions import convention
    from calipers.support.extras import load

    if other := [name for name in LOCAL_TABLES if getattr(shown, name)]:
        raise CalipersError(
            f"--{other[0].replace('_', '-')} does not work with --engine spark. Write scores per query (-q) first"
        )
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
    )
    found = spark.collect(scores, warn=False)
    _refuse_flat(found, known, inputs.columns)
    warn([*_dropped(observed), *found.notes], lists.strict)
    return found


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


def _refuse_flat(scores: Scores, judgments: Any, columns: Any) -> None:
    """Refuse normalised measures that the local engine refuses after scoring."""
    from calipers.evaluation.scoring import refuse_flat
    from calipers.measures.grammar import parse
    from calipers.results.scores import Reason
    from calipers.spark.evaluation import largest_pool

    queries = len(scores.queries)
    for name, reasons in zip(scores.measures, scores.reasons, strict=True):
        flat = int((reasons == Reason.DEGENERATE).any(axis=0).sum())
        if 2 * flat > queries:
            refuse_flat(name, parse(name), flat, queries, largest_pool(judgments, columns))


def _dropped(observed: dict[str, Any]) -> list[str]:
    rows = {name: int(each.get.get("rows", 0)) for name, each in observed.items()}
    dropped = rows["runs"] - rows["judged"]
    return (
        [f"{dropped:,} of {rows['runs']:,} rows belong to queries without judgments and are ignored"] if dropped else []
    )
