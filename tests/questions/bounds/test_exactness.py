"""What is sampled, greedy or only sorted says so wherever it is shown; what is exact is not accused."""

from __future__ import annotations

import json
from itertools import permutations
from math import log2
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.measures.forms import self_normalised
from calipers.measures.random_rankings import deviation_error, sampled_deviation
from calipers.measures.registry import examples
from calipers.report.material import Material
from calipers.report.section import Detail
from calipers.report.sections.measures import between_random_and_ideal
from calipers.report.sections.method import parameters

D2 = 1 / log2(3)
LARGE = {f"d{d}": d % 3 for d in range(30)}  # as one tie it has far more than 1,000 orders
TIED = {"q": dict.fromkeys(LARGE, 1.0)}
RANKED = {"q": {document: -float(rank) for rank, document in enumerate(LARGE)}}
TOPIC = {"q": {"one": {"a": 1, "b": 1}, "two": {"b": 1, "c": 1}, "three": {"c": 1, "d": 1, "e": 0}}}


# -- scores ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "ranked", "tied"),
    [
        ("nDCG@10", "exact", "exact"),
        ("AP", "exact", "exact"),
        ("RIC", "exact", "exact"),  # of the counts of pairs; only its expected score is drawn
        ("SN-DCG@10", "exact", "exact"),
        ("infAP", "exact", "sampled"),
        ("infAP(judged_only=True)", "exact", "sampled"),
        ("Accuracy@10", "exact", "sampled"),
        ("V2(nDCG@10)", "exact", "exact"),
        ("Z(nDCG@10)", "exact", "exact"),
        ("Z(ERR)", "sampled", "exact"),  # of one tie of all: 0, whatever the sd
        ("Z(ERR@10)", "exact", "exact"),
        ("Z(bpref)", "exact", "exact"),
        ("Z(bpref@3)", "sampled", "exact"),  # a share of a form without a closed variance
        ("V2(infAP)", "sampled, sorted", "sampled, sorted"),
        ("V2(RIC)", "sampled, sorted", "sorted"),  # of one tie: -1, as RIC is 0
        ("U(infAP)", "sorted", "sampled, sorted"),
    ],
)
def test_scores_say_what_is_not_exact(measure: str, ranked: str, tied: str) -> None:
    assert cal.evaluate({"q": LARGE}, RANKED, measure).exactness == {measure: ranked}
    assert cal.evaluate({"q": LARGE}, TIED, measure).exactness == {measure: tied}
    assert cal.evaluate({"q": LARGE}, TIED, measure, ties="docid").exactness == {measure: ranked}


def test_few_orders_are_not_drawn() -> None:
    few = {"q": {**RANKED["q"], "d0": 1.0, "d1": 1.0, "d2": 1.0}}
    assert cal.evaluate({"q": LARGE}, few, "infAP").exactness == {"infAP": "exact"}


def test_self_normalised_gains_say_when_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cal.bounds({"q": LARGE}, "SN-DCG@10")
    assert (before.exactness["SN-DCG@10"]["expected"], before.error["SN-DCG@10"][0]) == ("enumerated", 0)
    monkeypatch.setattr(self_normalised, "MOST_COMPOSITIONS", 10)
    drawn = cal.bounds({"q": LARGE}, "SN-DCG@10")
    error = drawn.error["SN-DCG@10"][0]
    assert drawn.exactness["SN-DCG@10"]["expected"] == "sampled"
    assert 0 < abs(drawn.expected["SN-DCG@10"][0] - before.expected["SN-DCG@10"][0]) < 5 * error < 0.05
    assert cal.evaluate({"q": LARGE}, TIED, "SN-DCG@10").exactness == {"SN-DCG@10": "sampled"}


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("V2(alpha-nDCG@5)", "bound"),
        ("U(ERR-IA@5)", "bound"),
        ("V1(D#-nDCG@5)", "bound"),
        ("W(AP-IA)", "bound"),
        ("V2(D-nDCG@5)", "exact"),
        ("V2(P-IA@3)", "exact"),
        ("alpha-nDCG@5", "exact"),  # the greedy list is what it is defined by
    ],
)
def test_the_ideals_of_diversity_are_searched(measure: str, words: str) -> None:
    run = {"q": {document: -float(rank) for rank, document in enumerate("abcde")}}
    assert cal.evaluate(TOPIC, run, measure).exactness == {measure: words}


# -- bounds ------------------------------------------------------------------------------------------------


