"""Rank correlation against SciPy, definitions and enumeration; rank-biased overlap between its bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import calipers as cal
from calipers.errors import CalipersError
from calipers.statistics.correlation import (
    CORRELATIONS,
    gamma,
    kendall_a,
    kendall_b,
    pair_counts,
    rank_correlation,
    rbo,
    spearman,
    tau_ap,
    tau_ap_symmetric,
    weighted_tau,
)

coarse = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12)


@given(coarse)
def test_kendall_gamma_and_spearman(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    signs = [np.sign(a - c) * np.sign(b - d) for (a, b), (c, d) in itertools.combinations(pairs, 2)]
    count = pair_counts(x, y)
    assert (count.concordant, count.discordant, count.pairs) == (signs.count(1), signs.count(-1), len(signs))
    assert kendall_a(x, y) == pytest.approx(sum(signs) / len(signs))
    if any(signs):
        assert gamma(x, y) == pytest.approx(sum(signs) / (signs.count(1) + signs.count(-1)))
    else:
        assert math.isnan(gamma(x, y))
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert kendall_b(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    else:
        assert math.isnan(kendall_b(x, y))


def test_large_counts_are_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    x, y = random.integers(0, 50, (2, 200)).astype(float)
    whole = pair_counts(x, y)
    monkeypatch.setattr("calipers.statistics.correlation.ROWS_AT_ONCE", 1000)
    assert pair_counts(x, y) == whole
    assert whole.concordant + whole.discordant <= whole.pairs - max(whole.tied_x, whole.tied_y)


@pytest.mark.parametrize(("order", "expected"), [("bacd", 1 / 3), ("abdc", 7 / 9), ("bcad", 1 / 3), ("dcba", -1)])
def test_tau_ap_by_hand(order: str, expected: float) -> None:
    """MATH.md 5.1."""
    score = {thing: -place for place, thing in enumerate(order)}
    assert tau_ap([4, 3, 2, 1], [score[thing] for thing in "abcd"]) == pytest.approx(expected)


def test_tau_ap_in_both_directions() -> None:
    truth, other = [4, 3, 2, 1], [2, 4, 3, 1]
    both = tau_ap(truth, other), tau_ap(other, truth)
    assert both[0] != both[1]
    assert tau_ap_symmetric(truth, other) == pytest.approx(sum(both) / 2)
    assert rank_correlation(truth, other, "tau_AP-reversed") == both[1]


@given(st.permutations(range(5)), st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_ties_of_tau_ap_are_averaged(truth: list[int], other: list[int]) -> None:
    """Over all orders of what is tied in the list."""
    orders = itertools.permutations(range(5))
    values = [tau_ap(truth, np.array(other) + np.array(order) / 100) for order in orders]
    assert tau_ap(truth, other) == pytest.approx(np.mean(values))


def test_weighted_tau_is_scipys() -> None:
    x, y = np.random.default_rng(1).random((2, 9))
    assert weighted_tau(x, y) == stats.weightedtau(x, y).statistic


@pytest.mark.parametrize("kind", CORRELATIONS)
def test_every_correlation_is_1_on_itself_and_leaves_undefined_out(kind: str) -> None:
    x = np.random.default_rng(2).random(8)
    y = np.random.default_rng(3).random(8)
    assert rank_correlation(x, x, kind) == pytest.approx(1)
    assert rank_correlation(x, -x, kind) == pytest.approx(-1)
    holed = np.insert(y, 3, math.nan)
    assert rank_correlation(np.insert(x, 3, 0.5), holed, kind) == pytest.approx(rank_correlation(x, y, kind))


def test_bad_correlations() -> None:
    with pytest.raises(CalipersError, match="unknown rank correlation 'x'; there are tau-a"):
        cal.statistics.rank_correlation([1, 2], [1, 2], "x")
    with pytest.raises(CalipersError, match="two lists of scores of one length"):
        cal.statistics.rank_correlation([1, 2], [1, 2, 3])


# -- rank-biased overlap ---------------------------------------------------------------------------------------------


def plain_rbo(a: list[str], b: list[str], p: float, depth: int) -> float:
    """The definition on lists that are long enough for the rest to be nothing."""
    return sum((1 - p) * p ** (d - 1) * len(set(a[:d]) & set(b[:d])) / d for d in range(1, depth + 1))


lists = st.permutations("abcdef").flatmap(lambda order: st.integers(1, 6).map(lambda n: list(order[:n])))


@given(lists, lists, st.sampled_from([0.5, 0.9]))
def test_the_bounds_hold_every_continuation(a: list[str], b: list[str], p: float) -> None:
    """Of lists that go on: nothing shared gives the lower bound, everything as soon as can be the upper one."""
    overlap = rbo(a, b, p)
    assert 0 <= overlap.low <= overlap.value + 1e-12
    assert overlap.value <= overlap.high + 1e-12
    assert overlap.high <= 1
    depth = 400
    apart = plain_rbo(a + [f"x{i}" for i in range(depth)], b + [f"y{i}" for i in range(depth)], p, depth)
    assert overlap.low == pytest.approx(apart, abs=1e-9)
    rest_a = [thing for thing in b if thing not in a]
    rest_b = [thing for thing in a if thing not in b]
    fresh = [f"z{i}" for i in range(depth)]
    # The shorter list has to catch up first: it takes what the longer one has shown and it has not.
    best = (
        max(
            plain_rbo(a + list(first) + fresh, b + list(second) + fresh, p, depth)
            for first in itertools.permutations(rest_a)
            for second in itertools.permutations(rest_b)
        )
        if len(rest_a) <= 3 and len(rest_b) <= 3
        else None
    )
    if best is not None:
        assert best <= overlap.high + 1e-9
        if len(a) == len(b):
            assert overlap.high == pytest.approx(best, abs=1e-9)


@given(lists, lists)
def test_overlap_is_symmetric_and_1_on_itself(a: list[str], b: list[str]) -> None:
    assert rbo(a, b).value == pytest.approx(rbo(b, a).value)
    assert rbo(a, a).value == pytest.approx(1)
    assert rbo(a, a).high == pytest.approx(1)


def test_extrapolation_of_even_lists_is_webbers() -> None:
    """RBO_EXT = X_k / k p^k + (1 - p) / p sum X_d / d p^d."""
    a, b, p = list("abcdefg"), list("bcaxgfy"), 0.8
    shared = [len(set(a[:d]) & set(b[:d])) for d in range(1, 8)]
    expected = shared[-1] / 7 * p**7 + (1 - p) / p * sum(x / d * p**d for d, x in enumerate(shared, 1))
    assert rbo(a, b, p).value == pytest.approx(expected)


@given(st.lists(st.integers(0, 2), min_size=4, max_size=4), st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_ties_of_overlap_are_averaged(x: list[int], y: list[int]) -> None:
    def orders(scores: list[int]) -> list[list[str]]:
        things = dict(zip("abcd", scores, strict=True))
        return [
            list(o)
            for o in itertools.permutations("abcd")
            if all(things[s] >= things[t] for s, t in itertools.pairwise(o))
        ]

    scored = [dict(zip("abcd", map(float, scores), strict=True)) for scores in (x, y)]
    values = [rbo(s, t, 0.7).value for s in orders(x) for t in orders(y)]
    assert rbo(scored[0], scored[1], 0.7).value == pytest.approx(np.mean(values))


def test_other_rules_for_ties() -> None:
    tied = [{"a", "b"}, "c"]
    assert rbo(tied, tied, ties="average").value < 1
    assert rbo(tied, tied, ties="corrected").value == pytest.approx(1)
    assert rbo(tied, tied, ties="shared").value == pytest.approx(1)
    for ties in ("average", "corrected", "shared"):
        assert rbo("abc", "bca", ties=ties) == rbo("abc", "bca")


def test_bad_overlaps() -> None:
    with pytest.raises(CalipersError, match="p 1 is not between 0 and 1"):
        rbo("ab", "ba", p=1)
    with pytest.raises(CalipersError, match="'a' is in the list twice"):
        rbo("aba", "ba")
    with pytest.raises(CalipersError, match="unknown rule for ties"):
        rbo("ab", "ba", ties="x")
    assert (rbo("", "ab").value, rbo("", "").value) == (0, 1)
