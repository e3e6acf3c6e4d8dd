"""Ranges over what is unjudged, against brute force over all gradings in exact fractions."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
import oracle
from calipers.cli.commands import root
from calipers.collection.runs import RememberedRun
from calipers.collection.simulate import simulate
from calipers.measures.registry import examples
from calipers.questions.ranges.extreme_grades import top_unknown
from calipers.questions.ranges.open_lists import OpenLists
from calipers.questions.ranges.score_ranges import TIES
from conftest import valid_spec

Number = Fraction | float
CLOSE = 1e-12
SEEDS = range(400 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 12)


@dataclass
class Case:
    """Two systems and a query: ties, unjudged documents, lists that overlap partly."""

    judged: dict[str, int]
    runs: dict[str, dict[str, int]]
    unseen: int
    top: int  # the largest grade that is possible
    empty: Fraction

    def unknown(self, *systems: str) -> list[str]:
        found = {d for system in systems for d in self.runs[system]} - set(self.judged)
        return [*sorted(found), *(f"unseen-{i}" for i in range(self.unseen))]

    def gradings(self, *systems: str) -> Iterator[dict[str, int]]:
        unknown = self.unknown(*systems)
        for grades in product(range(self.top + 1), repeat=len(unknown)):
            yield dict(zip(unknown, grades, strict=True))

    def score(self, measure: oracle.Measure, system: str, grading: dict[str, int]) -> Number:
        known = {**self.judged, **grading}
        by_score: dict[int, list[oracle.Entry]] = {}
        for document, score in self.runs[system].items():
            by_score.setdefault(score, []).append(known.get(document))
        groups = [by_score[score] for score in sorted(by_score, reverse=True)]
        pool = list(known.values())
        if all(measure(order, pool) is None for order in oracle.tie_orders(groups)):
            found_nothing = getattr(measure, "func", None) is oracle.sn_dcg and max(pool) > 0
            return Fraction(0) if found_nothing else self.empty
        value = oracle.average(measure, groups, pool)
        assert value is not None
        return value


def drawn(seed: int, most: int = 4) -> Case:
    draw = random.Random(seed)
    documents = [f"d{i}" for i in range(8)]
    judged = {d: draw.choice([-1, 0, 0, 1, 2]) for d in draw.sample(documents, draw.randint(1, 5))}
    if draw.random() < 0.25:
        judged = dict.fromkeys(judged, 0)
    unseen = draw.choice([0, 0, 1, 2])
    while True:
        levels = draw.choice([2, 4, 20])
        runs = {
            name: {d: draw.randint(1, levels) for d in draw.sample(documents, draw.randint(1, 6))}
            for name in ("a", "b")
        }
        case = Case(judged, runs, unseen, draw.choice([1, 2, 2]), Fraction(draw.choice([0, 0, 1]), 2))
        if len(case.unknown("a", "b")) <= most:
            return case
        judged = {**judged, draw.choice(documents): draw.choice([0, 1])}


TABLE = {0: 0, 1: 3, 2: 1}
TOP = 2  # what ERR and GAP are told is the largest grade

# As the library has them, and as the oracle does.
MEASURES: dict[str, oracle.Measure] = {
    "nDCG(discount=zipf)@3": partial(oracle.ndcg, k=3, discount="zipf"),
    "nDCG@2": partial(oracle.ndcg, k=2),
    "nDCG(gain=exp)": partial(oracle.ndcg, gain="exp"),
    "nDCG(gain={0:0,1:3,2:1},discount=zipf)@2": partial(oracle.ndcg, k=2, gain=TABLE, discount="zipf"),
    "nDCG(gain={0:1,1:2,2:4},discount=zipf)": partial(oracle.ndcg, gain={0: 1, 1: 2, 2: 4}, discount="zipf"),
    "AP(rel=0)": partial(oracle.average_precision, rel=0),
    "DCG(discount=zipf)@3": partial(oracle.dcg, k=3, discount="zipf"),
    "SDCG(discount=zipf)@3": partial(oracle.sdcg, k=3, discount="zipf"),
    "P@2": partial(oracle.precision, k=2),
    "P(rel=2)@3": partial(oracle.precision, k=3, rel=2),
    "Recall@2": partial(oracle.recall, k=2),
    "Recall": oracle.recall,
    "RBP(p=0.5)": partial(oracle.rbp, p=Fraction(1, 2)),
    "RBP(p=0.5,gain=exp,max_grade=2)@3": partial(oracle.rbp, p=Fraction(1, 2), k=3, gain="exp", max_grade=TOP),
    "RR": oracle.reciprocal_rank,
    "RR@2": partial(oracle.reciprocal_rank, k=2),
    "ERR(max_grade=2)@3": partial(oracle.err, k=3, max_grade=TOP),
    "HIT@2": partial(oracle.hit, k=2),
    "Success@2": partial(oracle.success, k=2),
    "SP@3": partial(oracle.sum_precision, k=3),
    "AP": oracle.average_precision,
    "AP@2": partial(oracle.average_precision, k=2),
    "AP(rel=2)@3": partial(oracle.average_precision, k=3, rel=2),
    "AP(norm=k)@2": partial(oracle.average_precision, k=2, norm="k"),
    "AP(norm=min)@2": partial(oracle.average_precision, k=2, norm="min"),
    "GAP(t=[0.25,0.75])@3": partial(oracle.gap, k=3, t=[Fraction(1, 4), Fraction(3, 4)]),
    "GAP(t=[0.5,0.5])": partial(oracle.gap, t=[Fraction(1, 2), Fraction(1, 2)]),
    "SetF": oracle.set_f,
    "SetR": oracle.set_recall,
    "F@2": partial(oracle.f_measure, k=2),
    "F(beta=2,rel=2)@3": partial(oracle.f_measure, k=3, beta=2, rel=2),
    "NCG@2": partial(oracle.ndcg, k=2, discount="none"),
    "Hits@2": partial(oracle.hits, k=2),
    **{
        f"{what}(NERR8(gain=linear,max_grade=2)@3)": partial(
            oracle.reading,
            what=what,
            goes_on=lambda i, g, _: (1 - g) if i < 3 else 0,
            depth=3,
            gain="linear",
            max_grade=TOP,
        )
        for what in ("EU", "ETU", "ED")
    },
    "ED(INST(T=2),depth=4)": partial(
        oracle.reading, what="ED", goes_on=lambda i, g, gained: ((i + 3 - gained) / (i + 4 - gained)) ** 2, depth=4
    ),
    "BPM(T=2)@3": partial(oracle.reading, what="EU", goes_on=lambda i, g, gained: int(gained < 2 and i < 3), depth=4),
    "EU(RBP(p=0.5),depth=4)": partial(oracle.reading, what="EU", goes_on=lambda *_: Fraction(1, 2), depth=4),
    "RPrec": oracle.r_precision,
    "RPrec@2": partial(oracle.r_precision, k=2),
    "SN-DCG@2": partial(oracle.sn_dcg, k=2),
}
NOT_CLOSED = ("SN-DCG", "GAP", "SetF", "SetR", "EU(NERR", "ETU(NERR", "ED(", "BPM", "RPrec")
EXACT_PAIRS = ("nDCG", "DCG", "SDCG", "P", "Recall", "RBP", "F", "NCG", "Hits", "EU(RBP")


def ranges(case: Case, **options: Any) -> cal.questions.ranges.Ranges:
    given = cal.Experiment(
        {"q": case.judged},
        {name: {"q": run} for name, run in case.runs.items()},
        list(MEASURES),
        empty=float(case.empty),
        **options,
    )
    return given.ranges(unseen=case.unseen, max_grade=case.top)


@pytest.mark.parametrize("seed", SEEDS)
def test_ranges_are_those_of_all_gradings(seed: int) -> None:
    case = drawn(seed)
    found = ranges(case)
    for name, measure in MEASURES.items():
        tried = name.startswith(NOT_CLOSED) and case.unknown("a", "b")
        assert found.exactness[name] == ("enumerated" if tried else "exact")
        for s, system in enumerate(found.systems):
            every = [case.score(measure, system, grading) for grading in case.gradings(system)]
            assert found.low[name][s, 0] == pytest.approx(float(min(every)), abs=CLOSE), (name, system, case)
            assert found.high[name][s, 0] == pytest.approx(float(max(every)), abs=CLOSE), (name, system, case)


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_pairs_are_those_of_all_gradings(seed: int) -> None:
    case = drawn(seed)
    found = ranges(case)
    gradings = list(case.gradings("a", "b"))
    for name, measure in MEASURES.items():
        pair = found.pair_ranges(name)
        every = [case.score(measure, "a", g) - case.score(measure, "b", g) for g in gradings]
        low, high = float(min(every)), float(max(every))
        if name.startswith(EXACT_PAIRS):
            assert pair.exactness == "exact"
            assert pair.low[0, 0] == pytest.approx(low, abs=CLOSE), (name, case)
            assert pair.high[0, 0] == pytest.approx(high, abs=CLOSE), (name, case)
        else:
            assert pair.exactness == "outer"
            assert pair.low[0, 0] <= low + CLOSE, (name, case)
            assert pair.high[0, 0] >= high - CLOSE, (name, case)
        decided = pair.low[0, 0] > CLOSE or pair.high[0, 0] < -CLOSE
        assert found.pairs(name).rows[0][5:] == ("decided" if decided else "open", pair.exactness)


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_certificates_score_to_the_end_to_the_last_digit(seed: int) -> None:
    cases = {f"q{i}": drawn(100 * seed + i) for i in range(4)}
    judged = {query: case.judged for query, case in cases.items()}
    runs = {name: {query: case.runs[name] for query, case in cases.items()} for name in ("a", "b")}
    empty = float(cases["q0"].empty)
    found = cal.Experiment(judged, runs, list(MEASURES), empty=empty).ranges(unseen=seed % 3, max_grade=2)
    for name in MEASURES:
        for end, ends in (("low", found.low), ("high", found.high)):
            for s, system in enumerate(found.systems):
                grading = found.certificate(name, system, end)
                whole = {query: {**judged[query], **grading.get(query, {})} for query in judged}
                again = cal.evaluate(whole, {system: runs[system]}, [name], empty=empty, warn=False)
                assert (again[name][0] == ends[name][s]).all(), (name, end, again[name][0] - ends[name][s])
                mean = found.mean().rows[s * len(MEASURES) + list(MEASURES).index(name)]
                assert again.mean().rows[0][1] == mean[2 if end == "low" else 4]


# -- every declared measure ------------------------------------------------------------------------------

# They measure the judging itself.
REFUSED = ("Judged", "RBP-residual", "unj")


@pytest.mark.parametrize("name", [*examples(), "nDCG(discount=[0.2,1,0.5])", "nDCG(short=n)@4", "nDCG(ideal=list)@2"])
def test_every_measure_has_its_range_or_says_why(name: str) -> None:
    """Against `evaluate` under all gradings: the small case has 27 of them for one list and 9 for the other."""
    judged = {"q": {"a": 2, "b": 0, "c": 1, "d": 0}, "none": {"e": 0, "f": 0}}
    runs = {
        "x": {"q": {"u": 5, "a": 4, "v": 4, "b": 3, "c": 2}, "none": {"e": 2, "w": 1}},
        "y": {"q": {"c": 3, "u": 2}, "none": {"f": 1, "e": 0}},
    }
    if name.startswith(REFUSED):
        with pytest.raises(cal.CalipersError, match="it measures how much is judged"):
            cal.Experiment(judged, runs, name).ranges()
        return
    found = cal.Experiment(judged, runs, name).ranges(unseen=1)
    for s, system in enumerate(found.systems):
        for q, query in enumerate(found.queries):
            unknown = [d for d in runs[system][query] if d not in judged[query]] + ["unseen"]
            every = [
                cal.evaluate(
                    {**judged, query: {**judged[query], **dict(zip(unknown, grades, strict=True))}},
                    {query: runs[system][query]},
                    name,
                    empty=0.0,
                    warn=False,
                )[name][0, q]
                for grades in product((0, 1, 2), repeat=len(unknown))
            ]
            assert found.low[name][s, q] == pytest.approx(min(every), abs=CLOSE)
            assert found.high[name][s, q] == pytest.approx(max(every), abs=CLOSE)


# -- what the mathematics warns of --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nDCG@2", "P@1", "DCG(gain=exp)@3", "SDCG@2", "nDCG(gain={0:1,1:2,2:4})@3"])
def test_unknown_documents_far_below_the_cutoff_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges from the documents near the top are those from all 40."""
    random = np.random.default_rng(3)
    names = [f"d{i:02d}" for i in range(40)]
    judged = {f"q{q}": {d: float(random.integers(3)) for d in random.choice(names, q)} for q in range(1, 6)}
    runs = {
        system: {q: {d: float(random.integers(9)) for d in random.choice(names, 30, replace=False)} for q in judged}
        for system in "ab"
    }
    assert top_unknown(cal.parse(name).form) is not None
    found = [cal.Experiment(judged, runs, name).ranges(unseen=unseen) for unseen in (0, 1, 9)]
    monkeypatch.setattr("calipers.questions.ranges.open_lists.top_unknown", lambda form: None)
    for few, unseen in zip(found, (0, 1, 9), strict=True):
        whole = cal.Experiment(judged, runs, name).ranges(unseen=unseen)
        assert np.array_equal(few.low[few.measures[0]], whole.low[whole.measures[0]])
        assert np.array_equal(few.high[few.measures[0]], whole.high[whole.measures[0]])


