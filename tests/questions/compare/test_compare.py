"""What a comparison says beyond a p value: equality, posteriors, effect sizes, influence."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import given, strategies as st
from scipy import stats

import calipers as cal
from calipers.cli import main
from calipers.errors import CalipersError
from calipers.measures.registry import declared
from calipers.questions.compare.comparison import COLUMNS, TESTS
from calipers.questions.compare.leave_one_out import t_without, two_sided
from calipers.questions.compare.significance_marks import mark_significance
from calipers.statistics.bounded_intervals import range_of
from calipers.statistics.correction import beyond, critical_value, dunnett
from calipers.statistics.differences import Differences, against, all_pairs
from calipers.statistics.effect_sizes import cliffs_delta, rank_biserial
from calipers.statistics.equivalence_tests import p_equivalence
from calipers.statistics.significance import Settings, sign
from conftest import Require

ONE, OTHER = np.array([0]), np.array([1])
# Scores on a grid, so that differences tie and vanish.
GRID = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=9)


def scipys_random(seed: int) -> dict[str, np.random.Generator]:
    """A generator, by the name that SciPy has for it since 1.15, or had before."""
    name = "rng" if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15) else "random_state"
    return {name: np.random.default_rng(seed)}


def two(seed: int, n: int = 30, digits: int = 9) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.round(0.5 + random.normal(0, 0.1, n) + random.normal(0, 0.08, (2, n)), digits)


def scores_of(values: np.ndarray, systems: list[str] | None = None) -> cal.Scores:
    return cal.as_scores(values, systems=systems, measure="AP")


# -- equality --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("margin", [0.005, 0.02, 0.1])
def test_equivalence_is_statsmodels(seed: int, margin: float, require: Require) -> None:
    x, y = two(seed)
    expected, _, _ = require.module("statsmodels.stats.weightstats").ttost_paired(x, y, -margin, margin)
    assert p_equivalence(np.array([x, y]), ONE, OTHER, margin)[0] == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("seed", range(8))
def test_systems_are_equal_where_the_interval_is_inside_the_margin(seed: int) -> None:
    compared = cal.compare(scores_of(two(seed)), equivalence=0.04, correction=None)
    low, high = compared.outcomes[0].low[0], compared.outcomes[0].high[0]
    assert compared.metadata["level"] == pytest.approx(0.9)
    assert (compared.verdicts == [["equal"]]) == bool(low > -0.04 and high < 0.04)


def test_three_verdicts_and_their_columns() -> None:
    random = np.random.default_rng(1)
    base = random.random(40)
    noise = random.normal(0, 1, (4, 40))
    values = np.array([base, base + 1e-4 * noise[0], base + 0.3 + 0.1 * noise[1], base + 0.5 * noise[2]])
    compared = cal.compare(scores_of(values, list("abcd")), equivalence=0.01)
    verdicts = dict(zip(compared.pairs, compared.verdicts[0], strict=True))
    assert verdicts["a", "b"] == "equal"
    assert verdicts["a", "c"] == "different"
    assert verdicts["a", "d"] == "undecided"
    assert compared.table().columns == (*COLUMNS, "p_equivalence", "p_equivalence_adjusted", "verdict")
    raw, adjusted = (compared.table()[name] for name in ("p_equivalence", "p_equivalence_adjusted"))
    assert all(x <= y for x, y in zip(raw, adjusted, strict=True))
    for margin in (0, -1, math.nan, math.inf):
        with pytest.raises(CalipersError, match="margin"):
            cal.compare(scores_of(values), equivalence=margin)
    with pytest.raises(CalipersError, match="t tests"):
        cal.compare(scores_of(values), test="wilcoxon", equivalence=0.1)


@pytest.mark.filterwarnings("error")
def test_constant_differences_are_equal_or_not() -> None:
    values = np.array([[0.5, 0.5, 0.5], [0.49, 0.49, 0.49], [0.3, 0.3, 0.3]])
    values = np.concatenate([values[:1], values])
    found = cal.compare(scores_of(values), equivalence=0.05, warn=False)
    assert found.verdicts == [["equal", *["undecided"] * 5]]
    [p] = [outcome.more["p_equivalence"] for outcome in found.outcomes]
    assert p[0] == 0
    assert np.isnan(p[1:]).all()
    [test] = cal.statistics.non_inferiority(scores_of(values), old="system4", new="system1", margin=0.1).tests
    assert np.isnan([test.low, test.p]).all()
    assert not test.holds
    [test] = cal.statistics.non_inferiority(scores_of(values), old="system2", new="system1", margin=0.1).tests
    assert (test.low, test.p, test.holds) == (0, 0, True)


@pytest.mark.parametrize("seed", range(4))
def test_non_inferiority_is_a_one_sided_interval(seed: int) -> None:
    x, y = two(seed)
    scores = scores_of(np.array([x, y]), ["new", "old"])
    expected = stats.ttest_rel(x, y, alternative="greater").confidence_interval(0.95).low
    for margin in (0.0, 0.02, 0.2):
        [found] = cal.statistics.non_inferiority(scores, old="old", new="new", margin=margin).tests
        assert found.low == pytest.approx(expected, rel=1e-9)
        assert found.holds == bool(expected > -margin)
        shifted = stats.ttest_rel(x + margin, y, alternative="greater")
        assert found.p == pytest.approx(shifted.pvalue, rel=1e-7)
        assert found.holds == bool(found.p < 0.05)
    with pytest.raises(CalipersError, match="did you mean new"):
        cal.statistics.non_inferiority(scores, old="old", new="nw", margin=0.1)


# -- posterior probabilities -----------------------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rope", [0.0, 0.01, 0.1])
def test_the_posterior_is_baycomps_without_its_correction_for_folds(seed: int, rope: float, require: Require) -> None:
    peer = require.module("baycomp.single").Posterior
    x, y = two(seed)
    d = x - y
    expected = peer(d.mean(), d.var(ddof=1) / len(d), len(d) - 1, rope).probs()
    compared = cal.compare(scores_of(np.array([x, y])), test="bayes", rope=rope)
    row = dict(zip(compared.columns, compared.table().rows[0], strict=True))
    worse, equal, better = expected if rope else (expected[0], 0.0, expected[1])
    found = (row["p_b_better"], row["p_equal"], row["p_a_better"])
    assert found == pytest.approx((worse, equal, better), abs=1e-9)
    assert "p" not in compared.columns
    assert "p_adjusted" not in compared.columns


@pytest.mark.filterwarnings("error")
def test_posterior_of_constant_differences() -> None:
    values = np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0.3, 0.3, 0.3]])
    table = cal.compare(scores_of(values), test="bayes", warn=False).table()
    first = table.columns.index("p_a_better")
    assert table.rows[0][first : first + 3] == (0, 1, 0)
    assert np.isnan([row[first : first + 3] for row in table.rows[1:]]).all()
    with pytest.raises(CalipersError, match="rope"):
        cal.compare(scores_of(values), test="t", rope=0.1)


# -- signs and effect sizes ------------------------------------------------------------------------------------------


def test_wilcoxon_rounds_differences_before_it_ranks_them() -> None:
    values = np.array([[0.3, 0.5, 0.1, 0.9, 0.4, 0.6, 0.2], [0.1, 0.3, 0.2, 0.7, 0.6, 0.3, 0.1]])
    assert cal.compare(scores_of(values), test="wilcoxon").p[0, 0] == 0.25
    for size in (1e-200, 1e-3, 0.7, 1e6, 1e200):
        assert cal.compare(scores_of(values * size), test="wilcoxon").p[0, 0] == 0.25


@given(GRID)
def test_the_sign_test_is_scipys_binomial_test(pairs: list[tuple[int, int]]) -> None:
    better, worse = sum(x > y for x, y in pairs), sum(x < y for x, y in pairs)
    expected = stats.binomtest(better, better + worse).pvalue if better + worse else 1.0
    found = sign(np.array(pairs, float).T / 10, ONE, OTHER)
    assert found.p[0] == pytest.approx(expected, rel=1e-9)


@given(GRID)
def test_effect_sizes_are_those_counted_one_by_one(pairs: list[tuple[int, int]]) -> None:
    n = len(pairs)
    values = np.array(pairs, float).T / 10
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    delta = Fraction(sum((a > b) - (a < b) for a, b in itertools.product(x, y)), n * n)
    assert cliffs_delta(values, ONE, OTHER)[0] == float(delta)
    d = [a - b for a, b in pairs if a != b]
    rank = [sum(abs(e) < abs(each) for e in d) + Fraction(sum(abs(e) == abs(each) for e in d) + 1, 2) for each in d]
    signed = sum(r if each > 0 else -r for r, each in zip(rank, d, strict=True))
    expected = signed / Fraction(len(d) * (len(d) + 1), 2) if d else 0
    assert rank_biserial(values, ONE, OTHER)[0] == pytest.approx(float(expected), abs=1e-12)


def test_effect_sizes_in_a_comparison() -> None:
    values = np.vstack([two(3), two(4)])
    values[0, 3] = np.nan
    for name, function in (("cliff", cliffs_delta), ("rank-biserial", rank_biserial)):
        compared = cal.compare(scores_of(values), effect=name)
        assert compared.outcomes[0].effect.tolist() == function(values, *all_pairs(4)).tolist()
        assert compared.outcomes[0].p.tolist() == cal.compare(scores_of(values)).outcomes[0].p.tolist()
    with pytest.raises(CalipersError, match="unknown effect size"):
        cal.compare(scores_of(values), effect="eta")


# -- Dunnett ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("systems", "queries"), [(2, 8), (4, 12), (8, 30)])
def test_dunnetts_distribution_is_scipys(systems: int, queries: int) -> None:
    """SciPy's test is of independent samples; its statistics and degrees of freedom have the same distribution."""
    random = np.random.default_rng(systems)
    samples = [random.normal(0.3 * i, 1, queries) for i in range(systems)]
    peer = stats.dunnett(*samples[1:], control=samples[0], **scipys_random(1))
    freedom = systems * (queries - 1)
    found = beyond(np.abs(peer.statistic), systems - 1, freedom)
    assert found == pytest.approx(peer.pvalue, abs=2e-3)  # SciPy integrates by sampling
    if systems == 2:
        assert found == pytest.approx(2 * stats.t.sf(np.abs(peer.statistic), freedom), rel=1e-9)
    assert beyond(np.array([critical_value(0.05, systems - 1, freedom)]), systems - 1, freedom) == pytest.approx(0.05)


