"""What holds for every result: it is printed, converted and pickled in the same way."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest

import calipers as cal
from calipers.questions.pool import leave_out_uniques
from calipers.results.result import Result

QRELS = {"q1": {"a": 1, "b": 0, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}, "q3": {"c": 1, "a": 0}}
RUNS = {
    "new": {query: {"a": 3, "b": 2, "c": 1} for query in QRELS},
    "old": {"q1": {"c": 3, "a": 2}, "q2": {"b": 3, "c": 2}, "q3": {"a": 3, "d": 1}},
}


def scores() -> cal.Scores:
    return cal.evaluate(QRELS, RUNS, "AP RR", warn=False)


ANSWERS = [
    {
        "id": f"q{query}",
        "system": system,
        "answer": answer,
        "references": ["in Ulm"],
        "human": {"use": use + query % 2},
        "nuggets": [{"text": "Ulm", "importance": "vital", "assignment": ("support", "not_support")[query % 2]}],
    }
    for query in range(3)
    for system, answer, use in (("a", "in Ulm", 4), ("b", "Ulm", 2), ("c", "Bern", 1))
]


def texts() -> cal.texts.Evaluation:
    return cal.texts.Evaluation(ANSWERS, "F1 EM")


EXAMPLES: dict[str, Callable[[], Result]] = {
    "Inspection": lambda: cal.Experiment(QRELS, RUNS, "AP").inspect(),
    "TextInspection": lambda: cal.Experiment(cal.read_texts(ANSWERS), measures="F1").inspect(),
    "Scores": scores,
    "Comparison": lambda: cal.compare(scores(), warn=False),
    "NonInferiority": lambda: cal.statistics.non_inferiority(scores(), old="old", new="new", margin=0.1),
    "MetaEvaluation": lambda: cal.metaeval(scores()),
    "RicStudy": lambda: cal.questions.information.ric(cal.Experiment(QRELS, RUNS)),
    "JointInformation": lambda: cal.questions.information.joint(cal.Experiment(QRELS, RUNS, warn=False), draws=2),
    "InformationDifference": lambda: cal.questions.information.difference(cal.Experiment(QRELS, RUNS)),
    "InformationTau": lambda: cal.questions.information.tau(scores()),
    "PreferenceRic": lambda: cal.questions.information.preference_ric(
        cal.Experiment(cal.Preferences.from_pairs([("q1", "a", "b")]), RUNS, warn=False)
    ),
    "SampleSizePlan": lambda: cal.plan(scores(), difference=0.1),
    "HumanCorrelation": lambda: (
        cal.Experiment(cal.read_texts(ANSWERS), measures="F1 EM").metaeval(samples=20).agreement["all"]
    ),
    "WinLostTie": lambda: cal.questions.metaeval.win_lost_tie(
        texts().scores, "EM", "F1", [cal.questions.metaeval.Preference("q0", "a", "b", "a")]
    ),
    "AnswerStudy": lambda: cal.judge_answers(ANSWERS, {"llm": ANSWERS}, draws=20),
    "Audit": lambda: cal.Experiment(QRELS, RUNS, "AP nDCG@10").audit(),
    "MatchingConventions": lambda: cal.Experiment(QRELS, RUNS, "AP nDCG@10").audit(number=0.75),
    "Explanation": lambda: cal.explain(cal.Experiment(QRELS, RUNS, "AP nDCG@10"), "q1"),
    "Difference": lambda: cal.Experiment(QRELS, RUNS, "AP", warn=False).diff("old", "new"),
    "Check": lambda: cal.Experiment(QRELS, RUNS, "AP", warn=False).check(
        "new", baseline="old", max_drop=0.1, max_query_drop=0.5, min=0.3, warn=False
    ),
    "Bounds": lambda: cal.bounds(QRELS, "AP"),
    "Ranges": lambda: cal.Experiment(QRELS, RUNS, "AP", warn=False).ranges(),
    "SampledScores": lambda: cal.sampled(
        cal.Experiment(QRELS, RUNS, "RR", warn=False), negatives=2, items=9, missing="last"
    ),
    "FullEstimates": lambda: cal.estimate_full([1, 2, 2], "RR", negatives=5, items=50),
    "QueryTypes": lambda: cal.Experiment(QRELS, RUNS, "P@1", warn=False).queries(),
    "VerdictStudy": lambda: cal.judge_verdicts(
        [{"item": i, "label": int(i % 3 > 0), "human": i % 2 if i < 20 else None, "length": i} for i in range(40)]
    ),
    "JudgeStudy": lambda: cal.Experiment(QRELS, RUNS, "AP", warn=False).judges({"copy": QRELS}),
    "JudgingPool": lambda: cal.Experiment(QRELS, RUNS, "nDCG@10", warn=False).pool(),
    "Uniques": lambda: leave_out_uniques(cal.Experiment(QRELS, RUNS, "AP", warn=False)),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_result_is_printed_converted_and_pickled_alike(name: str) -> None:
    result = EXAMPLES[name]()
    assert type(result).__name__ == name
    assert result.summary.endswith(".")
    assert repr(result) == str(result)
    arrays = [value for each in fields(result) if isinstance(value := getattr(result, each.name), np.ndarray)]
    assert not any(array.flags.writeable for array in arrays)
    assert len(str(result).splitlines()) <= 20
    assert str(result).startswith(result.title)
    found = json.loads(result.to_json())
    assert list(found["tables"]) == list(result.tables())
    for table in result.tables():
        assert result.to_csv(table).startswith(result.table(table).columns[0])
        assert result.to_markdown(table).startswith("|")
        assert r"\toprule" in result.to_latex(table)
    assert "<table>" in result._repr_html_()
    assert "<table>" in result.to_html()
    assert str(pickle.loads(pickle.dumps(result))) == str(result)
