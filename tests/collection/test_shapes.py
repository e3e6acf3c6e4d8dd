"""Judgments and runs in memory: all shapes give the same scores, and a wrong shape says what was seen."""

from __future__ import annotations

import pickle
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_matrix

import calipers as cal
from calipers.errors import CalipersError
from calipers.evaluation.inputs import as_judgments, as_runs

GRADES = {"0": {"0": 1.0, "2": 1.0}, "1": {"1": 1.0}}
RANKED = {"0": ["1", "0", "2"], "1": ["1", "2"]}
SCORED = {"0": {"1": 0.9, "0": 0.5, "2": 0.25}, "1": {"1": 0.75, "2": 0.5}}

Row = namedtuple("Row", "user_id item_id rating")


@pytest.mark.parametrize(
    "judgments",
    [
        {"0": ["0", "2"], "1": ("1",)},
        {"0": {"2", "0"}, "1": frozenset("1")},
        {0: [0, 2], 1: {1}},
        {"0": np.array(["0", "2"]), "1": {"1": True}},
        {"0": {"0": True, "2": np.True_}, "1": {"1": 1}},
        [Row(0, 0, 1), Row(0, 2, 1.0), Row(1, 1, 1)],
        [
            {"user_id": "0", "item_id": "0", "rating": True},
            {"user_id": "0", "item_id": "2", "rating": True},
            {"user_id": "1", "item_id": "1", "rating": True},
        ],
        csr_matrix([[1, 0, 1], [0, 1, 0]]),
        csr_matrix([[True, False, True], [False, True, False]]),
        coo_array([[1, 0, 1], [0, 1, 0]]),
    ],
)
def test_shapes_of_judgments(judgments: Any) -> None:
    assert as_judgments(judgments).to_dict() == GRADES


ROWS = [
    {"query": query, "doc": document, "score": score} for query, of in SCORED.items() for document, score in of.items()
]
IDS = np.array([[1, 0, 2], [1, 2, -1]])
SCORES = np.array([[0.9, 0.5, 0.25], [0.75, 0.5, -np.inf]])
MATRIX = csr_matrix(([0.5, 0.9, 0.25, 0.75, 0.5], ([0, 0, 0, 1, 1], [0, 1, 2, 1, 2])))


@pytest.mark.parametrize(
    "run",
    [
        SCORED,
        {query: [*of.items()] for query, of in SCORED.items()},
        {query: [[document, score] for document, score in of.items()] for query, of in SCORED.items()},
        ROWS,
        (IDS, SCORES),
        cal.Run.from_arrays(IDS, SCORES),
        cal.Run.from_arrays(IDS, SCORES, queries=["0", "1"], documents=["0", "1", "2"]),
        MATRIX,
        cal.Run.from_matrix(MATRIX, queries=["0", "1"]),
    ],
    ids=lambda run: type(run).__name__,
)
def test_shapes_of_runs(run: Any) -> None:
    (alone,) = as_runs(run)
    assert alone.to_dict() == SCORED
    (named,) = as_runs({"knn": run})
    assert (named.name, named.to_dict()) == ("knn", SCORED)
    assert cal.evaluate(GRADES, {"knn": run}, "RR", warn=False)["RR"].tolist() == [[1 / 2, 1]]


@pytest.mark.parametrize(
    "run",
    [
        RANKED,
        {0: [1, 0, 2], 1: [1, 2]},
        {0: IDS[0], 1: IDS[1][:2]},
        IDS,
        {"0": np.array(["1", "0", "2"]), "1": ["1", "2"]},
    ],
)
def test_ranked_lists_score_by_their_order(run: Any) -> None:
    assert as_runs(run)[0].to_dict() == {"0": {"1": -1, "0": -2, "2": -3}, "1": {"1": -1, "2": -2}}


def test_ids_may_be_numbers_and_text_if_no_two_are_written_alike() -> None:
    assert as_judgments({"q": {"a": 1, 2: 1}, 3: [4, "b"]}).to_dict() == {"q": {"a": 1, "2": 1}, "3": {"4": 1, "b": 1}}
    (run,) = as_runs({"q": {"a": 1.0, 2: 1.0}})
    assert cal.evaluate({"q": {"2": 1, "a": 0}}, run, "RR")["RR"].tolist() == [[(1 + 1 / 2) / 2]]


@pytest.mark.parametrize("made", [cal.Judgments.from_dict, cal.Run.from_dict])
@pytest.mark.parametrize(
    ("nested", "words"),
    [
        ({"q": {"1": 1, 1: 2}}, "query 'q': document 1 is there twice, as a number and as the text '1'"),
        ({"q": ["a", 1, "1"]}, "query 'q': document 1 is there twice"),
        ({1: {"a": 1}, "1": {"b": 1}}, "query 1 is there twice"),
        ({"q": {"a": 1, (1, 2): 1}}, "query 'q': document (1, 2) is not an id"),
        ({"q": {"a": 1, 1.0: 1}}, "query 'q': document 1.0 is not an id"),
    ],
)
def test_ids_that_are_not_one_text_each_are_refused(made: Callable[[Any], Any], nested: Any, words: str) -> None:
    with pytest.raises(CalipersError) as refusal:
        made(nested)
    assert words in str(refusal.value)


def test_runs_of_different_shapes_by_name(tmp_path: Path) -> None:
    cal.write_run(RANKED, tmp_path / "file.run")
    runs = {
        "path": tmp_path / "file.run",
        "lists": RANKED,
        "dict": SCORED,
        "rows": ROWS,
        "run": cal.read_run(tmp_path / "file.run"),
        "fused": cal.fuse({"a": SCORED, "b": SCORED}, "rrf"),
        "matrix": MATRIX,
    }
    scores = cal.evaluate(GRADES, runs, "RR", warn=False)
    assert scores.systems == tuple(runs)
    assert np.unique(scores["RR"], axis=0).tolist() == [[1 / 2, 1]]


