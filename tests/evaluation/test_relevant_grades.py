"""Stars: the smallest relevant grade, other grades on reading, and the note where all judged documents are relevant."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from fractions import Fraction
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.collection.simulate import simulate
from calipers.conventions import CONVENTIONS
from calipers.measures import AP, V2, nDCG
from calipers.measures.registry import declared
from run_calipers import calipers

# Of two judged documents with few stars, `low` returns both. `high` returns the good ones, below an unjudged document.
STARS = {"q1": {"d1": 1, "d2": 2, "d4": 4, "d5": 5}, "q2": {"e1": 1, "e3": 3, "e5": 5}}
RUNS = {"high": {"q1": ["x", "d5", "d4"], "q2": ["y", "e5"]}, "low": {"q1": ["d1", "d2"], "q2": ["e1", "e3"]}}
AS_GAINS = {1: 0, 2: 1, 3: 2, 4: 3, 5: 4}
NOTE = (
    "all judged documents are relevant: their grades are 1 to 5. If these are stars, say which are relevant: "
    "relevant=4 (--relevant 4), or AP(rel=4) in the name of a measure. For nDCG, read them with other grades, too: "
    'grades= of read_judgments (--rename-grades "1:0 2:1 3:2 4:3 5:4"); the smallest relevant grade is then 3'
)
BINARY = [name for name, profile in CONVENTIONS.items() if profile.labels.highest == 1]


def scores(measures: Any, judgments: Any = STARS, runs: Any = RUNS, **options: Any) -> cal.Scores:
    return cal.evaluate(judgments, runs, measures, warn=False, **options)


def means(found: cal.Scores) -> dict[str, list[float]]:
    return {name: [float(value) for value in found.mean()[name]] for name in found.measures}


def from_four_on(judgments: dict[str, dict[str, float]]) -> dict[str, dict[str, int]]:
    return {query: {each: int(grade >= 4) for each, grade in graded.items()} for query, graded in judgments.items()}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A file of stars, and two runs."""
    with (tmp_path / "stars.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [(query, each, stars) for query, graded in STARS.items() for each, stars in graded.items()]
        csv.writer(file).writerows([("query", "document", "stars"), *rows])
    for name, run in RUNS.items():
        lists = {query: {each: -float(rank) for rank, each in enumerate(found)} for query, found in run.items()}
        cal.write_run(lists, tmp_path / f"{name}.run", name=name)
    return [str(tmp_path / name) for name in ("stars.csv", "high.run", "low.run")]


# -- the smallest relevant grade -----------------------------------------------------------------------------------


def test_stars_turn_the_winner_round() -> None:
    every = {"high": [Fraction(1, 2) + Fraction(2, 3), Fraction(1, 2)], "low": [Fraction(2), Fraction(2)]}
    documents = [4, 3]
    expected = [float(sum(Fraction(s) / n for s, n in zip(of, documents, strict=True)) / 2) for of in every.values()]
    assert means(scores("AP")) == {"AP": pytest.approx(expected)}
    assert expected[0] < expected[1]
    good = [(Fraction(1, 2) + Fraction(2, 3)) / 2, Fraction(1, 2)]
    assert means(scores("AP", relevant=4)) == {"AP(rel=4)": pytest.approx([float(sum(good) / 2), 0.0])}


def test_measures_are_called_as_they_are_scored() -> None:
    named = "map AP AP(rel=2) AP(rel=1) P_5 V2(AP@5) nDCG@10 map@100-l3"
    expected = ("AP(rel=4)", "AP(rel=2)", "AP(rel=1)", "P(rel=4)@5", "V2(AP(rel=4)@5)", "nDCG@10", "map@100-l3")
    assert scores(named, relevant=4).measures == expected
    assert scores([AP, AP(rel=2), V2(AP @ 5), nDCG @ 10], relevant=4).measures == (
        "AP(rel=4)",
        "AP(rel=2)",
        "V2(AP(rel=4)@5)",
        "nDCG@10",
    )
    assert scores("AP", relevant=1).measures == ("AP",)
    assert scores("AP", relevant=2, like="mslr", judgments=from_four_on(STARS)).measures == ("AP(rel=2)",)


GRADED = simulate(topics=6, systems=2, grades=(0.4, 0.2, 0.2, 0.1, 0.1), ties=0.2, unjudged=0.2, seed=3)


@pytest.mark.parametrize("name", [each.example for each in declared() if "rel" in each.defaults])
def test_every_measure_with_a_relevance_level_takes_it_from_the_option(name: str) -> None:
    asked = cal.parse(name)(rel=3)
    found = scores(name, GRADED.qrels, GRADED.runs, relevant=3)
    assert found.measures == (repr(asked),)
    np.testing.assert_array_equal(found.values, scores([asked], GRADED.qrels, GRADED.runs).values)


@pytest.mark.parametrize("tool", BINARY)
def test_a_tool_that_knows_relevant_or_not_is_given_0_and_1(tool: str) -> None:
    measures = " ".join(f"{name}@3" for name in CONVENTIONS[tool].measures or ())
    with pytest.raises(cal.CalipersError, match=r"can express.*the option relevant says from which grade on"):
        scores(measures, like=tool)
    found = scores(measures, like=tool, relevant=4)
    assert all("rel=4" in name or "gain=rel4" in name for name in found.measures)
    np.testing.assert_allclose(
        found.values, scores(measures, from_four_on(STARS), like=tool).values, rtol=1e-12, equal_nan=True
    )


def test_an_audit_has_the_figures_of_tools_that_know_relevant_or_not() -> None:
    exp = cal.Experiment(STARS, RUNS, "nDCG@3 P@3", relevant=4, warn=False)
    plain = cal.Experiment(from_four_on(STARS), RUNS, "nDCG@3 P@3", warn=False)
    names = {"nDCG@3": "nDCG@3", "P(rel=4)@3": "P@3"}
    found, expected = (each.audit(like=["mlflow", "recbole"]) for each in (exp, plain))
    assert not found.unavailable
    for name, plain_name in names.items():
        for tool in ("mlflow", "recbole"):
            np.testing.assert_allclose(found.means[name, tool], expected.means[plain_name, tool], rtol=1e-12)
    assert found.attribution("recbole", "nDCG@3").causes == ("gain",)
    number = f"{float(expected.means['nDCG@3', 'mlflow'][0]):.6f}"
    assert "mlflow" in exp.audit(number=number, run="high").tools_that_match("nDCG@3")
    assert "mlflow" in cal.explain(exp.with_(measures="nDCG@3"), "q1", like="mlflow").summary


def test_an_audit_without_figures_of_other_tools_does_not_say_that_they_agree() -> None:
    found = cal.Experiment(STARS, RUNS, "nDCG@3", warn=False).audit(like=["mlflow", "recbole"])
    assert {tool for _, tool in found.unavailable} == {"mlflow", "recbole"}
    assert found.summary == "No other tool has a figure for nDCG@3 here, so there is nothing to compare."


def test_stored_scores_of_two_relevance_levels_are_two_measures(tmp_path: Path) -> None:
    for level in (4, 5):
        (tmp_path / f"{level}.json").write_text(scores("AP RR", relevant=level).per_query().to_json())
    old, new = (cal.read_scores(tmp_path / f"{level}.json", warn=False) for level in (4, 5))
    assert (old.measures, new.measures) == (("AP(rel=4)", "RR(rel=4)"), ("AP(rel=5)", "RR(rel=5)"))
    both = cal.read_scores([tmp_path / "4.json", tmp_path / "5.json"], warn=False)
    assert both.measures == (*old.measures, *new.measures)


QUESTIONS: dict[str, Callable[[cal.Experiment], Any]] = {
    "compare": lambda exp: exp.compare(warn=False),
    "diff": lambda exp: exp.diff("low", "high"),
    "check": lambda exp: exp.check("high", baseline="low", max_drop=0.5, warn=False),
    "bounds": lambda exp: {name: found.tolist() for name, found in exp.bounds().expected.items()},
    "ranges": lambda exp: exp.ranges(),
    "queries": lambda exp: exp.queries(),
    "metaeval": lambda exp: exp.metaeval(),
    "plan": lambda exp: exp.plan(difference=0.3),
    "judges": lambda exp: exp.judges({"same": STARS}).table("effects"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_takes_the_smallest_relevant_grade(question: str) -> None:
    ask = QUESTIONS[question]
    exp = cal.Experiment(STARS, RUNS, "AP P@3", relevant=4, warn=False)
    named = exp.with_(relevant=None, measures="AP(rel=4) P(rel=4)@3")
    assert str(ask(exp)) == str(ask(named))


def test_numbers_of_relevant_documents_follow() -> None:
    exp = cal.Experiment(STARS, RUNS, "AP", relevant=5, warn=False)
    assert exp.bounds().relevant.tolist() == [1, 1]
    assert cal.bounds(STARS, "AP", relevant=4).relevant.tolist() == [2, 1]
    without = [each.text for each in exp.with_(relevant=6).inspect().findings]
    assert "no document has a grade of 6 or more, so that nothing is relevant" in without
    more = exp.with_(judgments={**STARS, "q3": {"f": 3}}, measures="AP").inspect()
    assert "1 of 3 queries without a relevant document, such as 'q3'" in [each.text for each in more.findings]


COMMANDS = ["evaluate", "compare", "report", "audit", "bounds", "queries", "ranges", "plan", "metaeval"]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_take_the_option(command: str, files: list[str], tmp_path: Path) -> None:
    if command == "report":
        pytest.importorskip("jinja2")
    output = tmp_path / ("page.html" if command == "report" else "out.csv")
    done = calipers(command, *files, "-m", "AP", "--relevant", 4, "-o", output)
    assert done.returncode == 0, done.stderr
    written = output.read_text(encoding="utf-8") if output.is_file() else ""
    assert ("AP(rel=4)" in done.stderr + written) is (command != "queries")


# -- other grades --------------------------------------------------------------------------------------------------


def test_grades_are_renamed_when_judgments_are_read(files: list[str]) -> None:
    """Five documents in exactly reversed order: from 1 on, stars give them more than half of the ideal."""
    reverse = {"q": [f"d{stars}" for stars in AS_GAINS]}

    def reversed_ndcg(gains: list[int]) -> float:
        worst, best = (
            sum(gain / log2(rank + 1) for rank, gain in enumerate(order, 1)) for order in (gains, gains[::-1])
        )
        return worst / best

    stars = cal.Judgments.from_dict({"q": {f"d{stars}": stars for stars in AS_GAINS}})
    assert means(scores("nDCG", stars, reverse)) == {"nDCG": pytest.approx([reversed_ndcg([*AS_GAINS])])}
    renamed = scores("nDCG", stars.with_grades(AS_GAINS), reverse)
    assert means(renamed) == {"nDCG": pytest.approx([reversed_ndcg([*AS_GAINS.values()])])}
    assert (round(reversed_ndcg([*AS_GAINS]), 3), round(reversed_ndcg([*AS_GAINS.values()]), 3)) == (0.722, 0.610)
    expected = {query: {each: AS_GAINS[of] for each, of in graded.items()} for query, graded in STARS.items()}
    assert cal.read_judgments(files[0], grades=AS_GAINS).to_dict() == expected
    assert cal.read_judgments(files[0]).to_dict() == STARS


def test_grades_of_every_source(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    (tmp_path / "q.json").write_text(json.dumps({"q": {"a": 1, "b": 2}}))
    (tmp_path / "q.qrels").write_text("q 0 a 1\nq 0 b 2\n")
    (tmp_path / "q.svm").write_text("1 qid:q 1:0.5 #docid = a\n2 qid:q 1:0.25 #docid = b\n")
    frame = pandas.DataFrame({"query": ["q", "q"], "document": ["a", "b"], "grade": [1, 2]})
    for source in (tmp_path / "q.json", tmp_path / "q.qrels", tmp_path / "q.svm", frame):
        assert cal.read_judgments(source, grades={1: 0, 2: 1.5}).to_dict() == {"q": {"a": 0.0, "b": 1.5}}


def test_several_grades_of_a_document_are_combined_before_they_are_renamed(tmp_path: Path) -> None:
    (tmp_path / "q.qrels").write_text("q 0 a 1\nq 0 a 5\nq 0 b 2\n")
    found = cal.read_judgments(tmp_path / "q.qrels", combine="max", grades={1: 0, 2: 1, 5: 4})
    assert found.to_dict() == {"q": {"a": 4.0, "b": 1.0}}


@pytest.mark.parametrize(
    ("grades", "message"),
    [
        ({1: 0, 2: 1}, r"stars.csv: grade 3 has no new grade: name every grade of the judgments, .*\(3:3\)"),
        ([0, 1], "grades: expected a table of a new grade for each grade"),
        ({1: float("nan")}, "grade nan is not a number"),
    ],
)
def test_tables_of_grades_are_checked(grades: Any, message: str, files: list[str]) -> None:
    with pytest.raises(cal.CalipersError, match=message):
        cal.read_judgments(files[0], grades=grades)


def test_only_judgments_with_one_grade_per_document_are_renamed(tmp_path: Path) -> None:
    (tmp_path / "d.qrels").write_text("q 1 a 1\nq 2 a 2\n")
    with pytest.raises(cal.CalipersError, match="grades are renamed in judgments with one grade per document"):
        cal.read_judgments(tmp_path / "d.qrels", format="subtopics", grades=AS_GAINS)


@pytest.mark.parametrize("text", ["1:0 2:1 3:2 4:3 5:4", "1:0,2:1,3:2,4:3,5:4"])
def test_the_command_line_renames_grades(text: str, files: list[str], tmp_path: Path) -> None:
    output = tmp_path / "out.qrels"
    assert calipers("convert", files[0], output, "--as", "judgments", "--rename-grades", text).returncode == 0
    assert cal.read_judgments(output).to_dict() == cal.read_judgments(files[0], grades=AS_GAINS).to_dict()


@pytest.mark.parametrize("text", ["", "1", "1:0 2", "1:0 1:2", "a:b"])
def test_wrong_tables_on_the_command_line_are_refused(text: str, files: list[str]) -> None:
    done = calipers("evaluate", *files, "--rename-grades", text)
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected one new grade for each grade, as 1:0 2:1 3:2" in done.stderr


# -- the note ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judgments", "measures", "options", "noted"),
    [
        (STARS, "AP", {}, True),
        (STARS, "nDCG@10", {}, True),
        (STARS, "AP(rel=4) nDCG@10", {}, True),
        (STARS, "AP(rel=4) V2(RR(rel=2))", {}, False),
        (STARS, "nDCG(gain={1:0,2:1,3:2,4:3,5:4})@10", {}, False),
        (STARS, "AP nDCG@10", {"relevant": 2}, False),
        (STARS, "AP", {"relevant": 0.5}, True),
        ({"q1": {"d1": 1, "d5": 2}}, "AP", {}, False),  # two grades, all of them relevant: nothing was judged below
        ({"q1": {"d1": 0, "d2": 1, "d5": 2}}, "AP", {}, False),
        (cal.Judgments.from_dict(STARS).with_grades(AS_GAINS), "AP nDCG@10", {}, False),
    ],
    ids=str,
)
def test_stars_are_noted(judgments: Any, measures: str, options: dict[str, Any], noted: bool) -> None:
    assert (NOTE in scores(measures, judgments, **options).notes) is noted


def test_the_advice_keeps_the_distances_of_grades() -> None:
    """No document has 3 stars, and still 4 are one less than 5 and two more than 2."""
    notes = scores("nDCG", {"q1": {"d1": 1, "d2": 2, "d4": 4, "d5": 5}}).notes
    assert '(--rename-grades "1:0 2:1 4:3 5:4"); the smallest relevant grade is then 3' in notes[0]


def test_inspect_and_report_say_it_as_well(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    exp = cal.Experiment(STARS, RUNS, "AP", warn=False)
    assert [each.text for each in exp.inspect().findings if each.level == "warning"] == [NOTE]
    assert exp.inspect().table("grades")["grade"] == [1, 2, 3, 4, 5]
    for changed, noted in ((exp, True), (exp.with_(relevant=4), False)):
        changed.report(tmp_path / "page.html", sections=["quality", "method"], warn=False)
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert ("all judged documents are relevant: their grades are 1 to 5" in page) is noted
        assert ("<dt>relevant documents of a query</dt><dd>1 to 2, median 1.5</dd>" in page) is not noted
