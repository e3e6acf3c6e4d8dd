"""The gate: what it shows, with exact error rates; what fails a job; and what jobs read of it."""

from __future__ import annotations

import json
import math
import re
import shlex
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import calipers as cal
from calipers.cli import commands
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError
from calipers.questions.check import Decision, check as gate
from calipers.statistics.limits import lower_limit, queries_needed, upper_limit
from calipers.statistics.power import power_one_sided, smallest_n
from conftest import ROOT

SIMULATED = simulate(
    topics=40, systems={"old": 0.5, "new": 0.1, "same": 0.5, "best": 0.9}, retrieved=20, unjudged=0.1, seed=5
)


def checked(old: Any, new: Any, max_drop: Any = None, **more: Any) -> cal.questions.check.Check:
    """Check arrays of scores, [measure, query] or [query]."""
    old, new = np.atleast_2d(old), np.atleast_2d(new)
    names = [f"m{i}" for i in range(len(old))]
    both = cal.as_scores(np.stack([old, new], axis=1), ["old", "new"], measure=names)
    return gate(both, "new", baseline="old", max_drop=max_drop, **more)


def one(old: Any, new: Any, max_drop: Any, **more: Any) -> Decision:
    (decision,) = checked(old, new, max_drop, **more).decisions
    return decision


# -- what is shown -----------------------------------------------------------------------------------


def measured(old: Any, new: Any, max_drop: Any, name: str = "AP", **more: Any) -> Decision:
    """Return the decision about one measure with a known range."""
    both = cal.as_scores(np.stack([old, new]), ["old", "new"], measure=name)
    return gate(both, "new", baseline="old", max_drop=max_drop, **more).decisions[0]


def test_ten_of_ten_do_not_show_a_floor_of_nine_tenths() -> None:
    """The limit of Clopper and Pearson is alpha^(1/n), not 1, although the scores have no spread."""
    given = cal.as_scores([[1.0] * 10], ["new"], measure="Success@1")
    found = gate(given, "new", min="Success@1=0.9")
    (floor,) = found.floors
    assert floor.low == pytest.approx(0.05 ** (1 / 10), rel=1e-12)
    assert (found.failed, floor.observed, floor.verdict, floor.approximate) == (False, "ok", "undecided", False)
    enough = math.ceil(math.log(0.05) / math.log(0.9))
    assert floor.needed == enough == 29
    for n, verdict in ((enough - 1, "undecided"), (enough, "not below the floor")):
        assert gate(cal.as_scores([[1.0] * n], ["new"], measure="Success@1"), "new", min=0.9).verdict == verdict


@pytest.mark.parametrize(("n", "by_student"), [(10, 0.82), (30, 0.55), (50, 0.36), (100, 0.13)])
def test_not_worse_is_wrong_with_a_probability_of_at_most_alpha(n: int, by_student: float) -> None:
    """Each query loses 1 with probability 0.02, a drop of 0.02. All samples, with exact probabilities."""
    from scipy.special import stdtrit

    loses, drop, alpha = Fraction(1, 50), 0.01, 0.05
    wrong = students = Fraction(0)
    for lost in range(n + 1):
        probability = math.comb(n, lost) * loses**lost * (1 - loses) ** (n - lost)
        if probability < Fraction(1, 10**9):  # all together below one in ten million
            continue
        new = np.repeat([0.0, 1.0], [lost, n - lost])
        found = measured(np.ones(n), new, drop, alpha=alpha)
        wrong += probability if found.verdict == "not worse" else 0
        error = np.std(new, ddof=1) / math.sqrt(n)
        students += probability if new.mean() - 1 - stdtrit(n - 1, 1 - alpha) * error > -drop else 0
    assert wrong <= alpha
    assert float(students) == pytest.approx(by_student, abs=0.005)  # what the rule before this one said


def test_worse_by_the_exact_limit_is_wrong_with_a_probability_of_at_most_alpha() -> None:
    """Each query loses 1 with probability 0.02, which is exactly the drop that is allowed."""
    n, loses, alpha = 60, Fraction(1, 50), 0.05
    wrong = Fraction(0)
    for lost in range(n + 1):
        found = measured(np.ones(n), np.repeat([0.0, 1.0], [lost, n - lost]), float(loses), alpha=alpha)
        if found.verdict == "worse" and not found.approximate:
            wrong += math.comb(n, lost) * loses**lost * (1 - loses) ** (n - lost)
    assert 0 < wrong <= alpha


def test_limits_are_the_exact_ones_of_the_differences() -> None:
    draw = np.random.default_rng(7)
    for n, alpha in ((1, 0.05), (2, 0.05), (7, 0.1), (50, 0.01)):
        old, new = draw.random((2, n))
        for name, largest in (("AP", 1.0), ("V2(AP)", 2.0)):
            found = measured(old, new, 0.01, name, alpha=alpha)
            assert found.low == pytest.approx(lower_limit(new - old, -largest, alpha), rel=1e-9)
            assert found.high == pytest.approx(upper_limit(new - old, largest, alpha), rel=1e-9)
            assert (found.old, found.new, found.queries) == (pytest.approx(old.mean()), pytest.approx(new.mean()), n)


