"""Exposure: attention against enumeration of all orders in exact fractions, its sums, groups, samples, bad input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby, permutations, product
from math import log2
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.evaluation.inputs import as_judgments, as_runs
from calipers.lists import Lists
from calipers.plot.drawing import specified
from calipers.plot.systems import placed
from calipers.report.material import Material
from calipers.report.section import Detail
from calipers.report.sections import bounds as between
from calipers.report.sections import queries


def enumerated(scores: list[int], stops: list[Fraction], patience: Fraction, model: str) -> list[Fraction]:
    """The mean over every order of the ties."""
    ranked = sorted(range(len(scores)), key=lambda row: -scores[row])
    ties = [list(group) for _, group in groupby(ranked, key=lambda row: scores[row])]
    orders = [[row for part in order for row in part] for order in product(*map(permutations, ties))]
    seen = [Fraction(0)] * len(scores)
    for order in orders:
        left = Fraction(1)
        for row in order:
            seen[row] += left / len(orders)
            left *= patience * (1 - stops[row] if model == "cascade" else 1)
    return seen


SUMS = {
    "EE-L": lambda e, target: (e - target) ** 2,
    "EE-D": lambda e, target: e**2,
    "EE-R": lambda e, target: e * target,
}
MODELS = ("rbp", "cascade")
TOP = 3  # the largest grade


def exact(grades: Mapping[str, int], run: Mapping[str, float], patience: Fraction, model: str) -> dict[str, Fraction]:
    """The definitions in fractions: of what is judged or retrieved, over all orders of ties."""
    documents = list(dict.fromkeys([*grades, *run]))
    grade = [max(grades.get(document, 0), 0) for document in documents]
    stops = [Fraction(2**g - 1, 2**TOP) for g in grade]
    place = [documents.index(document) for document in run]
    seen = dict(zip(place, enumerated([*run.values()], [stops[row] for row in place], patience, model), strict=True))
    target = enumerated(grade, stops, patience, model)
    return {name: sum(term(seen.get(row, 0), t) for row, t in enumerate(target)) for name, term in SUMS.items()}


def named(patience: Fraction, model: str) -> list[str]:
    return [f"{name}(patience={float(patience)},model={model},max_grade={TOP})" for name in SUMS]


patiences = st.sampled_from([Fraction(1, 2), Fraction(4, 5)])
judged_documents = st.dictionaries(st.sampled_from("abcde"), st.integers(-1, TOP), min_size=1, max_size=4)
ranked_documents = st.dictionaries(st.sampled_from("abcdexyz"), st.integers(0, 2).map(float), max_size=6)


@given(judged_documents, ranked_documents, patiences, st.sampled_from(MODELS))
def test_the_measures_are_functions_of_the_attention_averaged_over_all_orders(
    judged: dict[str, int], run: dict[str, float], patience: Fraction, model: str
) -> None:
    """The law of every form that averages attention: ties of judged and of unjudged documents, in exact fractions."""
    wanted = [float(value) for value in exact(judged, run, patience, model).values()]
    qrels, runs = {"q": judged, "r": {"a": 1}}, {"q": run, "r": {"a": 1.0}}
    found = cal.evaluate(qrels, runs, named(patience, model), warn=False).values[:, 0, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)
    # The other face gives the same numbers, by itself and as one of several samples.
    options = {"model": model, "patience": float(patience), "max_grade": TOP}
    for alone in (
        cal.exposure(cal.Experiment(qrels, runs, warn=False), **options),
        cal.exposure(cal.Experiment(qrels, [runs, runs], warn=False), stochastic=True, **options),
    ):
        sums = [alone.loss[0, 0], alone.disparity[0, 0], alone.relevance[0, 0]]
        np.testing.assert_allclose(sums, wanted, rtol=1e-12, atol=1e-15)


def weak_orders(documents: Sequence[str]) -> list[dict[str, float]]:
    """Every ranking with ties."""
    levels = product(range(len(documents)), repeat=len(documents))
    kept = {tuple(sorted(set(each)).index(level) for level in each) for each in levels}
    return [dict(zip(documents, map(float, each), strict=True)) for each in kept]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("patience", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize(
    "grades", [(1, 1, 0, 0), (3, 1, 0, -1), (2, 0, 0, 0), (3, 2, 1, 1), (0, 0, 0), (2, 2, 2), (1,)]
)
def test_bounds_are_those_of_all_rankings_with_ties(grades: tuple[int, ...], patience: Fraction, model: str) -> None:
    pool = dict(zip("abcd", grades, strict=False))
    names = named(patience, model)
    found = cal.bounds({"q": pool, "other": {"a": 1, "b": 0}}, names)
    every = [exact(pool, run, patience, model) for run in weak_orders([*pool])]
    shuffled = exact(pool, dict.fromkeys(pool, 1.0), patience, model)
    for name, short in zip(names, SUMS, strict=True):
        how, scores = found.exactness[name], [float(each[short]) for each in every]
        best, worst = (max, min) if short == "EE-R" else (min, max)
        assert found.expected[name][0] == pytest.approx(float(shuffled[short]), abs=1e-12)
        assert how["expected"] == "exact"
        for part, end in (("ideal", best), ("worst", worst)):
            value = getattr(found, part)[name][0]
            if how[part] == "exact":
                assert value == pytest.approx(end(scores), abs=1e-12), (name, part)
            else:
                assert end(value, end(scores)) == pytest.approx(end(scores), abs=1e-12)
        assert how["ideal"] == "exact" or (short, model) == ("EE-D", "cascade")
        assert how["worst"] == "exact" or (short, model) == ("EE-L", "cascade")


def test_with_a_cascade_the_best_for_relevance_need_not_come_first() -> None:
    """Behind a document that satisfies nobody, more readers are left: patience 0.9, and one document of stop 1 / 2."""
    qrels, stop, p = {"q": {"a": 1, "b": 0}}, 0.5, 0.9
    target = (1.0, p * (1 - stop))
    found = cal.bounds(qrels, "EE-R(model=cascade,patience=0.9)")
    assert found.ideal["EE-R(model=cascade,patience=0.9)"][0] == pytest.approx(target[1] + p * target[0])
    assert found.worst["EE-R(model=cascade,patience=0.9)"][0] == pytest.approx(target[0] ** 2 + target[1] ** 2)


POOL = {"a": 2, "b": 1, "c": 1, "d": 0, "e": 0}
TARGET = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0, "e": 1.0}}
SHUFFLED = {"q": dict.fromkeys(POOL, 1.0)}
REVERSED = {"q": {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}}


@pytest.mark.parametrize("model", MODELS)
def test_normalised_losses_are_1_at_the_target_and_0_at_random(model: str) -> None:
    runs = {"target": TARGET, "random": SHUFFLED, "reversed": REVERSED}
    names = [f"V2s(EE-L(model={model}))", f"W(EE-L(model={model}))", f"W(EE-D(model={model}))"]
    two, one, even = cal.evaluate({"q": POOL}, runs, names, warn=False).values[:, :, 0]
    assert two.tolist() == pytest.approx([1, 0, -1], abs=1e-12)
    assert (one[0], one[2]) == pytest.approx((1, 0), abs=1e-12)
    assert 0 < one[1] < 1
    assert (even[1], even[2]) == pytest.approx((1, 0), abs=1e-12)
    relevance = cal.evaluate({"q": POOL}, runs, ["V2(EE-R)", "V2s(EE-R)"], warn=False).values[:, :, 0]
    assert relevance[:, :2] == pytest.approx(np.array([[1, 0], [1, 0]]), abs=1e-12)
    assert relevance[1, 2] == pytest.approx(-1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("V1(EE-L)", "the less of it the better, while V1 measures from 0 upwards; W and V2s take it"),
        ("V2(EE-L)", "the less of it the better, while V2 measures from 0 upwards; W and V2s take it"),
        ("U(EE-D)", "the less of it the better, while U measures from 0 upwards; W takes it"),
        ("V2s(EE-D)", "random rankings are the best there are"),
        ("Z(EE-L)", "scored by its mean attention, not by the mean of the scores of its orders"),
        ("V2(EE-D(judged_only=True))", "the less of it the better"),
    ],
)
def test_normalisations_that_say_nothing(name: str, said: str) -> None:
    with pytest.raises(CalipersError, match=said):
        cal.parse(name)


def test_a_random_ranking_may_be_ideal_though_others_are_not() -> None:
    """Documents all of one grade: EE-L is 0 where they are tied, and not where one comes first."""
    alike, fixed = {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    assert cal.evaluate(alike, fixed, "EE-L").values.item() > 0 == cal.bounds(alike, "EE-L").expected["EE-L"][0]
    with pytest.raises(CalipersError, match="a random ranking of the judged documents of the query is as good"):
        cal.evaluate(alike, fixed, "V2s(EE-L)")


def test_types_of_queries_are_shares_of_an_ideal_score() -> None:
    scores = cal.evaluate({"q": POOL}, TARGET, "EE-L")
    with pytest.raises(CalipersError, match="smaller values of EE-L are better"):
        cal.query_types(scores, cal.bounds({"q": POOL}, "EE-L"))


def test_another_system_changes_nothing() -> None:
    one, other = {"q": {"a": 2.0, "x": 1.0}}, {"q": {"y": 3.0, "z": 2.0, "b": 1.0}}
    alone, both = (
        cal.exposure(cal.Experiment({"q": POOL}, runs)) for runs in ({"one": one}, {"one": one, "other": other})
    )
    for name in ("loss", "disparity", "relevance"):
        assert getattr(alone, name)[0, 0] == getattr(both, name)[0, 0]


def test_ties_of_unjudged_documents_count(tmp_path: Path) -> None:
    """From a file by both scanners, from a mapping, broken by a rule, cut at a depth."""
    qrels = {"q": {"a": 1}}
    run = {"q": {"x": 3.0, "y": 3.0, "a": 2.0, "z": 1.0, "w": 1.0}}
    lines = [f"q Q0 {document} 1 {score} t\n" for document, score in run["q"].items()]
    (tmp_path / "run").write_text("".join(lines))
    tied = 2 * 0.75**2 + 0.25**2 + 2 * ((0.125 + 0.0625) / 2) ** 2
    for given_run in (run, tmp_path / "run"):
        for options, wanted in (
            ({}, tied),
            ({"ties": "docid"}, sum(0.25**i for i in range(5))),
            ({"depth": 4}, 2 * 0.75**2 + 0.25**2 + 0.125**2),
            ({"condensed": True}, 1.0),
        ):
            found = cal.evaluate(qrels, given_run, "EE-D", warn=False, **options)
            assert found.values[0, 0, 0] == pytest.approx(wanted, rel=1e-12)


def test_a_document_that_is_left_out_of_the_judgments_stays_in_its_tie() -> None:
    qrels, run = {"q": {"a": 1, "b": 0, "c": 0}}, {"q": {"a": 2.0, "b": 1.0, "c": 1.0}}
    known, (read,) = as_judgments(qrels), as_runs(run)
    lists = Lists.of(known.pool, [read.retrieved(known)])
    form = cal.parse("EE-D").bind(known.pool).form
    assert form.score(lists.where(lists.grade > 0)) == pytest.approx(form.score(lists))


def test_with_ranks_alone_grades_do_not_change_disparity() -> None:
    found = cal.Experiment({"q": {"a": 1, "b": 0}}, {"q": {"x": 3.0, "a": 2.0, "y": 2.0}}, ["EE-D", "EE-R"]).ranges(
        unseen=1
    )
    assert found.low["EE-D"] == found.high["EE-D"] == found.score["EE-D"]
    assert found.low["EE-R"] < found.high["EE-R"]


@settings(max_examples=20)
@given(judged_documents, ranked_documents.filter(len), st.integers(0, 1))
def test_ranges_hold_all_gradings(judged: dict[str, int], run: dict[str, float], unseen: int) -> None:
    """No grading of what is not judged leaves them, in exact fractions."""
    qrels, names = {"q": judged, "r": {"a": TOP}}, named(Fraction(1, 2), "rbp")
    unknown = [document for document in run if document not in judged] + ["unseen"] * unseen
    found = cal.Experiment(qrels, {"q": run, "r": {"a": 1.0}}, names, warn=False).ranges(unseen=unseen)
    every = [
        exact({**judged, **dict(zip(unknown, grades, strict=True))}, run, Fraction(1, 2), "rbp")
        for grades in product((0, TOP) if len(unknown) > 2 else range(TOP + 1), repeat=len(unknown))
    ]
    for name, short in zip(names, SUMS, strict=True):
        assert found.low[name][0, 0] <= min(float(each[short]) for each in every) + 1e-12
        assert found.high[name][0, 0] >= max(float(each[short]) for each in every) - 1e-12


def test_less_of_it_is_better() -> None:
    """In what `compare` calls better, and in the tables with the best in bold."""
    runs = {"good": {"q": TARGET["q"], "r": TARGET["q"]}, "bad": {"q": REVERSED["q"], "r": SHUFFLED["q"]}}
    scores = cal.evaluate({"q": POOL, "r": POOL}, runs, ["EE-L", "EE-R"])
    assert scores.lower == {"EE-L"}
    assert scores.best_in_bold(scores.mean()).best_cells()[0] == {(0, 1), (0, 2)}
    assert [row[0] for row in cal.compare(scores).wins("EE-L").rows] == ["good", "bad"]


def test_a_large_collection_of_ties_is_quick_and_finite() -> None:
    draw = np.random.default_rng(3)
    pool = {f"d{i}": int(g) for i, g in enumerate(draw.integers(0, 4, 800))}
    run = {f"d{i}": float(s) for i, s in enumerate(draw.integers(0, 5, 1000))}
    names = [f"{name}(model=cascade,patience=0.99)" for name in SUMS]
    loss, disparity, relevance = cal.evaluate({"q": pool}, {"q": run}, names, warn=False).values[:, 0, 0]
    assert 0 < loss < disparity + relevance < 100


def test_samples_of_one_ranking_are_averaged_before_they_are_squared(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 1\nq 0 c 0\n")
    (tmp_path / "one").write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 c 3 1 t\n")
    (tmp_path / "two").write_text("q Q0 b 1 3 t\nq Q0 a 2 2 t\nq Q0 c 3 1 t\n")
    runs = [str(tmp_path / "one"), str(tmp_path / "two")]
    found = cal.exposure(cal.Experiment(str(tmp_path / "qrels"), runs), stochastic=True)
    assert found.systems == ("t",)
    assert found.loss[0, 0] == pytest.approx(0.0, abs=1e-15)
    apart = cal.exposure(cal.Experiment(str(tmp_path / "qrels"), runs))
    assert apart.loss.ravel().tolist() == pytest.approx([0.125, 0.125])


def test_groups_get_shares_of_attention() -> None:
    qrels = {"q": {"a": 1, "b": 1, "c": 0}, "none": {"a": 0}}
    run = {"q": {"a": 2.0, "b": 1.0, "x": 0.5}, "none": {"a": 1.0}}
    groups = {"a": "old", "b": "new", "c": "new"}
    with pytest.warns(cal.CalipersWarning, match="1 document has no group"):
        found = cal.exposure(cal.Experiment(qrels, run), groups=groups)
    assert found.groups == ("new", "old")
    assert found.attention is not None
    assert found.wanted is not None
    assert found.awrf is not None
    assert found.attention[0, 0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert found.wanted[0].tolist() == [0.5, 0.5]
    shares = [(1 / 3, 5 / 12), (2 / 3, 7 / 12), (1 / 2, 5 / 12), (1 / 2, 7 / 12)]
    assert found.awrf[0, 0] == pytest.approx(1 - sum(x * log2(x / middle) for x, middle in shares) / 2)
    assert np.isnan(found.awrf[0, 1]), "no document is relevant: there is nothing to share"
    assert found.group_table().rows == (
        ("run", "new", pytest.approx(1 / 3), 0.5, pytest.approx(2 / 3)),
        ("run", "old", pytest.approx(2 / 3), 0.5, pytest.approx(4 / 3)),
    )
    equal = cal.exposure(cal.Experiment(qrels, run, warn=False), groups=groups, target="equal")
    assert equal.wanted is not None
    assert equal.wanted.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_what_a_system_lacks_is_not_seen() -> None:
    with pytest.warns(cal.CalipersWarning, match="1 of 1 system lacks judged queries"):
        found = cal.exposure(cal.Experiment({"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 1.0}}))
    assert found.relevance.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "dcg"}, "unknown model 'dcg'"),
        ({"target": "fair"}, "unknown target 'fair'"),
        ({"patience": 1.0}, "patience 1 is not between 0 and 1"),
        ({"max_grade": 1}, "max_grade 1 is below the grade 2"),
    ],
)
def test_bad_choices(options: dict[str, object], said: str) -> None:
    with pytest.raises(CalipersError, match=said):
        cal.exposure(cal.Experiment({"q": {"a": 2}}, {"q": {"a": 1.0}}), **options)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 1\n")
    (tmp_path / "run").write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\n")
    (tmp_path / "groups").write_text("a old\nb new\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    done = CliRunner().invoke(root, ["exposure", *files, "--format", "csv"], catch_exceptions=False)
    assert done.stdout.splitlines() == ["system,EE-L,EE-D,EE-R", "t,0.125,1.25,1.125"]
    grouped = ["--document-groups", str(tmp_path / "groups"), "--target", "equal"]
    done = CliRunner().invoke(root, ["exposure", *files, *grouped], catch_exceptions=False)
    assert "ratio" in done.stdout
    (tmp_path / "groups").write_text("a old\na new\n")
    done = CliRunner().invoke(root, ["exposure", *files, *grouped])
    assert isinstance(done.exception, CalipersError)
    assert "groups:2: document 'a' has a second group" in str(done.exception)


@pytest.mark.parametrize("name", ["EE-L", "EE-D", "EE-R", "AWRF", "ExposureRatio"])
def test_cards_of_exposure(name: str) -> None:
    card = cal.measure_card(name)
    assert card.citation
    assert {"model", "patience"} <= {parameter[0] for parameter in card.parameters}


def test_the_square_of_the_mean_is_not_the_mean_of_squares() -> None:
    """Why a form says that it averages attention: of its orders, a tie has another mean."""
    qrels = {"q": {"a": 1}}
    runs = {"tied": {"q": {"a": 1, "b": 1}}, "first": {"q": {"a": 2, "b": 1}}, "last": {"q": {"a": 1, "b": 2}}}
    tied, first, last = cal.exposure(cal.Experiment(qrels, runs, warn=False), patience=0.5).disparity[:, 0]
    assert tied == pytest.approx(2 * 0.75**2)
    assert (first + last) / 2 == 1 + 0.5**2
    assert cal.parse("EE-D").form.traits.averages_attention
    assert not cal.parse("EE-R").form.traits.averages_attention


def test_pages_and_charts_know_that_less_is_better() -> None:
    runs = {"target": TARGET, "random": SHUFFLED, "reversed": REVERSED}
    scores = cal.evaluate({"q": POOL}, runs, ["EE-L", "EE-R"])
    found = cal.bounds({"q": POOL}, ["EE-L", "EE-R"])
    assert placed(scores, found, "EE-L")[:, 0].tolist() == pytest.approx([1, 0, -1], abs=1e-12)
    twice = {name: {"q": run["q"], "r": run["q"]} for name, run in runs.items()}
    material = Material(cal.Experiment({"q": POOL, "r": POOL}, twice, "EE-R EE-L", warn=False))
    with specified():
        assert between.section(material, Detail()).findings.keys() == {"EE-L", "EE-R"}
        assert queries.section(material, Detail()).findings.keys() == {"EE-R"}
    assert set(material.plain.lower) == {"EE-L"}
