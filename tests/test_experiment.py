"""An experiment: the questions as methods, what it keeps, and variants of it."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.collection.simulate import simulate
from calipers.evaluation.options import ScoringOptions
from calipers.texts import Evaluation

GIVEN = simulate(topics=8, systems=3, ties=0.3, unjudged=0.3, missing=0.1, seed=5)
MEASURES = "nDCG@10 AP RR"


def experiment(**options: Any) -> cal.Experiment:
    return cal.Experiment(GIVEN.qrels, GIVEN.runs, MEASURES, warn=False, **options)


@pytest.fixture
def files(tmp_path: Path) -> cal.Experiment:
    cal.write_qrels(GIVEN.qrels, tmp_path / "a.qrels")
    for name, run in GIVEN.runs.items():
        cal.write_run(run, tmp_path / f"{name}.run", name=name)
    return cal.Experiment(tmp_path / "a.qrels", str(tmp_path / "*.run"), MEASURES, warn=False)


def keywords(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    options = inspect.signature(function).parameters.values()
    return {each.name: (each.annotation, each.default) for each in options if each.kind is each.KEYWORD_ONLY}


def test_the_keywords_are_those_of_evaluate_and_of_the_scoring_options() -> None:
    of_texts = {"judgments"}
    found = {name: each for name, each in keywords(cal.Experiment).items() if name not in of_texts}
    assert found == keywords(cal.evaluate)
    assert keywords(ScoringOptions).items() <= keywords(cal.Experiment).items()


def test_the_scores_are_those_of_evaluate() -> None:
    found = experiment(ties="docid", depth=5).scores
    expected = cal.evaluate(GIVEN.qrels, GIVEN.runs, MEASURES, ties="docid", depth=5, warn=False)
    np.testing.assert_array_equal(found.values, expected.values)
    assert (found.notes, found.remarks) == (expected.notes, expected.remarks)


def test_a_variant_keeps_what_was_given_and_takes_the_rest_from_its_convention() -> None:
    tool = experiment(depth=5).with_(like="trec_eval")
    assert (tool.options.ties, tool.options.depth) == ("docid", 5)
    assert tool.with_(like=None).options.ties == "average"
    assert experiment(ties="best").with_(like="trec_eval").options.ties == "best"
    assert tuple(tool.with_(measures="ERR").measures) == ("ERR",)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tie'"):
        tool.with_(tie="docid")


def test_files_are_read_once(files: cal.Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.collection.runs import FileRun

    read = []
    real = FileRun.retrieved
    monkeypatch.setattr(FileRun, "retrieved", lambda run, *rest: read.append(run.path) or real(run, *rest))
    files.scores  # noqa: B018  reads the files
    files.bounds(population="retrieved")
    files.with_(ties="docid").scores  # noqa: B018  reads nothing new
    assert len(read) == len(set(read)) == len(GIVEN.runs)


@pytest.mark.parametrize("computed", [False, True], ids=["before", "after"])
def test_it_pickles(files: cal.Experiment, computed: bool) -> None:
    for each in (files, experiment()):
        if computed:
            each.scores  # noqa: B018
        again = pickle.loads(pickle.dumps(each))
        np.testing.assert_array_equal(again.scores.values, each.scores.values)
        assert again.judgments.to_dict() == each.judgments.to_dict()
        assert again.with_(ties="docid").scores.systems == each.scores.systems


def test_several_threads_get_the_same_results(files: cal.Experiment) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: files.compare(warn=False).p_adjusted.tolist(), range(8))]
    assert all(each == found[0] for each in found)


def test_questions_about_judgments_need_no_runs() -> None:
    alone = cal.Experiment(GIVEN.qrels, None, MEASURES)
    assert alone.bounds().ideal["AP"].tolist() == cal.bounds(GIVEN.qrels, MEASURES).ideal["AP"].tolist()
    with pytest.raises(cal.CalipersError, match="there is no run to evaluate"):
        alone.scores  # noqa: B018


def test_a_method_has_the_keywords_of_its_question() -> None:
    from calipers.questions.check import check
    from calipers.questions.diff import diff

    exp = cal.Experiment
    pairs = ((exp.diff, diff), (exp.check, check), (exp.compare, cal.compare), (exp.plan, cal.plan))
    for method, question in (*pairs, (exp.metaeval, cal.metaeval)):
        assert keywords(method) == keywords(question)


ANSWERS = [
    {"id": f"q{q}", "system": system, "answer": answer, "references": "in the town of Ulm", "retrieved": ["d1", "d2"]}
    for q in range(5)
    for system, answer in (("old", "somewhere" if q else "in Ulm"), ("new", f"in Ulm on day {q}"))
]
QUESTIONS = {f"q{q}": {"d2": 1} for q in range(5)}


def of_texts() -> cal.Experiment:
    return cal.Experiment(cal.read_texts(ANSWERS), measures="F1 TER nDCG@5", judgments=QUESTIONS, warn=False)


def test_an_experiment_of_texts_answers_the_same_questions() -> None:
    exp = of_texts()
    expected = Evaluation(ANSWERS, "F1 TER nDCG@5", judgments=QUESTIONS).scores
    np.testing.assert_array_equal(exp.scores.values, expected.values)
    assert (exp.systems, exp.scores.unit, exp.scores.lower) == (("old", "new"), "query", {"TER"})
    assert exp.compare(warn=False).table().rows
    changes = exp.diff("old", "new")
    assert [each.measure for each in changes.means] == ["F1", "-TER", "nDCG@5"]
    assert changes.means[0].difference > 0
    assert exp.check("new", baseline="old", max_drop={"F1": 0.5}, warn=False).observed == "ok"
    assert not exp.check("new", baseline=exp.scores.of_systems(["old"]), max_drop={"-TER": 0.5}, warn=False).failed
    assert exp.plan(difference=0.1).table().rows
    again = pickle.loads(pickle.dumps(exp)).with_(measures="EM", warn=False)
    assert again.scores.measures == ("EM",)
    assert exp.with_(ties="worst", measures="RR").scores["RR"].tolist() == [[0.5] * 5] * 2


def test_questions_about_rankings_refuse_texts() -> None:
    exp = of_texts()
    asked = (exp.bounds, exp.ranges, exp.pool, exp.audit, exp.queries, lambda: exp.judges({"x": QUESTIONS}))
    for question in (*asked, lambda: cal.questions.information.ric(exp), lambda: cal.explain(exp, "q1")):
        with pytest.raises(cal.CalipersError, match=r"about rankings, and these are texts"):
            question()
    with pytest.raises(cal.CalipersError, match="texts have no runs"):
        cal.Experiment(cal.read_texts(ANSWERS), GIVEN.runs)
    with pytest.raises(cal.CalipersError, match="either judgments or texts"):
        cal.Experiment()