def test_without_a_known_range_limits_are_students_and_marked() -> None:
    from scipy.stats import sem, t

    old, new = np.random.default_rng(7).random((2, 20))
    new = old + 0.05 * (new - new.mean())
    found = one(old, new, 0.01)
    away = t.ppf(0.95, 19) * sem(new - old)
    assert (found.low, found.high) == pytest.approx(((new - old).mean() - away, (new - old).mean() + away), rel=1e-12)
    assert (found.verdict, found.approximate, found.limits) == ("not worse", True, "approximate")
    assert ", approximately" in str(found)
    unmoved = one(old, old, 0.01)
    assert (unmoved.verdict, unmoved.needed) == ("undecided", None)  # equal values have no spread to judge by
    assert math.isnan(unmoved.low)
    lost = one(old, old - 0.125, 0.01)
    assert (lost.exceeded, lost.verdict, math.isnan(lost.high)) == (True, "undecided", True)


def test_scores_beyond_the_range_of_their_name_have_no_known_range() -> None:
    old = np.linspace(20, 60, 20)
    found = measured(old, old + np.tile([0.5, 1.0], 10), 2)  # percentages
    assert (found.verdict, found.limits) == ("not worse", "approximate")


def test_a_lower_end_of_the_range_is_enough_for_a_floor() -> None:
    values = np.arange(20.0)
    (found,) = gate(cal.as_scores([values], ["new"], measure="DCG@10"), "new", min=5).floors
    assert found.low == pytest.approx(lower_limit(values, 0.0, 0.05), rel=1e-9)
    assert (found.verdict, found.limits) == ("not below the floor", "exact")
    assert gate(cal.as_scores([values], ["new"], measure="likes"), "new", min=5).floors[0].limits == "approximate"


def test_worse_may_rest_on_students_limit_and_the_sign_flip_test() -> None:
    old = np.full(20, 0.6)
    new = old - 0.1 + np.tile([0.05, -0.05], 10)
    found = measured(old, new, 0.02)
    assert (found.verdict, found.approximate, found.exceeded) == ("worse", True, True)
    assert upper_limit(new - old, 1.0, 0.05) > 0  # the exact limit does not see it
    assert found.high < -0.02
    assert measured(old, new, 0.02, query_groups={"1": "g"}).verdict == "worse"
    rare = old.copy()
    rare[:2] = 0.0  # two losses of 20: the p of the sign-flip test is 1/4
    found = measured(old, rare, 0.0)
    assert (found.verdict, found.exceeded) == ("undecided", True)
    assert "could be chance" in str(found)
    sure = measured(np.ones(40), np.zeros(40), 0.02)
    assert (sure.verdict, sure.approximate) == ("worse", False)


def test_a_share_of_the_baseline_is_tested_without_taking_its_mean_as_exact() -> None:
    """new - (1 - p) old against 0, between -(1 - p) and 1; the limits are shown as those of the difference."""
    draw = np.random.default_rng(3)
    old = draw.random(80)
    new = np.clip(old + draw.normal(0, 0.02, 80), 0, 1)
    found = measured(old, new, "20%")
    assert found.max_drop == pytest.approx(0.2 * old.mean())
    assert found.low + found.max_drop == pytest.approx(lower_limit(new - 0.8 * old, -0.8, 0.05), rel=1e-9)
    assert found.high + found.max_drop == pytest.approx(upper_limit(new - 0.8 * old, 1.0, 0.05), rel=1e-9)
    assert (found.verdict == "not worse") == (found.low > -found.max_drop)
    assert measured(old, 0.7 * old, "20%").exceeded
    assert not measured(old, 0.8 * old, "20%").exceeded  # exactly what is allowed, but for rounding
    with pytest.raises(CalipersError, match="share of the baseline's mean, which is negative"):
        measured(-old, -old, "20%", "V2(AP)")


def test_an_unchanged_measure_is_described_and_decides_nothing_by_itself() -> None:
    old = np.random.default_rng(2).random(25)
    found = measured(old, old, 0.02)
    assert (found.verdict, found.exceeded, found.needed) == ("undecided", False, 149)
    assert "the scores are the same on all 25 queries; up to 11% of other queries could change (0.95 limit)" in str(
        found
    )
    assert found.low == pytest.approx(-1 + 0.05 ** (1 / 25), rel=1e-9)
    more = measured(np.tile(old, 6), np.tile(old, 6), 0.02)
    assert (more.queries, more.verdict) == (150, "not worse")


