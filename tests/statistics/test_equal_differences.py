"""Differences that are all equal, or that only rounding makes, and what a test cannot show with few queries."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError, CalipersWarning
from calipers.questions.compare.comparison import TESTS
from calipers.questions.compare.leave_one_out import t_without
from calipers.questions.plan.repeats import repeated_runs
from calipers.results.score_files import as_scores
from calipers.statistics.differences import Differences
from calipers.statistics.significance import STUDENTISED, TESTS as PAIRWISE, Settings, smallest_p

ONE, OTHER = np.array([0]), np.array([1])
EQUAL = np.array([[1.0, 1.0], [0.0, 0.0]])
NOISE = np.array([[0.1 + 0.2] * 8, [0.3] * 8])

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def compared(values: Any, test: str, **options: Any) -> cal.questions.compare.Comparison:
    systems = ["new", "old", "third", "fourth"][: len(values)]
    baseline = "old" if test == "dunnett" else None
    return cal.compare(
        cal.as_scores(values, systems=systems, measure="AP"),
        **{"test": test, "baseline": baseline, "warn": False, **options},
    )


@pytest.mark.parametrize("test", TESTS)
def test_equal_differences_are_undefined_where_their_spread_is_needed(test: str) -> None:
    found = compared(EQUAL, test)
    assert not found.significant.any()
    assert np.isnan(found.p[0, 0]) == (test in STUDENTISED)
    text, rows = str(found.table()), json.loads(found.table().to_json())
    assert "inf" not in text + found.table().to_csv() + found.summary
    if test != "tukey":
        assert (rows[0]["low"], rows[0]["high"], rows[0]["effect"]) == (None, None, None)
        assert text.splitlines()[2].split().count("-") == 2 + 1 + (2 if test in STUDENTISED - {"bayes"} else 0) + (
            3 if test == "bayes" else 0
        )
    said = [note for note in found.notes if "the difference is the same on all queries" in note]
    assert len(said) == 1
    assert ("interval" in said[0]) == (test != "tukey")
    assert ("sign and randomization have a p (with 2 queries at least 0.5)" in said[0]) == (test in STUDENTISED)


def test_the_summary_of_equal_differences_names_the_difference() -> None:
    said = compared(EQUAL, "t").summary
    assert said == "new and old differ by 1.000 on each query, about which the t test says nothing."
    assert "[" not in compared(EQUAL, "sign").summary


def test_equal_differences_are_neither_equal_within_a_margin_nor_different() -> None:
    assert compared(EQUAL / 100, "t", equivalence=0.05).verdicts == [["undecided"]]
    assert compared([[0.5, 0.2], [0.5, 0.2]], "t", equivalence=0.05).verdicts == [["equal"]]


@pytest.mark.parametrize("test", [test for test in TESTS if test != "bayes"])
@pytest.mark.parametrize("values", [NOISE, NOISE * 1e-200, NOISE * 1e200, NOISE[::-1], np.full((2, 8), 0.3)])
def test_rounding_is_no_difference_under_any_test(test: str, values: np.ndarray) -> None:
    found = compared(values, test)
    [outcome] = found.outcomes
    assert [outcome.p[0], outcome.low[0], outcome.high[0], outcome.effect[0]] == [1, 0, 0, 0]
    for effect in ("cliff", "rank-biserial"):
        assert compared(values, test, effect=effect).outcomes[0].effect[0] == 0
    assert found.notes == ()


@pytest.mark.parametrize("measure", ["infAP", "INST", "Rndcg", "Compat"])
def test_equal_lists_do_not_differ(measure: str) -> None:
    """Scores of INST differ in the last digits if the retrieval scores do."""
    random = np.random.default_rng(5)
    qrels = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(random.integers(-1, 3, 30))} for q in range(20)}
    lists = {query: [f"d{d}" for d in random.permutation(30)] for query in qrels}
    runs = {
        name: {query: {d: (50.0 - i) / unit for i, d in enumerate(ranked)} for query, ranked in lists.items()}
        for name, unit in (("new", 1), ("old", 7))
    }
    found = cal.Experiment(qrels, runs, measure, warn=False).compare(warn=False)
    assert found.p[0, 0] == 1
    assert not found.significant.any()


def test_small_differences_that_differ_by_rounding_alone_are_equal() -> None:
    """0.900001 - 0.9 and 0.100001 - 0.1 differ by 1e-10 of their size."""
    old = np.array([0.9, 0.1, 0.5, 0.3, 0.7])
    new = old + 1e-6
    assert len({*(new - old)}) > 1
    assert math.isnan(compared([new, old], "t").p[0, 0])
    assert math.isnan(compared([new, old], "bootstrap").p[0, 0])


def test_equal_differences_with_weights() -> None:
    scores = cal.as_scores([[0.75, 0.5, 0.25], [0.5, 0.25, 0.0]], systems=["new", "old"], measure="AP")
    weights = dict(zip(scores.queries, (1.0, 2.0, 5.0), strict=True))
    for test, p in (("bootstrap", True), ("randomization", False)):
        found = cal.compare(scores, test=test, query_weights=weights, warn=False)
        [outcome] = found.outcomes
        assert math.isnan(outcome.p[0]) == p
        assert np.isnan([outcome.low[0], outcome.high[0], outcome.effect[0]]).all()
        assert "or the t test" not in " ".join(found.notes)


def test_the_bootstrap_has_no_infinite_interval() -> None:
    """With one query that differs, a third of the resamples have no spread."""
    found = compared([[0.5, 0.5, 0.5, 0.5, 0.9], [0.5] * 5], "bootstrap")
    assert np.isnan([found.outcomes[0].low[0], found.outcomes[0].high[0]]).all()
    assert found.p[0, 0] > 0.3


def test_without_a_query_the_rest_may_be_equal() -> None:
    _, t, _ = t_without(Differences.of(np.array([[0.2, 0.2, 0.2, 0.9], [0.1, 0.1, 0.1, 0.1]]), ONE, OTHER))
    assert np.isnan(t[0]).tolist() == [False, False, False, True]


def test_equal_differences_of_repeated_runs() -> None:
    """Repeats of each system agree, and the systems differ equally on all queries."""
    runs = {"a.1": [0.5, 0.75, 0.25], "a.2": [0.5, 0.75, 0.25], "b.1": [0.25, 0.5, 0.0], "b.2": [0.25, 0.5, 0.0]}
    scores = cal.as_scores([*runs.values()], [*runs], measure="AP")
    found = repeated_runs(scores, repeats="{system}.{repeat}").comparison
    assert found.outcomes[0].difference[0] == 0.25
    assert np.isnan([found.p[0, 0], found.outcomes[0].low[0], found.outcomes[0].effect[0]]).all()


def test_differences_too_large_for_numbers_are_refused() -> None:
    with pytest.raises(CalipersError, match="use smaller units"):
        compared([[1e308, 2.0], [-1e308, 1.0]], "t")


# -- few queries ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", ["wilcoxon", "sign", "randomization"])
def test_five_queries_show_nothing(test: str) -> None:
    values = np.array([[0.9, 0.8, 0.7, 0.9, 0.6], [0.1, 0.2, 0.3, 0.2, 0.25]])
    with pytest.warns(CalipersWarning, match="with 5 queries the smallest p of the .* test is 0.062; use at least 6"):
        compared(values, test, warn=True)
    assert compared(np.hstack([values, values[:, :1] / 2]), test).limits == ()
    assert compared(values, "t").limits == ()
    three = np.vstack([np.hstack([values, values[:, :1] / 2]), np.zeros((1, 6))])
    [said] = compared(three, test).limits
    assert "corrected for 3 pairs, is 0.094; use at least 7 queries" in said
    assert compared(three, test, correction=None).limits == ()


def test_the_smallest_p_is_named_for_the_measures_that_lack_queries() -> None:
    values = np.random.default_rng(4).random((2, 2, 9))
    values[1, :, 5:] = np.nan
    scores = cal.as_scores(values, systems=["new", "old"], measure=["AP", "RR"])
    [said] = cal.compare(scores, test="sign", warn=False).limits
    assert said.startswith("no difference can be significant under RR: with 5 queries")


@pytest.mark.parametrize("test", ["wilcoxon", "sign", "randomization", "bootstrap"])
@pytest.mark.parametrize("queries", [2, 3, 4, 5])
def test_the_smallest_p_is_the_smallest_of_many_samples(test: str, queries: int) -> None:
    """All differences of a few sizes, with a large common part that makes t large."""
    sizes = np.array([*itertools.permutations((-3.0, -1.0, 0.0, 1.0, 2.0), queries)]) + 1000
    if queries % 2:
        sizes = np.vstack([sizes, 1000 + np.arange(queries)])  # the one in the middle is the mean
    scores = np.vstack([sizes, np.zeros((1, queries))])
    rows = np.arange(len(sizes))
    found = PAIRWISE[test](scores, rows, np.full(len(sizes), len(sizes)), Settings(samples="all")).p
    assert found.min() == pytest.approx(smallest_p(test, queries))


@pytest.mark.parametrize("systems", [2, 3])
def test_the_smallest_p_of_tukeys_test(systems: int) -> None:
    """All orders of the systems on each of three queries, where one system is always best and one always worst."""
    values = np.arange(systems)[:, None] + np.array([0.0, 0.1, 0.3]) * np.arange(systems)[:, None]
    orders = [*itertools.permutations(range(systems))]
    ranges = [
        np.ptp(np.mean([values[list(order), q] for q, order in enumerate(chosen)], axis=0))
        for chosen in itertools.product(orders, repeat=3)
    ]
    observed = np.ptp(values.mean(axis=1))
    assert np.mean(np.array(ranges) >= observed - 1e-9) == pytest.approx(smallest_p("tukey", 3, systems))


# -- tables and reports --------------------------------------------------------------------------------------------


def test_the_matrix_leaves_pairs_that_were_not_tested_blank() -> None:
    values = np.array([[0.9, 0.8, 0.7, 0.95], [0.5, 0.4, 0.31, 0.45], [0.4, 0.5, 0.3, 0.46]])
    table = compared(values, "t", baseline="old").matrix()
    assert {row[0]: row[1:] for row in table.rows} == {
        "new": ("", "+", ""),
        "old": ("-", "", "."),
        "third": ("", ".", ""),
    }
    assert "Blank: not tested." in str(table)


def test_stars_say_that_the_test_cannot_show_anything() -> None:
    scores = cal.as_scores([[0.9, 0.8, 0.7], [0.5, 0.4, 0.31]], systems=["new", "old"], measure="AP")
    assert "no difference can be significant" in str(
        cal.questions.compare.mark_significance(scores, test="sign", baseline="old")
    )
    equal = cal.as_scores(EQUAL, systems=["new", "old"], measure="AP")
    marked = str(cal.questions.compare.mark_significance(equal, baseline="old", stars=True))
    assert "*" not in marked.splitlines()[2]
    assert "the difference is the same on all queries" in marked


def test_diff_has_a_note_and_no_interval() -> None:
    found = cal.questions.diff.diff_of_scores(cal.as_scores(EQUAL[::-1], ["old", "new"], measure="AP"))
    assert np.isnan([found.means[0].low, found.means[0].p]).all()
    assert found.means[0].difference == 1
    assert any("AP: the difference is the same on all queries" in note for note in found.notes)


def test_the_report_does_not_make_it_a_headline(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    judged = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
    runs = {"old": {q: {"b": 1.0} for q in judged}, "new": {q: {"a": 1.0} for q in judged}}
    path = tmp_path / "page.html"
    cal.Experiment(judged, runs, "P@1").report(path, warn=False)
    page = path.read_text(encoding="utf-8")
    assert "new is better than old" not in page
    assert "by the same difference on all queries. The t test says nothing about that; the tests sign" in page


def test_the_report_of_undefined_scores_gives_no_warning(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    """Without relevant documents no tool has a score. RuntimeWarnings are errors in this file."""
    judged = {"q1": {"a": 0, "b": 0}, "q2": {"a": 0, "b": 0}}
    runs = {name: {q: {"b": 1.0} for q in judged} for name in ("old", "new")}
    cal.Experiment(judged, runs, "nDCG@10", warn=False).report(tmp_path / "page.html", warn=False)


def test_intervals_on_the_logit_scale_need_a_range() -> None:
    scores = as_scores([[0.5, 0.25, 1.0]], measure="DCG@10")
    said = "DCG@10: Student's intervals instead of logit, because the range of the scores is unknown"
    assert cal.mean_intervals(scores, method="logit")[0].notes == (said,)
    assert cal.mean_intervals(scores)[0].notes == ()
    assert cal.mean_intervals(as_scores([[0.5, 0.25, 1.0]], measure="AP"), method="logit")[0].notes == ()