def test_grades_in_the_middle_matter() -> None:
    """[0, ?, 1]: nDCG@3 is largest where the unjudged document has grade 1, not the largest."""
    found = cal.Experiment({"q": {"a": 0, "c": 1}}, {"q": {"a": 3, "x": 2, "c": 1}}, "nDCG@3").ranges(max_grade=3)
    dcg = 1 / np.log2(3) + 1 / np.log2(4)
    assert found.high["nDCG@3"][0, 0] == pytest.approx(dcg / (1 + 1 / np.log2(3)), abs=CLOSE)
    assert found.certificate("nDCG@3", "run", "high") == {"q": {"x": 1.0}}


def test_recall_is_largest_with_no_further_relevant_document() -> None:
    """Relevant at rank 1, two unjudged ones tied at 2 and 3, cutoff 2."""
    found = cal.Experiment({"q": {"a": 1}}, {"q": {"a": 2, "x": 1, "y": 1}}, "Recall@2").ranges()
    assert (found.low["Recall@2"][0, 0], found.high["Recall@2"][0, 0]) == (2 / 3, 1.0)


def test_worthless_is_no_lower_bound_of_ndcg() -> None:
    found = cal.Experiment({"q": {"a": 1}}, {"q": {"a": 3, "b": 2, "x": 1}}, "nDCG@2").ranges(max_grade=2)
    assert found.low["nDCG@2"][0, 0] < found.score["nDCG@2"][0, 0]


