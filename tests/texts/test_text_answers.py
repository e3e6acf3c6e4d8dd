"""Answers: exact match and token F1, nuggets, citations, and the rankings that they were made from."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings, strategies as st

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError, CheckFailed
from calipers.statistics.limits import lower_limit, upper_limit
from calipers.texts import (
    AnswerJudgments,
    Citation,
    Document,
    Evaluation,
    Nugget,
    Statement,
    TextCollection,
    as_collection,
    citation_support,
    exact_match,
    nugget_recall,
    retrieval_scores,
    token_f1,
)
from example_files import _summaries

TEXT = st.lists(
    st.sampled_from(["The", "a", "an", "cat", "Cat's", "CAT", "mat,", "on-the", "1,000", "été", "...", "theory", " "]),
    max_size=5,
).map(" ".join)


def by_the_rules(candidate: str, reference: str) -> tuple[bool, Fraction]:
    """As the paper's appendix and script state them: lower case, punctuation, articles, blanks; a bag of words."""
    bags = []
    for text in (candidate, reference):
        plain = "".join(c for c in text.lower() if c not in string.punctuation)
        bags.append([word for word in re.split(r"\s+", plain) if word and word not in ("a", "an", "the")])
    one, other = bags
    if not one or not other:
        return one == other, Fraction(one == other)
    common = sum((Counter(one) & Counter(other)).values())
    return one == other, Fraction(2 * common, len(one) + len(other))


@given(TEXT, st.lists(TEXT, min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
def test_squads_rules(candidate: str, references: list[str]) -> None:
    every = [by_the_rules(candidate, each) for each in references]
    assert exact_match(candidate, references) == any(alike for alike, _ in every)
    precision, recall, f1 = token_f1(candidate, references)
    assert f1 == pytest.approx(float(max(share for _, share in every)))
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall) if precision + recall else 0.0)


NUGGETS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0, 0.25]), st.booleans(), st.sampled_from([None, 0.0, 0.25, 3.0])),
    max_size=5,
)


@given(NUGGETS)
@settings(max_examples=100, deadline=None)
def test_nugget_recall(drawn: list[tuple[float, bool, float | None]]) -> None:
    nuggets = [Nugget("n", support, "vital" if vital else "okay", weight) for support, vital, weight in drawn]
    found = nugget_recall(nuggets)

    def share(chosen: list[Nugget], strict: bool, weighted: bool = False) -> Fraction | None:
        top = total = Fraction(0)
        for each in chosen:
            usual = Fraction(1) if each.importance == "vital" else Fraction(1, 2)
            weight = (usual if each.weight is None else Fraction(each.weight)) if weighted else Fraction(1)
            top += weight * (Fraction(each.support) if not strict else Fraction(each.support == 1))
            total += weight
        return top / total if total else None if nuggets else Fraction(0)

    vital = [each for each in nuggets if each.importance == "vital"]
    expected = {
        "all": share(nuggets, False),
        "strict": share(nuggets, True),
        "vital": share(vital, False),
        "vital_strict": share(vital, True),
        "weighted": share(nuggets, False, True),
        "weighted_strict": share(nuggets, True, True),
    }
    for part, value in expected.items():
        assert found[part] == (pytest.approx(float(value)) if value is not None else pytest.approx(np.nan, nan_ok=True))


def test_citations() -> None:
    full, partial, none = Citation("d1", 1.0), Citation("d2", 0.5), Citation("d3", 0.0)
    statements = [
        Statement("by the best", (partial, full)),
        Statement("together", (partial, none), support=1.0),
        Statement("uncited"),
        Statement("needs none", needs_citation=False),
    ]
    precision, recall = (0.5 + 1 + 0.5 + 0) / 4, (1 + 1 + 0) / 3
    assert citation_support(statements) == pytest.approx(
        (precision, recall, 2 * precision * recall / (precision + recall))
    )
    assert citation_support(statements, strict=True)[:2] == pytest.approx((1 / 4, 2 / 3))
    assert citation_support([Statement("s", (none,))]) == (0, 0, 0)
    assert citation_support([]) == citation_support([Statement("s")]) == (0, 0, 0)
    assert np.isnan(citation_support([Statement("s", needs_citation=False)])).all()
    with pytest.raises(CalipersError, match="it is not known whether the cited document 'd4'"):
        citation_support([Statement("s", (Citation("d4"),))])