def test_it_is_said_whether_the_rankings_are_unchanged_as_far_as_the_measure_reads() -> None:
    qrels = {f"q{i}": {"a": 1, "b": 0, "c": 0} for i in range(4)}
    runs = {
        "old": {q: ["a", "b", "c"] for q in qrels},
        "same": {q: ["a", "b", "c"] for q in qrels},
        "deep": {q: ["a", "b", "d"] for q in qrels},
        "other": {q: ["a", "c", "b"] for q in qrels},
    }
    exp = cal.Experiment(qrels, runs, "P@2 AP", warn=False)
    for new, two, every in (("same", True, True), ("deep", True, False), ("other", False, False)):
        found = exp.check(new, baseline="old", max_drop=0.1, warn=False).decisions
        assert [each.same_rankings for each in found] == [two, every]
    assert "the rankings are the same on all 4 queries" in exp.check("same", baseline="old", max_drop=0.1).text()
    stored = cal.evaluate(qrels, {"old": runs["old"]}, "P@2 AP")
    assert exp.check("other", baseline=stored, max_drop=0.1).decisions[0].same_rankings is None
    assert "but not all rankings are" in str(exp.check("other", baseline="old", max_drop=0.1).decisions[0])


def test_rankings_of_queries_that_are_left_out_do_not_matter() -> None:
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(4)}
    runs = {"old": {query: ["a", "b"] for query in qrels}, "new": {"q0": ["a", "b"]}}
    exp = cal.Experiment(qrels, runs, "RR", missing="skip", warn=False)
    said = str(exp.check("new", baseline="old", max_drop=0.1, warn=False).decisions[0])
    assert "the rankings are the same on the only query;" in said


def test_rare_losses_are_named_where_only_students_limit_excludes_a_drop() -> None:
    old = np.full(50, 0.5)
    new = old.copy()
    new[:2] += [0.01, -0.03]
    found = measured(old, new, 0.02)
    assert (found.verdict, found.no_sign, found.better, found.losses) == ("undecided", True, 1, 1)
    assert "1 better, 1 worse of 50 queries" in str(found)
    assert "no sign of a drop, but too few to exclude rare losses" in str(found)
    assert found.needed is not None
    assert 149 <= found.needed < 200


def test_the_queries_that_are_needed_are_those_of_the_formula() -> None:
    old = np.full(12, 0.5)
    new = old + np.array([0.08, -0.08, 0.03, -0.01, 0.0, 0.05, -0.06, 0.02, -0.02, 0.04, 0.01, -0.03])
    found = measured(old, new, 0.01)
    assert found.needed == queries_needed(new - old, -0.01, -1.0, 0.05, 0.8)
    assert f"about {found.needed} queries would tell" in str(found)
    worse = measured(old, new - 0.03, 0.01)
    effect = abs((new - 0.03 - old).mean() + 0.01) / np.std(new - old, ddof=1)
    assert (worse.exceeded, worse.verdict) == (True, "undecided")
    assert worse.needed == smallest_n(effect, 0.8, 0.05, power_one_sided)
    level = measured(old, old + np.tile([0.125, -0.125], 6), 0.0)  # the difference is the limit itself
    assert (level.needed, level.verdict) == (None, "undecided")
    assert "unknown how many queries would tell" in str(level)


def test_one_query_is_the_only_one() -> None:
    half = np.full(1, 0.5)
    alone = measured(half, half, 0.02)
    assert (alone.needed, alone.verdict) == (None, "undecided")
    assert "the scores are the same on the only query; up to 95% of other queries could change" in str(alone)
    assert "unknown how many queries would tell" in str(alone)


def test_refusals_about_texts_speak_of_documents() -> None:
    data = [{"doc": f"d{i}", "system": s, "summary": "a b", "reference": "a b"} for i in range(10) for s in ("x", "y")]
    found = cal.Experiment(cal.read_texts(data), measures="ROUGE-1")
    with pytest.raises(CalipersError, match=r"on 10 documents, even unchanged scores .* at least 149 documents can"):
        found.check("x", baseline="y", max_drop=0.02, fail_if="undecided")


# -- what fails --------------------------------------------------------------------------------------


def test_an_observed_drop_fails_and_the_rule_can_ask_for_more() -> None:
    """Three systems: a drop that is shown, one that could be chance, and none; and the three rules."""
    random = np.random.default_rng(4)
    old = np.full(100, 0.6)
    noise = random.normal(0, 0.1, 100)
    noise -= noise.mean()
    cases = {"worse": old - 0.2 + noise, "chance": old - 0.03 + 3 * noise, "better": old + 0.2 + noise}
    failed = {
        rule: [measured(old, np.clip(new, 0, 1), 0.02).fails(rule) for new in cases.values()]
        for rule in ("drop", "worse", "undecided")
    }
    assert failed == {"drop": [True, True, False], "worse": [True, False, False], "undecided": [True, True, False]}
    found = {name: measured(old, np.clip(new, 0, 1), 0.02) for name, new in cases.items()}
    assert {name: (each.observed, each.verdict) for name, each in found.items()} == {
        "worse": ("dropped", "worse"),
        "chance": ("dropped", "undecided"),
        "better": ("ok", "not worse"),
    }
    assert re.search(
        r"dropped by 0\.04\d\d, .* more than the 0\.02 allowed; shown beyond these 100 queries: no \(could be chance; "
        r".* about \d+ queries would tell\)",
        str(found["chance"]),
    )


