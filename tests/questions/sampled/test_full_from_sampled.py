"""Estimates of full scores from sampled ranks."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.questions.sampled.full_from_sampled import chances, least_squares, rank_scores

NAMES = ["RR", "nDCG@3", "Success@2", "AP"]


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_chances_are_hypergeometric_and_binomial(rank: int) -> None:
    items, negatives, above = 7, 3, rank - 1
    once = [Fraction(comb(above, x) * comb(6 - above, negatives - x), comb(6, negatives)) for x in range(4)]
    share = Fraction(above, 6)
    again = [comb(3, x) * share**x * (1 - share) ** (3 - x) for x in range(4)]
    assert chances(np.array([rank]), items, negatives, False)[0] == pytest.approx([*map(float, once)])
    assert chances(np.array([rank]), items, negatives, True)[0] == pytest.approx([*map(float, again)])


@pytest.mark.parametrize("again", [False, True])
def test_the_expected_rank_is_unbiased(again: bool) -> None:
    items, negatives = 30, 7
    rank = np.arange(1, items + 1)
    estimate = 1 + (items - 1) * np.arange(negatives + 1) / negatives
    assert chances(rank, items, negatives, again) @ estimate == pytest.approx(rank)


def test_with_all_items_every_estimate_is_the_full_score() -> None:
    ranks = [1, 4, 2, 9, 9, 6]
    found = cal.estimate_full(ranks, NAMES, negatives=9, items=10, gamma=0)
    for m, name in enumerate(NAMES):
        full = rank_scores(cal.parse(name), 10)[np.array(ranks) - 1].mean()
        assert found.estimate[0, m] == pytest.approx([full] * 3)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0, 3.0])
def test_no_other_values_have_less_bias_and_variance(gamma: float) -> None:
    items, negatives = 40, 5
    full = np.array([rank_scores(cal.parse("nDCG"), items)])
    prior = np.linspace(2, 1, items)
    prior /= prior.sum()
    chance = chances(np.arange(1, items + 1), items, negatives, False)

    def cost(value: Any) -> float:
        mean = chance @ value
        return float(prior @ ((mean - full[0]) ** 2 + gamma * (chance @ value**2 - mean**2)))

    best = least_squares(full, negatives, False, gamma, prior)[0]
    random = np.random.default_rng(3)
    for _ in range(50):
        assert cost(best) <= cost(best + random.normal(0, 0.01, negatives + 1)) + 1e-15


def test_less_bias_costs_variance() -> None:
    items, negatives = 200, 20
    random = np.random.default_rng(5)
    full = random.integers(1, 40, 4000)
    above = random.hypergeometric(full - 1, items - full, negatives)
    truth = rank_scores(cal.parse("RR"), items)[full - 1].mean()
    found = {
        gamma: cal.estimate_full(above + 1, "RR", negatives=negatives, items=items, gamma=gamma) for gamma in (0.0, 1.0)
    }
    errors = {gamma: abs(each.estimate[0, 0, 2] - truth) for gamma, each in found.items()}
    assert found[0.0].error[0, 0, 2] > found[1.0].error[0, 0, 2]
    assert errors[0.0] < 4 * found[0.0].error[0, 0, 2] + 0.02
    assert errors[0.0] < abs(found[0.0].estimate[0, 0, 0] - truth)  # the sampled score itself is far off


def test_ranks_of_candidates() -> None:
    judged = {"u": {"a": 1, "b": 0}, "v": {"c": 2}}
    run = {"u": {"b": 3, "a": 2, "x": 1}, "v": {"c": 5, "y": 5, "z": 1}}
    assert cal.candidate_ranks(cal.Experiment(judged, {"s": run}))["s"].tolist() == [2, 2]
    with pytest.raises(cal.CalipersError, match="s, 'v': the relevant item is not among"):
        cal.candidate_ranks(cal.Experiment(judged, {"s": {**run, "v": {"y": 1}}}))
    with pytest.raises(cal.CalipersError, match="'u' has 2 relevant items"):
        cal.candidate_ranks(cal.Experiment({"u": {"a": 1, "b": 1}}, {"s": run}))


def test_what_cannot_be_recovered_is_said() -> None:
    found = cal.estimate_full([1, 1, 3], "RR", negatives=10, items=1000)
    assert "no estimate is unbiased" in found.summary
    assert found.table().columns == ("system", "measure", "method", "estimate", "standard_error")


@pytest.mark.parametrize(
    ("ranks", "options", "message"),
    [
        ([0], {}, "ranks must be whole numbers from 1 to 4"),
        ([5], {}, "ranks must be whole numbers from 1 to 4"),
        ([1.5], {}, "ranks must be whole numbers"),
        ([], {}, "ranks must be whole numbers"),
        ([1], {"negatives": 9}, "negatives 9 is not a whole number"),
        ([1], {"gamma": -1}, "gamma -1 is not a number"),
        ([1], {"gamma": 1e308}, "gamma 1e\\+308 is not a number"),
        ([1], {"items": 10**7, "negatives": 2000}, "are too many"),
        ([1], {"prior": [1.0]}, "prior must have a weight"),
    ],
)
def test_errors(ranks: list[float], options: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.CalipersError, match=message):
        cal.estimate_full(ranks, "RR", **{"negatives": 3, "items": 6, **options})
