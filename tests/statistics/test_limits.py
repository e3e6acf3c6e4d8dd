"""Limits of the mean of bounded values: against exact fractions, beta distributions and enumerated samples."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, norm

from calipers.errors import CalipersError
from calipers.statistics.limits import (
    dirichlet_cdf,
    lower_limit,
    queries_needed,
    queries_to_show,
    shown_above,
    shown_below,
    upper_limit,
)

ALPHAS = (0.5, 0.05, 0.0025, 1e-8)


def exact_cdf(threshold: Fraction, points: list[Fraction]) -> Fraction:
    """Return Pr(sum w x <= t) for distinct points and uniform weights, as a divided difference of (t - x)_+^n."""
    total = Fraction(0)
    for point in points:
        if point < threshold:
            product = Fraction(1)
            for other in points:
                product *= other - point if other != point else 1
            total += (threshold - point) ** (len(points) - 1) / product
    return total


@pytest.mark.parametrize("seed", range(40))
def test_the_probability_is_that_of_exact_fractions(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.choice([2, 3, 8, 20, 60]))
    size = 10.0 ** random.uniform(-5, 0, 3)[random.integers(0, 3, n)]  # differences of very different sizes
    points = np.unique(np.append(random.choice([-1, 1], n) * size * random.uniform(0.9, 1.0, n), -1.5))
    middle = lower_limit(points[1:], points[0], float(random.choice(ALPHAS)))
    for threshold in (middle, points[0] + 0.5 * (middle - points[0]), points.mean(), (points[-1] + points[-2]) / 2):
        exact = float(exact_cdf(Fraction(threshold), [Fraction(x) for x in points]))
        assert dirichlet_cdf(threshold, points, np.ones(len(points))) == pytest.approx(exact, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    "copies", [(1, 1, 1), (1, 14, 890), (1, 890, 14), (1, 9000, 30), (2.5, 0.75, 40.5), (1, 3, 9996)]
)
@pytest.mark.parametrize(
    "points", [(-1, 0, 1), (-1, -0.01, 1), (-1, 0.002, 0.003), (-0.002, 0.01, 1), (-1, -0.5, 1e-4)]
)
def test_the_probability_is_that_of_nested_beta_distributions(points: tuple, copies: tuple) -> None:
    """w_1 is from Beta(m_1, m_2 + m_3), and the share of w_2 in the rest from Beta(m_2, m_3)."""
    (a, b, c), (first, second, third) = points, copies
    weight, share = beta(first, second + third), beta(second, third)
    mean = np.dot(points, copies) / sum(copies)
    for threshold in (mean, a + 0.9 * (mean - a)):
        ends = sorted({0.0, 1.0, *np.clip([(c - threshold) / (c - a), (b - threshold) / (b - a)], 0, 1)})
        pieces = sorted({*ends, *np.clip(weight.ppf([1e-12, 0.01, 0.5, 0.99, 1 - 1e-12]), 0, 1)})

        def inner(w: float, threshold: float = threshold) -> float:
            return weight.pdf(w) * share.sf((c - (threshold - w * a) / (1 - w)) / (c - b)) if w < 1 else 0.0

        expected = sum(quad(inner, *piece, epsabs=1e-13, limit=400)[0] for piece in pairwise(pieces))
        found = dirichlet_cdf(threshold, np.array(points, float), np.array(copies, float))
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n", [1, 2, 5, 10, 100, 1_000, 10_000])
def test_the_limit_of_ones_and_zeros_is_clopper_pearsons(n: int, alpha: float) -> None:
    for ones in {0, 1, n // 3, n - 1, n}:
        values = [1.0] * ones + [0.0] * (n - ones)
        low = float(beta.ppf(alpha, ones, n - ones + 1)) if ones else 0.0
        high = float(beta.isf(alpha, ones + 1, n - ones)) if ones < n else 1.0
        assert lower_limit(values, 0.0, alpha) == pytest.approx(low, rel=1e-9, abs=1e-12)
        assert upper_limit(values, 1.0, alpha) == pytest.approx(high, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 10, 50, 10_000])
def test_the_limit_of_equal_values(n: int) -> None:
    for value, worst in ((0.0, -1.0), (0.3, 0.0), (1.0, 0.0), (-0.999, -1.0), (60.0, 0.0)):
        expected = worst + (value - worst) * 0.05 ** (1 / n)
        assert lower_limit([value] * n, worst, 0.05) == pytest.approx(expected, rel=1e-12)
        assert upper_limit([-value] * n, -worst, 0.05) == pytest.approx(-expected, rel=1e-12)
        assert shown_above([value] * n, expected - 1e-9, worst, 0.05)
        assert not shown_above([value] * n, expected + 1e-9, worst, 0.05)
        assert shown_below([-value] * n, -expected + 1e-9, -worst, 0.05)


def test_values_at_the_worst_end_show_nothing() -> None:
    assert lower_limit([-1.0] * 5, -1.0, 0.05) == lower_limit([], -1.0, 0.05) == -1.0
    assert not shown_above([-1.0] * 5, -1.0, -1.0, 0.05)
    assert upper_limit([1.0] * 5, 1.0, 0.05) == 1.0


@pytest.mark.parametrize("value", [-1.5, np.nan, np.inf])
def test_values_beyond_the_worst_are_refused(value: float) -> None:
    with pytest.raises(CalipersError, match="at least -1, the lowest possible value"):
        lower_limit([0.0, value], -1.0, 0.05)


def test_the_order_of_the_values_does_not_matter() -> None:
    random = np.random.default_rng(5)
    values = random.choice([0.0, 0.1, -0.25, 1 / 3], 300) + random.normal(0, 0.05, 300) * (random.random(300) < 0.5)
    first = lower_limit(values, -1.0, 0.05)
    assert all(lower_limit(random.permutation(values), -1.0, 0.05) == first for _ in range(5))
    copies = random.uniform(0.5, 3, 300)
    order = random.permutation(300)
    assert dirichlet_cdf(0.01, values, copies) == dirichlet_cdf(0.01, values[order], copies[order])


def test_ten_thousand_values() -> None:
    """Of many values, the limit is near Student's."""
    values = np.random.default_rng(6).uniform(-0.5, 0.5, 10_000)
    student = values.mean() - norm.isf(0.05) * values.std(ddof=1) / 100
    assert lower_limit(values, -1.0, 0.05) == pytest.approx(student, abs=3e-4)


