"""Means of systems and notes about them, from three passes over the scores on Spark."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

from calipers.errors import warn_user
from calipers.record import Record
from calipers.results.messages import RunSummary, notes_about, notes_on_lacking
from calipers.results.scores import Reason
from calipers.spark.columns import Frame, about, named
from calipers.spark.failures import translated
from calipers.spark.session import sql
from calipers.spark.statistics import means, measures_of, systems_of

UNDEFINED = (Reason.NO_RELEVANT, Reason.NOTHING_FOUND, Reason.MISSING, Reason.DEGENERATE)
SKEWED = 10  # times the mean rows of a query
SKEWED_FROM = 100_000  # rows
log = logging.getLogger("calipers.spark")


class OfSystem(Record):
    """Means of one system, the numbers of queries, the deviations, and facts about its lists."""

    name: str
    mean: tuple[float, ...]
    counted: tuple[int, ...]
    deviation: tuple[float, ...]
    average: tuple[float, ...]  # arithmetic means of the scores
    least: tuple[float, ...]
    most: tuple[float, ...]
    missing: int
    tied: int
    unjudged_share: float


class Summary(Record):
    """Means of all systems, and the number of undefined queries by reason and kind of measure."""

    measures: list[str]
    systems: list[OfSystem]
    queries: int
    undefined: Mapping[tuple[Reason, bool], int]  # by reason, and True for plain measures
    of_measure: Mapping[Reason, Mapping[str, int]]  # by reason and measure
    heaviest: tuple[str, int, float]  # the query with the most rows, its rows, and the mean
    notes: tuple[str, ...]  # notes about missing queries, ties and unjudged documents


def summarise(scores: Frame, *, warn: bool = True) -> Summary:
    """Return a summary of scores. The scores are read three times, so `persist` them before.

    The log names a query that is much larger than the others. warn: give the notes as a CalipersWarning, as in
    `calipers.evaluate`.
    """
    measures = measures_of(scores)
    plain = [not _is_normalised(scores, name) for name in measures]
    with translated():
        by_query = _by_query(scores, plain)
        rows = _by_system(scores, measures)
    systems = [rows[name] for name in systems_of(scores) if name in rows]
    seen = [RunSummary(each.name, False, 0, each.missing, each.tied, each.unjudged_share) for each in systems]
    found = Summary(
        measures=measures,
        systems=systems,
        queries=by_query["queries"],
        undefined={
            (reason, of_plain): by_query[f"{reason.name}{of_plain}"] or 0
            for reason in UNDEFINED
            for of_plain in (True, False)
        },
        of_measure={reason: {m: by_query[f"{reason.name} {m}"] or 0 for m in measures} for reason in UNDEFINED},
        heaviest=(by_query["heaviest"], by_query["most"], by_query["mean"]),
        notes=(
            *notes_on_lacking(seen, by_query["queries"]),
            *notes_about(seen, about(scores, "system")["ties"]),
        ),
    )
    query, most, mean = found.heaviest
    if most >= SKEWED_FROM and most > SKEWED * mean:
        log.warning("skew: query '%s' has %s rows, %.0f times the mean of all queries", query, f"{most:,}", most / mean)
    warn_user(found.notes, warn)
    return found


def _is_normalised(scores: Frame, name: str) -> bool:
    return bool(about(scores, name).get("normalised"))


def _by_query(scores: Frame, plain: list[bool]) -> dict[str, Any]:
    F = sql("functions")

    reasons = F.col("about.reasons")
    flags: dict[str, Any] = {}
    for reason in UNDEFINED:
        for of_plain in (True, False):
            places = [i for i, each in enumerate(plain) if each is of_plain]
            met = [reasons[i] == int(reason) for i in places]
            flags[f"{reason.name}{of_plain}"] = F.max(F.greatest(*met, F.lit(False), F.lit(False)))
        for i, name in enumerate(measures_of(scores)):
            flags[f"{reason.name} {name}"] = F.max(reasons[i] == int(reason))
    each = scores.groupBy("query").agg(
        F.sum("about.read").alias("rows"), *(flag.alias(name) for name, flag in flags.items())
    )
    totals = [F.sum(named(name).cast("long")).alias(name) for name in flags]
    found = each.agg(
        F.count(F.lit(1)).alias("queries"),
        F.max_by("query", "rows").alias("heaviest"),
        F.max("rows").alias("most"),
        F.avg("rows").alias("mean"),
        *totals,
    ).first()
    return dict(found.asDict())


def _by_system(scores: Frame, measures: list[str]) -> dict[str, OfSystem]:
    F = sql("functions")

    read = F.col("about.read")
    moments = {"deviation": F.stddev_samp, "average": F.avg, "least": F.min, "most": F.max}
    found = (
        scores.groupBy("system")
        .agg(
            F.sum((read == 0).cast("long")).alias("missing"),
            F.sum((F.col("about.tied") > 0).cast("long")).alias("tied"),
            F.sum("about.judged_at_10").alias("judged"),
            F.sum(F.least(read, F.lit(10))).alias("shown"),
            *(F.count(named(name)).alias(f"count {name}") for name in measures),
            *(function(named(name)).alias(f"{what} {name}") for what, function in moments.items() for name in measures),
        )
        .collect()
    )
    average = {row["system"]: row for row in means(scores).collect()}

    def numbers(row: Any, what: str) -> tuple[float, ...]:
        return tuple(_number(row[f"{what} {name}"]) for name in measures)

    return {
        row["system"]: OfSystem(
            name=row["system"],
            mean=tuple(_number(average[row["system"]][name]) for name in measures),
            counted=tuple(row[f"count {name}"] for name in measures),
            deviation=numbers(row, "deviation"),
            average=numbers(row, "average"),
            least=numbers(row, "least"),
            most=numbers(row, "most"),
            missing=int(row["missing"]),
            tied=int(row["tied"]),
            unjudged_share=1.0 - row["judged"] / max(row["shown"], 1),
        )
        for row in found
    }


def _number(value: float | None) -> float:
    return math.nan if value is None else value