def test_a_drop_of_exactly_what_is_allowed_passes() -> None:
    old = np.array([0.1, 0.3, 0.5, 0.7])
    for new, max_drop, exceeded in (
        (old, 0.0, False),
        (old - 0.01, 0.01, False),
        (old - 0.02, 0.01, True),
        (old - 0.01, 0.0, True),
        (old + 0.2, 0.0, False),
    ):
        found = checked(old, new, max_drop)
        assert (found.failed, found.observed) == (exceeded, "dropped" if exceeded else "ok")


def test_a_floor_is_about_the_observed_mean_and_the_rule_can_ask_for_more() -> None:
    scores = np.random.default_rng(3).random(100)
    given = cal.as_scores([scores], ["new"], measure="AP")
    low, high, mean = lower_limit(scores, 0, 0.05), upper_limit(scores, 1, 0.05), scores.mean()
    for floor, facts in (
        (low - 1e-6, ("ok", "not below the floor", False, False, False)),
        (low + 1e-6, ("ok", "undecided", False, False, True)),
        (mean + 1e-6, ("below the floor", "undecided", True, False, True)),
        (high + 1e-6, ("below the floor", "below the floor", True, True, True)),
    ):
        found = gate(given, "new", min={"AP": floor})
        rules = (gate(given, "new", min=floor, fail_if=rule).failed for rule in ("drop", "worse", "undecided"))
        assert (found.observed, found.verdict, *rules) == facts
    assert gate(given, "new", min="60%").floors[0].floor == 0.6