def test_dunnett_compares_with_one_baseline_on_the_same_queries() -> None:
    random = np.random.default_rng(3)
    values = random.normal(0, 1, 25) + random.normal(0, 0.3, (5, 25)) + np.arange(5)[:, None] * 0.1
    a, b = against(0, 5)
    found = dunnett(values, a, b, Settings(0.9))
    residual = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    error = math.sqrt((residual**2).sum() / (4 * 24) * 2 / 25)
    difference = values[1:].mean(axis=1) - values[0].mean()
    assert found.difference == pytest.approx(difference)
    assert found.p == pytest.approx(beyond(np.abs(difference) / error, 4, 96))
    assert ((found.low > 0) | (found.high < 0)).tolist() == (found.p < 0.1).tolist()
    holed = values.copy()
    holed[2, :4] = np.nan
    assert dunnett(holed, a, b).p == pytest.approx(dunnett(values[:, 4:], a, b).p)
    with pytest.raises(CalipersError, match="name it"):
        cal.compare(scores_of(values), test="dunnett")
    compared = cal.compare(scores_of(values), test="dunnett", baseline="system1")
    assert compared.p_adjusted[0] == pytest.approx(dunnett(values, a, b).p)
    same = dunnett(np.array([values[0], values[0], values[1]]), *against(0, 3))
    assert (same.p[0], same.difference[0]) == (1, 0)
    assert set(TESTS) - {"dunnett", "bayes"} == {"t", "wilcoxon", "sign", "randomization", "bootstrap", "tukey"}