def test_one_score_per_label_is_still_a_run() -> None:
    judgments = cal.Judgments.from_arrays([0, 1, 1], group=[2, 1])
    for run in ([0.5, 0.25, 1.0], np.array([3, 2, 1])):
        assert cal.evaluate(judgments, {"model": run}, "RR", warn=False)["RR"].tolist() == [[1 / 2, 1]]


def test_a_run_as_dict() -> None:
    assert cal.Run.from_dict(RANKED).to_dict() == {"0": {"1": -1, "0": -2, "2": -3}, "1": {"1": -1, "2": -2}}


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (0, 3, "judgments cannot be an int (3); the nearest accepted shape is {query: {document: grade}}"),
        (0, None, "judgments cannot be None"),
        (0, ["d1"], "judgments cannot be a list (['d1']); the nearest accepted shape is {query: [relevant documents]}"),
        (0, np.zeros((2, 2)), "Judgments.from_arrays (one label per document) or Judgments.from_matrix"),
        (
            0,
            {"q": 3},
            "query 'q': expected {document: grade}, or a list or set of relevant documents, found an int (3)",
        ),
        (0, {"q": ["d", "d"]}, "document 'd' appears twice for query 'q'"),
        (0, [{"query": "q", "doc": "d"}], "there is no column for the grade"),
        (1, None, "there is no run to evaluate"),
        (1, [None], "a run cannot be None; the nearest accepted shape is {query: {document: score}}"),
        (1, object(), "a run cannot be an object"),
        (1, {"new": 3}, "new: a run cannot be an int (3)"),
        (1, {"new": {"0": ["1"], "1": 3}}, "query '1': expected {document: score}, a list of documents with the best"),
        (1, {"0": ["1", ("2", 1)]}, "query '0': expected the id of a document or (document, score), found a tuple"),
        (1, {"0": [("2", 1), "1"]}, "query '0': expected (document, score), found a str ('1')"),
        (1, {"0": ["1", "1"]}, "document '1' appears twice for query '0'"),
        (1, np.zeros((2, 3)), "expected an array of document ids, queries x k, found one of shape (2, 3)"),
        (1, {}, "the run is empty"),
        (1, [], "there is no run"),
    ],
)
def test_a_wrong_shape_says_what_was_seen(place: int, value: Any, expected: str) -> None:
    given: list[Any] = [GRADES, SCORED]
    given[place] = value
    with pytest.raises(CalipersError) as caught:
        cal.evaluate(*given, "RR")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: cal.Run.from_arrays(IDS, SCORES[:1]), "scores have the shape (1, 3), and ids (2, 3)"),
        (lambda: cal.Run.from_arrays(IDS, queries=["a"]), "1 name of queries, but the array has 2"),
        (lambda: cal.Run.from_arrays(IDS, documents=["a", "b"]), "document 2 of 2 names (counted from 0)"),
        (lambda: cal.Run.from_arrays([["a"]], documents=["a"]), "ids are names already"),
        (lambda: cal.Run.from_arrays(IDS, SCORES * np.nan), "row 0: a number is not finite"),
        (lambda: cal.Run.from_arrays([[-1]]), "the array holds no documents"),
        (lambda: cal.Run.from_matrix([[1]]), "expected a sparse matrix of SciPy, found list"),
        (lambda: cal.Judgments.from_matrix(MATRIX, documents=["a"]), "1 name of documents, but the array has 3"),
    ],
)
def test_arrays_that_do_not_fit(call: Callable[[], Any], expected: str) -> None:
    with pytest.raises(CalipersError) as caught:
        call()
    assert expected in str(caught.value)


def test_judgments_and_runs_pickle(tmp_path: Path) -> None:
    """Whatever they were made from, also tables of several systems and fused runs."""
    (tmp_path / "runs.csv").write_text("query,doc,score,system\nq1,a,2,new\nq1,b,1,old\n")
    rows = [{"query": "q1", "doc": "a", "score": 2.5, "system": name} for name in ("new", "old")]
    runs = [
        *cal.read_runs(tmp_path / "runs.csv"),
        *cal.read_runs(rows),
        cal.Run.from_arrays([[3, 1]]),
        cal.Run.from_dict({"q1": ["a"]}),
        cal.fuse({"a": {"q1": ["x"]}, "b": {"q1": ["y", "x"]}}),
    ]
    for run in runs:
        again = pickle.loads(pickle.dumps(run))
        assert (again.name, again.to_dict()) == (run.name, run.to_dict())
    for judgments in (
        cal.read_judgments([{"query": "q1", "doc": "a", "grade": 2}]),
        cal.Judgments.from_dict({"q": ["a"]}),
    ):
        assert pickle.loads(pickle.dumps(judgments)).to_dict() == judgments.to_dict()
    arrays = cal.Judgments.from_arrays([1, 0], group=[2])
    assert pickle.loads(pickle.dumps(arrays)).pool.grade.tolist() == [1, 0]


@pytest.mark.parametrize("tag", ["run", "rank", "my-system-name", "Anserini"])
def test_a_generic_tag_names_no_system(tag: str, tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / f"{name}.txt").write_text(f"q1 Q0 d1 1 2.5 {tag}\n")
    runs = cal.read_runs([tmp_path / "old.txt", tmp_path / "new.txt"])
    scores = cal.evaluate({"q1": {"d1": 1}}, runs, "RR")
    assert (scores.systems, scores.notes) == (("old", "new"), ())