def answers() -> TextCollection:
    documents = [
        Document("q1", ("Ulm",), relevant={"d1": 2.0, "d2": 1.0, "d8": 0.0}),
        Document("q2", ("1879",), relevant={"d3": 1.0, "d4": 0.0}),
        Document("q3", ("physics",)),
    ]
    texts = {
        (q, s): text
        for s, row in (("x", ("in Ulm", "1879", "Art")), ("y", ("Ulm", "1880", "Physics")))
        for q, text in zip(("q1", "q2", "q3"), row, strict=True)
    }
    judged = {
        ("q1", "x"): AnswerJudgments(retrieved=("d2", "d9", "d1"), nuggets=(Nugget("n", 0.5, "vital"),)),
        ("q2", "x"): AnswerJudgments(retrieved=()),
        ("q1", "y"): AnswerJudgments(retrieved=("d1", "d2")),
        ("q3", "y"): AnswerJudgments(retrieved=("d1",)),
    }
    return TextCollection.of(documents, texts, {}, "answers", judged)


def test_rankings_are_joined_by_question() -> None:
    found = retrieval_scores(answers(), ["nDCG@10", "V2(AP)"])
    qrels = {"q1": {"d1": 2, "d2": 1, "d8": 0}, "q2": {"d3": 1, "d4": 0}}
    runs = {"x": {"q1": {"d2": 3, "d9": 2, "d1": 1}, "q2": {}}, "y": {"q1": {"d1": 2, "d2": 1}}}
    expected = cal.evaluate(qrels, runs, ["nDCG@10", "V2(AP)"], warn=False).values
    assert found.measures == ("nDCG@10", "V2(AP)")
    assert found.values[:, 0, :2] == pytest.approx(expected[:, 0], nan_ok=True)
    assert found.values[:, 1, 0] == pytest.approx(expected[:, 1, 0])
    assert np.isnan(found.values[:, :, 2]).all()  # nobody judged the third question
    assert np.isnan(found.values[:, 1, 1]).all()  # and this answer has no ranking
    apart = retrieval_scores(answers(), ["RR"], {"q3": {"d1": 1}, "q9": {"d1": 1}})
    assert np.nan_to_num(apart["RR"], nan=-1).tolist() == [[-1, -1, -1], [-1, -1, 1]]


def retrieval(*relevant: dict[str, float]) -> TextCollection:
    """Perfect retrieval: every system returned the relevant documents, best first."""
    documents = [Document(f"q{i}", ("r",), relevant=each) for i, each in enumerate(relevant)]
    judged = {
        (each.id, "rag"): AnswerJudgments(retrieved=tuple(d for d, grade in each.relevant.items() if grade > 0))
        for each in documents
        if each.relevant
    }
    return TextCollection.of(documents, {(each.id, "rag"): "a" for each in documents}, {}, "answers", judged)


