"""Discriminative power, conflicts, PAD, swaps, stability; sets of queries and documents; the tables of the papers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, strategies as st

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.questions.metaeval.consistency import (
    percentage_absolute_difference,
    percentage_absolute_increase,
    split_half_swap_rate,
    stability,
    swap_rate,
)
from calipers.questions.metaeval.measure_study import metaeval
from calipers.questions.metaeval.meta_evaluation import TABLES, MetaEvaluation
from calipers.questions.metaeval.power import conflicts, confronted, discriminative_power, families
from calipers.questions.metaeval.query_sets import broad_and_focused, by_difference, document_halves, set_size
from calipers.statistics.correlation import kendall_a
from calipers.statistics.differences import all_pairs
from conftest import valid_spec

MEASURES = [f"{wrap}nDCG@{k}{')' if wrap else ''}" for wrap in ("", "V1(", "V2(") for k in (5, 10)]


@pytest.fixture(scope="module")
def collection() -> tuple[dict[str, dict[str, float]], dict[str, dict[str, dict[str, float]]]]:
    """Twenty queries of twelve documents, some rich in relevant ones, and five systems of rising quality."""
    random = np.random.default_rng(1)
    qrels, runs = {}, {f"s{i}": {} for i in range(5)}
    for q in range(20):
        grades = random.choice(4, size=12, p=(0.2, 0.2, 0.3, 0.3) if q % 3 == 0 else (0.6, 0.2, 0.1, 0.1))
        qrels[f"q{q}"] = {f"d{d}": float(g) for d, g in enumerate(grades)}
        for i, name in enumerate(runs):
            noise = random.normal(size=12) * (3 - 0.5 * i)
            runs[name][f"q{q}"] = {f"d{d}": float(g + e) for d, (g, e) in enumerate(zip(grades, noise, strict=True))}
    return qrels, runs


# -- families --------------------------------------------------------------------------------------------------------


def test_cutoffs_make_a_family_and_normalisation_has_a_base(collection: tuple[Any, Any]) -> None:
    scores = cal.evaluate(*collection, [*MEASURES, "AP(rel=2)", "RBP(p=0.8)@10"])
    found = families(scores)
    assert [f.name for f in found] == ["nDCG", "V1(nDCG)", "V2(nDCG)", "AP(rel=2)", "RBP(p=0.8)@10"]
    assert found[1].members == (2, 3)
    assert found[1].cutoffs == ("5", "10")
    assert [f.base for f in found] == [None, "nDCG", "nDCG", None, None]
    assert [(x.name, y.name) for x, y in confronted(found)] == [("nDCG", "V1(nDCG)"), ("nDCG", "V2(nDCG)")]
    plain = cal.as_scores(np.zeros((4, 2, 3)), measure=["ap@5", "ap@10", "V2(ap@5)", "rr"])
    assert [(f.name, f.base) for f in families(plain)] == [("ap", None), ("V2(ap@5)", "ap"), ("rr", None)]
    assert len(confronted(families(plain)[::2])) == 1


# -- discriminative power and conflicts ------------------------------------------------------------------------------


def test_power_counts_the_tests_of_all_cutoffs(collection: tuple[Any, Any]) -> None:
    scores = cal.evaluate(*collection, MEASURES)
    power = discriminative_power(scores, alpha=0.1)
    compared = cal.compare(scores, correction=None, alpha=0.1)
    assert power.table().columns == ("measure", "significant", "tests", "power")
    for f, family in enumerate(power.families):
        p = compared.p[list(family.members)].ravel()
        assert power[family.name] == pytest.approx((p < 0.1).mean())
        assert len(power.levels[f]) == 2 * 10
        assert (np.diff(power.levels[f]) <= 0).all(), "the curve descends"
    assert len(power.curve("nDCG").rows) == 20
    with pytest.raises(CalipersError, match="unknown measure 'x'"):
        power["x"]


def test_conflicts_and_opposite_directions() -> None:
    steps = np.linspace(0, 0.01, 10)
    up, down, flat = 0.5 + steps, 0.3 + steps[::-1], 0.4 + np.tile([0.3, -0.3], 5)
    values = np.array([[up, down, flat], [down, up, flat]])
    scores = cal.as_scores(values, systems=list("abc"), measure=["m", "V2(m)"])
    compared = cal.compare(scores, correction=None)
    found = conflicts(compared, *families(scores))
    assert (found.count, found.opposite, found.both, found.tests) == (0, 1, 0, 3)
    alone = cal.as_scores(np.array([values[0], [flat, flat, flat]]), measure=["m", "V2(m)"])
    found = conflicts(cal.compare(alone, correction=None), *families(alone))
    assert (found.only_one, found.only_other, found.count, found.opposite) == (1, 0, 1, 0)


# -- distances -------------------------------------------------------------------------------------------------------


def test_pad_and_its_denominators() -> None:
    assert percentage_absolute_difference([0.4, 0.2, 0.1]) == pytest.approx((50 + 75 + 50) / 3)
    assert percentage_absolute_difference([-0.1, -0.2]) == pytest.approx(100)
    assert percentage_absolute_difference([-0.1, -0.2], "literal") == pytest.approx(-100)
    assert percentage_absolute_difference([0.0, -0.2, 0.1]) == pytest.approx((300 + 100) / 2), "max = 0 is left out"
    assert math.isnan(percentage_absolute_difference([0.0, 0.0]))
    with pytest.raises(CalipersError, match="unknown denominator"):
        percentage_absolute_difference([1, 2], "x")


def test_pai_and_a_base_of_0() -> None:
    assert percentage_absolute_increase([-0.198], [-0.106]).tolist() == pytest.approx([100 * -0.092 / 0.106])
    assert percentage_absolute_increase(0.03, 0.0) == pytest.approx(3)
    assert math.isnan(float(percentage_absolute_increase(0.03, 0.0, zero="undefined")))


# -- consistency -----------------------------------------------------------------------------------------------------


@given(st.permutations(range(8)))
def test_the_swap_rate_is_half_of_what_tau_lacks(order: list[int]) -> None:
    assert swap_rate(range(8), order) == pytest.approx((1 - kendall_a(range(8), order)) / 2)


def test_split_halves_by_hand() -> None:
    """Two systems, two queries: the halves are single queries, and disagree always or never."""
    always = split_half_swap_rate(np.array([[0.5, 0.1], [0.2, 0.3]]), trials=50)
    assert (always.rate, always.size, always.pairs.sum()) == (1, 1, 50)
    never = split_half_swap_rate(np.array([[0.5, 0.4], [0.2, 0.3]]), trials=50)
    assert never.rate == 0
    assert never.needed() == 0
    bins = dict(zip(np.round(never.edges, 2), never.pairs, strict=True))
    assert bins[0.1] + bins[0.2] == 50, "a difference of 0.1 or, in the last bin, 0.3"
    assert never.table().columns == ("difference from", "pairs", "swaps", "rate")


def test_split_halves_against_a_loop() -> None:
    scores = np.random.default_rng(2).random((5, 9))
    found = split_half_swap_rate(scores, trials=30, size=4, width=0.05, bins=6, seed=3)
    random = np.random.default_rng(3)
    order = random.permuted(np.broadcast_to(np.arange(9), (30, 9)), axis=1)
    pairs, swaps = np.zeros(6, int), np.zeros(6, int)
    for row in order:
        one, other = scores[:, row[:4]].mean(axis=1), scores[:, row[4:8]].mean(axis=1)
        for a, b in zip(*all_pairs(5), strict=True):
            place = min(int(abs(one[a] - one[b]) / 0.05), 5)
            pairs[place] += 1
            swaps[place] += (one[a] - one[b]) * (other[a] - other[b]) < 0
    assert (found.pairs == pairs).all()
    assert (found.swaps == swaps).all()
    with pytest.raises(CalipersError, match="9 queries cannot be split into two sets of 5"):
        split_half_swap_rate(scores, size=5)


def test_stability_of_a_ranking() -> None:
    random = np.random.default_rng(4)
    scores = random.random((4, 25)) * 0.2 + np.array([[0.7], [0.7], [0.3], [0.0]])
    scores[0, 3] = np.nan
    found = stability(scores, ("a", "b", "c", "d"))
    assert found.low[2:].tolist() == found.high[2:].tolist() == [3, 4]
    assert (found.low[:2].tolist(), found.high[:2].tolist()) == ([1, 1], [2, 2])
    assert found.first.sum() == pytest.approx(1)
    assert found.swaps == pytest.approx((1 - found.tau) / 2)
    assert [row[0] for row in found.table().rows][2:] == ["c", "d"]
    assert (stability(scores).tau, stability(scores, seed=1).tau) != (found.tau, found.tau)
    with pytest.raises(CalipersError, match="only one system"):
        stability(scores[:1])


# -- sets ------------------------------------------------------------------------------------------------------------


def test_sets_by_difference_are_the_ends_of_it(collection: tuple[Any, Any]) -> None:
    qrels, runs = collection
    names = MEASURES[:2]
    scores = cal.evaluate(qrels, runs, names)
    bounds = cal.bounds(qrels, names)
    types = cal.query_types(scores, bounds)
    ratio = [scores[name] / bounds.ideal[name] for name in names]
    random = [bounds.expected[name] / bounds.ideal[name] for name in names]
    difference = np.mean(ratio, axis=(0, 1)) - np.mean(random, axis=0)
    assert types.difference == pytest.approx(difference)
    order = np.argsort(difference)
    assert by_difference(types, "uninformative", 5).tolist() == sorted(order[:5])
    assert by_difference(types, "ideal", 0.25).tolist() == sorted(order[-5:])
    assert by_difference(types, "uninformative", 5, absolute=True).tolist() == sorted(
        np.argsort(np.abs(difference))[:5]
    )
    with pytest.raises(CalipersError, match="neither a whole number nor a share"):
        set_size(2.5, 10)


def test_broad_and_focused_are_balanced(collection: tuple[Any, Any]) -> None:
    judgments = cal.Judgments.from_dict(collection[0])
    sets = broad_and_focused(judgments)
    share = [np.mean([g >= 2 for g in grades.values()]) for grades in collection[0].values()]
    assert len(sets["broad"]) == len(sets["focused"]) > 1
    assert min(share[q] for q in sets["broad"]) >= 0.5
    assert max(share[q] for q in sets["focused"]) < 0.5


@pytest.mark.parametrize("form", ["dicts", "arrays"])
def test_halves_of_the_documents(collection: tuple[Any, Any], form: str) -> None:
    """Each document is in one half; a half's scores are those of the run without the other documents."""
    qrels, runs = collection
    judgments: cal.Judgments = cal.Judgments.from_dict(qrels)
    systems: dict[str, object] = dict(runs)
    if form == "arrays":
        judgments = cal.Judgments.from_arrays(
            [g for grades in qrels.values() for g in grades.values()], group=[12] * 20
        )
        systems = {
            name: np.array([run[q][d] for q, grades in qrels.items() for d in grades]) for name, run in runs.items()
        }
    halves = document_halves(judgments)
    left, right = (halves[name].chosen for name in ("left", "right"))
    assert (left ^ right).all()
    assert np.bincount(judgments.pool.query[left]).tolist() == [6] * 20
    meta = metaeval(cal.Experiment(judgments, systems, "nDCG@5"), sets=("left", "right"))
    names = [(q, d) for q, grades in qrels.items() for d in grades]
    for name, chosen in (("left", left), ("right", right)):
        kept = {pair for pair, is_in in zip(names, chosen, strict=True) if is_in}
        part = {q: {d: g for d, g in grades.items() if (q, d) in kept} for q, grades in qrels.items()}
        alone = {
            s: {q: {d: x for d, x in r.items() if (q, d) in kept} for q, r in run.items()} for s, run in runs.items()
        }
        expected = cal.evaluate(part, alone, "nDCG@5")["nDCG@5"]
        assert meta.views[name][0]["nDCG@5"] == pytest.approx(expected)


