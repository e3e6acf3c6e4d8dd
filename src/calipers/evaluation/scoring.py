"""Score ranked lists, describe them, and refuse scores that an option forbids.

`score_lists` is the only function that turns lists into scores. `evaluate`, Spark workers and judges call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.errors import CalipersError
from calipers.evaluation.options import ScoringOptions
from calipers.lists import Floats, Lists
from calipers.measures.populations import no_room
from calipers.measures.registry import Measure
from calipers.native.columns import Retrieved
from calipers.results.scores import Coverage, Reason
from calipers.support.checks import Policy, is_number
from calipers.support.record import Record

DESCRIBED = 10  # judged documents are counted down to this rank, also if no measure reads as deep


class ScoredLists(Record):
    """Scores of lists under measures: arrays of measure x list."""

    values: Floats
    reasons: Any  # a `Reason` for each score that is not the measure's own, else 0
    ranked: Lists  # the lists that were scored, with the options applied


def score_lists(lists: Lists, measures: Iterable[Measure], options: ScoringOptions) -> ScoredLists:
    """Return the score of every list under every measure, and the reason for each score that is not the measure's own.

    This is the only function that turns lists into scores. The depth and the precision of the options are applied when
    lists are read.
    """
    ranked = (lists.condensed() if options.condensed else lists).under(options.ties)
    pairs = [_score_measure(measure, ranked, options) for measure in measures]
    values = np.array([score for score, _ in pairs]).reshape(len(pairs), len(lists))
    reasons = np.array([reason for _, reason in pairs], np.uint8).reshape(len(pairs), len(lists))
    if options.missing == "skip":
        lacking = lists.length == 0
        values[:, lacking] = np.nan
        reasons[:, lacking] = Reason.MISSING
    return ScoredLists(values, reasons, ranked)


def _score_measure(measure: Measure, lists: Lists, options: ScoringOptions) -> tuple[Floats, Any]:
    """Return the score of each list, and the reason where the measure is undefined."""
    missing, degenerate = options.missing_counts, options.degenerate
    form = measure.form
    score = form.score(lists)
    reason = np.zeros(len(lists), np.uint8)
    normalised = form.traits.is_normalised
    undefined = np.isnan(score)
    if undefined.any():
        always = form.undefined_for_any_ranking(lists)
        reason[undefined] = np.where(always, Reason.NO_RELEVANT, Reason.NOTHING_FOUND)[undefined]
        here = reason == Reason.NOTHING_FOUND
        if here.any() and _is_number(missing):
            score[here] = form.substitute(missing, lists)[here]
        empty = options.empty if normalised else options.empty_plain
        if empty is not None and _is_number(empty):
            score[reason == Reason.NO_RELEVANT] = empty
    if normalised:
        flat = form.is_degenerate(lists)
        reason[flat] = Reason.DEGENERATE
        if degenerate is not None:
            score[flat] = degenerate if _is_number(degenerate) else np.nan
    return score, reason


def _is_number(policy: Policy) -> TypeGuard[float]:
    return is_number(policy)


def describe(
    coverage: Coverage, part: slice, batch: Sequence[Retrieved], lists: Lists, reach: int | None = None
) -> None:
    """Fill in the coverage of the lists of some runs. reach: the deepest rank that measures read (None: all)."""
    shape = coverage.length[part].shape
    deep = np.iinfo(np.int64).max if reach is None else reach
    coverage.read[part] = np.minimum(lists.length, deep).reshape(shape)
    coverage.judged[part] = np.minimum(np.diff(lists.top(reach).offsets), deep).reshape(shape)
    coverage.length[part] = lists.length.reshape(shape)
    top = lists.top(DESCRIBED)
    shown = np.clip(DESCRIBED + 1 - top.first, 0, top.last - top.first + 1) / (top.last - top.first + 1)
    coverage.judged_at_10[part] = np.rint(top.sum(shown)).reshape(shape)
    for row, run in zip(range(part.start, part.stop), batch, strict=True):
        coverage.tied[row, run.query] = run.tied
        coverage.unjudged_queries[row] = run.unjudged_queries


def refuse(reasons: Any, measures: Mapping[str, Measure], judgments: Judgments, options: ScoringOptions) -> None:
    """Stop where a policy says so, and where a normalisation has hardly any query to work on."""
    refuse_undefined(reasons, list(measures), judgments.queries, options)
    for name, measure, of_measure in zip(measures, measures.values(), reasons, strict=True):
        if measure.form.traits.is_normalised:
            flat = int((of_measure == Reason.DEGENERATE).any(axis=0).sum())
            refuse_flat(name, measure, flat, len(judgments.queries), int(judgments.pool.size.max(initial=1)))


def refuse_infinite(values: Floats, measures: Sequence[str], queries: Sequence[str]) -> None:
    """Stop at a score that no number holds."""
    if np.isinf(values).any():
        m, _, q = np.argwhere(np.isinf(values))[0]
        raise CalipersError(f"{measures[m]} is not finite for query '{queries[q]}'")


def refuse_undefined(reasons: Any, measures: Sequence[str], queries: Sequence[str], options: ScoringOptions) -> None:
    """Stop at an undefined score where the policy is `error`."""
    for policy, reason in (
        (options.empty, Reason.NO_RELEVANT),
        (options.missing, Reason.NOTHING_FOUND),
        (options.degenerate, Reason.DEGENERATE),
    ):
        if policy == "error" and (reasons == reason).any():
            m, _, q = np.argwhere(reasons == reason)[0]
            raise CalipersError(f"{measures[m]} is undefined for query '{queries[q]}': {reason}")


def refuse_flat(name: str, measure: Measure, flat: int, queries: int, largest_pool: int) -> None:
    """Stop where a normalised measure has nothing between random and ideal for most queries."""
    if 2 * flat > queries:
        population = measure.parameters["population"]
        raise no_room(name, flat, queries, population, largest_pool)
