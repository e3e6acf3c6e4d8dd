"""The check of judgments and runs before any score: each kind of trouble is found and named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.cli.commands import run as run_command

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d1": 0}}
RUN = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d3": 2.5, "d4": 1.5}}


def found(judgments: Any = QRELS, runs: Any = RUN) -> list[tuple[str, str]]:
    """Levels and texts of all findings."""
    result = cal.Experiment(judgments, runs, "AP", warn=False).inspect()
    return [(finding.level, finding.text) for finding in result.findings]


def test_nothing_to_find() -> None:
    result = cal.Experiment(QRELS, RUN, "AP").inspect()
    assert (result.ok, result.findings, result.summary) == (True, (), "Nothing makes scores meaningless.")
    assert result.table("systems").row("run") == {
        "system": "run",
        "queries": 2,
        "in common": 2,
        "without results": 0,
        "documents": 2.0,
        "judged@10": 0.75,
        "tied": 0.0,
    }
    assert result.table("grades").rows == ((0, 2, 2), (1, 1, 1), (2, 1, 1))


def without(*queries: str) -> dict[str, dict[str, float]]:
    return {query: documents for query, documents in RUN.items() if query not in queries}


@pytest.mark.parametrize(
    ("judgments", "runs", "level", "words"),
    [
        (
            QRELS,
            {"Q1": RUN["q1"], "Q2": RUN["q2"]},
            "error",
            "have 'q1', 'q2', the run has 'Q1', 'Q2'): upper and lower case differ",
        ),
        (QRELS, {"q1": {}, "q2": {}}, "error", "no results for any query"),
        (
            {"q1": {"007": 1}},
            {"q1": {"7": 1.5, "8": 1}},
            "error",
            "is judged ('007' is judged and '7' is retrieved: leading zeros",
        ),
        ({"q1": {"d1": 0}}, RUN, "error", "no document has a grade above 0"),
        (
            QRELS,
            {q: dict.fromkeys(d, 1.0) for q, d in RUN.items()},
            "error",
            "all documents of each query have the same score",
        ),
        (
            QRELS,
            RUN | {"q1": {"d1": 1.0, "d2": 1.0}},
            "warning",
            "1 query with the same score for all documents, such as 'q1'",
        ),
        (QRELS, without("q2"), "warning", "1 of 2 judged queries without results, such as 'q2'"),
        (
            QRELS,
            without("q2") | {"q2 ": {"d3": 1.5}},
            "warning",
            "'q2' is judged and 'q2 ' is answered (there are spaces",
        ),
        (QRELS, RUN | {"q3": {"d1": 1.0}}, "note", "1 query without judgments; ignored, such as 'q3'"),
        (
            QRELS,
            RUN | {"q1": {"d2": 2.0, "D1": 1.0}},
            "warning",
            "of the first 4 may be judged under another spelling: 'd1' is judged and 'D1' is",
        ),
        (QRELS | {"q3": {"d1": 0}}, RUN, "warning", "1 of 3 queries without a relevant document, such as 'q3'"),
        (
            QRELS | {"Q1": {"d1": 1}},
            RUN,
            "warning",
            "the queries 'q1' and 'Q1' are both judged: upper and lower case differ",
        ),
        ({"q1": ["d1", "d2"]}, RUN, "note", "all judged documents have grade 1"),
        (QRELS | {"q2": {"d3": 1, "d1": -1}}, RUN, "note", "1 document with a grade below 0"),
        (
            QRELS,
            RUN | {"q1": {"d1": 2, "caf\u00c3\u00a9": 1}},
            "warning",
            "1 id of a document with letters as if UTF-8 was read as Latin-1",
        ),
        (QRELS, RUN | {"q1": {"d1": 2, "caf\ufffd": 1}}, "warning", "1 id of a document with bytes that are not UTF-8"),
        (
            QRELS | {"q\u200b3": {"d1": 1}},
            RUN,
            "warning",
            "1 id of a query with an invisible character, such as 'q\\u200b3'",
        ),
        (
            {"q1": {"caf\u00e9": 1}},
            {"q1": {"cafe\u0301": 1.0}},
            "error",
            "stored in two ways (Unicode forms NFC and NFD)",
        ),
        (QRELS, {"a": RUN, "b": RUN}, "warning", "retrieves the same judged documents with the same scores as a"),
        ({"q1": {"d1": 0.51, "d2": 0.33}}, {"q1": {"d1": 2, "d2": 0}}, "warning", "the judgments look like scores"),
    ],
)
def test_offenders_are_named(judgments: Any, runs: Any, level: str, words: str) -> None:
    findings = found(judgments, runs)
    assert any(each == level and words in text for each, text in findings), findings
    assert findings == sorted(findings, key=lambda finding: ("error", "warning", "note").index(finding[0]))


def test_many_ties_and_unjudged_tops() -> None:
    run = {"q1": {"d1": 3, "x": 2, "y": 2}, "q2": RUN["q2"]}
    assert ("warning", "40% of the documents share their score with another document of the query") in found(runs=run)
    deep = {query: {f"x{rank}": -rank for rank in range(10)} | {"d1": -99, "d3": -100} for query in QRELS}
    assert ("warning", "all documents in the top 10 are unjudged and count as not relevant") in found(runs=deep)


def test_a_run_that_cannot_be_read_is_an_error_and_the_others_are_inspected(tmp_path: Path) -> None:
    (tmp_path / "twice.run").write_text("q1 Q0 d1 1 2.5 x\nq1 Q0 d1 2 1.5 x\n")
    result = cal.Experiment(QRELS, {"twice": tmp_path / "twice.run", "good": RUN}, "AP").inspect()
    assert result.findings[0].text == f"{tmp_path}/twice.run:2: document 'd1' appears twice for query 'q1'"
    assert [run.system for run in result.runs] == ["good"]
    assert not result.ok


def test_the_command_exits_with_1_if_scores_would_be_meaningless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels, run, other = tmp_path / "qrels.txt", tmp_path / "a.run", tmp_path / "b.run"
    qrels.write_text("q1 0 d1 1\nq1 0 d2 0\n")
    run.write_text("q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n")
    other.write_text("q1 Q0 D1 1 2.5 dense\nq1 Q0 D2 2 1.5 dense\n")
    assert run_command(["inspect", str(qrels), str(run), "--format", "json"]) == 0
    assert "Nothing makes scores meaningless" in capsys.readouterr().err
    assert run_command(["inspect", str(qrels), str(run), str(other), "--format", "json"]) == 1
    captured = capsys.readouterr()
    assert "Scores would be meaningless: none of its documents is judged" in captured.err
    assert json.loads(captured.out)["findings"][0]["about"] == "dense"
    assert run_command(["evaluate", str(qrels), str(other)]) == 2
    assert "`inspect` shows more examples" in capsys.readouterr().err
    qrels.write_text("q1 0 d1 1\nq1 0 d1 2\n")
    assert run_command(["inspect", str(qrels), str(run)]) == 0
    assert "is judged 2 here and 1 before" in capsys.readouterr().err


def test_evaluate_points_to_it_if_the_whole_top_is_unjudged() -> None:
    deep = {"q1": {f"x{rank}": -rank for rank in range(10)} | {"d1": -99}}
    with pytest.warns(cal.CalipersWarning, match="`inspect` shows examples"):
        cal.evaluate({"q1": {"d1": 1}}, deep, "AP")


def test_findings_fit_into_a_terminal() -> None:
    found = cal.Experiment({"q1": {"d1": 1}, "q2": {"d2": 1}}, {"a": {"q1": ["d1"], "q2": ["d2"]}}, "AP").inspect()
    lines = found.table("findings").to("table").splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 80
    assert " ".join(line[len("note   judgments  ") :] for line in lines[2:]) == found.findings[0].text
    assert found.findings[0].text in found.to_csv()
