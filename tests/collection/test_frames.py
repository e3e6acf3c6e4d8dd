"""Frames of pandas, polars and Arrow as judgments and runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import calipers as cal
from calipers.errors import CalipersError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 2, "d": -1}}
RUN = {"1": {"a": 3.5, "x": 2.5, "b": 1.5}, "2": {"c": 9.0}, "3": {"c": 1.0}}
MEASURES = ["nDCG@10", "AP", "RR"]

Maker = Callable[[dict[str, list[Any]]], Any]

FRAMES: dict[str, Maker] = {
    "pandas": pd.DataFrame,
    "pandas, objects": lambda columns: pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in columns.items()}),
    "pandas, Arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, categories": lambda columns: pd.DataFrame(
        {k: pd.Series(v).astype("category") if isinstance(v[0], str) else v for k, v in columns.items()}
    ),
    "polars": pl.DataFrame,
    "polars, lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "polars, categories": lambda columns: pl.DataFrame(columns).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "Arrow": pa.table,
    "Arrow, in chunks": lambda columns: pa.concat_tables(
        [pa.table({k: v[:2] for k, v in columns.items()}), pa.table({k: v[2:] for k, v in columns.items()})]
    ),
    "Arrow, a slice": lambda columns: pa.table({k: [v[0], *v] for k, v in columns.items()}).slice(1),
    "Arrow, views": lambda columns: pa.table(
        {k: pa.array(v, pa.string_view()) if isinstance(v[0], str) else v for k, v in columns.items()}
    ),
}


def flat(nested: dict[str, dict[str, float]], value: str, number: Callable[[str], Any] = str) -> dict[str, list[Any]]:
    rows = [(number(query), document, score) for query, of in nested.items() for document, score in of.items()]
    return dict(zip(("query_id", "doc_id", value), map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("number", [str, int])
def test_frames_are_taken_as_dicts_are(name: str, number: Callable[[str], Any]) -> None:
    make = FRAMES[name]
    qrels, run = make(flat(QRELS, "relevance", number)), make(flat(RUN, "score", number))
    want = cal.evaluate(QRELS, RUN, MEASURES)
    scores = cal.evaluate(qrels, run, MEASURES)
    assert scores.queries == want.queries
    assert scores.values.tolist() == want.values.tolist()
    assert cal.read_run(run).to_dict() == RUN
    assert cal.read_judgments(qrels).to_dict() == QRELS
    assert cal.evaluate(qrels, {"mine": run}, MEASURES).systems == ("mine",)
    assert cal.bounds(qrels, ["nDCG@10"]).table().rows == cal.bounds(QRELS, ["nDCG@10"]).table().rows


@pytest.mark.parametrize("name", FRAMES)
def test_a_column_of_systems(name: str) -> None:
    one, other = flat(RUN, "score"), flat({"1": {"b": 1.0}}, "score")
    columns = {key: [*one[key], *other[key]] for key in one} | {"system": ["A"] * 5 + ["B"]}
    scores = cal.evaluate(QRELS, FRAMES[name](columns), MEASURES)
    assert scores.systems == ("A", "B")
    want = cal.evaluate(QRELS, {"A": RUN, "B": {"1": {"b": 1.0}}}, MEASURES)
    assert scores.values.tolist() == want.values.tolist()


def test_pyterrier_frames() -> None:
    run = pd.DataFrame(
        {
            "qid": ["1", "1"],
            "query": ["a text", "a text"],
            "docid": [7, 9],
            "docno": ["a", "b"],
            "rank": [0, 1],
            "score": [2.0, 1.0],
        }
    )
    assert cal.read_run(run).to_dict() == {"1": {"a": 2.0, "b": 1.0}}


def test_columns_may_be_named() -> None:
    frame = pl.DataFrame({"topic id": [1], "url": ["a"], "bm25": [1.5], "stars": [2]})
    columns = {"query": "topic id", "document": "url", "score": "bm25", "grade": "stars"}
    assert cal.read_runs(frame, columns=columns)[0].to_dict() == {"1": {"a": 1.5}}
    assert cal.read_judgments(frame, columns=columns).to_dict() == {"1": {"a": 2}}
    assert [run.name for run in cal.read_runs([frame], name="x", columns=columns)] == ["x"]


def test_several_frames() -> None:
    frame = pl.DataFrame(flat(RUN, "score"))
    assert cal.evaluate(QRELS, {"a": frame, "b": frame}, MEASURES).systems == ("a", "b")
    with pytest.raises(CalipersError, match="two runs have the name 'run'"):
        cal.evaluate(QRELS, [frame, frame], MEASURES)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score": [1.0, None]}, "column 'score', row 2: (there is no value|nan)"),
        ({"score": [float("inf"), 1.0]}, "column 'score', row 1: inf is not a finite number"),
        ({"score": ["a", "b"]}, "column 'score' holds .*string: a score is a number"),
        ({"doc_id": ["a", None]}, "column 'doc_id', row 2: there is no value"),
        ({"query_id": [1.5, 2.5]}, "column 'query_id' holds double: ids are text or whole numbers"),
        ({"doc_id": ["a", "a"], "query_id": ["1", "1"]}, "row 2: document 'a' appears twice for query '1'"),
    ],
)
def test_bad_frames(make: Maker, change: dict[str, list[Any]], words: str) -> None:
    frame = make({"query_id": ["1", "2"], "doc_id": ["a", "b"], "score": [1.0, 2.0]} | change)
    with pytest.raises(CalipersError, match=words):
        cal.evaluate(QRELS, frame)


def test_objects_of_two_kinds() -> None:
    frame = pd.DataFrame({"qid": pd.Series(["1", 2], dtype=object), "docno": ["a", "b"], "score": [1.0, 2.0]})
    with pytest.raises(CalipersError, match="column 'qid', row 2: int among str"):
        cal.evaluate(QRELS, frame)


def test_frames_without_the_columns() -> None:
    with pytest.raises(CalipersError, match=r"no column for the query .*; the columns are 'a'"):
        cal.evaluate(QRELS, pd.DataFrame({"a": [1]}))
    with pytest.raises(CalipersError, match="there are no rows"):
        cal.evaluate(QRELS, pl.DataFrame({"qid": ["1"], "docno": ["a"], "score": [1.0]}).clear())
    of_old_polars = "runs cannot be of type float"  # whose series do not say that they are tables
    with pytest.raises(CalipersError, match=f"from a Series, which is a single column|{of_old_polars}"):
        cal.evaluate(QRELS, pl.Series([1.0]))
    with pytest.raises(CalipersError, match="is judged 2 here and 1 before"):
        cal.evaluate(pd.DataFrame({"qid": [1, 1], "docno": ["a", "a"], "label": [1, 2]}), RUN)


def test_a_grade_of_minus_zero_is_zero() -> None:
    judged = pd.DataFrame({"query": ["q", "q"], "document": ["a", "a"], "grade": [-0.0, 7.0]})
    with pytest.raises(CalipersError, match="judged 7 here and 0 before"):
        cal.evaluate(judged, RUN, "AP")


def test_frames_of_users_and_items() -> None:
    grades = {"0": {"0": 1.0, "2": 1.0}, "1": {"1": 1.0}}
    frames = [
        pd.DataFrame({"user_id": [0, 0, 1], "item_id": [0, 2, 1], "rating": [True, True, True]}),
        pl.DataFrame({"User": ["0", "0", "1"], "Item": ["0", "2", "1"], "relevance": [1.0, 1.0, 1.0]}),
    ]
    assert [cal.read_judgments(frame).to_dict() for frame in frames] == [grades, grades]
    scored = {"0": {"1": 0.9, "0": 0.5, "2": 0.25}, "1": {"1": 0.75, "2": 0.5}}
    run = cal.Run.from_dict(scored)
    recommended = run.to_pandas().rename(columns={"query": "user_id", "document": "item_id", "score": "prediction"})
    for frame in (run.to_pandas(), recommended):
        assert cal.read_run(frame).to_dict() == scored
        assert cal.evaluate(grades, {"knn": frame}, "RR", warn=False)["RR"].tolist() == [[1 / 2, 1]]


def test_a_run_of_ranked_lists_as_a_frame() -> None:
    run = cal.Run.from_dict({"0": ["1", "0", "2"], "1": ["1", "2"]})
    assert run.to_pandas().to_dict("list") == {
        "query": ["0", "0", "0", "1", "1"],
        "document": ["1", "0", "2", "1", "2"],
        "score": [-1, -2, -3, -1, -2],
    }


def test_frames_without_a_number_say_what_to_add() -> None:
    pairs = pd.DataFrame({"user_id": [1, 2], "item_id": [10, 11]})
    with pytest.raises(CalipersError, match="If every row is a relevant document, add a column 'grade' of ones"):
        cal.evaluate(pairs, {"1": ["10"]})
    with pytest.raises(CalipersError, match="If the rows are in ranked order, add a column 'rank'"):
        cal.evaluate({"1": ["10"]}, pairs)
    with pytest.raises(CalipersError, match="from a Series, which is a single column"):
        cal.evaluate(pairs["user_id"], {"1": ["10"]})