# -- one query -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_leaving_a_query_out_is_the_t_test_of_the_others() -> None:
    values = np.vstack([two(5, 12), two(6, 12)])
    values[0, 3] = np.nan
    values[3] = values[2]
    a, b = all_pairs(4)
    mean, *t = t_without(Differences.of(values, a, b))
    p = two_sided(*t)
    for pair, (one, other) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        for query in range(12):
            x, y = np.delete(values[one], query), np.delete(values[other], query)
            both = ~np.isnan(x - y)
            if np.isnan(values[one, query] - values[other, query]):
                assert math.isnan(p[pair, query])
            elif (x[both] == y[both]).all():
                assert p[pair, query] == 1
            else:
                assert p[pair, query] == pytest.approx(stats.ttest_rel(x[both], y[both]).pvalue, rel=1e-9)
                assert mean[pair, query] == pytest.approx((x - y)[both].mean(), abs=1e-12)


def test_a_comparison_that_one_query_decides() -> None:
    random = np.random.default_rng(3)
    base = random.random(20)
    values = np.array([base, base + random.normal(0.062, 0.12, 20), base + 0.5 + random.normal(0, 0.1, 20)])
    scores = scores_of(values, ["old", "new", "far"])
    compared = cal.compare(scores, correction=None)
    table = cal.questions.compare.influence(scores, compared)
    expected = []
    for one, other in itertools.combinations(range(3), 2):
        p = [stats.ttest_rel(np.delete(values[one], q), np.delete(values[other], q)).pvalue for q in range(20)]
        if stats.ttest_rel(values[one], values[other]).pvalue < 0.05 <= max(p):
            expected.append((scores.systems[one], scores.systems[other], scores.queries[int(np.argmax(p))]))
    assert [row[1:4] for row in table.rows] == expected
    assert expected, "the example holds one"