def test_bounds_say_what_is_not_exact() -> None:
    names = ["nDCG@10", "ERR", "infAP", "Accuracy", "RIC"]
    found = cal.bounds({"q": LARGE}, names, sd="sampled")
    exact = {"ideal": "exact", "expected": "exact", "worst": "exact", "sd": "exact"}
    drawn = {"ideal": "sorted", "expected": "sampled", "worst": "sorted", "sd": "sampled"}
    assert found.exactness == {
        "nDCG@10": exact,
        "ERR": {**exact, "sd": "sampled"},
        "infAP": drawn,
        "Accuracy": {**drawn, "ideal": "exact", "worst": "exact"},
        "RIC": drawn,
    }
    assert "sd" not in cal.bounds({"q": LARGE}, "ERR").exactness["ERR"]
    assert "expected of infAP" in found.inexact
    assert not {"ideal of nDCG@10", "expected of ERR"} & set(found.inexact)


@pytest.mark.parametrize(
    "measure", ["infAP", "Accuracy@5", "RIC", "Compat", "11pt_avg", "G", "infAP(judged_only=True)"]
)
def test_the_error_is_that_of_the_mean_of_drawn_rankings(measure: str) -> None:
    """sd / sqrt(draws), and 0 where all orders were gone through."""
    pools = {"large": LARGE, "small": {"a": 1, "b": 0}}
    found = cal.bounds(pools, measure, sd="sampled")
    assert found.error[measure][0] == pytest.approx(found.sd[measure][0] / np.sqrt(1000), rel=0.15)
    assert found.error[measure][0] > 0
    if measure != "RIC":
        assert found.error[measure][1] == 0


def test_errors_of_deviations_are_those_of_repeated_draws() -> None:
    """The standard error of the sd, and of Z, is how far they lie apart over seeds."""
    known = cal.Judgments.from_dict({"q": LARGE})
    form, pool = cal.parse("ERR").bind(known.pool).form, known.pool.everything
    drawn = [sampled_deviation(form, pool, 200, seed)[0] for seed in range(60)]
    assert deviation_error(form, pool, 200, 0)[0] == pytest.approx(np.std(drawn), rel=0.35)
    scores = cal.evaluate({"q": LARGE}, {"best": {"q": {d: float(g) for d, g in LARGE.items()}}}, "Z(ERR)")
    sd, off = sampled_deviation(form, pool)[0], deviation_error(form, pool)[0]
    assert scores.errors["Z(ERR)"] == pytest.approx(scores.values[0, 0, 0] * off / sd, rel=0.05)
    found = cal.bounds({"q": LARGE, "small": {"a": 1, "b": 0}}, "ERR", sd="sampled")
    assert found.sd_error["ERR"].tolist() == [off, 0]
    assert found.means().columns == ("measure", "ideal", "expected", "sd", "sd_error", "worst")
    assert found.means()["sd_error"] == pytest.approx([off / 2])


def test_few_orders_have_no_error() -> None:
    """Grades 2, 1, 0: all orders of Z's population are gone through, and it says nothing of sampling."""
    scores = cal.evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"a": 3, "b": 2, "c": 1}}, ["Z(ERR)", "V2(infAP)"])
    assert (scores.exactness, scores.errors) == ({"Z(ERR)": "exact", "V2(infAP)": "sorted"}, {})


DECLARED = [*examples()]  # before other tests declare measures of their own


def test_no_bound_of_any_measure_is_called_exact_that_is_not() -> None:
    """All measures and readings, on a pool whose orders are all tried, and on one where what is not closed is drawn."""
    of = [name for name in DECLARED if not cal.parse(name).form.traits.is_normalised]
    readers = ("INST", "BPM@5", "NERR8@5", "NERR10", "IFT-C1", "IFT-C2", "TBG", "AP", "RR", "RBP")
    readings = (f"{what}({reader})" for what in ("EU", "ETU", "EC", "ETC", "ED") for reader in readers)
    names = [*dict.fromkeys([*of, *readings])]
    small = {"q": {"a": 2, "b": 1, "c": 0, "d": 0}}
    orders = {str(n): {"q": {d: -r for r, d in enumerate(order)}} for n, order in enumerate(permutations("abcd"))}
    every = cal.evaluate(small, orders, names).values[:, :, 0]
    found = cal.bounds(small, names, sd="sampled")
    wanted = {
        "ideal": every.max(axis=1),
        "worst": every.min(axis=1),
        "expected": every.mean(axis=1),
        "sd": every.std(axis=1),
    }
    for n, name in enumerate(names):
        how = found.exactness[name]
        assert {how["expected"], how["sd"]} <= {"exact", "enumerated"}, name
        for part, values in wanted.items():
            if how[part] in ("exact", "enumerated"):
                assert getattr(found, part)[name][0] == pytest.approx(values[n], abs=1e-9), (name, part)
    large = {"q": {f"d{d}": [2, 1, 1, 0, 0, 0, 0][d] for d in range(7)}}
    drawn = cal.bounds(large, names, sd="sampled")
    lists = {"a": {"q": {d: -r for r, d in enumerate(large["q"])}}}
    of = [name for name in of if drawn.sd[name][0] > 1e-9]  # of the others every ranking scores the same
    z = cal.evaluate(large, lists, [f"Z({name})" for name in of], warn=False)
    for name in names:
        for part, error in (("expected", drawn.error), ("sd", drawn.sd_error)):
            assert (drawn.exactness[name][part] == "sampled") == bool(error[name][0] > 1e-12), (name, part)
        assert name not in of or (f"Z({name})" in z.errors) == (
            "sampled" in (drawn.exactness[name]["expected"], drawn.exactness[name]["sd"])
        ), name


