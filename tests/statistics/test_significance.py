"""Significance tests against SciPy, statsmodels and enumeration, on random data with ties and undefined scores."""

from __future__ import annotations

import itertools
import json
import math
import operator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

import calipers as cal
from calipers.errors import CalipersError, CalipersWarning
from calipers.questions.compare.comparison import COLUMNS, TESTS as EVERY_TEST, letter_groups
from calipers.results.score_files import is_score_table
from calipers.statistics.correction import CORRECTIONS
from calipers.statistics.correlation import CORRELATIONS, rank_correlation
from calipers.statistics.differences import Differences, all_pairs
from calipers.statistics.effect_sizes import EFFECTS
from calipers.statistics.equivalence_tests import p_equivalence
from calipers.statistics.significance import (
    TESTS,
    Outcome,
    Settings,
    bootstrap,
    randomization,
    student,
    tukey,
    wilcoxon,
)
from conftest import Require

SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))
SAKAI = np.array([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]])  # MATH.md 6
ONE, OTHER = np.array([0]), np.array([1])


def random_scores(
    seed: int, systems: int = 12, queries: int = 30, digits: int = 1, undefined: float = 0.08
) -> np.ndarray:
    """Coarse scores, so that differences tie and vanish; some undefined; two systems alike."""
    random = np.random.default_rng(seed)
    scores = np.round(random.random((systems, queries)), digits)
    scores[random.random(scores.shape) < undefined] = np.nan
    scores[1] = scores[0]
    return scores