@pytest.mark.parametrize("test", ["wilcoxon", "sign", "randomization", "bootstrap", "tukey"])
@pytest.mark.parametrize("correction", ["holm", "none"])
def test_smallest_p_values_of_a_test_are_not_taken_for_doubt(test: str, correction: str) -> None:
    """Tests that draw or count have a smallest p value. A difference that no query decides may have it."""
    random = np.random.default_rng(5)
    values = random.random(20) + random.normal(0, 0.02, (8, 20)) + np.arange(8)[:, None]  # all pairs differ clearly
    scores = scores_of(values)
    compared = cal.compare(scores, test=test, correction=correction, warn=False)
    assert compared.significant.sum() >= 15
    _, *t = t_without(Differences.of(values, compared.a, compared.b))
    assert two_sided(*t).max() < 1e-12
    assert cal.questions.compare.influence(scores, compared).rows == ()


def test_pairs_near_alpha_are_found_among_many() -> None:
    """All p values are computed of pairs only that come near alpha."""
    random = np.random.default_rng(4)
    values = random.random(20) + random.normal(0, 0.1, (25, 20)) + np.linspace(0, 0.2, 25)[:, None]
    values[3, :4] = np.nan
    scores = scores_of(values)
    compared = cal.compare(scores, correction="holm")
    pairs = np.flatnonzero(compared.significant[0])
    differences = Differences.of(values, compared.a[pairs], compared.b[pairs])
    _, *t = t_without(differences)
    p = two_sided(*t)
    p *= (compared.p_adjusted[0, pairs] / compared.outcomes[0].p[pairs])[:, None]
    largest = np.nanmax(np.minimum(p, 1), axis=1)
    table = cal.questions.compare.influence(scores, compared)
    assert 5 < len(table.rows) < len(pairs)
    assert [row[-1] for row in table.rows] == pytest.approx(largest[largest >= 0.05].tolist(), rel=1e-12)


