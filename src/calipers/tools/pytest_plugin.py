"""A pytest plugin: the fixture `check_ranking` fails a test if a run drops against a baseline or is below a floor.

pytest loads this module when Calipers is installed. Calipers itself is imported when a test uses the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from calipers.collection.query_facts import QueryGroups
    from calipers.collection.sources import JudgmentsLike
    from calipers.evaluation.evaluation import Measures
    from calipers.questions.check.check_result import Check
    from calipers.questions.check.checking import FailOn
    from calipers.questions.check.limits import LimitsLike
    from calipers.questions.check.verdicts import FailIf

NEW, BASELINE = "new", "baseline"


@pytest.fixture
def check_ranking() -> Callable[..., Check]:
    """Return a function that fails the test if a run drops against a baseline, or is below a floor.

    Example: `check_ranking("qrels.txt", "new.run", "nDCG@10", baseline="old.run", max_drop=0.02)`.
    """
    return assert_ranking


def assert_ranking(
    judgments: JudgmentsLike,
    new: Any,
    measures: Measures = "nDCG@10",
    *,
    baseline: Any = None,
    max_drop: LimitsLike | None = None,
    max_query_drop: LimitsLike | None = None,
    min: LimitsLike | None = None,
    fail_if: FailIf = "drop",
    query_groups: QueryGroups | None = None,
    fail_on: Collection[FailOn] = (),
    alpha: float = 0.05,
    worst: int = 5,
    **options: Any,
) -> Check:
    """Check a run, and raise an AssertionError with the tables if the check fails.

    new: a run, as `calipers.evaluate` takes it. baseline: another run, a file of stored scores, or `Scores`.
    options: scoring options of `calipers.Experiment`, such as `ties`. The other keywords are those of
    `calipers.questions.check.check`.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(5)}
    >>> best = {query: ["a", "b"] for query in qrels}
    >>> found = assert_ranking(qrels, best, "RR", min=0.9)
    >>> found.observed, found.verdict  # five queries are too few to show it
    ('ok', 'undecided')
    """
    __tracebackhide__ = True
    from calipers.experiment import Experiment
    from calipers.results.scores import Scores

    stored = baseline if isinstance(baseline, Scores) else _stored_scores(baseline)
    runs = {NEW: new} if baseline is None or stored is not None else {BASELINE: baseline, NEW: new}
    experiment = Experiment(judgments, runs, measures, **{"warn": False, **options})
    found = experiment.check(
        NEW,
        baseline=stored or (BASELINE if BASELINE in runs else None),
        max_drop=max_drop,
        max_query_drop=max_query_drop,
        min=min,
        fail_if=fail_if,
        query_groups=query_groups,
        fail_on=fail_on,
        alpha=alpha,
        worst=worst,
        warn=False,
    )
    if found.failed:
        raise AssertionError("\n".join([found.text(), *found.notes]))
    return found


def _stored_scores(baseline: Any) -> Any:
    """Return the scores of a file that `calipers evaluate -q` wrote, or None if the baseline is something else."""
    from calipers.results.score_files import are_stored_scores, read_scores

    if not isinstance(baseline, str | os.PathLike) or not are_stored_scores(os.fspath(baseline)):
        return None
    return read_scores(os.fspath(baseline), warn=False)
