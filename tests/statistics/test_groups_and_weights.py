"""Groups and weights of queries: means, intervals and tests against brute force and simulation."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.collection.query_facts import read_query_groups, read_query_weights
from calipers.errors import CalipersError
from calipers.statistics.correction import holm
from calipers.statistics.significance import Settings, bootstrap, randomization
from calipers.statistics.weighted import weighted_bootstrap, weighted_randomization

A, B = np.array([0]), np.array([1])
DRAW = np.random.default_rng(3)


# -- files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "query,group\nred shoes,brand\nq2,long\n",
        "red shoes\tbrand\nq2\tlong\n",
        "Query;Market;Segment\nred shoes;de;brand\nq2;fr;long\n",
        "\ufeffqid,intent\nred shoes,brand\nq2,long\n",
    ],
)
def test_groups_are_read_from_tables(tmp_path: Path, text: str) -> None:
    file = tmp_path / "groups.csv"
    file.write_text(text, encoding="utf-8")
    assert read_query_groups(file) == {"brand": ("red shoes",), "long": ("q2",)}


def test_a_column_is_named_behind_the_file(tmp_path: Path) -> None:
    file = tmp_path / "queries.csv"
    file.write_text("query,text,intent,searches\nq1,a,buy,30\nq2,b,ask,1\nq2,b,buy,2\n")
    assert read_query_groups(f"{file}:intent") == {"buy": ("q1", "q2"), "ask": ("q2",)}
    with pytest.raises(CalipersError, match="query 'q2' has a second weight"):
        read_query_weights(f"{file}:searches")
    with pytest.raises(CalipersError, match="unknown column 'intend'; did you mean intent"):
        read_query_groups(f"{file}:intend")
    with pytest.raises(CalipersError, match="FILE:COLUMN names the column"):
        read_query_groups(file)


def test_weights_are_numbers_above_0(tmp_path: Path) -> None:
    file = tmp_path / "weights.txt"
    file.write_text("q1 3\nq2 0\n")
    with pytest.raises(CalipersError, match="weight '0' is not a number above 0"):
        read_query_weights(file)
    with pytest.raises(CalipersError, match="every query needs a weight: the weight of b is missing"):
        cal.as_scores([[0.1, 0.2]], queries=["a", "b"]).mean({"a": 2})


# -- weights -----------------------------------------------------------------------------------------


def weighted_mean(x: Any, w: Any) -> float:
    return float(np.sum(np.asarray(w) * x) / np.sum(w))


def test_weighted_means_are_sums_over_searches() -> None:
    """A query with weight 3 counts as three queries with the same score. Undefined scores are left out."""
    scores = cal.as_scores([[0.1, 0.5, 0.9], [0.2, np.nan, 0.4]], ["a", "b"], ["x", "y", "z"], "AP")
    found = scores.mean({"x": 3, "y": 1, "z": 2})
    assert found["a", "AP"] == pytest.approx(np.mean([0.1, 0.1, 0.1, 0.5, 0.9, 0.9]))
    assert found["b", "AP"] == pytest.approx(np.mean([0.2, 0.2, 0.2, 0.4, 0.4]))
    with pytest.raises(CalipersError, match="takes no weights"):
        cal.evaluate({"x": {"d": 1}}, {"x": {"d": 1}}, "num_rel").mean({"x": 1})


def test_equal_weights_give_the_unweighted_interval_and_test() -> None:
    values = DRAW.random((2, 9))
    same = {str(q): 7.0 for q in range(1, 10)}
    settings = Settings(samples=500)
    low, high = cal.mean_intervals(cal.as_scores(values[:1]), query_weights=same, samples=500)
    from_zero = bootstrap(np.array([values[0], np.zeros(9)]), A, B, settings)
    assert (low["system1", "score"], high["system1", "score"]) == pytest.approx((from_zero.low[0], from_zero.high[0]))
    for ordinary, of_weights in ((bootstrap, weighted_bootstrap), (randomization, weighted_randomization)):
        expected, found = ordinary(values, A, B, settings), of_weights(values, A, B, settings, weights=np.full(9, 7.0))
        assert (found.p[0], found.n[0]) == (expected.p[0], 9)
        assert found.difference[0] == pytest.approx(expected.difference[0], rel=1e-12)
        assert found.effect[0] == pytest.approx(expected.effect[0], rel=1e-12)


def test_weighted_bootstrap_against_all_resamples() -> None:
    """The formula of the docstring, resample by resample."""
    values, w = DRAW.random((2, 4)), np.array([5.0, 1.0, 2.0, 0.5])
    d, n = values[0] - values[1], 4

    def student(each: Any, weight: Any) -> float:
        m = weighted_mean(each, weight)
        error = np.sqrt(n / (n - 1) * np.sum(weight**2 * (each - m) ** 2)) / np.sum(weight)
        return float(m / error) if error > 1e-12 else 0.0 if abs(m) < 1e-12 else np.inf

    observed = abs(student(d, w))
    centred = d - weighted_mean(d, w)
    resampled = [abs(student(centred[list(q)], w[list(q)])) for q in product(range(n), repeat=n)]
    found = weighted_bootstrap(values, A, B, Settings(samples="all"), weights=w)
    assert found.difference[0] == pytest.approx(weighted_mean(d, w))
    assert found.p[0] == pytest.approx(np.mean([each >= observed * (1 - 1e-9) for each in resampled]))


def test_weighted_randomization_against_all_flips() -> None:
    values, w = DRAW.random((2, 8)), DRAW.random(8) + 0.1
    d = values[0] - values[1]
    flips = np.array([abs(weighted_mean(d * signs, w)) for signs in product((1, -1), repeat=8)])
    found = weighted_randomization(values, A, B, Settings(samples="all"), weights=w)
    assert found.p[0] == np.mean(flips >= abs(weighted_mean(d, w)) * (1 - 1e-9))


def test_weighted_intervals_cover_the_weighted_mean_of_all_queries() -> None:
    """Queries are drawn from a population of (score, weight); heavy queries score higher."""
    population = np.random.default_rng(8)
    weight = population.lognormal(0, 0.8, 20_000)
    score = np.clip(0.3 + 0.1 * np.log(weight) + population.normal(0, 0.15, 20_000), 0, 1)
    truth, repeats, n = weighted_mean(score, weight), 300, 60
    covered, rejected, plain = 0, 0, 0
    for _ in range(repeats):
        drawn = population.integers(0, 20_000, n)
        scores = cal.as_scores([score[drawn]])
        weights = dict(zip(scores.queries, weight[drawn], strict=True))
        low, high = cal.mean_intervals(scores, level=0.9, query_weights=weights, samples=400)
        covered += low["system1", "score"] <= truth <= high["system1", "score"]
        low, high = cal.mean_intervals(scores, level=0.9)
        plain += low["system1", "score"] <= truth <= high["system1", "score"]
        both = np.array([score[drawn], np.full(n, truth)])  # the difference of the weighted means is 0 in truth
        rejected += weighted_bootstrap(both, A, B, Settings(samples=200), weights=weight[drawn]).p[0] <= 0.1
    assert 0.85 < covered / repeats < 0.95
    assert 0.05 < rejected / repeats < 0.16
    assert plain / repeats < 0.1  # the unweighted mean is another number


def test_tests_without_weights_refuse_them() -> None:
    scores = cal.as_scores(DRAW.random((2, 9)))
    weights = {str(q): q for q in range(1, 10)}
    for test in ("t", "wilcoxon", "sign", "tukey", "bayes"):
        with pytest.raises(CalipersError, match=f"the test '{test}' treats all queries alike and takes no weights"):
            cal.compare(scores, test=test, query_weights=weights)
    for method in ("t", "logit", "bca"):
        with pytest.raises(CalipersError, match="takes no weights; use auto"):
            cal.mean_intervals(scores, method=method, query_weights=weights)
    found = cal.compare(scores, test="bootstrap", query_weights=weights)
    assert found.means[0, 0] == pytest.approx(weighted_mean(scores.values[0, 0], list(weights.values())))
    assert found.outcomes[0].difference[0] == pytest.approx(found.means[0, 0] - found.means[0, 1])
    assert found.metadata["weighted"]


def test_results_do_not_depend_on_the_order_of_queries() -> None:
    values = DRAW.random((2, 12))
    names = [f"q{i:02}" for i in range(12)]
    weights = {name: i + 1.0 for i, name in enumerate(names)}
    one = cal.compare(cal.as_scores(values, queries=names), test="bootstrap", query_weights=weights)
    other = cal.compare(cal.as_scores(values[:, ::-1], queries=names[::-1]), test="bootstrap", query_weights=weights)
    assert one.p.tolist() == other.p.tolist()


# -- groups ------------------------------------------------------------------------------------------


def test_groups_are_compared_and_corrected_together() -> None:
    values = DRAW.random((3, 30))
    scores = cal.as_scores(values, ["a", "b", "c"], measure="AP")
    groups = {str(q): "odd" if q % 2 else "even" for q in range(1, 31)} | {"7": ["odd", "alone"]}
    found = cal.compare(scores, query_groups=groups, warn=False)
    assert list(found.groups) == ["odd", "even"]  # one query cannot be tested
    p = {}
    for group, first in (("odd", 0), ("even", 1)):
        alone = cal.compare(cal.as_scores(values[:, first::2], ["a", "b", "c"], measure="AP"), correction=None)
        assert found.groups[group].p == pytest.approx(alone.p)
        p[group] = alone.p[0]
    expected = holm(np.concatenate([p["odd"], p["even"]]))
    assert np.concatenate([each.p_adjusted[0] for each in found.groups.values()]) == pytest.approx(expected)
    assert found.p_adjusted[0] == pytest.approx(
        cal.compare(scores).p_adjusted[0]
    )  # all queries are a family of their own
    table = found.group_table()
    assert (table.columns[:4], len(table.rows)) == (("group", "measure", "system_a", "system_b"), 6)


def test_false_alarms_over_all_groups_stay_below_alpha() -> None:
    """Ten groups of equal systems: without the correction, 40% of comparisons would find something."""
    draw = np.random.default_rng(4)
    groups = {str(q): f"g{q % 10}" for q in range(1, 101)}
    alarms, plain, repeats = 0, 0, 200
    for _ in range(repeats):
        found = cal.compare(cal.as_scores(draw.random((2, 100))), query_groups=groups, warn=False)
        alarms += any(each.significant.any() for each in found.groups.values())
        plain += any((each.p < 0.05).any() for each in found.groups.values())
    assert alarms / repeats < 0.1
    assert plain / repeats > 0.3


def test_queries_without_a_group_are_counted() -> None:
    scores = cal.as_scores([[0.1, 0.2, 0.3]])
    assert scores.by({"1": "x", "9": "y"}).notes == (
        "2 queries of 3 in no group",
        "no query of the scores in 1 group: y",
    )
    with pytest.raises(CalipersError, match="no query of the scores belongs to a group"):
        scores.by({"9": "y"})


# -- the sentence and the table ----------------------------------------------------------------------


def test_sentence_and_table_have_the_same_sign() -> None:
    low, high = np.full(10, 0.3) + DRAW.random(10) / 100, np.full(10, 0.5) + DRAW.random(10) / 100
    for first, second, sentence in ((low, high, "a is worse than b: -0."), (high, low, "a beats b by 0.")):
        found = cal.compare(cal.as_scores([first, second], ["a", "b"], measure="AP"))
        assert found.conclusions()[0].startswith(sentence)
        assert json.loads(found.table().to_json())[0]["difference"] == pytest.approx(np.mean(first - second))