# -- intervals -------------------------------------------------------------------------------------------------------


def test_intervals_stay_inside_the_range_of_a_measure() -> None:
    random = np.random.default_rng(2)
    values = np.where(random.random((6, 12)) < 0.15, 0.3, 0.001 * random.random((6, 12)))
    values[1] = 1 - values[1]
    values[2] = 0.0
    values[3] = random.uniform(0.4, 0.6, 12)
    scores = scores_of(values)
    plain, auto = cal.mean_intervals(scores, method="t"), cal.mean_intervals(scores)
    assert np.nanmin([row[1] for row in plain[0].rows]) < 0
    for method in ("auto", "logit", "bca"):
        low, high = cal.mean_intervals(scores, method=method)
        for (_, lo), (_, hi), mean in zip(low.rows, high.rows, values.mean(axis=1), strict=True):
            if mean == 0:
                continue
            assert 0 <= lo <= mean + 1e-12
            assert mean - 1e-12 <= hi <= 1
    assert (auto[0].rows[3], auto[1].rows[3]) == (plain[0].rows[3], plain[1].rows[3]), "t where it stays inside"
    expected = stats.t.interval(0.95, 11, loc=values[3].mean(), scale=stats.sem(values[3]))
    assert (plain[0].rows[3][1], plain[1].rows[3][1]) == pytest.approx(expected, rel=1e-12)
    mean, error = values[0].mean(), stats.sem(values[0])
    width = stats.t.ppf(0.975, 11) * error / (mean * (1 - mean))
    for end, side in zip(cal.mean_intervals(scores, method="logit"), (-1, 1), strict=True):
        assert end.rows[0][1] == pytest.approx(1 / (1 + math.exp(-(math.log(mean / (1 - mean)) + side * width))))
    unknown = cal.as_scores(values, measure="likes")
    auto, plain = cal.mean_intervals(unknown), cal.mean_intervals(unknown, method="t")
    assert np.array_equal(auto[0]["likes"], plain[0]["likes"], equal_nan=True)


@pytest.mark.parametrize("method", ["auto", "t", "logit", "bca"])
@pytest.mark.parametrize("value", [0.0, 0.1, 0.7, 1.0])
def test_scores_that_are_all_equal_have_no_interval(method: str, value: float) -> None:
    """An interval of width 0 would say that the mean of all queries is known exactly."""
    values = np.full((3, 15), value)
    values[1] = np.linspace(0, 1, 15)
    values[2, ::2] *= 1 - 2**-52  # equal but for rounding
    scores = scores_of(values)
    for end in cal.mean_intervals(scores, method=method):
        column = end[end.columns[1]]
        assert [math.isnan(float(cell)) for cell in column] == [True, False, True]
    [note] = cal.mean_intervals(scores, method=method)[0].notes
    assert "no confidence interval for" in note


def test_the_bootstrap_interval_is_scipys() -> None:
    values = np.random.default_rng(3).exponential(0.1, (3, 40))
    values[2, :10] = np.nan
    low, high = cal.mean_intervals(scores_of(values), level=0.9, method="bca", samples=20_000)
    for s in range(3):
        own = values[s][~np.isnan(values[s])]
        peer = stats.bootstrap((own,), np.mean, n_resamples=20_000, confidence_level=0.9, **scipys_random(1))
        assert low.rows[s][1] == pytest.approx(peer.confidence_interval.low, abs=0.04 * own.std())
        assert high.rows[s][1] == pytest.approx(peer.confidence_interval.high, abs=0.04 * own.std())


