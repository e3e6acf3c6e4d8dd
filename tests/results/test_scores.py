"""Scores: indexing, printing, tables and joining."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal

SCORES = cal.as_scores(
    [[[0.5, 0.1], [0.9, 0.3]], [[1.0, 0.5], [0.25, 0.125]]], ["old", "new"], ["q1", "q2"], ["nDCG@10", "RR"]
)


@pytest.mark.parametrize("name", ["RR", "rr", "MRR", "recip_rank"])
def test_a_measure_is_known_by_all_its_names(name: str) -> None:
    assert SCORES[name].tolist() == [[1.0, 0.5], [0.25, 0.125]]
    assert SCORES[name, "new"].tolist() == [0.25, 0.125]
    assert SCORES.of_measures([name]).measures == ("RR",)
    assert SCORES.reason(name, "old", "q1") == "defined"


def test_scores_cannot_be_changed_in_place() -> None:
    mine = np.array([[0.5, 0.25]])
    scores = cal.as_scores(mine, ["old"], measure="RR")
    for handed_out in (scores.values, scores.reasons, scores["RR"], scores["RR", "old"]):
        with pytest.raises(ValueError, match="read-only"):
            handed_out[...] = 1
    mine[:] = 0.75  # an array of the user stays writable
    exp = cal.Experiment({"q": {"a": 1, "b": 0}}, {"old": {"q": ["b", "a"]}}, "AP RR", warn=False)
    causes = exp.audit(like=["ranx"]).attributions
    assert causes
    assert exp.scores.coverage is not None
    for facts in (exp.scores.coverage.length, *(each.difference for each in causes.values())):
        with pytest.raises(ValueError, match="read-only"):
            facts[...] = 1
    for outcome in cal.compare(SCORES, warn=False).outcomes:
        with pytest.raises(ValueError, match="read-only"):
            outcome.p[0] = 0.0


def test_unknown_names_are_refused() -> None:
    for key, message in (("AP", "unknown measure 'AP'"), ("score 1", "unknown measure"), (("RR", "bm25"), "'bm25'")):
        with pytest.raises(cal.UnknownName, match=message):
            SCORES[key]


def test_the_summary_names_the_best_system_of_each_measure() -> None:
    assert SCORES.summary == "nDCG@10: new is best (0.6000). RR: old is best (0.7500)."
    errors = cal.Scores(
        ("TER",),
        ("a", "b"),
        ("q",),
        np.array([[[0.4], [0.2]]]),
        np.zeros((1, 2, 1), np.uint8),
        metadata={"lower": ["TER"]},
    )
    assert errors.summary == "TER: b is best (0.2000)."
    alike = cal.as_scores([[0.5], [0.5 + 1e-9], [0.1]], ["a", "b", "c"], measure="AP")
    assert alike.summary == "AP: a and b are best (0.5000)."
    assert cal.as_scores([[math.nan]], measure="AP").summary == "AP is undefined for every system."
    assert cal.as_scores([[0.25]], ["bm25"], measure="AP").summary == "AP of bm25: 0.2500."


def test_print_shows_ten_systems_and_the_summary() -> None:
    many = cal.as_scores(np.linspace(0, 1, 40).reshape(20, 2), measure="AP")
    lines = str(many).splitlines()
    assert lines[0] == "Means of 20 systems on 2 queries"
    assert lines[-2:] == ["... 10 more rows", "AP: system20 is best (0.9872)."]
    assert len(lines) == 1 + 2 + 10 + 2


def test_frames_hold_queries_and_text_holds_means() -> None:
    pytest.importorskip("pandas")
    assert SCORES.to_pandas().columns.tolist() == ["system", "query", "nDCG@10", "RR"]
    assert SCORES.to_pandas("means").columns.tolist() == ["system", "nDCG@10", "RR"]
    assert SCORES.to_csv().splitlines()[0] == "system,nDCG@10,RR"
    assert SCORES.to_csv("per_query").splitlines()[1] == "old,q1,0.5,1.0"
    assert "<b>0.6000</b><sup>±" in SCORES._repr_html_()


def test_scores_are_joined_along_each_axis() -> None:
    other = cal.as_scores([[0.7, 0.2]], ["other"], ["q2", "q3"], "RR")
    joined = cal.concat([SCORES, other])
    assert (joined.measures, joined.systems, joined.queries) == (("RR",), ("old", "new", "other"), ("q2",))
    assert joined["RR"].tolist() == [[0.5], [0.125], [0.7]]
    assert joined.notes == ("1 measure and 2 queries are not in all scores and were left out",)
    later = cal.as_scores([[0.7], [0.2]], ["new", "old"], ["q3"], "RR")
    by_query = cal.concat([SCORES, later], along="queries")
    assert by_query.queries == ("q1", "q2", "q3")
    assert by_query["RR"].tolist() == [[1.0, 0.5, 0.2], [0.25, 0.125, 0.7]]
    measures = cal.concat(
        [SCORES, cal.as_scores([[1, 2], [3, 4]], ["old", "new"], ["q1", "q2"], "clicks")], along="measures", strict=True
    )
    assert measures.measures == ("nDCG@10", "RR", "clicks")


def test_scores_that_do_not_fit_are_refused() -> None:
    other = cal.as_scores([[0.7, 0.2]], ["other"], ["q2", "q3"], "RR")
    for parts, options, message in (
        ([SCORES, SCORES], {}, "the system 'old' is in several scores"),
        ([SCORES, SCORES], {"along": "rows"}, "unknown along 'rows'"),
        ([SCORES, other], {"strict": True}, "1 measure and 2 queries are not in all scores"),
        ([SCORES, other], {"along": "measures"}, "the measure .RR. is in several scores"),
        ([SCORES, cal.as_scores([[0.1]], ["x"], ["q9"], "RR")], {"along": "queries"}, "no system in common"),
        ([], {}, "no scores to join"),
    ):
        with pytest.raises(cal.CalipersError, match=message):
            cal.concat(parts, **options)


def test_joined_scores_say_that_they_were_made_in_different_ways() -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"b": 1}}
    runs = [{name: {"q1": {"b": 1, "a": 1}, "q2": {"b": 1}}} for name in ("one", "two")]
    made = [
        cal.evaluate(qrels, run, "RR", ties=ties, warn=False) for run, ties in zip(runs, ("best", "worst"), strict=True)
    ]
    joined = cal.concat(made)
    assert joined.notes == ("the scores were made with different scoring options",)
    assert [repr(each) for each in joined.definitions] == ["RR"]
    again = cal.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, runs[1], "RR", ties="best", warn=False)
    assert cal.concat([made[0], again]).notes == ("the scores were made with different judgments",)


@pytest.mark.parametrize("question", [cal.compare, cal.plan, cal.metaeval])
def test_questions_about_scores_ask_to_evaluate_first(question: Any) -> None:
    qrels, run = {"q1": {"a": 1}}, {"q1": {"a": 1}}
    for given in ((qrels, run), (qrels, run, "AP"), (qrels,), ([qrels],), (cal.Judgments.from_dict(qrels),), (None,)):
        with pytest.raises(cal.CalipersError, match="evaluate first"):
            question(*given)
    with pytest.raises(cal.CalipersError, match="read_scores"):
        question("scores.csv")


def test_stored_errors_are_errors_where_they_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("system,query,TER,F1\na,q1,0.5,0.4\na,q2,0.4,0.5\nb,q1,0.2,0.9\nb,q2,0.3,0.7\n")
    read = cal.read_scores(file)
    assert read.lower == {"TER"}
    assert read.summary.startswith("TER: b is best")
    assert not read.of_measures(["F1"]).lower