def test_dinkelbach_takes_a_few_rounds() -> None:
    made = simulate(topics=20, systems=12, retrieved=60, ties=0.2, unjudged=0.5, grades=(0.5, 0.2, 0.2, 0.1), seed=3)
    found = cal.Experiment(made.qrels, made.runs, ["nDCG@10", "nDCG(gain=exp)"]).ranges()
    assert found.unknown.max() > 20
    for name in found.measures:
        assert 1 < found.pair_ranges(name).rounds <= 6


# -- collections ------------------------------------------------------------------------------------------


def test_all_judged_is_a_point_and_queries_without_judgments_are_left_out() -> None:
    runs = {"a": {"q": {"d": 1}, "other": {"x": 1}}, "b": {"other": {"x": 1}}}
    found = cal.Experiment({"q": {"d": 1}}, runs, ["nDCG@10", "AP"]).ranges()
    assert found.queries == ("q",)
    for name in found.measures:
        assert found.low[name].tolist() == found.score[name].tolist() == found.high[name].tolist() == [[1.0], [0.0]]
    assert found.pairs("AP").rows == (("a", "b", 1.0, 1.0, 1.0, "decided", "outer"),)


def test_labels_and_scores_have_no_unjudged_documents() -> None:
    judgments = cal.Judgments.from_arrays([0, 2, 1], group=[2, 1])
    found = cal.Experiment(judgments, np.array([0.2, 0.1, 0.3]), "nDCG@10").ranges()
    assert (
        found.low["nDCG@10"].tolist()
        == cal.evaluate(judgments, np.array([0.2, 0.1, 0.3]), "nDCG@10")["nDCG@10"].tolist()
    )
    assert (found.low["nDCG@10"] == found.high["nDCG@10"]).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"empty": "skip"}, "empty=skip has no ranges"),
        ({"missing": "skip"}, "missing=skip has no ranges"),
        ({"condensed": True}, "lists are condensed"),
        ({"measures": "nDCG(gain={0:0,1:-1,2:1})"}, "a gain is negative"),
        ({"ties": "best"}, "ties=best has no ranges"),
        ({"unseen": -1}, "unseen -1 is not a whole number"),
        ({"max_grade": -2}, "max_grade=-2"),
        ({"measures": "ERR-IA@10"}, "subtopic|diversity"),
        ({"measures": "V2(nDCG@10)", "unseen": 30}, "more than 20,000 possible gradings"),
        ({"measures": "bpref", "unseen": 30}, "more than 20,000 possible gradings"),
        ({"measures": "Q", "unseen": 30}, "more than 20,000 possible gradings"),
        ({"measures": "ERR@10", "max_grade": 3}, r"depend on the largest grade .* 2, .* may get 3.*ERR\(max_grade=3\)"),
    ],
)
def test_what_has_no_ranges_is_refused(options: dict[str, Any], said: str) -> None:
    of_question = {name: options.pop(name) for name in ("unseen", "max_grade") if name in options}
    arguments = {"measures": "nDCG@10", **options}
    with pytest.raises(cal.CalipersError, match=said):
        cal.Experiment({"q": {"a": 2, "b": 1}}, {"q": {"a": 2, "x": 1}}, **arguments).ranges(**of_question)