def test_the_greedy_ideal_can_be_exceeded() -> None:
    """Which is why it is not called exact: it takes the document with most new intents, and needs three."""
    topic = {
        "q": {
            **{f"i{i}": {"greedy": 1, "left": 1} for i in (1, 2)},
            **{f"i{i}": {"greedy": 1, "right": 1} for i in (3, 4)},
            "i5": {"left": 1, "other": 1},
            "i6": {"right": 1, "another": 1},
        }
    }
    found = cal.bounds(topic, "StRecall@2")
    orders = {
        str(n): {"q": {d: -float(r) for r, d in enumerate(order)}}
        for n, order in enumerate(permutations(("greedy", "left", "right", "other", "another")))
    }
    best = cal.evaluate(topic, orders, "StRecall@2").values.max()
    assert found.ideal["StRecall@2"][0] == pytest.approx(best)
    assert found.exactness["StRecall@2"]["ideal"] == "exact"
    greedy = cal.bounds(topic, "StRecall@2", ideal="greedy")
    assert greedy.ideal["StRecall@2"][0] < best
    assert greedy.exactness["StRecall@2"]["ideal"] == "greedy"


def test_the_published_expected_value_is_cut_at_the_ideal() -> None:
    pools = {"q": {"a": 1, "b": 1, "c": 0}}
    found = cal.bounds(pools, "SP@3", expected="paper")
    assert 3 * (2 / 3) ** 2 < found.ideal["SP@3"][0] == 2
    one = {"q": {"a": 1}, "r": {"a": 1, "b": 0}}
    few = cal.bounds(one, "SP@5", expected="paper")  # k p^2 = 5
    assert few.expected["SP@5"][0] == few.ideal["SP@5"][0] == 1
    assert cal.bounds(one, "SP@5", expected="paper", ideal="k").expected["SP@5"][0] == 5
    assert few.exactness["SP@5"]["expected"] == "exact"
    assert few.error["SP@5"][0] == 0


# -- normalised scores -------------------------------------------------------------------------------------


def test_the_tie_averaged_score_is_normalised() -> None:
    """One relevant of four documents, tied with another at the top: two orders, one above and one below random."""
    qrels = {"q": {"a": 1, "b": 0, "c": 0, "d": 0}}
    tied = {"q": {"a": 2.0, "b": 2.0, "c": 1.0, "d": 0.0}}
    orders = {f"{first}": {"q": {**tied["q"], first: 3.0}} for first in "ab"}
    mean, expected = (1 + D2) / 2, (1 + D2 + 1 / 2 + 1 / log2(5)) / 4
    names = ["V1(nDCG)", "V2(nDCG)", "V2s(nDCG)", "U(nDCG)", "W(nDCG)", "Z(nDCG)"]
    found = cal.evaluate(qrels, tied, names).values[:, 0, 0]
    assert found[0] == pytest.approx(mean * mean / (mean + expected))
    assert found[1] == found[2] == pytest.approx((mean - expected) / (1 - expected))
    averaged = cal.evaluate(qrels, orders, names).values[:, :, 0].mean(axis=1)
    assert averaged[1] == pytest.approx((1 + (D2 - expected) / expected) / 2)
    assert found[3:] == pytest.approx(averaged[3:])  # linear in the score
    assert (abs(found[:3] - averaged[:3]) > 0.001).all()  # these are not


@pytest.mark.parametrize("measure", ["yaap", "RIC(signed=True)", "utility", "utility(weights=[1,0,-2,0])"])
def test_measures_that_can_be_negative_have_no_v1_and_v2(measure: str) -> None:
    for name in ("V1", "V2"):
        with pytest.raises(CalipersError, match="which can be negative: V1 and V2 measure from 0 upwards"):
            cal.evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0}}, f"{name}({measure})")
    for name in ("W", "V2s"):
        cal.parse(f"{name}({measure})")
    assert cal.parse("V2(utility(weights=[1,0,0,0]))")