def test_undecided_is_refused_where_no_result_could_show_it(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = np.full(50, 0.5)
    for max_drop, can in (
        (0.01, "at least 299 queries can"),
        ("5%", "at least 59 queries can"),
        (0, "no number of queries can"),
    ):
        with pytest.raises(CalipersError, match=can):
            measured(old, old, max_drop, fail_if="undecided")
    assert measured(np.tile(old, 6), np.tile(old, 6), 0.01, fail_if="undecided").verdict == "not worse"
    perfect = cal.as_scores([[1.0] * 10], ["new"], measure="Success@1")
    with pytest.raises(CalipersError, match=r"even the best scores do not show .* at least 29 queries can"):
        gate(perfect, "new", min=0.9, fail_if="undecided")
    groups = {str(q + 1): "few" for q in range(20)}
    with pytest.raises(CalipersError, match=r"on 20 queries, even unchanged scores .* AP of few"):
        measured(old, old, 0.1, fail_if="undecided", query_groups=groups)
    exp = cal.Experiment("qrels.txt", {"old": "old.run", "new": "new.run"}, "AP")
    monkeypatch.setattr(cal.Experiment, "scores", property(lambda _: pytest.fail("scored")))
    with pytest.raises(CalipersError, match="on 40 queries"):
        exp.check("new", baseline="old", max_drop=0.01, fail_if="undecided")
    few = dict.fromkeys(exp.judgments.queries[:5], "few")
    with pytest.raises(CalipersError, match=r"on 5 queries, .* AP of few"):
        exp.check("new", baseline="old", max_drop=0.2, fail_if="undecided", query_groups=few)


def test_the_worst_case_over_measures_is_the_verdict() -> None:
    old = np.full(100, 0.6)
    both = cal.as_scores(
        np.stack([[old, old], [old + 0.2, old - 0.5]], axis=1), ["old", "new"], measure=["AP", "nDCG@10"]
    )
    found = gate(both, "new", baseline="old", max_drop=0.01)
    assert ([each.verdict for each in found.decisions], found.verdict) == (["not worse", "worse"], "worse")
    assert (found.observed, found.failed) == ("dropped", True)


def test_the_worst_queries_are_the_largest_losses() -> None:
    found = one([0.5, 0.5, 0.5, 0.5], [0.4, 0.5, 0.1, 0.9], 0.1, worst=3)
    assert [(loss.query, loss.difference) for loss in found.worst] == [
        ("3", pytest.approx(-0.4)),
        ("1", pytest.approx(-0.1)),
    ]


def test_queries_of_one_side_are_left_out_and_said() -> None:
    old = cal.as_scores([[0.1, 0.2, 0.3, 0.9]], ["old"], ["a", "b", "c", "gone"], "AP")
    new = cal.as_scores([[0.2, 0.3, 0.4, math.nan, 0.0]], ["new"], ["b", "c", "a", "fresh", "more"], "ap")
    found = gate(new, "new", baseline=old, max_drop=0.01)
    assert found.decisions[0].queries == 3
    assert found.decisions[0].difference == pytest.approx(0.1)
    assert found.notes == (
        "2 queries of new are not in old (fresh, more); left out",
        "1 query of old is not in new (gone); left out",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_drop": -1}, "max_drop '-1' is not a number of at least 0"),
        ({"max_drop": math.nan}, "max_drop 'nan' is not a number of at least 0"),
        ({"max_drop": "AP=x"}, "max_drop 'x' is not a number of at least 0 or a percentage"),
        ({"max_drop": "RR=0.1"}, "unknown measure of max_drop 'RR'; there are AP"),
        ({"min": "x"}, "min 'x' is not a number or a percentage"),
        ({"min": math.inf}, "min 'inf' is not a number"),
        ({"max_query_drop": "2%"}, "max_query_drop '2%' is not a number of at least 0$"),
        ({"max_drop": 2}, "max_drop '2': no drop of AP is larger than 1; was \"2%\" meant"),
        ({"max_drop": "150%"}, "max_drop '150%': no drop of AP is larger than 100%$"),
        ({"max_query_drop": 1.5}, "max_query_drop '1.5': no drop of AP is larger than 1$"),
        ({"min": 60}, "min '60': no score of AP is above 1; was \"60%\" meant"),
        ({"min": -0.5}, "min '-0.5': no score of AP is below 0$"),
        ({"fail_if": "tie"}, "unknown fail_if 'tie'"),
        ({"max_drop": None}, "there is nothing to check"),
        ({"baseline": None}, "compare the new system with a baseline"),
        ({"baseline": "p"}, "unknown system 'p'"),
        ({"fail_on": ["tie"]}, "fail_on 'tie' is unknown; expected unmatched, missing, ties, unjudged"),
        ({"fail_on": "ties"}, "fail_on 'ties' is a text"),
        ({"fail_on": ["ties"]}, "fail_on 'ties' is about runs"),
        ({"alpha": 0.5}, "alpha 0.5 is not between 0 and 0.5"),
        ({"fail_on": ["undecided"]}, "fail_on 'undecided' is now fail_if 'undecided'"),
        ({"baseline": cal.as_scores([[0.1, 0.2]], ["o"], measure="RR")}, "unknown measure of the baseline 'AP'; "),
        ({"baseline": cal.as_scores([[0.1, 0.2]], ["o"], ["x", "y"], "AP")}, "n and o have no query in common"),
        (
            {"baseline": cal.as_scores([[math.nan, math.nan]], ["o"], measure="AP")},
            "no query has a score of both systems under AP",
        ),
        (
            {"baseline": cal.as_scores([[0.1, 0.2]] * 2, ["o", "p"], measure="AP")},
            "the baseline has scores of 2 systems",
        ),
    ],
)
def test_what_cannot_be_checked(change: dict[str, Any], message: str) -> None:
    new, old = (cal.as_scores([[0.1, 0.2]], [name], measure="AP") for name in ("n", "o"))
    with pytest.raises(CalipersError, match=message):
        gate(new, "n", **{"baseline": old, "max_drop": 0.1, **change})


def test_limits_by_measure_and_as_a_percentage() -> None:
    old = np.array([0.4, 0.6, 0.5, 0.5])
    found = checked([old, old], [old - 0.02, old - 0.02], "m0=0.01 m1=5%")
    assert [(each.observed, each.max_drop) for each in found.decisions] == [
        ("dropped", 0.01),
        ("ok", pytest.approx(0.05 * 0.5)),
    ]
    assert checked(old, old - 0.02, {"m0": "5%"}).decisions[0].max_drop == pytest.approx(0.025)
    assert [each.measure for each in checked([old, old], [old, old], {"m1": 0.1}).decisions] == ["m1"]
    assert [each.max_drop for each in checked([old, old], [old, old], "0.1 m1=0.2").decisions] == [0.1, 0.2]


def test_no_query_may_lose_more_than_its_limit() -> None:
    old = np.full(20, 0.8)
    new = old + np.array([0.1] * 18 + [-0.3, -0.6])
    found = checked(old, new, 0.05, max_query_drop=0.3)
    assert (found.decisions[0].observed, found.observed, found.failed) == ("ok", "dropped", True)
    assert checked(old, new, 0.05, max_query_drop=0.3, fail_if="worse").failed
    assert [(measure, loss.query) for measure, _, loss in found.query_drops] == [("m0", "20")]  # 0.3 itself is allowed
    assert "1 query loses more than is allowed per query: 20 -0.6000" in found.summary
    assert found.table("query_drops")["query"] == ["20"]
    assert not checked(old, new, max_query_drop=0.61).failed
    assert [loss.query for _, _, loss in checked(old, new, max_query_drop=0.1).query_drops] == ["20", "19"]