# -- the tables ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def meta(collection: tuple[Any, Any]) -> MetaEvaluation:
    sets = ("all", "uninformative", "ideal", "left", "right")
    return metaeval(cal.Experiment(*collection, MEASURES), sets=sets, set_size=8)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_a_row_a_measure(meta: MetaEvaluation, name: str) -> None:
    table = meta.table(name)
    assert len(table.rows) >= 2
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_tables_say_what_their_parts_say(meta: MetaEvaluation, collection: tuple[Any, Any]) -> None:
    scores = cal.evaluate(*collection, MEASURES)
    averages = np.array([np.nanmean(scores.values[i : i + 2], axis=(0, 2)) for i in (0, 2, 4)])
    assert meta.averages["all"] == pytest.approx(averages)
    assert meta.table("pad")["V2(nDCG)", "all"] == pytest.approx(percentage_absolute_difference(averages[2]))
    power = discriminative_power(scores)
    assert meta.table("power")["V1(nDCG)", "all share"] == power["V1(nDCG)"]
    ideal = meta.views["ideal"][0]
    assert len(ideal.queries) == 8
    assert ideal["nDCG@5"].tolist() == scores["nDCG@5"][:, [scores.queries.index(q) for q in ideal.queries]].tolist()
    swaps = meta.table("swaps")
    assert swaps["nDCG", "uninformative / ideal"] == swap_rate(
        meta.averages["uninformative"][0], meta.averages["ideal"][0]
    )
    assert meta.across(meta).rows[0][1:] == (0, 0, 0, 0, 0)