def test_measures_called_shares_never_leave_their_range() -> None:
    """What the search for properties refutes is not among them."""
    from calipers.questions.properties.verdicts import properties

    for each in declared("grades"):
        known = range_of(cal.parse(each.example))
        if known is not None:
            assert str(properties(each.example)["bounded"]).startswith("Yes"), each.name


# -- the command -----------------------------------------------------------------------------------------------------


PAIR = "measure,system_a,system_b,difference,low,high"


@pytest.mark.parametrize(
    ("options", "header"),
    [
        (["--equivalence", "0.01"], f"{PAIR},p,p_adjusted,effect,n,p_equivalence,p_equivalence_adjusted,verdict"),
        (["--test", "bayes"], f"{PAIR},p_a_better,p_equal,p_b_better,effect,n"),
        (["--test", "sign"], f"{PAIR},p,p_adjusted,effect,n"),
        (["--show", "influence"], "measure,system_a,system_b,query,difference,difference_without,p_adjusted,p_without"),
        (["--repeats", "{system}-{repeat}"], f"{PAIR},p,p_adjusted,effect,n"),
    ],
)
def test_compare_on_the_command_line(
    options: list[str], header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    values = np.vstack([two(1), two(2)])
    rows = "\n".join(",".join(map(str, row)) for row in values.T.tolist())
    (tmp_path / "AP.csv").write_text(f"a-1,a-2,b-1,b-2\n{rows}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["calipers", "compare", "AP.csv", *options, "--format", "csv"])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capfd.readouterr()
    assert not ended.value.code, err
    assert out.splitlines()[0].startswith(header)


def test_a_warning_names_the_query_that_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "AP.csv").write_text("query,new,old\nq1,0.5,0.4\nq2,0.4,0.45\nq3,0.5,0.3\nq4,0.5,0.4\nq5,0.45,0.3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["calipers", "compare", "AP.csv", "--alpha", "0.1"])
    with pytest.raises(SystemExit):
        main()
    _, err = capfd.readouterr()
    assert "1 of 1 significant pair under AP would not be significant without one query: new and old (query q5)" in err


def test_less_is_better_under_errors() -> None:
    """All that says who is better says the opposite of what it says of the same figures as scores."""
    values = np.vstack([two(1)[0], two(1)[0] + 0.2 + two(3)[1] / 10, two(1)[0] + 0.01 * two(5)[0]])
    scores = scores_of(values, ["a", "b", "c"])
    errors = replace(scores, metadata={**scores.metadata, "lower": ["AP"]})
    more, less = (cal.compare(each, warn=False) for each in (scores, errors))
    assert less.best_first(0) == more.best_first(0)[::-1]
    assert [less.matrix()[row, row2] for row, row2 in (("a", "b"), ("b", "a"))] == ["+", "-"]
    assert [more.matrix()[row, row2] for row, row2 in (("a", "b"), ("b", "a"))] == ["-", "+"]
    for found, pair in ((more, "a is worse than b: -0."), (less, "a beats b: -0.")):
        two_only = cal.compare(found.scores.of_systems(["a", "b"]), warn=False)
        assert two_only.conclusions()[0].startswith(pair)
        first, last = found.wins().rows[0], found.wins().rows[-1]
        assert (first[2], last[3]) == (2, 2)  # the first beats both others, the last is beaten by both
        assert found.wins().best_cells()[0] == {(0, 1)}
    bayes = [cal.compare(each, test="bayes", warn=False).outcomes[0].more for each in (scores, errors)]
    assert (bayes[0]["p_a_better"] == bayes[1]["p_b_better"]).all()
    assert (bayes[0]["p_equal"] == bayes[1]["p_equal"]).all()
    assert mark_significance(errors, baseline="b").marks == {(0, 1): "†", (2, 1): "†"}
    assert mark_significance(scores, baseline="b").marks == {(0, 1): "‡", (2, 1): "‡"}
    assert (mark_significance(errors).best_cells()[0], mark_significance(scores).best_cells()[0]) == (
        {(0, 2)},
        {(1, 2)},
    )