@pytest.mark.parametrize("n", [2, 5, 10, 30])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 0), (-1, 1), (-0.2, 0.3), (-0.01, 1), (-1, 0.01)])
def test_the_error_is_at_most_alpha(n: int, low: float, high: float) -> None:
    """Every sample of every distribution of two values on a grid, enumerated."""
    limits = [lower_limit([high] * k + [low] * (n - k), -1.0 if low < 0 else 0.0, 0.05) for k in range(n + 1)]
    for share in np.linspace(0.005, 0.995, 199):
        mean = low + share * (high - low)
        error = sum(comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1) if limits[k] > mean + 1e-12)
        assert error <= 0.05 + 1e-12


def test_queries_to_show_is_the_smallest_number() -> None:
    for value, threshold, worst, alpha in (
        (0, -0.02, -1, 0.05),
        (1, 0.9, 0, 0.05),
        (0, -0.1, -2, 0.01),
        (0.5, 0.2, 0, 0.3),
    ):
        n = queries_to_show(value, threshold, worst, alpha)
        assert n is not None
        assert shown_above([value] * n, threshold, worst, alpha)
        assert not shown_above([value] * (n - 1), threshold, worst, alpha)
    assert queries_to_show(0.0, 0.0, -1.0, 0.05) is None
    assert queries_to_show(0.0, -2.0, -1.0, 0.05) == 1


def test_queries_needed_is_the_smallest_number() -> None:
    values = np.array([0.0] * 46 + [-0.2, 0.1, 0.3, 0.2])
    n = queries_needed(values, -0.02, -1.0, 0.05, 0.8)
    assert n is not None

    def probability(queries: int) -> float:
        threshold = -0.02 + norm.ppf(0.8) * values.std(ddof=1) / queries**0.5
        return dirichlet_cdf(threshold, np.append(values, -1.0), np.append(np.full(50, queries / 50), 1.0))

    assert probability(n) < 0.05 <= probability(n - 1)


def test_queries_needed_of_values_that_show_it_already_or_never() -> None:
    assert queries_needed([0.5, 0.6] * 50, -0.02, -1.0, 0.05, 0.8) == 100
    assert queries_needed([0.0] * 50, -0.02, -1.0, 0.05, 0.8) == queries_to_show(0.0, -0.02, -1.0, 0.05)
    assert queries_needed([-0.1, 0.1], 0.0, -1.0, 0.05, 0.8) is None  # the mean is not above the threshold
    assert queries_needed([-0.1, 0.1000001], 0.0, -1.0, 0.05, 0.8) is None  # more than a million
    assert queries_needed([0.5], 0.0, -1.0, 0.05, 0.8) is None  # no spread is known