def test_the_base_decides_the_sets_even_where_it_is_not_asked_for(
    collection: tuple[Any, Any], meta: MetaEvaluation
) -> None:
    alone = metaeval(cal.Experiment(*collection, MEASURES[2:4]), sets="ideal", set_size=8)
    assert [f.name for f in alone.families] == ["V1(nDCG)"]
    assert alone.views["ideal"][0].queries == meta.views["ideal"][1].queries


def test_scores_that_are_there_already() -> None:
    random = np.random.default_rng(5)
    scores = cal.as_scores(random.random((2, 4, 10)), measure=["ap", "rr"])
    found = cal.metaeval(scores, sets={"first": ["1", "2", "3"]})
    assert found.notes == ("set all: 10 of 10 queries", "set first: 3 of 10 queries")
    with pytest.raises(CalipersError, match="has the query '11'"):
        cal.metaeval(scores, sets={"x": ["11"]})
    with pytest.raises(CalipersError, match="only one system"):
        cal.metaeval(cal.as_scores([[0.1, 0.2]]))
    with pytest.raises(CalipersError, match="unknown set 'x'"):
        cal.Experiment({"q": {"a": 1}}, {"q": {"a": 1.0}}, "AP").metaeval(sets=["x"])
    with pytest.raises(CalipersError, match="scores and texts have no sets but all"):
        cal.metaeval(scores, sets="hard")
    one = cal.Experiment({q: {"a": 1} for q in "xyz"}, {n: {q: {"a": 1.0} for q in "xyz"} for n in "mn"}, "AP")
    assert one.metaeval(sets={"part": ["x", "y"]}).set_sizes() == [("all", "3"), ("part", "2")]
    for options in ({"pad": "x"}, {"correlation": "x"}, {"alpha": 2}, {"seed": -1}):
        with pytest.raises(CalipersError):
            cal.metaeval(scores, **options)