def test_judgments_of_relevant_documents_only_are_refused_or_mentioned(tmp_path: Path) -> None:
    """A random ranking of such documents is as good as any: V2 of perfect retrieval would be 0 without a word."""
    positive, graded = {"d1": 1.0, "d2": 1.0}, {"d3": 1.0, "d4": 0.0}
    with pytest.raises(CheckFailed, match=r"V2\(nDCG@10\): for 2 of 3 queries .*collection\("):
        retrieval_scores(retrieval(positive, positive, graded), ["nDCG@10", "V2(nDCG@10)"])
    assert retrieval_scores(retrieval(positive, positive), ["nDCG@10"]).values.tolist() == [[[1, 1]]]
    found = retrieval_scores(retrieval(positive, graded, graded), ["V2(nDCG@10)"])
    assert found.values.tolist() == [[[0, 1, 1]]]
    assert any(note.startswith("1 of 3 queries for V2(nDCG@10): all rankings score the same") for note in found.notes)
    file = tmp_path / "answers.jsonl"
    lines = [
        {"qid": f"q{i}", "answer": "a", "answers": ["a"], "retrieved": list(each), "relevant": each}
        for i, each in enumerate((positive, graded, graded))
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert "1 of 3 queries for V2(nDCG@10)" in run("evaluate", file, "-m", "EM V2(nDCG@10)").stderr
    file.write_text(json.dumps(lines[0]))
    for command in (["evaluate"], ["text", "report"]):
        refused = CliRunner().invoke(root, [*command, str(file), "-m", "V2(nDCG@10)"])
        assert isinstance(refused.exception, CheckFailed) or refused.exit_code == 1, command


def spelled_otherwise(path: Path, judged: int = 30) -> Path:
    """Thirty answers of two systems. The first `judged` questions have judgments, of ids that nobody retrieved."""
    lines = [
        {
            "id": f"q{i}",
            "system": system,
            "answer": "in Ulm",
            "references": ["Ulm"],
            "retrieved": [f"Doc-{i}"],
            **({"relevant": {f"doc{i}": 1}} if i < judged else {}),
        }
        for i in range(30)
        for system in ("old", "new")
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.mark.parametrize("measures", ["ContextRecall", "ContextRecall F1"])
def test_ids_that_do_not_match_stop_the_check(measures: str, tmp_path: Path) -> None:
    file = spelled_otherwise(tmp_path / "answers.jsonl")
    with pytest.raises(CheckFailed, match="new: hardly any query has a judged document"):
        cal.Experiment(cal.read_texts(file), measures=measures, warn=False).check("new", min=0, warn=False)
    checked = run("check", file, "new", "--baseline", "old", "-m", measures, "--max-drop", "0.1")
    assert isinstance(checked.exception, CheckFailed)
    for command in (["evaluate"], ["check", "new", "--min", "0"]):
        said = "new: none of its documents is judged ('doc0' is judged and 'Doc-0' is retrieved"
        shown = run(command[0], file, *command[1:], "-m", measures)
        assert shown.stderr.count(f"warning: {said}") == 1
        strict = run(command[0], file, *command[1:], "-m", measures, "--strict")
        assert "(--strict)" in str(strict.exception)
        assert not isinstance(strict.exception, CheckFailed)


def test_a_check_of_texts_can_fail_on_problems_of_retrieved_documents(tmp_path: Path) -> None:
    file = spelled_otherwise(tmp_path / "answers.jsonl", judged=20)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for line in lines:
        line["retrieved"] = [f"doc{line['id'][1:]}", "doc99"]
    for line in lines[:2]:
        del line["retrieved"]  # neither system has retrieved documents for the first question
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = cal.Experiment(cal.read_texts(file), measures="F1 ContextRecall", warn=False).check(
        "new", baseline="old", max_drop=0.1, warn=False
    )
    assert found.problems == (
        ("unmatched", "new answers 10 queries without judgments"),
        ("missing", "new lacks 1 judged query"),
        ("unjudged", "50.0% of the documents in the top 10 of new are unjudged"),
        ("unmatched", "old answers 10 queries without judgments"),
        ("missing", "old lacks 1 judged query"),
        ("unjudged", "50.0% of the documents in the top 10 of old are unjudged"),
    )
    arguments = ("check", file, "new", "--baseline", "old", "-m", "F1 ContextRecall", "--max-drop", "0.1")
    assert run(*arguments).exit_code == 0
    for kind, code in (("unmatched", 1), ("missing", 1), ("unjudged", 1), ("ties", 0)):
        assert run(*arguments, "--fail-on", kind).exit_code == code


def test_a_check_of_texts_is_exact_where_the_range_of_the_measure_is_known() -> None:
    """Exact for shares of 1 and what is derived from them; approximate where an end of the range is unknown."""
    rows = [
        {
            "id": f"q{i}",
            "system": system,
            "answer": f"in {'Ulm' * (i < hits)}",
            "references": ["Ulm"],
            "retrieved": [f"d{i}"],
            "relevant": {f"d{i}": 1},
            "source": "Ulm is a city",
        }
        for system, hits in (("old", 20), ("new", 15))
        for i in range(30)
    ]
    found = cal.Experiment(cal.read_texts(rows), measures="EM F1 V2(F1) ContextRecall TER", warn=False).check(
        "new", baseline="old", max_drop=0.1, min="EM=0 -TER=-2", warn=False
    )
    drops = {each.measure: each for each in found.decisions}
    assert [name for name, each in drops.items() if each.approximate] == ["-TER"]
    assert drops["F1"].low == pytest.approx(lower_limit([0.0] * 25 + [-2 / 3] * 5, -1.0, 0.05), rel=1e-9)
    assert drops["V2(F1)"].low < drops["F1"].low
    assert drops["ContextRecall"].low == pytest.approx(-1 + 0.05 ** (1 / 30), rel=1e-9)
    match, ter = found.floors
    assert (match.verdict, ter.verdict) == ("not below the floor", "undecided")  # no score is below 0
    assert ter.high == pytest.approx(upper_limit([-1.0] * 30, 0.0, 0.05), rel=1e-9)


def test_all_metadata_of_the_parts_are_kept() -> None:
    found = Evaluation(answers(), "EM nDCG@10")
    alone = Evaluation(answers(), "nDCG@10").scores
    assert found.scores.metadata.keys() >= alone.metadata.keys()
    assert found.scores.coverage is not None
    assert found.scores.coverage.length.tolist() == [[3, 0], [2, 0]]  # the third question has no judgments
    assert found.scores.coverage.judged_at_10.tolist() == [[2, 0], [2, 0]]


def test_measures_of_answers_beside_each_other() -> None:
    found = Evaluation(answers(), "EM F1 F1(part=recall) NuggetRecall NuggetRecall(part=vital_strict)").scores
    assert found["EM"].tolist() == [[0, 1, 0], [1, 0, 1]]
    assert found["F1"][0, 0] == pytest.approx(2 / 3)
    assert found["F1(part=recall)"][0, 0] == 1
    assert found["NuggetRecall"][0, 0] == 0.5
    assert found["NuggetRecall(part=vital_strict)"][0, 0] == 0
    assert np.isnan(found["NuggetRecall"].ravel()[1:]).all()  # others have no nuggets
    with pytest.raises(CalipersError, match="NuggetRecall has no expected score"):
        Evaluation(answers(), "V2(NuggetRecall)").scores.mean()
    with pytest.raises(CalipersError, match="CitationRecall needs the field 'statements'"):
        Evaluation(answers(), "CitationRecall").scores.mean()


def test_an_answer_without_anything_never_raises_a_mean(tmp_path: Path) -> None:
    """A question that is left open, or answered without citations, counts 0; the notes say how many."""
    good: dict[str, Any] = {
        "nuggets": [{"text": "n", "importance": "vital", "assignment": "partial_support"}],
        "statements": [{"text": "s", "citations": [{"document": "d", "support": "partial"}]}],
    }
    names = [f"NuggetRecall{part}" for part in ("", "(part=vital)", "(part=weighted)", "(part=strict)")]
    names += ["CitationPrecision", "CitationRecall", "CitationF1"]
    others: list[dict[str, Any]] = [{"nuggets": [], "statements": []}, {"nuggets": [], "statements": [{"text": "s"}]}]
    means = []
    for count, lines in enumerate(([good], [good, others[0]], [good, *others])):
        file = tmp_path / f"{count}.jsonl"
        file.write_text("\n".join(json.dumps({"summary": "s", "references": "r", **line}) for line in lines))
        found = Evaluation(as_collection(file), names)
        means.append(found.scores.values.mean(axis=2))
        assert means[-1] == pytest.approx(means[0] / len(lines))
    assert found.notes == (
        "2 answers have no nuggets and score 0",
        "1 answer has no statements and scores 0",
        "1 answer cites nothing; its citation scores are 0",
    )
    assert "2 answers have no nuggets and score 0" in run("evaluate", file, "-m", "NuggetRecall").stderr


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(root, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit | CalipersError):
        raise result.exception
    return result


def test_score_command(tmp_path: Path) -> None:
    _summaries(tmp_path)
    file, qrels = tmp_path / "answers.jsonl", tmp_path / "qrels.txt"
    shown = run("evaluate", file, "-m", "EM nDCG@10 NuggetRecall(part=vital)", "-m", "CitationF1", "--format", "csv")
    assert shown.stdout.splitlines()[0] == "system,EM,nDCG@10,NuggetRecall(part=vital),CitationF1"
    qrels.write_text("q1 0 d1 1\nq2 0 d2 1\n")
    judged = run("evaluate", file, "-m", "RR", "--judgments", qrels, "--format", "csv", "-q")
    assert "RR is undefined for 8 of 12 answers, which are left out" in judged.stderr
    assert "rag1,q1,0.25" in judged.stdout  # d2 d3 d4 d1
    compared = run("compare", file, "-m", "NuggetRecall AP", "--format", "csv")
    assert [row.split(",")[0] for row in compared.stdout.splitlines()[1:]] == ["NuggetRecall", "AP"]
    for arguments, message in (
        ((file, "-m", "EM nDGC@10"), "unknown measure 'nDGC@10'; did you mean nDCG"),
        ((file, "-m", "nDCG@10", "--judgments", tmp_path / "no"), "no"),
        ((tmp_path / "data.jsonl", "-m", "AP"), "AP: the answers have no field 'retrieved'"),
    ):
        assert message in str(run("evaluate", *arguments).exception)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        del line["relevant"], line["answers"]
    bare = tmp_path / "bare.jsonl"
    bare.write_text("\n".join(map(json.dumps, lines)))
    assert "AP: no relevant documents are known" in str(run("evaluate", bare, "-m", "AP").exception)
    assert "query 'q0' has no reference, which EM needs" in str(run("evaluate", bare, "-m", "EM").exception)
    assert run("evaluate", bare, "-m", "NuggetRecall").exit_code == 0
    assert as_collection(bare).systems == ("rag0", "rag1")


def test_null_fields_of_nested_objects_count_as_missing() -> None:
    """Parquet has every field in every row; a grade or a weight that a row lacks is null there."""
    row = {
        "id": "q1",
        "answer": "in Ulm",
        "references": ["Ulm"],
        "retrieved": ["d1"],
        "relevant": {"d1": 1, "d2": None},
        "nuggets": [{"text": "Ulm", "importance": None, "assignment": "support", "weight": None}],
        "statements": [
            {
                "text": "in Ulm",
                "citations": [{"document": "d1", "support": "full"}],
                "support": None,
                "needs_citation": None,
            }
        ],
    }
    given = as_collection([row])
    assert given.documents[0].relevant == {"d1": 1.0}
    found = Evaluation([row], "NuggetRecall CitationRecall ContextRecall").scores
    assert found.values.ravel().tolist() == [1.0, 1.0, 1.0]