def test_normalised_measures_without_ranges_are_left_out() -> None:
    qrels, run = {"q": {"a": 2, "b": 0}}, {"q": {"a": 2, "x": 1}}
    exp = cal.Experiment(qrels, run, "V2(nDCG@10) AP V1(AP)", warn=False)
    found, plain = (each.ranges(unseen=30) for each in (exp, exp.with_(measures="AP")))
    assert found.mean().rows == plain.mean().rows
    (note,) = found.notes[len(plain.notes) :]
    assert note.startswith("V2(nDCG@10), V1(AP) are left out, each for this reason: its range has no closed form")
    assert exp.ranges().measures == exp.scores.measures  # all gradings of one document can be tried
    with pytest.warns(cal.CalipersWarning) as caught:
        cal.Experiment(qrels, run, "V2(nDCG@10) AP V1(AP)").ranges(unseen=30)
    assert [str(each.message) for each in caught] == ["; ".join(found.notes)]
    with pytest.raises(cal.CalipersError, match="no measure has ranges: its range has no closed form"):
        exp.with_(measures="V2(nDCG@10) V1(AP)").ranges(unseen=30)


def test_a_document_twice_is_refused(tmp_path: Any) -> None:
    (tmp_path / "run.txt").write_text("q Q0 x 1 2.0 r\nq Q0 y 2 1.5 r\nq Q0 x 3 1.0 r\n")
    with pytest.raises(cal.CalipersError, match=r"run\.txt:3: document 'x' appears twice for query 'q'"):
        cal.Experiment({"q": {"a": 1}}, tmp_path / "run.txt", "AP").ranges()


