"""Scoring options exist once, and every way to scores goes through one function."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import click
import numpy as np
import pytest

import calipers as cal
from calipers.collection.simulate import simulate
from calipers.evaluation import scoring
from calipers.evaluation.options import ScoringOptions
from calipers.measures.registry import Measure

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}, "q3": {"d": 0}}
RUN = {"q1": {"a": 2.0, "x": 2.0, "b": 1.0}, "q3": {"d": 1.0}}
COSTS = {"a": 2.0, "b": 1.0, "x": 3.0}


def keywords(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return {
        name: option
        for name, option in inspect.signature(function).parameters.items()
        if option.kind is option.KEYWORD_ONLY
    }


def spark_evaluate() -> Callable[..., Any]:
    pytest.importorskip("pyspark")
    from calipers.spark import evaluate

    return evaluate


@pytest.mark.parametrize("function", [lambda: cal.evaluate, spark_evaluate], ids=["evaluate", "spark.evaluate"])
def test_the_scoring_options_are_keywords_of_evaluate_with_the_same_types_and_defaults(
    function: Callable[[], Callable[..., Any]],
) -> None:
    options = keywords(ScoringOptions)
    assert tuple(options) == ScoringOptions._names
    found = keywords(function())
    for name, option in options.items():
        assert (found[name].annotation, found[name].default) == (option.annotation, option.default), name


HANDED_ON = {*ScoringOptions._names, "costs", "unmatched", "jobs"} - {"precision"}


def test_the_command_line_has_the_defaults_of_evaluate() -> None:
    """All scoring options but the precision, which is a matter of conventions there."""
    from calipers.cli.commands import root

    command = root.get_command(click.Context(root), "evaluate")
    assert command is not None
    given = command.make_context("evaluate", ["judgments", "run"]).params
    for name, option in keywords(cal.evaluate).items():
        if name in HANDED_ON:
            assert given[name] == option.default, name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ties": "random"}, "unknown tie rule 'random'"),
        ({"relevant": "4"}, "relevant '4' is not a number"),
        ({"depth": 0}, "depth 0 is not a whole number from 1 to"),
        ({"empty": "drop"}, "empty 'drop' is not a number, skip or error"),
        ({"missing": float("nan")}, "missing 'nan' is not a number, skip or error"),
        ({"degenerate": []}, "degenerate"),
        ({"precision": "half"}, "unknown precision 'half'; there are double, single"),
        ({"like": "nobody"}, "unknown convention 'nobody'"),
    ],
)
def test_options_are_checked_when_they_are_made(given: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.CalipersError, match=message):
        ScoringOptions(**given)


@pytest.mark.parametrize("like", [None, "trec_eval", "letor4", "yahoo", "mlflow"])
def test_options_that_are_made_again_or_pickled_are_the_same(like: str | None) -> None:
    options = ScoringOptions(like=like, relevant=4, depth=3, condensed=True)
    assert options.changed() == options
    assert pickle.loads(pickle.dumps(options)) == options


def test_what_is_given_wins_over_the_convention() -> None:
    assert ScoringOptions(like="letor4").missing == "skip"
    assert ScoringOptions(like="letor4", missing=0).missing == 0.0
    assert ScoringOptions(empty="skip").empty_plain == "skip"
    assert ScoringOptions(like="yahoo").empty_plain == cal.conventions.CONVENTIONS["yahoo"].empty


def scored_with(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Any]) -> set[str]:
    """Return the names of the measures that are scored on the way to an answer."""
    seen = set()
    real = scoring._score_measure

    def watched(measure: Measure, *rest: Any) -> Any:
        seen.add(measure.name)
        return real(measure, *rest)

    monkeypatch.setattr(scoring, "_score_measure", watched)
    ask()
    return seen


def test_only_the_measures_that_were_asked_for_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where costs of documents need a second pool: the notes need no measure."""
    options = {"costs": COSTS, "warn": False}
    assert scored_with(monkeypatch, lambda: cal.evaluate(QRELS, RUN, "TBG", **options)) == {"TBG"}


@pytest.mark.parametrize("measures", [["TBG"], ["TBG", "P@1"], ["P@1", "TBG", "AP"]])
def test_costs_do_not_change_the_notes_on_lists_or_the_scores_that_need_no_costs(measures: list[str]) -> None:
    given = simulate(topics=6, systems=2, ties=0.3, unjudged=0.4, missing=0.2, seed=1)
    documents = {document for run in given.runs.values() for ranked in run.values() for document in ranked}
    costs = dict.fromkeys(sorted(documents), 1.0)
    options = {"unmatched": "warn", "warn": False}
    plain = cal.evaluate(given.qrels, given.runs, measures, **options)
    found = cal.evaluate(given.qrels, given.runs, measures, costs=costs, **options)
    assert found.measures == tuple(measures)
    assert found.systems == plain.systems
    for name in set(measures) - {"TBG"}:
        np.testing.assert_array_equal(found[name], plain[name])
    assert plain.coverage is not None
    assert found.coverage is not None
    np.testing.assert_array_equal(found.coverage.length, plain.coverage.length)
    np.testing.assert_array_equal(found.coverage.judged_at_10, plain.coverage.judged_at_10)
    assert found.metadata["judgments"].text == plain.metadata["judgments"].text