def test_groups_are_checked_with_corrected_limits() -> None:
    draw = np.random.default_rng(5)
    old = draw.random(40)
    new = old + draw.normal(0, 0.02, 40) - np.repeat([0.0, 0.2], 20)
    groups = {str(q + 1): "good" if q < 20 else "bad" for q in range(40)} | {"1": ["good", "alone"]}
    found = checked(old, new, 0.15, query_groups=groups, min=0.01)
    parts = {each.group: each for each in found.decisions}
    assert {name: (each.observed, each.verdict) for name, each in parts.items()} == {
        "": ("ok", "not worse"),
        "good": ("ok", "not worse"),
        "bad": ("dropped", "worse"),
        "alone": ("ok", "undecided"),
    }
    assert found.failed
    assert [each.alpha for each in found.decisions] == [0.05, 0.05 / 3, 0.05 / 3, 0.05 / 3]
    alone = one(old[20:], new[20:], 0.15, alpha=0.05 / 3)
    assert (parts["bad"].low, parts["bad"].high) == (alone.low, alone.high)
    assert [each.group for each in found.floors] == ["", "good", "alone", "bad"]
    assert found.table()["group"] == ["(all)", "good", "alone", "bad"]
    assert "new drops by more than is allowed against old: m0 of bad by 0.2" in found.summary


def test_fail_on_chooses_what_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(4)}
    good = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    runs = {
        "good": good,
        "tied": {**good, "q0": {"a": 1.0, "b": 1.0}},
        "short": {q: good[q] for q in ("q0", "q1", "q2")},
        "more": {**good, "other": {"a": 1.0}},
        "unjudged": {**good, "q1": {"a": 2.0, "new": 1.0}},
    }
    kinds = {"tied": "ties", "short": "missing", "more": "unmatched", "unjudged": "unjudged"}
    exp = cal.Experiment(qrels, runs, "RR", warn=False)
    for system, own in kinds.items():
        for kind in kinds.values():
            found = exp.check(system, baseline="good", max_drop=1, fail_on=[kind])
            assert found.failed == (kind == own), (system, kind)
        assert not exp.check(system, baseline="good", max_drop=1).failed
        assert f"(fail_on {own})" in exp.check(system, baseline="good", max_drop=1, fail_on=[own]).summary
    for name, run in runs.items():
        cal.write_run(run, tmp_path / f"{name}.run", name=name)
    cal.write_qrels(qrels, tmp_path / "qrels")
    given = ["check", str(tmp_path / "qrels"), str(tmp_path / "tied.run"), "-m", "RR", "--min", "0.1"]
    assert commands.run(given) == 0
    assert commands.run([*given, "--fail-on", "missing,ties"]) == 1
    assert commands.run([*given, "--fail-on", "missing", "--fail-on", "unmatched"]) == 0
    assert commands.run([*given, "--fail-on", "tie"]) == 2
    assert "'tie' is not one of unmatched, missing, ties, unjudged" in capfd.readouterr().err
    assert commands.run([*given, "--fail-on", "undecided"]) == 2
    assert "'undecided' is a choice of --fail-if" in capfd.readouterr().err


def test_measures_that_are_better_the_smaller_are_refused() -> None:
    scores = replace(cal.as_scores([[0.5, 0.2]], measure="TER"), metadata={"lower": ["TER"]})
    with pytest.raises(CalipersError, match="smaller values of TER are better"):
        gate(scores, scores.systems[0], min=0.1)


# -- the command -------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    SIMULATED.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> int:
    return commands.run(["check", "qrels.txt", *arguments])


