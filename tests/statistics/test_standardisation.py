"""Score standardisation (Webber et al., 2008): laws of z-scores, references, what is skipped."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import calipers as cal
from calipers.errors import CalipersError


@pytest.fixture
def scores() -> cal.Scores:
    draw = np.random.default_rng(3)
    names = [f"s{i}" for i in range(6)]
    queries = [f"q{i}" for i in range(5)]
    return cal.as_scores(draw.random((2, 6, 5)) * [[[1]], [[30]]], names, queries, ["AP", "DCG"])


def test_each_query_has_mean_0_and_deviation_1(scores: cal.Scores) -> None:
    found = cal.statistics.standardise(scores, z=True)
    assert found.measures == ("Z(AP)", "Z(DCG)")
    assert found.values.mean(axis=1) == pytest.approx(0, abs=1e-12)
    assert found.values.std(axis=1, ddof=1) == pytest.approx(1)


def test_standardised_scores_are_shares_of_a_normal_distribution(scores: cal.Scores) -> None:
    found = cal.statistics.standardise(scores)
    assert found.values == pytest.approx(norm.cdf(cal.statistics.standardise(scores, z=True).values))
    assert ((found.values > 0) & (found.values < 1)).all(), "also of DCG, which has no bound"


def test_scale_and_offset_of_a_query_do_not_matter(scores: cal.Scores) -> None:
    moved = scores.values * np.arange(1, 6) + np.arange(5)
    other = cal.as_scores(moved, scores.systems, scores.queries, list(scores.measures))
    assert cal.statistics.standardise(other).values == pytest.approx(cal.statistics.standardise(scores).values)


def test_reference_systems_give_the_statistics_by_name(scores: cal.Scores) -> None:
    reference = scores.of_systems(scores.systems[:4])
    turned = cal.as_scores(
        reference.values[::-1, :, ::-1], reference.systems, reference.queries[::-1], list(reference.measures[::-1])
    )
    new = scores.of_systems(scores.systems[4:])
    found = cal.statistics.standardise(new, turned, z=True)
    mean, spread = (f(reference.values, 1) for f in (np.mean, lambda v, axis: v.std(axis=axis, ddof=1)))
    assert found.values == pytest.approx((new.values - mean[:, None]) / spread[:, None])
    assert found.systems == new.systems


def test_what_has_no_statistics_is_skipped(scores: cal.Scores) -> None:
    values = scores.values.copy()
    values[:, :, 2] = 0.5
    same = cal.as_scores(values, scores.systems, scores.queries, list(scores.measures))
    found = cal.statistics.standardise(same)
    assert np.isnan(found.values[:, :, 2]).all()
    assert found.reason("S(AP)", "s0", "q2") == "all rankings score the same"
    assert found.notes == ("1 query without a spread of reference scores; skipped",)
    without = cal.as_scores(scores.values[:, :, 1:], scores.systems, scores.queries[1:], list(scores.measures))
    assert np.isnan(cal.statistics.standardise(scores, without).values[:, :, 0]).all()


def test_references_that_do_not_fit(scores: cal.Scores) -> None:
    for reference, message in (
        (scores.of_systems(["s1"]), "at least two reference systems"),
        (scores.of_measures(["AP"]), "no scores under DCG"),
        (cal.as_scores(scores.values, scores.systems, list("abcde"), ["AP", "DCG"]), "no query in common"),
    ):
        with pytest.raises(CalipersError, match=message):
            cal.statistics.standardise(scores, reference)