# -- commands --------------------------------------------------------------------------------------------------------


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, [str(argument) for argument in arguments], standalone_mode=False)


@pytest.fixture(scope="module")
def files(collection: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("metaeval")
    qrels, runs = collection
    (folder / "qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g:g}\n" for q, grades in qrels.items() for d, g in grades.items())
    )
    (folder / "runs").mkdir()
    for name, ranked in runs.items():
        lines = (f"{q} Q0 {d} 0 {x!r} {name}\n" for q, scores in ranked.items() for d, x in scores.items())
        (folder / "runs" / name).write_text("".join(lines))
    table = cal.evaluate(qrels, runs, "AP").values[0].T
    (folder / "ap.csv").write_text(
        ",".join(runs) + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in table.tolist())
    )
    return folder


def test_the_metaeval_command(files: Path) -> None:
    inputs = (files / "qrels.txt", files / "runs")
    done = run("metaeval", *inputs, "-m", " ".join(MEASURES), "--sets", "all,uninformative,ideal", "--format", "json")
    assert done.exception is None, done.exception
    found = json.loads(done.stdout)
    assert list(found) == ["title", "summary", "notes", "tables"]
    assert "most systems apart" in found["summary"]
    tables = found["tables"]
    assert list(tables) == ["scores", "tau", "conflicts", "power", "pad", "swaps"]
    assert len(tables["scores"]) == 3 * 5
    again = run("metaeval", *inputs, "-m", "AP", "--table", "power", "--format", "csv")
    assert again.exception is None, again.exception
    assert "measure,tests,all,all share\nAP,10," in again.stdout


def test_metaeval_of_matrices_into_a_folder(files: Path, tmp_path: Path) -> None:
    done = run(
        "metaeval", files / "ap.csv", "--table", "power,stability,curve", "--format", "csv", "-o", f"{tmp_path}/out/"
    )
    assert done.exception is None, done.exception
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["curve-all.csv", "power.csv", "stability.csv"]
    assert "texts have no sets but all" in str(run("metaeval", files / "ap.csv", "--sets", "ideal").exception)
    assert "unknown table 'x'" in str(run("metaeval", files / "ap.csv", "--table", "x").exception)


