"""From lists to scores: ties, what counts where a measure is undefined, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from calipers.checks import Policy as Policy
from calipers.checks import check_choice, check_policy, check_whole, is_number
from calipers.collection.judgments import Judgments
from calipers.conventions import Convention
from calipers.errors import CalipersError
from calipers.evaluation.possible_gain import PossibleGains
from calipers.lists import TIE_RULES, Floats, Lists, Pool
from calipers.measures.exactness import sampling_errors
from calipers.measures.forms.base import deepest
from calipers.measures.populations import no_room
from calipers.measures.registry import Measure
from calipers.native.columns import Precision, Retrieved
from calipers.record import Record
from calipers.results.scores import Coverage, Reason

DESCRIBED = 10  # ranks whose judged documents are counted, whatever the measures read


class Counting(Record):
    """How lists become scores: the tie rule, and what counts where a measure is undefined."""

    ties: str
    condensed: bool
    empty: Policy | None
    missing: Policy
    degenerate: Policy | None
    empty_plain: Policy

    @classmethod
    def under(
        cls,
        rules: Convention,
        ties: str | None,
        condensed: bool,
        empty: Policy | None,
        missing: Policy | None,
        degenerate: Policy | None,
    ) -> Counting:
        """What is given, and what a convention says of the rest."""
        return cls(
            ties=check_choice("tie rule", rules.ties if ties is None else ties, TIE_RULES),
            condensed=condensed,
            empty=None if empty is None else check_policy("empty", empty),
            missing=as_policy(rules.missing) if missing is None else check_policy("missing", missing),
            degenerate=None if degenerate is None else check_policy("degenerate", degenerate),
            empty_plain=as_policy(rules.empty),
        )

    def scores(
        self,
        pool: Pool,
        batch: Sequence[Retrieved],
        measures: Iterable[Measure],
        coverage: Coverage,
        part: slice,
        possible: PossibleGains | None = None,
    ) -> tuple[Floats, Any]:
        """The scores of some runs, [measure, run, query], and their reasons; `part` of the coverage is filled in."""
        lists = Lists.of(pool, batch)
        shape = (len(batch), pool.queries)
        describe(coverage, part, batch, lists, deepest(measure.form for measure in measures))
        if self.condensed:
            lists = lists.condensed()
        ranked = lists.under(self.ties)
        if possible is not None:
            possible.add(ranked, len(batch))
        pairs = [
            scored(measure, ranked, self.empty, self.missing, self.degenerate, self.empty_plain) for measure in measures
        ]
        values = np.array([score for score, _ in pairs]).reshape(-1, *shape)
        reasons = np.array([reason for _, reason in pairs]).reshape(-1, *shape)
        for place, error in sampling_errors(measures, ranked).items():
            coverage.sampled[place] = max(error, coverage.sampled.get(place, 0.0))
        if self.missing == "skip":
            lacking = coverage.missing[part]
            values[:, lacking] = np.nan
            reasons[:, lacking] = Reason.MISSING
        return values, reasons


def scored(
    measure: Measure,
    lists: Lists,
    empty: Policy | None,
    missing: Policy,
    degenerate: Policy | None,
    empty_plain: Policy = 0.0,
) -> tuple[Floats, Any]:
    """The score of each list with the policies applied, and the reason where the measure gave none of its own.

    empty_plain: what `empty` is, where it is not given, for measures that are not normalised.
    """
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
        if empty is None and not normalised:
            empty = empty_plain
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


def as_policy(policy: float | str) -> Policy:
    """A convention's choice."""
    return policy if isinstance(policy, int | float) else "skip"


def compared_in(rules: Convention, precision: Precision | None) -> Precision:
    """The precision in which scores are compared: as is given, or as a convention has it."""
    return (rules if precision is None else rules.with_(precision=precision)).precision


def check_depth(depth: int | None) -> None:
    if depth is not None:
        check_whole("depth", depth)


def describe(
    coverage: Coverage, part: slice, batch: Sequence[Retrieved], lists: Lists, reach: int | None = None
) -> None:
    """Fill in what the lists of some runs were like. reach: the deepest rank that measures read (None: all)."""
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


def refuse(reasons: Any, measures: Mapping[str, Measure], judgments: Judgments, counting: Counting) -> None:
    """Stop where a policy says so, and where a normalisation has hardly any query to work on."""
    refuse_undefined(reasons, list(measures), judgments.queries, counting)
    for name, measure, of_measure in zip(measures, measures.values(), reasons, strict=True):
        if measure.form.traits.is_normalised:
            flat = int((of_measure == Reason.DEGENERATE).any(axis=0).sum())
            refuse_flat(name, measure, flat, len(judgments.queries), int(judgments.pool.size.max(initial=1)))


def refuse_infinite(values: Floats, measures: Sequence[str], queries: Sequence[str]) -> None:
    """Stop at a score that no number holds."""
    if np.isinf(values).any():
        m, _, q = np.argwhere(np.isinf(values))[0]
        raise CalipersError(f"{measures[m]} is not finite for query '{queries[q]}'")


def refuse_undefined(reasons: Any, measures: Sequence[str], queries: Sequence[str], counting: Counting) -> None:
    """Stop at an undefined score where the policy is `error`."""
    for policy, reason in (
        (counting.empty, Reason.NO_RELEVANT),
        (counting.missing, Reason.NOTHING_FOUND),
        (counting.degenerate, Reason.DEGENERATE),
    ):
        if policy == "error" and (reasons == reason).any():
            m, _, q = np.argwhere(reasons == reason)[0]
            raise CalipersError(f"{measures[m]} is undefined for query '{queries[q]}': {reason}")


def refuse_flat(name: str, measure: Measure, flat: int, queries: int, largest_pool: int) -> None:
    """Stop where a normalised measure has nothing between random and ideal for most queries."""
    if 2 * flat > queries:
        population = measure.parameters["population"]
        raise no_room(
            name, flat, queries, population, largest_pool, averages_attention=measure.form.traits.averages_attention
        )