def shared(scores: np.ndarray, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    both = ~np.isnan(scores[a] - scores[b])
    return scores[a][both], scores[b][both]


def each_pair(scores: np.ndarray, outcome: Outcome) -> list[tuple[int, np.ndarray, np.ndarray]]:
    a, b = all_pairs(len(scores))
    return [(k, *shared(scores, int(a[k]), int(b[k]))) for k in range(len(a))]


# -- against SciPy and statsmodels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_t_test_and_its_interval_are_scipys(seed: int) -> None:
    scores = random_scores(seed)
    outcome = student(scores, *all_pairs(len(scores)), Settings(level=0.9))
    for k, x, y in each_pair(scores, outcome):
        assert outcome.n[k] == len(x)
        if (x == y).all():
            assert (outcome.p[k], outcome.difference[k], outcome.effect[k]) == (1, 0, 0)
            continue
        expected = stats.ttest_rel(x, y)
        assert outcome.p[k] == pytest.approx(expected.pvalue, rel=1e-10)
        low, high = expected.confidence_interval(0.9)
        assert (outcome.low[k], outcome.high[k]) == pytest.approx((low, high), rel=1e-9)
        assert outcome.effect[k] == pytest.approx((x - y).mean() / (x - y).std(ddof=1), rel=1e-9)


@pytest.mark.parametrize(("seed", "queries", "digits"), [(1, 30, 9), (3, 9, 9), (4, 120, 2)])
def test_wilcoxon_is_scipys(seed: int, queries: int, digits: int) -> None:
    """SciPy is exact without ties, and approximates many differences as we do."""
    scores = random_scores(seed, systems=12, queries=queries, digits=digits)
    outcome = wilcoxon(scores, *all_pairs(len(scores)))
    compared = 0
    for k, x, y in each_pair(scores, outcome):
        different = np.round(x - y, 11)[x != y]
        tied = len(np.unique(np.abs(different))) < len(different)
        if len(different) and (tied == (len(different) > 50)):
            method = "asymptotic" if tied else "exact"
            expected = stats.wilcoxon(different, method=method, correction=False).pvalue
            assert outcome.p[k] == pytest.approx(expected, rel=1e-9), k
            compared += 1
    assert compared > 20


@given(
    hnp.arrays(np.int64, st.integers(2, 9), elements=st.integers(-4, 4)),
    st.integers(0, 3),
)
def test_wilcoxon_is_exact_with_ties_and_zeros(tenths: np.ndarray, zeros: int) -> None:
    """All signs of the differences that are not zero are gone through, in fractions; more zeros change nothing."""
    different = tenths[tenths != 0]
    rank = stats.rankdata(np.abs(different))
    observed = rank[different > 0].sum()
    sums = [rank[np.array(signs, bool)].sum() for signs in itertools.product((0, 1), repeat=len(rank))]
    below, above = (sum(side(each, observed) for each in sums) for side in (operator.le, operator.ge))
    expected = min(Fraction(2 * min(below, above), len(sums)), Fraction(1))
    scores = np.array([np.concatenate([tenths / 10, np.zeros(zeros)]), np.zeros(len(tenths) + zeros)])
    assert wilcoxon(scores, ONE, OTHER).p[0] == float(expected)


def test_wilcoxon_is_exact_for_fifty_differences_with_ties_and_zeros() -> None:
    """The chance of a sum at most as large as the smallest possible one, and its complement, are powers of two."""
    scores = np.zeros((2, 80))
    scores[0, :50] = np.repeat([0.1, 0.2], 25)
    assert wilcoxon(scores, ONE, OTHER).p[0] == 2.0**-49
    scores[0, 50] = 0.3
    assert wilcoxon(scores, ONE, OTHER).p[0] != 2.0**-50  # of 51 differences: the normal approximation


def test_randomization_over_all_flips_is_scipys_permutation_test() -> None:
    scores = random_scores(5, systems=5, queries=9)
    outcome = randomization(scores, *all_pairs(5), Settings(samples="all"))
    for k, x, y in each_pair(scores, outcome):
        expected = stats.permutation_test(
            (x - y,),
            lambda d, axis: np.abs(d.mean(axis=axis)),
            permutation_type="samples",
            alternative="greater",
            n_resamples=np.inf,
            vectorized=True,
        )
        assert outcome.p[k] == pytest.approx(expected.pvalue, abs=1e-12)


def test_sampled_randomization_counts_itself() -> None:
    scores = random_scores(6, systems=4, undefined=0)
    outcome = randomization(scores, *all_pairs(4), Settings(samples=999))
    b = outcome.p * 1000 - 1
    assert np.allclose(b, np.round(b)), "p = (b + 1) / (B + 1)"
    assert outcome.p.min() >= 1 / 1000
    exact = student(scores, *all_pairs(4)).p
    assert np.abs(outcome.p - exact).max() < 0.08


@pytest.mark.peers
def test_corrections_and_intervals_are_those_of_statsmodels(require: Any) -> None:
    multitest = require.module("statsmodels.stats.multitest")
    weightstats = require.module("statsmodels.stats.weightstats")
    random = np.random.default_rng(7)
    for size in (1, 2, 30):
        p = np.round(random.random(size) ** 2, 2)
        for ours, theirs in (("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "fdr_bh")):
            expected = multitest.multipletests(p, method=theirs)[1]
            assert CORRECTIONS[ours](p) == pytest.approx(expected, abs=1e-12)
            holes = np.insert(p, size // 2, np.nan)
            assert np.delete(CORRECTIONS[ours](holes), size // 2) == pytest.approx(expected, abs=1e-12)
    scores = random_scores(8)
    outcome = student(scores, *all_pairs(len(scores)))
    for k, x, y in each_pair(scores, outcome):
        if (x != y).any():
            found = weightstats.DescrStatsW(x - y)
            assert outcome.p[k] == pytest.approx(found.ttest_mean(0)[1], rel=1e-9)
            assert (outcome.low[k], outcome.high[k]) == pytest.approx(found.tconfint_mean(), rel=1e-9)


@pytest.mark.parametrize("correction", ["bonferroni", "holm", "bh"])
def test_corrections_by_their_definitions(correction: str) -> None:
    p = np.random.default_rng(9).random(20)
    ordered = sorted(p)
    m = len(p)
    for value, adjusted in zip(p, CORRECTIONS[correction](p), strict=True):
        i = ordered.index(value)
        expected = {
            "bonferroni": m * value,
            "holm": max((m - j) * ordered[j] for j in range(i + 1)),
            "bh": min(m * ordered[j] / (j + 1) for j in range(i, m)),
        }[correction]
        assert adjusted == pytest.approx(min(expected, 1))


# -- the unit of the scores -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [-1000, -565, 531, 1018])  # 1e-301, 1e-170, 1e160, 1e306
@pytest.mark.parametrize("test", TESTS)
def test_no_test_depends_on_the_unit_of_the_scores(test: str, power: int) -> None:
    """Squares of such scores overflow or vanish, and p would be 1 or 0."""
    scores, unit = random_scores(11, systems=6), 2.0**power
    pairs, settings = all_pairs(6), Settings(samples=200)
    with np.errstate(over="raise"):
        usual, other = (TESTS[test](values, *pairs, settings) for values in (scores, scores * unit))
    for name in ("p", "effect", "n"):
        assert getattr(other, name) == pytest.approx(getattr(usual, name), rel=1e-9, nan_ok=True)
    for name in ("difference", "low", "high"):
        assert getattr(other, name) / unit == pytest.approx(getattr(usual, name), rel=1e-9, abs=1e-12, nan_ok=True)
    apart = scores.copy()
    apart[5] *= unit  # one system alone is of another size: the others are compared as ever
    alone = TESTS[test](apart, *pairs, settings)
    if test != "tukey":  # which asks about all systems together
        assert alone.p[:4] == pytest.approx(usual.p[:4], rel=1e-9)


@pytest.mark.parametrize("power", [-1000, 531, 1023])
def test_no_correlation_depends_on_the_unit_of_the_scores(power: int) -> None:
    x, y = (np.round(np.random.default_rng(seed).random(20) - 0.5, 1) for seed in (1, 2))
    with np.errstate(all="raise"):
        for kind in CORRELATIONS:
            assert rank_correlation(x * 2.0**power, y * 2.0**power, kind) == pytest.approx(rank_correlation(x, y, kind))


# -- Sakai's bootstrap -----------------------------------------------------------------------------------------------


def exact_asl(x: np.ndarray, y: np.ndarray) -> Fraction | float:
    """All n^n resamples in exact fractions: t*^2 against t^2, with the rule for resamples of one value."""
    z = [Fraction(str(a)) - Fraction(str(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    n = len(z)

    def squared(values: list[Fraction]) -> Fraction | float:
        mean = sum(values) / n
        spread = sum((v - mean) ** 2 for v in values) / (n - 1)
        return mean**2 * n / spread if spread else (0 if mean == 0 else math.inf)

    if len({*z}) == 1 and z[0] != 0:
        return math.nan  # the observed differences say nothing about their spread
    observed = squared(z)
    centred = [v - sum(z) / n for v in z]
    hits = sum(squared(list(drawn)) >= observed for drawn in itertools.product(centred, repeat=n))
    return Fraction(hits, n**n)


def test_the_bootstrap_over_all_resamples_is_exact() -> None:
    assert exact_asl(*SAKAI) == Fraction(40, 256)
    outcome = bootstrap(SAKAI, ONE, OTHER, Settings(samples="all"))
    assert outcome.p[0] == 40 / 256
    assert Differences.of(SAKAI, ONE, OTHER).student[0] == pytest.approx(1.841880388, abs=1e-9)
    assert student(SAKAI, ONE, OTHER).p[0] == pytest.approx(0.162733110, abs=1e-9)


@given(hnp.arrays(np.int64, (2, 4), elements=st.integers(0, 6)))
def test_the_bootstrap_is_exact_on_any_small_data(tenths: np.ndarray) -> None:
    scores = tenths / 10
    assert bootstrap(scores, ONE, OTHER, Settings(samples="all")).p[0] == pytest.approx(
        float(exact_asl(*scores)), nan_ok=True
    )


@pytest.mark.parametrize("name", ["randomization", "bootstrap", "tukey"])
def test_sampled_p_values_are_never_zero(name: str) -> None:
    """A sample of flips or resamples contains the observed one: p is (b + 1) / (B + 1)."""
    apart = np.array([np.linspace(0.8, 0.9, 30), np.linspace(0.1, 0.21, 30)])
    assert TESTS[name](apart, ONE, OTHER, Settings(samples=99)).p[0] == 1 / 100


def test_enough_samples_are_drawn_for_the_number_of_pairs() -> None:
    """With 10,000 samples no difference of 40 systems could be significant after Holm's correction."""
    random = np.random.default_rng(0)
    values = np.arange(40)[:, None] / 40 + random.normal(0, 0.001, (40, 20))
    scores = cal.as_scores(values, measure="AP")
    for name in ("randomization", "bootstrap"):
        for correction in ("holm", "bonferroni", "bh"):
            assert cal.compare(scores, test=name, correction=correction).significant.all(), (name, correction)


def test_too_few_samples_for_the_number_of_pairs_are_said() -> None:
    scores = cal.as_scores(np.random.default_rng(0).random((10, 20)), measure="AP")
    least = 45 * 20  # pairs / alpha

    def said(test: str, correction: str, samples: int) -> bool:
        notes = cal.compare(scores, test=test, correction=correction, samples=samples, warn=False).notes
        return any(note.startswith("no difference can be significant") for note in notes)

    for name in ("randomization", "bootstrap"):
        assert [said(name, "holm", samples=samples) for samples in (least - 1, least)] == [True, False]
        assert not said(name, "none", samples=least - 1)
        with pytest.warns(CalipersWarning, match=f"use at least {least} samples"):
            cal.compare(scores, test=name, samples=least - 1)
    assert [said("tukey", "holm", samples=samples) for samples in (19, 20)] == [True, False]


def test_the_sampled_bootstrap_comes_near() -> None:
    outcome = bootstrap(SAKAI, ONE, OTHER, Settings(samples=20_000))
    assert outcome.p[0] == pytest.approx(40 / 256, abs=0.01)


@pytest.mark.parametrize("samples", [1000, "all"])
def test_the_bootstraps_interval_says_what_its_test_says(samples: int | str) -> None:
    """0 is outside exactly where p < alpha."""
    for alpha in (0.0005, 0.001, 0.05, 0.1, 0.2, 0.5):
        queries = 6 if samples == "all" else 20
        scores = random_scores(10, systems=8, queries=queries, digits=3, undefined=0)
        outcome = bootstrap(scores, *all_pairs(8), Settings(level=1 - alpha, samples=samples))
        outside = (outcome.low > 0) | (outcome.high < 0)
        assert (outside == (outcome.p < alpha)).all()


# -- Tukey -----------------------------------------------------------------------------------------------------------


def test_tukey_comes_near_the_studentised_range() -> None:
    """On normal data of systems that are alike the permutations give what the theory of the two-way layout does."""
    random = np.random.default_rng(11)
    systems, queries = 6, 40
    scores = random.normal(size=(systems, queries)) + random.normal(size=queries)
    outcome = tukey(scores, *all_pairs(systems), Settings(samples=4000))
    residual = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    freedom = (systems - 1) * (queries - 1)
    error = math.sqrt((residual**2).sum() / freedom / queries)
    expected = stats.studentized_range.sf(np.abs(outcome.difference) / error, systems, freedom)
    assert np.abs(outcome.p - expected).max() < 0.03
    width = stats.studentized_range.isf(0.05, systems, freedom) * error
    assert (outcome.high - outcome.low)[0] / 2 == pytest.approx(width, rel=0.05)
    assert outcome.effect == pytest.approx(outcome.difference / (error * math.sqrt(queries)))


def test_tukey_leaves_out_queries_that_a_system_lacks() -> None:
    scores = random_scores(12, systems=4, undefined=0)
    holed = scores.copy()
    holed[2, :5] = np.nan
    whole = tukey(scores[:, 5:], *all_pairs(4))
    assert (tukey(holed, *all_pairs(4)).p == whole.p).all()
    holed[1] = np.nan
    with pytest.raises(CalipersError, match="no query is defined for every system"):
        tukey(holed, *all_pairs(4))


# -- laws of every test ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TESTS)
@given(seed=st.integers(0, 10_000))
def test_laws(name: str, seed: int) -> None:
    """Probabilities; turning a pair round turns the signs; the order of the queries is nothing."""
    scores = random_scores(seed, systems=4, queries=12, undefined=0.1 if name != "tukey" else 0)
    settings = Settings(samples=200)
    a, b = all_pairs(4)
    one, turned = TESTS[name](scores, a, b, settings), TESTS[name](scores, b, a, settings)
    assert ((one.p >= 0) & (one.p <= 1)).all()
    assert one.p[0] == 1, "systems that never differ"
    assert one.p == pytest.approx(turned.p)
    for x, y in ((one.difference, turned.difference), (one.low, turned.high), (one.effect, turned.effect)):
        assert x == pytest.approx(-y, abs=1e-12, nan_ok=True)
    assert (one.n == turned.n).all()
    bounded = ~np.isnan(one.low)  # the bootstrap has no interval where too many samples have no spread
    assert bounded.all() or name == "bootstrap"
    assert not np.isnan(one.effect).any()
    assert ((one.low <= one.difference) & (one.difference <= one.high))[bounded].all()


@pytest.mark.parametrize("name", ["t", "wilcoxon", "randomization", "bootstrap"])
def test_undefined_queries_are_left_out_pairwise(name: str) -> None:
    """A pair is tested as if the queries that it does not share were not there."""
    scores = random_scores(13, systems=6, queries=10, digits=2, undefined=0.15)
    settings = Settings(samples="all" if name == "randomization" else 300)
    together = TESTS[name](scores, *all_pairs(6), settings)
    for k, x, y in each_pair(scores, together):
        alone = TESTS[name](np.array([x, y]), ONE, OTHER, settings)
        assert together.n[k] == len(x)
        assert together.p[k] == pytest.approx(alone.p[0])
        assert together.low[k] == pytest.approx(alone.low[0])


@pytest.mark.parametrize("name", TESTS)
def test_blocks_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = random_scores(14, systems=7, queries=11, undefined=0)
    pairs = all_pairs(7)
    whole = TESTS[name](scores, *pairs, Settings(samples=500))
    monkeypatch.setattr("calipers.statistics.differences.CELLS_AT_ONCE", 50)
    monkeypatch.setattr("calipers.statistics.significance.SAMPLES_AT_ONCE", 100)
    parts = TESTS[name](scores, *pairs, Settings(samples=500))
    assert (whole.p == parts.p).all()


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.filterwarnings("error")
def test_constant_differences_and_too_few_queries(name: str) -> None:
    scores = np.array([[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5], [0.25, 0.25, 0.25, 0.25]])
    outcome = TESTS[name](scores, *all_pairs(3), Settings(samples=100))
    assert outcome.p[0] == 1
    assert (outcome.effect[0], outcome.difference[0]) == (0, 0)
    assert (outcome.low[0], outcome.high[0]) == (0, 0) or name == "tukey"
    assert math.isnan(outcome.p[1]) if name in {"t", "bootstrap"} else outcome.p[1] < 0.35
    if name != "tukey":
        assert np.isnan([outcome.low[1], outcome.high[1], outcome.effect[1]]).all()
    if name != "tukey":
        scores[1, 1:] = np.nan
        few = TESTS[name](scores, *all_pairs(3), Settings(samples=100))
        assert math.isnan(few.p[0])
        assert few.n.tolist() == [1, 4, 1]


# -- comparisons -----------------------------------------------------------------------------------------------------


def compared(**options: object) -> cal.questions.compare.Comparison:
    random = np.random.default_rng(15)
    values = random.random((2, 5, 30)) + np.arange(5)[:, None] * 0.15
    scores = cal.as_scores(values, systems=list("abcde"), measure=["AP", "RR"])
    return cal.compare(scores, **options)


@pytest.mark.filterwarnings("ignore:np.find_common_type:DeprecationWarning")  # inside pandas 2.0
def test_the_fixed_columns(require: Any) -> None:
    require.module("pandas")
    comparison = compared()
    frame = comparison.to_pandas()
    assert tuple(frame.columns) == COLUMNS
    assert ",".join(COLUMNS) == "measure,system_a,system_b,difference,low,high,p,p_adjusted,effect,n"
    assert len(frame) == 2 * 10
    assert comparison.to_csv().splitlines()[0] == ",".join(COLUMNS)
    assert frame["p_adjusted"].ge(frame["p"]).all()
    first = frame.iloc[0]
    scores = comparison.outcomes[0]
    assert (first["measure"], first["system_a"], first["system_b"]) == ("AP", "a", "b")
    assert first["difference"] == scores.difference[0]


def test_a_baseline_turns_differences_into_improvements() -> None:
    comparison = compared(baseline="c")
    assert comparison.pairs == [("a", "c"), ("b", "c"), ("d", "c"), ("e", "c")]
    assert comparison.outcomes[0].difference[3] > 0
    with pytest.raises(CalipersError, match=r"unknown baseline 'cc'; did you mean c\?"):
        compared(baseline="cc")


def test_corrections_are_within_a_measure() -> None:
    plain, holm = compared(correction=None), compared(correction="holm")
    assert (plain.p_adjusted == plain.p).all()
    assert holm.p_adjusted[0] == pytest.approx(CORRECTIONS["holm"](plain.p[0]))
    tukeys = compared(test="tukey", correction="bonferroni")
    assert (tukeys.p_adjusted == tukeys.p).all()


def test_seeds_are_kept_and_matter() -> None:
    one, same, other = (
        compared(test="randomization"),
        compared(test="randomization"),
        compared(test="bootstrap", seed=1),
    )
    assert one.metadata["seed"] == 42
    assert (one.p == same.p).all()
    assert (other.p != compared(test="bootstrap", seed=2).p).any()


def test_wins_and_matrix_agree_with_the_pairs() -> None:
    comparison = compared()
    wins, matrix = comparison.wins("AP"), comparison.matrix("AP")
    order = [row[0] for row in wins.rows]
    assert order == list("edcba")
    for row in matrix.rows:
        assert row[1:].count("+") == wins[row[0], "beats"]
        assert row[1:].count("-") == wins[row[0], "beaten by"]
    letters = dict(zip(order, wins["letters"], strict=True))
    for (a, b), significant in zip(comparison.pairs, comparison.significant[0], strict=True):
        assert significant != bool(set(letters[a]) & set(letters[b]))
    with pytest.raises(CalipersError, match="which measure"):
        comparison.wins()


@given(hnp.arrays(np.bool_, (7, 7)))
def test_letters_are_shared_exactly_by_what_does_not_differ(chosen: np.ndarray) -> None:
    different = np.triu(chosen, 1) | np.triu(chosen, 1).T
    groups = letter_groups(different)
    together = np.zeros((7, 7), bool)
    for group in groups:
        together[np.ix_(group, group)] = True
    assert (together == ~different).all()
    assert not any(set(one) < set(other) for one in groups for other in groups)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(CalipersError, match=r"only one system \(a\)"):
        cal.compare(cal.as_scores([[0.1, 0.2]], systems=["a"]))
    with pytest.raises(CalipersError, match="fewer than two queries"):
        cal.compare(cal.as_scores([[0.1], [0.2]]))
    for options, message in (
        ({"test": "z"}, "unknown test 'z'; there are t, wilcoxon"),
        ({"correction": "x"}, "unknown correction 'x'; there are none, bonferroni"),
        ({"alpha": 2}, "alpha 2 is not between 0 and 1"),
        ({"level": 0}, "confidence level 0 is not"),
        ({"test": "bootstrap", "samples": 0}, "samples 0 is neither"),
        ({"test": "randomization", "samples": "all"}, r"2\^30 flips are too many"),
        ({"test": "bootstrap", "samples": "all"}, "resamples of 30 queries are too many"),
    ):
        with pytest.raises(CalipersError, match=message):
            compared(**options)


def test_incomplete_pairs_are_counted() -> None:
    scores = cal.as_scores([[0.1, 0.2, 0.3], [0.2, math.nan, 0.1], [0.3, 0.1, 0.2]], measure="AP")
    assert cal.compare(scores).incomplete().rows == (("AP", 2, 2, 3),)


# -- files of scores -------------------------------------------------------------------------------------------------


def test_frames_say_what_their_rows_are(require: Require) -> None:
    """A frame of queries x systems was once taken for systems x queries, under the names system1, system2, ..."""
    pandas, polars = require.module("pandas"), require.module("polars")
    scores = cal.as_scores([[0.5, 0.3, 0.6], [0.4, math.nan, 0.3]], ["new", "old"], ["q1", "q2", "q3"], "AP")
    by_query = pandas.DataFrame(scores.values[0].T, index=list(scores.queries), columns=list(scores.systems))
    long = scores.to_pandas()
    frames = {
        "index": by_query.rename_axis(index="query"),
        "columns": by_query.rename_axis(columns="system"),
        "turned": by_query.T.rename_axis(index="system"),
        "turned columns": by_query.T.rename_axis(columns="topic"),
        "column": by_query.rename_axis(index="qid").reset_index(),
        "last column": by_query.assign(query=by_query.index),
        "pivot": long.pivot(index="query", columns="system", values="AP"),
        "polars": polars.from_pandas(by_query.T.rename_axis(index="system").reset_index()),
        "long": long,
        "long, other order": long[["AP", "query", "system"]],
    }
    for name, frame in frames.items():
        found = cal.as_scores(frame, measure="AP")
        assert (found.measures, set(found.systems), found.queries) == (("AP",), {"new", "old"}, scores.queries), name
        order = [found.systems.index(system) for system in scores.systems]
        assert np.array_equal(found["AP"][order], scores["AP"], equal_nan=True), name
    expected = cal.compare(scores, warn=False).p
    assert cal.compare(frames["index"], warn=False).p == pytest.approx(expected)
    assert student(frames["index"], ONE, OTHER).p == pytest.approx(expected[0])
    for frame in (by_query, by_query.T, polars.from_pandas(by_query), frames["column"].assign(topic=1)):
        with pytest.raises(CalipersError, match="must say what its rows are"):
            cal.as_scores(frame)
    with pytest.raises(CalipersError, match="names its systems and queries itself"):
        cal.as_scores(frames["index"], systems=["a", "b"])


def test_a_matrix_of_topics_and_systems(tmp_path: Path) -> None:
    (tmp_path / "ap.csv").write_text("s1,s2\n7e-04,0.5\n,0.25\n")
    scores = cal.read_scores(tmp_path / "ap.csv")
    assert (scores.measures, scores.systems, scores.queries) == (("ap",), ("s1", "s2"), ("1", "2"))
    assert scores["ap"][0, 0] == 7e-4
    assert math.isnan(scores["ap"][0, 1])
    assert scores.reason("ap", "s1", "2") == "query missing from the run"
    (tmp_path / "ids.csv").write_text("topic,s1,s2\n401,0.5,1\n402,0.1,NA\n")
    named = cal.read_scores(tmp_path / "ids.csv", measures="AP")
    assert (named.measures, named.queries) == (("AP",), ("401", "402"))


def test_a_table_of_scores_comes_back_as_it_was_written(tmp_path: Path, require: Require) -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2, "d": 1}}
    runs = {"x": {"q1": {"a": 1.0, "b": 2.0}, "q2": {"c": 1.0}}, "y": {"q1": {"a": 2.0}, "q2": {"d": 1.0}}}
    scores = cal.evaluate(qrels, runs, ["nDCG@10", "AP"])
    (tmp_path / "scores.csv").write_text(scores.per_query().to_csv())
    again = cal.read_scores(tmp_path / "scores.csv")
    assert (again.measures, again.systems, again.queries) == (scores.measures, scores.systems, scores.queries)
    assert (again.values == scores.values).all()
    require.module("pandas").read_csv(tmp_path / "scores.csv").to_parquet(tmp_path / "scores.parquet")
    objects = json.loads(scores.per_query().to_json())
    (tmp_path / "scores.jsonl").write_text("\n".join(json.dumps({**each, "like": None}) for each in objects))
    for name in ("scores.parquet", "scores.jsonl"):
        assert is_score_table(str(tmp_path / name))
        assert (cal.read_scores(tmp_path / name).values == scores.values).all()
    (tmp_path / "texts.jsonl").write_text('{"system": "a", "query": "q1", "answer": "in Ulm"}')
    assert not is_score_table(str(tmp_path / "texts.jsonl"))


def test_several_files_meet_on_what_they_share(tmp_path: Path) -> None:
    (tmp_path / "ap.csv").write_text("query,s1,s2,s3\n1,0.1,0.2,0.3\n2,0.4,0.5,0.6\n3,0.7,0.8,0.9\n")
    (tmp_path / "rr.csv").write_text("query,s2,s1\n3,1,0.5\n2,0.25,1\n")
    scores = cal.read_scores([tmp_path / "ap.csv", tmp_path / "rr.csv"])
    assert (scores.measures, scores.systems, scores.queries) == (("ap", "rr"), ("s1", "s2"), ("2", "3"))
    assert scores["rr"].tolist() == [[1, 0.5], [0.25, 1]]
    assert scores.metadata["left_out"] == {"queries": 1, "systems": 1}
    with pytest.raises(CalipersError, match="1 system and 1 query are not in all"):
        cal.read_scores([tmp_path / "ap.csv", tmp_path / "rr.csv"], strict=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s1,s2\n0.1\n", "bad.csv: row 1: expected 2 cells, as in the first line, found 1"),
        ("s1,s2\n0.1,abc\n", "bad.csv:2: score 'abc' of s2 is not a number"),
        ("s1,s2\n0.1,inf\n", "score 'inf' of s2 is not a number"),
        ("s1,s1\n0.1,0.2\n", "two columns are called 's1'"),
        ("query,s1\nq,0.1\nq,0.2\n", "the query 'q' is there twice"),
        ("s1,s2\n", "expected a header and at least one row"),
        ("0.1,0.2\n0.3,0.4\n", "the first line holds numbers"),
        ("system,query,AP\na,1,0.5\na,1,0.5\n", "bad.csv:3: system 'a' has query '1' twice"),
        ("system,query\na,1\n", "no column of scores"),
        ("", "empty"),
    ],
)
def test_bad_files_of_scores(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(CalipersError, match=message.replace("(", r"\(")):
        cal.read_scores(path)


def test_bad_arrays_of_scores() -> None:
    for values, options, message in (
        ([0.1], {}, "expected scores of system x query"),
        ([[math.inf]], {}, "infinite"),
        ([[0.1]], {"systems": ["a", "b"]}, "2 systems and 1 queries are named"),
        ([[0.1], [0.2]], {"systems": ["a", "a"]}, "the system 'a' is there twice"),
    ):
        with pytest.raises(CalipersError, match=message):
            cal.as_scores(values, **options)


def test_every_test_and_effect_size_takes_scores_as_well_as_arrays() -> None:
    values = np.array([[0.9, 0.8, 0.7, 0.9], [0.1, 0.2, 0.1, 0.3], [0.2, 0.1, 0.3, 0.2]])
    scores, a, b = cal.as_scores(values), np.array([0, 2]), np.array([1, 1])
    for test in EVERY_TEST.values():
        settings = Settings(samples=50)
        np.testing.assert_array_equal(test(scores, a, b, settings).p, test(values, a, b, settings).p)
    for effect in EFFECTS.values():
        np.testing.assert_array_equal(effect(scores, a, b), effect(values, a, b))
    assert p_equivalence(scores, a, b, 0.1).tolist() == p_equivalence(values, a, b, 0.1).tolist()
    two = cal.evaluate({"q": {"d": 1}}, {"q": {"d": 1}}, ["AP", "RR"])
    with pytest.raises(CalipersError, match="scores of one measure"):
        student(two, a, b)