def test_ties_by_docid_and_depth_are_as_in_evaluate() -> None:
    made = simulate(topics=5, systems=3, retrieved=30, ties=0.5, unjudged=0.4, seed=7)
    for options in (*({"ties": ties} for ties in TIES), *({"ties": ties, "depth": 7} for ties in TIES)):
        found = cal.Experiment(made.qrels, made.runs, ["nDCG@10", "AP", "RR", "P@5"], **options).ranges()
        scores = cal.evaluate(made.qrels, made.runs, ["nDCG@10", "AP", "RR", "P@5"], **options)
        for name in found.measures:
            np.testing.assert_allclose(found.score[name], scores[name], atol=CLOSE)
            assert (found.low[name] <= found.score[name] + CLOSE).all()
            assert (found.high[name] >= found.score[name] - CLOSE).all()
            system = found.systems[0]
            grading = found.certificate(name, system, "high")
            whole = {query: {**graded, **grading.get(query, {})} for query, graded in made.qrels.items()}
            again = cal.evaluate(whole, {system: made.runs[system]}, name, warn=False, **options)
            assert (again[name][0] == found.high[name][0]).all()


# -- the command ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", TIES)
def test_a_file_whose_judged_documents_are_known_gives_the_same(tmp_path: Any, ties: str) -> None:
    """Lists that tie, lists of very different lengths, queries in any order or without judgments."""
    chance = random.Random(7)
    names = [f"d{i:02}" for i in range(30)]
    judged = {f"q{q}": {d: chance.randrange(3) for d in chance.sample(names, 12)} for q in range(6)}
    paths = []
    for system in range(6):
        lists = {
            f"q{q}": {
                d: chance.randrange(4 if system % 2 else 40) for d in chance.sample(names, chance.choice((3, 9, 25)))
            }
            for q in chance.sample(range(8), 7)
        }
        lines = [f"{q} Q0 {d} 1 {score} tag" for q, found in lists.items() for d, score in found.items()]
        if system == 4:
            chance.shuffle(lines)
        path = tmp_path / f"{system}.run"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        paths.append(str(path))
    measures = ["nDCG@4", "P@3", "nDCG@20", "AP"]
    known = cal.Judgments.from_dict(judged)
    fresh = cal.Experiment(known, paths, measures, ties=ties, warn=False).ranges()
    remembered = [RememberedRun(run) for run in cal.read_runs(paths)]
    again = cal.Experiment(known, remembered, measures, ties=ties, warn=False).ranges()
    assert (fresh.unknown == again.unknown).all()
    for name in measures:
        for one, other in ((fresh.low, again.low), (fresh.score, again.score), (fresh.high, again.high)):
            assert (one[name] == other[name]).all()
        assert fresh.pairs(name) == again.pairs(name)
    assert fresh.certificate("nDCG@4", "4") == again.certificate("nDCG@4", "4")