def test_exit_codes_and_the_sentence(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    measured = ("-m", "nDCG@10 RR", "--max-drop", "0.01")
    assert check("new.run", "--baseline", "old.run", *measured) == 1
    out, _ = capfd.readouterr()
    assert out.startswith("Failed: new drops by more than is allowed against old: nDCG@10 by 0.")
    assert "\n- nDCG@10 dropped by 0." in out
    assert "more than the 0.01 allowed; shown beyond these 40 queries: yes, worse by more than 0.01" in out
    assert "queries with the largest loss" in out
    assert check("best.run", "--baseline", "old.run", *measured) == 0
    assert capfd.readouterr().out.startswith(
        "Passed: best does not drop by more than is allowed against old (nDCG@10, RR)"
    )
    assert check("same.run", "--baseline", "old.run", *measured) == 0
    assert "Beyond these queries: undecided (nDCG@10, RR; about" in capfd.readouterr().out
    assert check("same.run", "--baseline", "same.run", *measured) == 0
    for drop, rule, code in (
        ("0.01", "undecided", 2),
        ("0.08", "undecided", 1),
        ("0.2", "undecided", 0),
        ("0", "worse", 0),
    ):
        assert check("same.run", "--baseline", "old.run", "-m", "AP", "--max-drop", drop, "--fail-if", rule) == code
    err = capfd.readouterr().err
    assert "at least 299 queries can. Allow more, or choose 'drop' or 'worse' (option --fail-if)" in err


def test_the_command_takes_floors_and_limits_without_a_baseline(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert check("best.run", "-m", "nDCG@10 RR", "--min", "nDCG@10=0.1", "--min", "RR=10%") == 0
    assert capfd.readouterr().out.startswith("Passed: best is not below the floor (nDCG@10: mean ")
    assert check("old.run", "-m", "AP", "--min", "99%") == 1
    assert check("best.run", "-m", "nDCG@10", "--min", "1.5") == 2
    assert 'no score of nDCG@10 is above 1; was "1.5%" meant? (option --min)' in capfd.readouterr().err
    assert check("new.run", "--baseline", "old.run", "-m", "RR AP", "--max-drop", "RR=99%", "--max-drop", "AP=1") == 0
    assert check("new.run", "--baseline", "old.run", "-m", "RR", "--max-query-drop", "0.1", "--junit", "c.xml") == 1
    assert '<failure type="dropped"' in (files / "c.xml").read_text()
    capfd.readouterr()
    assert check("best.run", "-m", "RR") == 2
    assert "give --max-drop, --max-query-drop or --min" in capfd.readouterr().err
    assert check("best.run", "-m", "RR", "--max-drop", "0.1") == 2
    assert "give --baseline" in capfd.readouterr().err


@pytest.mark.parametrize("form", ["json", "csv"])
def test_stored_scores_are_a_baseline(form: str, files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What evaluate -q wrote gives what the run gives, also under another name of the measure."""
    name = f"scores.{form}"
    assert (
        commands.run(["evaluate", "qrels.txt", "old.run", "-m", "ndcg@10 RR", "-q", "--format", form, "-o", name]) == 0
    )
    capfd.readouterr()
    made = []
    for baseline in ("old.run", name):
        assert check("new.run", "--baseline", baseline, "-m", "nDCG@10 RR", "--max-drop", "0", "--format", "json") == 1
        made.append(json.loads(capfd.readouterr().out))
    assert any("which judgments" in note for note in made[1]["notes"]) == (form == "csv")  # CSV has no digest
    for each in made:
        each.pop("problems")  # those of a run that was read
    assert made[0] | {"notes": []} == made[1] | {"notes": []}
    assert [each["measure"] for each in made[0]["tables"]["measures"]] == ["nDCG@10", "RR"]
    facts = {name: made[0][name] for name in ("failed", "observed", "verdict", "fail_if")}
    assert facts == {"failed": True, "observed": "dropped", "verdict": "worse", "fail_if": "drop"}
    assert {(each["observed"], each["verdict"]) for each in made[0]["tables"]["measures"]} == {("dropped", "worse")}
    assert len(made[0]["tables"]["worst"]) == 10


def test_a_baseline_of_several_systems_is_chosen_by_name(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commands.run(["evaluate", "qrels.txt", "old.run", "same.run", "-m", "AP", "-q", "--format", "json", "-o", "s.json"])
    assert check("new.run", "--baseline", "s.json", "-m", "AP", "--max-drop", "0.01") == 2
    assert "s.json: holds 2 systems: choose one, as --baseline old=s.json" in capfd.readouterr().err
    assert check("new.run", "--baseline", "same=s.json", "-m", "AP", "--max-drop", "0.01") == 1
    assert "new drops by more than is allowed against same" in capfd.readouterr().out
    commands.run(["evaluate", "qrels.txt", "old.run", "-m", "AP", "--format", "json", "-o", "means.json"])
    assert check("new.run", "--baseline", "means.json", "-m", "AP", "--max-drop", "0.01") == 2
    assert "means.json: holds means, which cannot be compared query by query" in capfd.readouterr().err


def test_a_run_in_a_table_with_systems_is_a_run(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"system": "old", "query": query, "docno": document, "score": score}
        for query, ranked in SIMULATED.runs["old"].items()
        for document, score in ranked.items()
    ]
    (files / "old.json").write_text(json.dumps(rows))
    made = []
    for baseline in ("old.run", "old.json"):
        check("new.run", "--baseline", baseline, "-m", "AP", "--max-drop", "0.01", "--format", "json")
        made.append(capfd.readouterr().out)
    assert made[0] == made[1]


def test_other_conventions_and_lost_queries_are_said(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commands.run(
        [
            "evaluate",
            "qrels.txt",
            "old.run",
            "-m",
            "AP",
            "-q",
            "--like",
            "trec_eval",
            "--format",
            "json",
            "-o",
            "s.json",
        ]
    )
    stored = json.loads((files / "s.json").read_text())
    (files / "s.json").write_text(json.dumps(stored[1:]))
    lines = [line for line in (files / "new.run").read_text().splitlines() if not line.startswith("2 ")]
    (files / "new.run").write_text("\n".join(lines) + "\n")
    capfd.readouterr()
    check("new.run", "--baseline", "s.json", "-m", "AP", "--max-drop", "0.01")
    err = capfd.readouterr().err
    assert "warning: 1 of 1 run lacks judged queries (1 in all, new, such as '2')" in err
    assert "warning: 1 query of new is not in old (1); left out" in err
    assert "different conventions: Calipers' own (new) and trec_eval (old)" in err
    assert check("new.run", "--baseline", "s.json", "-m", "AP", "--max-drop", "0.01", "--strict") == 2


def test_junit_and_annotations(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What a job reads: failures, drops that could be chance, and both facts; ids cannot break out of it."""
    worse = 'a\r\n::error::,%&<"\x01\udcff\uffff'
    qrels = {f"{worse}{i}": {"x": 1} for i in range(3)}
    runs = {"old": {q: {"x": 1.0} for q in qrels}, "new": {q: {"y": 2.0, "x": 1.0} for q in qrels}}
    scores = cal.evaluate(qrels, runs, "RR")
    found = gate(scores, "new", baseline="old", max_drop=0.1)
    tree = ElementTree.fromstring(found.to_junit().encode())
    assert tree.attrib["failures"] == "1"
    failure = tree.find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.text is not None
    assert len(failure.text.splitlines()) == 3
    (line,) = found.annotations()
    assert "\n" not in line
    assert line.startswith("::error title=new against old%3A dropped; shown%3A undecided::RR dropped by 0.5000, from ")
    assert "more than the 0.1 allowed; shown beyond these 3 queries: no (could be chance; " in line
    assert "%25&<" in line
    arguments = ("same.run", "--baseline", "old.run", "-m", "AP", "--max-drop", "0", "--junit", "c.xml")
    for more, counts, kind in ((("--fail-if", "worse"), ("0", "1"), "warning"), ((), ("1", "0"), "error")):
        check(*arguments, "--annotate", *more)
        out = capfd.readouterr().out
        suite = ElementTree.parse(files / "c.xml").getroot()
        assert (suite.attrib["failures"], suite.attrib["skipped"]) == counts
        (said,) = suite.iter("system-out")
        assert "AP dropped by" in str(said.text)
        assert "shown beyond these 40 queries: no (could be chance; " in str(said.text)
        assert sum(line.startswith(f"::{kind} title=") for line in out.splitlines()) == 1
    assert check(*arguments, "--annotate", "--format", "json") == 2
    assert "--annotate prints to the screen" in capfd.readouterr().err


def test_markdown_and_csv(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ("new.run", "--baseline", "old.run", "-m", "AP", "--max-drop", "0.01", "--format")
    check(*arguments, "markdown")
    assert capfd.readouterr().out.startswith(
        "**Failed: new drops by more than is allowed against old: AP by 0.4180 (0.01 allowed). Beyond these queries: "
        "worse (AP).**\n\n- AP dropped by 0.4180, from "
    )
    check(*arguments, "csv")
    out, err = capfd.readouterr()
    assert out.startswith(
        "measure,observed,verdict,limits,old,new,difference,max_drop,low,high,queries,needed\nAP,dropped,worse,exact,"
    )
    assert "calipers: Failed: new drops by more than is allowed against old: AP by 0.4180" in err


def test_the_workflow_of_the_manual_works(
    files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its two commands, in a repository as it describes one."""
    workflow = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/check.md").read_text(), re.DOTALL | re.MULTILINE)[0]
    (files / "eval").mkdir()
    for name, copy in (("qrels.txt", "eval/qrels.txt"), ("old.run", "eval/released.run")):
        (files / copy).write_bytes((files / name).read_bytes())
    commands.run(
        ["evaluate", "qrels.txt", "old.run", "-m", "nDCG@10 RR", "-q", "--format", "json", "-o", "eval/baseline.json"]
    )
    capfd.readouterr()
    given = dict(re.findall(r"^          ([a-z-]+): \"?([^\"\n]+)\"?$", workflow, re.MULTILINE))
    options = {"--baseline": "baseline", "-m": "measure", "--max-drop": "max-drop", "--junit": "junit"}
    called = [
        [
            "check",
            given["judgments"],
            given["run"],
            "--annotate",
            *(part for name, key in options.items() for part in (name, given[key])),
        ],
        *(shlex.split(line.partition(">>")[0]) for line in re.findall(r"calipers (\w[^-].*\n.*)", workflow)),
    ]
    assert [call[0] for call in called] == ["check", "diff"]
    assert [commands.run(call) for call in called] == [1, 0]
    out = capfd.readouterr().out
    assert "\n::error title=new against old%3A dropped; shown%3A worse::" in out
    assert "**new** against **old**" in out
    assert (files / "check.xml").exists()