def test_the_compare_command(files: Path) -> None:
    done = run(
        "compare", files / "qrels.txt", files / "runs", "-m", "nDCG@10 AP", "--baseline", "s0", "--format", "csv"
    )
    assert done.exception is None, done.exception
    lines = done.stdout.splitlines()
    assert lines[0] == "measure,system_a,system_b,difference,low,high,p,p_adjusted,effect,n"
    assert len(lines) == 1 + 2 * 4
    shown = run("compare", files / "ap.csv", "-m", "AP", "--test", "randomization", "--samples", 99)
    assert shown.exception is None, shown.exception
    assert "who beats how many, AP" in shown.stdout
    matrix = run("compare", files / "ap.csv", "-m", "AP", "--show", "matrix")
    assert matrix.stdout.splitlines()[0].split()[0] == "system"
    for arguments, message in (
        ((files / "ap.csv", "--baseline", "s9"), "unknown baseline 's9'"),
        ((files / "qrels.txt",), "expected judgments and at least one system, texts, or a CSV file of scores"),
        ((files / "qrels.txt", files / "runs" / "s1"), "there is only one system"),
        ((files / "ap.csv", "--samples", "x", "--test", "tukey"), "samples 'x' is neither"),
    ):
        assert message in str(run("compare", *arguments).exception)


def test_different_queries_are_counted_or_refused(files: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query,x,y\n1,0.1,0.2\n2,0.3,0.1\n3,0.2,0.2\n")
    (tmp_path / "b.csv").write_text("query,x,y\n2,0.1,0.2\n3,0.3,0.1\n4,0.2,0.2\n")
    done = run("compare", tmp_path / "a.csv", tmp_path / "b.csv")
    assert done.exception is None, done.exception
    assert "2 queries are not in all scores and were left out" in done.stderr
    assert "2 queries are not in all scores" in str(
        run("compare", tmp_path / "a.csv", tmp_path / "b.csv", "--strict").exception
    )
    (tmp_path / "holes.csv").write_text("x,y,z\n0.1,0.2,0.3\n0.3,,0.2\n0.2,0.2,0.1\n")
    holes = run("compare", tmp_path / "holes.csv")
    assert "2 of 3 pairs miss queries under holes" in holes.stderr
    assert "left out pairwise (--strict)" in str(run("compare", tmp_path / "holes.csv", "--strict").exception)


def test_charts(meta: MetaEvaluation) -> None:
    from calipers import plot

    drawn = valid_spec(plot.stacked(plot.significance_curves(meta.power()), plot.system_scores(meta)))
    assert len(drawn["vconcat"]) == 2


# -- real data -------------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_discriminative_power_of_ap_on_trec_8(data: Path) -> None:
    """Golbus & Aslam (2013) prints 0.716; a thousand samples leave it uncertain by some thousandths."""
    scores = cal.read_scores(data / "scores/adhoc8_ap.csv", measures="AP")
    assert (len(scores.systems), len(scores.queries)) == (129, 50)
    power = [discriminative_power(scores, "bootstrap", samples=1000, seed=seed)["AP"] for seed in range(42, 48)]
    assert min(power) <= 0.717
    assert max(power) >= 0.716
    assert np.mean(power) == pytest.approx(0.716, abs=0.003)
    assert discriminative_power(scores)["AP"] == pytest.approx(0.7244, abs=1e-4)


@pytest.mark.data
def test_metaeval_on_trec_covid(data: Path) -> None:
    folder = data / "trec/covid-round1"
    experiment = cal.Experiment(folder / "qrels-rnd1.txt", folder / "runs", "nDCG@{10,20} V2(nDCG@{10,20})")
    found = experiment.metaeval(sets=("all", "uninformative", "ideal"))
    assert found.table("power")["nDCG", "tests"] == 2 * 10_153
    assert 0.6 < found.power()["nDCG"] < 0.8
    assert found.table("tau").rows[0][2] > 0.9
    assert found.compared["all"] is not None


def test_the_answer_where_nothing_is_told_apart() -> None:
    same = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 2.0, "b": 1.0}}
    other = {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 2.0, "b": 1.0}}
    given = cal.Experiment({"1": {"a": 1}, "2": {"a": 1}}, {"x": same, "y": other}, "AP RR", warn=False)
    assert (
        given.metaeval().conclusions()[0].startswith("no measure tells any two systems apart: 0.0% of the pairs differ")
    )