@pytest.fixture
def files(tmp_path: Any) -> list[str]:
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 0\np 0 c 2\n")
    (tmp_path / "one.run").write_text("q Q0 x 1 3 one\nq Q0 a 2 2 one\np Q0 c 1 1 one\n")
    (tmp_path / "two.run").write_text("q Q0 b 1 3 two\nq Q0 y 2 2 two\np Q0 z 1 1 two\n")
    return [str(tmp_path / name) for name in ("qrels.txt", "one.run", "two.run")]


@pytest.mark.parametrize(
    ("options", "header", "rows"),
    [
        ([], "system,measure,low,score,high", 4),
        (["-q"], "system,query,measure,low,score,high", 8),
        (["--pairs"], "measure,system_a,system_b,difference,low,high,verdict,exactness", 2),
        (["--pairs", "-q"], "measure,system_a,system_b,query,difference,low,high,verdict,exactness", 4),
    ],
)
def test_the_columns_of_the_command(files: list[str], options: list[str], header: str, rows: int) -> None:
    done = CliRunner().invoke(root, ["ranges", *files, "-m", "nDCG@10 AP", "--format", "csv", *options])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == header
    assert len(lines) == 1 + rows


def test_evaluate_says_how_far_the_mean_could_move(files: list[str]) -> None:
    """In the words of the library and of both ways of the command, and as far as the range goes."""
    found = cal.Experiment(files[0], files[1:], "P@2").ranges()
    room = (found.high["P@2"] - found.low["P@2"]).mean(axis=1)
    assert room.tolist() == [0.25, 0.5]
    sentence = "judging all unjudged documents could raise the mean P@2 by up to 0.500 (two), by 0.375 on average"
    assert any(note.startswith(sentence) for note in cal.evaluate(files[0], files[1:], "AP P@2", warn=False).notes)
    for measures in ("AP P@2", "AP P@2 ERR"):
        done = CliRunner().invoke(root, ["evaluate", *files, "-m", measures])
        assert sentence in done.stderr
    silent = cal.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, "P@1 RBP")
    assert silent.notes == ()