def test_a_users_measure_that_is_negative_has_no_v2() -> None:
    @cal.measure("LessHalf")
    def less_half() -> object:
        """The first grade less one half."""
        return lambda ranking: float(ranking[0]) - 0.5

    with pytest.raises(CalipersError, match="negative for some ranking"):
        cal.evaluate({"q": {"a": 1, "b": 0, "c": 0}}, {"q": {"b": 1.0}}, "V2(LessHalf)")


# -- faces -------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for query in "pq":
        with open("qrels.txt", "a", encoding="utf-8") as file:
            file.writelines(f"{query} 0 {document} {grade}\n" for document, grade in LARGE.items())
        for name, step in (("one", 1), ("two", 7)):
            with open(f"{name}.run", "a", encoding="utf-8") as file:
                file.writelines(
                    f"{query} Q0 {document} 0 {-(rank * step % 30)} {name}\n" for rank, document in enumerate(LARGE)
                )
    return tmp_path


def run(*arguments: str) -> Result:
    done = CliRunner().invoke(root, [*arguments])
    assert done.exit_code == 0, done.exception
    return done


SAMPLED = "Z(ERR): sampled, not exact (seed 42, standard error up to 0.0"


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate",),
        ("compare",),
        ("metaeval", "--table", "scores"),
        ("audit", "--tool", "trec_eval", "--show", "figures"),
    ],
)
def test_commands_say_what_is_not_exact(files: Path, command: tuple[str, ...]) -> None:
    done = run(command[0], "qrels.txt", "one.run", "two.run", "-m", "Z(ERR)", *command[1:])
    assert SAMPLED in done.stderr
    assert "sampled" not in done.stdout
    if command[0] != "audit":  # which ends with its advice
        assert done.stdout.rstrip("\n").rpartition("\n")[2].split()[0] in ("one", "two", "all", "Z(ERR)")
    exact = run(command[0], "qrels.txt", "one.run", "two.run", "-m", "Z(nDCG@10)", *command[1:])
    assert "exact" not in exact.stderr


def test_bounds_and_queries_say_what_is_not_exact(files: Path) -> None:
    done = run("bounds", "qrels.txt", "-m", "infAP nDCG@10")
    assert "expected of infAP: sampled, not exact (seed 42, standard error up to 0.00" in done.stderr
    assert done.stdout.split()[:7] == ["query", "measure", "n", "relevant", "ideal", "expected", "expected_error"]
    assert "ideal of infAP, worst of infAP: rests on the documents sorted by grade" in done.stderr
    assert "nDCG@10" not in done.stderr
    assert done.stdout.splitlines()[-1].split()[:2] == ["q", "nDCG@10"]
    assert "expected of infAP: sampled" in run("queries", "qrels.txt", "one.run", "-m", "infAP").stderr


def test_json_says_what_is_not_exact(files: Path) -> None:
    rows = json.loads(run("evaluate", "qrels.txt", "one.run", "-m", "Z(ERR) RR", "--format", "json").stdout)
    assert rows[0]["exactness"] == {"Z(ERR)": "sampled"}
    assert 0 < rows[0]["standard_error"]["Z(ERR)"] < 0.1
    rows = json.loads(run("evaluate", "qrels.txt", "one.run", "-m", "Z(nDCG@10)", "--format", "json").stdout)
    assert "exactness" not in rows[0]
    rows = json.loads(run("bounds", "qrels.txt", "-m", "infAP", "--format", "json").stdout)
    assert rows[0]["exactness"] == {"ideal": "sorted", "expected": "sampled", "worst": "sorted"}
    found = json.loads(run("compare", "qrels.txt", "one.run", "two.run", "-m", "Z(ERR)", "--format", "json").stdout)
    rows = found["tables"]["pairs"]
    assert rows[0]["exactness"] == "sampled"


def test_the_report_says_what_is_not_exact(files: Path) -> None:
    material = Material(cal.Experiment("qrels.txt", ["one.run", "two.run"], "Z(ERR) infAP", warn=False))
    assert dict(parameters(material))["not exact"].startswith(SAMPLED)
    (said, *_) = between_random_and_ideal(material, Detail()).values["inexact"]
    assert said.startswith("expected of infAP: sampled, not exact (seed 42, standard error up to 0.00")


@pytest.mark.parametrize(("oracle", "is_bound"), [("naive", True), ("pareto", False), ("majoritarian", False)])
def test_oracles_of_fusion_that_are_no_bounds_say_so(files: Path, oracle: str, is_bound: bool) -> None:
    done = run("fuse", "one.run", "two.run", "--bound", oracle, "--qrels", "qrels.txt")
    assert ("not an upper bound" in done.stderr) != is_bound
    assert done.stdout.splitlines()[-1].split()[1] == "Q0"
    assert (
        cal.questions.fuse.fusion_bound("qrels.txt", ["one.run", "two.run"], oracle).exactness == "exact"
    )  # few documents