def test_significant_differences_that_could_still_turn() -> None:
    """Counted from the tables that users see: significant with unjudged as 0, and open."""
    pytest.importorskip("pandas")
    made = simulate(topics=20, systems=6, retrieved=30, seed=5)
    drawn = random.Random(5)
    known = {q: {d: g for d, g in pool.items() if drawn.random() < 0.7} for q, pool in made.qrels.items()}
    found = cal.Experiment(known, made.runs, ["P@10"]).ranges()
    compared = cal.compare(cal.evaluate(known, made.runs, ["P@10"], warn=False), test="t", correction="holm")
    rows = compared.to_pandas().itertuples()
    sure = {frozenset((row.system_a, row.system_b)) for row in rows if row.p_adjusted < 0.05}
    still_open = {frozenset(row[:2]) for row in found.pairs("P@10").rows if row[5] == "open"}
    assert 0 < len(sure & still_open) < len(sure)
    assert found.significant("P@10") == (len(sure), len(sure & still_open))


@pytest.mark.parametrize("systems", [4, 30], ids=["graph", "matrix"])
def test_charts_show_what_the_tables_say(systems: int) -> None:
    made = simulate(topics=5, systems=systems, retrieved=20, unjudged=0.3, seed=6)
    found = cal.Experiment(made.qrels, made.runs, ["P@10"]).ranges()
    pairs = found.pairs("P@10").rows
    one = str(pairs[0][0]), str(pairs[0][1])
    drawn = [
        json.dumps(valid_spec(chart))
        for chart in (
            cal.plot.score_ranges(found),
            cal.plot.difference_ranges(found, [one]),
            cal.plot.decided_order(found),
        )
    ]
    assert all(json.dumps(name) in text for name in made.runs for text in (drawn[0], drawn[2]))
    assert json.dumps(pairs[0][3]) in drawn[1]
    assert json.dumps(pairs[0][4]) in drawn[1]


@pytest.mark.parametrize("options", [{}, {"depth": 7}, {"depth": 15, "ties": "docid"}], ids=str)
def test_what_two_lists_share_is_the_same_counted_from_files_or_from_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    made = simulate(topics=8, systems=5, retrieved=30, ties=0.3, missing=0.1, unjudged=0.5, seed=3)
    qrels, runs = made.write(tmp_path)
    counted = []

    def shared(lists: OpenLists, query: int, systems: Any) -> Any:
        found = whole(lists, query, systems)
        counted.append((found, shared_by_sets(lists, query, systems)))
        return found

    whole = OpenLists.shared
    monkeypatch.setattr(OpenLists, "shared", shared)
    cal.Experiment(qrels, runs, "nDCG", **options).ranges().pairs()
    assert len(counted) >= 8
    for ours, theirs in counted:
        np.testing.assert_array_equal(ours, theirs)


def shared_by_sets(lists: OpenLists, query: int, systems: Any) -> Any:
    """[system, system]: the unjudged documents of both, as sets of their codes."""
    places = [(int(lists.ranks.offsets[at]), int(lists.count.ravel()[at])) for at in systems * lists.shape[1] + query]
    rows = np.concatenate([np.arange(start, start + count) for start, count in places])
    codes = iter(lists.codes(rows)[0].tolist())
    sets = [{next(codes) for _ in range(count)} for _, count in places]
    return [[len(one & other) for other in sets] for one in sets]
