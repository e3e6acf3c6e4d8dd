"""What the Spark engine does without Spark: batches in a worker, how deep measures read, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.collection.judgments import Judgments
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError, CheckFailed
from calipers.evaluation.options import ScoringOptions
from calipers.measures.forms.base import deepest
from calipers.measures.grammar import parse
from calipers.measures.registry import examples
from calipers.spark.session import translated
from calipers.spark.worker import JUDGMENTS, Task
from conftest import Require

SIMULATED = simulate(topics=12, pool=12, systems=4, retrieved=18, ties=0.5, missing=0.2, empty=0.1, unjudged=0.4)
# Now, before any test declares one of its own: functions travel too, but the copy of a function is never equal to it.
DECLARED = examples()
MEASURES = ["nDCG@5", "AP", "V2(nDCG@5)", "ERR@5", "V2s(AP, population=retrieved)"]


def task_for(judgments, systems, measures, **options):
    names = ("like", "ties", "empty", "depth")
    scoring = ScoringOptions(**{name: options.pop(name) for name in names if name in options})
    rules = scoring.like
    known = Judgments.from_dict(judgments)
    bound = {name: parse(name, rules.defaults).bind(known.pool) for name in measures}
    return Task(
        systems=tuple(systems),
        measures=bound,
        options=scoring,
        buckets=options.pop("buckets", 1),
        largest_list=options.pop("largest_list", 10**6),
        **options,
    )


def rows_of(judgments, runs, buckets=1):
    """The rows of a partition, sorted as the plan sorts them."""
    rows = [
        (bucket, JUDGMENTS, query, document, float(grade))
        for bucket in range(buckets)
        for query, graded in judgments.items()
        for document, grade in graded.items()
    ]
    for place, run in enumerate(runs.values()):
        for query, ranked in run.items():
            rows += [(place % buckets, place, query, document, score) for document, score in ranked.items()]
    return sorted(rows, key=lambda row: row[:3])


def batches_of(rows, size):
    names, kinds = ("bucket", "system", "query", "document", "value"), "iisbd"
    types = {"i": pa.int32(), "s": pa.string(), "b": pa.binary(), "d": pa.float64()}
    for start in range(0, max(len(rows), 1), size):
        part = rows[start : start + size]
        columns = zip(*part, strict=True) if part else ([] for _ in names)
        arrays = [pa.array(column, types[kind]) for column, kind in zip(columns, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, list(names))


def scores_by(batches):
    return {(row["system"], row["query"]): row for row in pa.Table.from_batches(list(batches)).to_pylist()}


def check_equal(found, expected):
    assert len(found) == len(expected.systems) * len(expected.queries)
    for s, system in enumerate(expected.systems):
        for q, query in enumerate(expected.queries):
            row = found[system, query]
            for m, name in enumerate(expected.measures):
                value = np.nan if row[name] is None else row[name]
                np.testing.assert_allclose(value, expected.values[m, s, q], rtol=0, atol=1e-12)
                assert row["about"]["reasons"][m] == expected.reasons[m, s, q]
            assert row["about"]["read"] == expected.coverage.length[s, q]
            assert row["about"]["tied"] == expected.coverage.tied[s, q]
            assert row["about"]["judged_at_10"] == expected.coverage.judged_at_10[s, q]


@pytest.mark.parametrize("size", [1, 2, 7, 100_000])
@pytest.mark.parametrize("ties", ["average", "docid", "worst"])
def test_where_batches_are_cut_does_not_matter(size, ties):
    judgments, runs = SIMULATED.qrels, SIMULATED.runs
    task = task_for(judgments, runs, MEASURES, ties=ties)
    found = scores_by(task(batches_of(rows_of(judgments, runs), size)))
    check_equal(found, cal.evaluate(judgments, runs, MEASURES, ties=ties))


@pytest.mark.parametrize("buckets", [2, 3, 4])
def test_systems_may_be_dealt_out_to_buckets(buckets):
    judgments, runs = SIMULATED.qrels, SIMULATED.runs
    task = task_for(judgments, runs, MEASURES, buckets=buckets)
    found = scores_by(task(batches_of(rows_of(judgments, runs, buckets), 11)))
    check_equal(found, cal.evaluate(judgments, runs, MEASURES))


def test_lists_are_scored_in_parts_that_are_not_too_large(monkeypatch):
    monkeypatch.setattr("calipers.spark.worker.ROWS_AT_ONCE", 20)
    judgments, runs = SIMULATED.qrels, SIMULATED.runs
    batches = list(task_for(judgments, runs, MEASURES)(batches_of(rows_of(judgments, runs), 50)))
    assert len(batches) == len(runs)  # one per system: no two of them have 20 rows together
    check_equal(scores_by(batches), cal.evaluate(judgments, runs, MEASURES))


def test_a_system_without_rows_and_queries_without_judgments():
    judgments = {"q1": {"a": 1}, "q2": {"b": 1}}
    runs = {"one": {"q1": {"a": 2.0}, "q9": {"a": 1.0}}, "two": {}, "three": {"q2": {"c": 1.0}}}
    found = scores_by(task_for(judgments, runs, ["RR"])(batches_of(rows_of(judgments, runs), 2)))
    assert {key: row["RR"] for key, row in found.items()} == {
        ("one", "q1"): 1.0,
        ("one", "q2"): 0.0,
        ("two", "q1"): 0.0,
        ("two", "q2"): 0.0,
        ("three", "q1"): 0.0,
        ("three", "q2"): 0.0,
    }
    assert found["two", "q1"]["about"]["read"] == 0


def test_a_partition_without_judgments_gives_nothing():
    runs = {"one": {"q9": {"a": 1.0}}}
    assert list(task_for({"q1": {"a": 1}}, runs, ["RR"])(batches_of(rows_of({}, runs), 5))) == []
    assert list(task_for({"q1": {"a": 1}}, runs, ["RR"])(iter([]))) == []


def test_what_is_wrong_is_said_in_the_words_of_the_local_engine():
    judgments = {"q1": {"a": 1}}
    rows = [*rows_of(judgments, {"one": {"q1": {"a": 2.0}}}), (0, 0, "q1", "a", 1.0)]
    with pytest.raises(CalipersError, match="runs: document 'a' appears twice for query 'q1'"):
        list(task_for(judgments, ["one"], ["RR"])(batches_of(rows, 1)))
    twice = [(0, JUDGMENTS, "q1", "a", 1.0), (0, JUDGMENTS, "q1", "a", 0.0)]
    with pytest.raises(CalipersError, match="judgments: document 'a' of query 'q1' is judged 0 here and 1 before"):
        list(task_for(judgments, ["one"], ["RR"])(batches_of(twice, 2)))
    with pytest.raises(CalipersError, match="beyond what the profile 'letor4' can express"):
        list(task_for(judgments, ["one"], ["nDCG@5"], like="letor4")(batches_of([(0, JUDGMENTS, "q1", "a", 7.0)], 2)))
    rows = rows_of({"q1": {"a": 0}}, {"one": {"q1": {"a": 2.0}}})
    with pytest.raises(CalipersError, match="nDCG@5 is undefined for query 'q1'"):
        list(task_for(judgments, ["one"], ["nDCG@5"], empty="error")(batches_of(rows, 2)))


@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_a_query_that_is_too_large_is_named(size):
    judgments = {"q1": {"a": 1}, "q2": {"a": 1}}
    runs = {"one": {"q1": {"a": 1.0}, "q2": {f"d{i}": 1.0 for i in range(6)}}}
    task = task_for(judgments, runs, ["RR"], largest_list=5)
    with pytest.raises(
        CalipersError, match=r"query 'q2' is too large for an executor: system 'one' has more than 5 rows"
    ):
        list(task(batches_of(rows_of(judgments, runs), size)))
    many = {"q7": {f"d{i}": 1 for i in range(6)}}
    with pytest.raises(CalipersError, match=r"query 'q7' is too large for an executor: the judgments have more than 5"):
        list(task_for(many, ["one"], ["RR"], largest_list=5)(batches_of(rows_of(many, {}), size)))
    list(task_for(judgments, runs, ["RR"], largest_list=6)(batches_of(rows_of(judgments, runs), size)))


def test_a_task_travels():
    judgments, runs = SIMULATED.qrels, SIMULATED.runs
    cloudpickle = Require().module("pyspark.cloudpickle")
    task = task_for(judgments, runs, DECLARED)
    again = pickle.loads(cloudpickle.dumps(task))
    assert again == task


# -- how deep measures read --------------------------------------------------------------------------


def cut(ranked, k):
    """Without the documents whose tie starts below rank k."""
    return {d: s for d, s in ranked.items() if sum(other > s for other in ranked.values()) < k}


CUTTABLE = [
    "nDCG@3",
    "nDCG(short=n)@3",
    "nDCG(short=zero)@3",
    "DCG(gain=exp)@3",
    "SDCG@3",
    "SN-DCG@3",
    "HIT@3",
    "P@3",
    "Recall@3",
    "Success@3",
    "SP@3",
    "AP@3",
    "AP(norm=k)@3",
    "AP(norm=min)@3",
    "SN-AP@3",
    "GAP@3",
    "RR@3",
    "ERR@3",
    "RBP(p=0.5)@3",
    *(f"{measure}, population=pool)" for measure in ("V2(nDCG@3", "U(AP@3", "Z(P@3", "W(RR@3")),
]


@pytest.mark.parametrize("name", CUTTABLE)
@pytest.mark.parametrize("ties", ["average", "docid", "input", "best", "worst"])
def test_nothing_below_the_reach_of_a_measure_matters(name, ties):
    collection = simulate(topics=30, pool=9, systems=2, retrieved=12, ties=0.6, unjudged=0.4, empty=0.1, seed=3)
    k = parse(name).form.reach
    assert k == 3
    assert parse(name.replace("population=pool", "population=union")).form.reach == (None if "pop" in name else 3)
    runs = {s: {q: cut(ranked, k) for q, ranked in run.items()} for s, run in collection.runs.items()}
    assert any(len(runs[s][q]) < len(collection.runs[s][q]) for s in runs for q in runs[s])
    whole = cal.evaluate(collection.qrels, collection.runs, [name], ties=ties)
    short = cal.evaluate(collection.qrels, runs, [name], ties=ties)
    np.testing.assert_array_equal(whole.values, short.values)
    np.testing.assert_array_equal(whole.reasons, short.reasons)


@pytest.mark.parametrize("name", examples())
def test_every_measure_that_claims_a_reach_keeps_to_it(name):
    measure = parse(name)
    k = measure.form.reach
    if k is None:
        return
    topics, documents = (20, 3 * k) if k <= 100 else (1, k + 100)  # thousands
    collection = simulate(topics=topics, pool=documents, systems=2, retrieved=documents, ties=0.5, unjudged=0.4, seed=4)
    runs = {s: {q: cut(ranked, k) for q, ranked in run.items()} for s, run in collection.runs.items()}
    assert any(len(runs[s][q]) < len(collection.runs[s][q]) for s in runs for q in runs[s])
    whole, short = (cal.evaluate(collection.qrels, each, [name]) for each in (collection.runs, runs))
    np.testing.assert_array_equal(whole.values, short.values)


@pytest.mark.parametrize("ties", ["average", "input", "best", "worst"])
@pytest.mark.parametrize("depth", [None, 5, 14])
def test_arrays_of_which_only_the_top_is_sorted(ties, depth):
    rng = np.random.default_rng(5)
    group = rng.integers(0, 120, 60)
    labels = rng.choice(4, int(group.sum()), p=[0.7, 0.15, 0.1, 0.05])
    judgments = cal.Judgments.from_arrays(labels, group=group)
    spread = {"tied": 1, "straddling": 0, "few": 3}  # decimals
    runs = {name: np.round(labels / 4 + rng.standard_normal(len(labels)), n) for name, n in spread.items()}
    runs["constant"] = np.zeros(len(labels))
    top = cal.evaluate(judgments, runs, ["nDCG@10", "ERR@7"], ties=ties, depth=depth)
    whole = cal.evaluate(judgments, runs, ["nDCG@10", "ERR@7", "AP"], ties=ties, depth=depth)  # AP reads all
    np.testing.assert_array_equal(top.values, whole.values[:2])
    np.testing.assert_array_equal(top.reasons, whole.reasons[:2])
    assert top.notes == whole.notes
    for name in ("length", "tied", "judged_at_10"):
        np.testing.assert_array_equal(getattr(top.coverage, name), getattr(whole.coverage, name))


@pytest.mark.parametrize(
    "name",
    [
        "AP",
        "nDCG",
        "RPrec",
        "Judged@5",
        "P(short=n)@5",
        "V2(nDCG@5, population=retrieved)",
        "nDCG(ideal=list)@5",
        "V2(nDCG@5, population=collection(100))",
        "bpref",
        "nDCG(judged_only=True)@5",
        "NumRet",
    ],
)
def test_measures_that_read_all_have_no_reach(name):
    assert parse(name).form.reach is None


def test_the_reach_of_several_is_the_deepest():
    forms = [parse(name).form for name in ("nDCG@10", "P@30", "RR@5")]
    assert deepest(forms) == 30
    assert deepest([*forms, parse("AP").form]) is None
    assert deepest([]) is None


# -- errors ------------------------------------------------------------------------------------------


class PythonError(Exception):
    """As PySpark's own look: named by their module."""


PythonError.__module__ = "pyspark.errors"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "An exception was thrown\nTraceback ...\ncalipers.errors.CalipersError: runs: document 'a' appears twice\n",
            "runs: document 'a' appears twice",
        ),
        (
            "[USER_RAISED_EXCEPTION] CalipersError: runs: column 'qid': a row has no value SQLSTATE: P0001",
            "runs: column 'qid': a row has no value",
        ),
        ("Traceback\nModuleNotFoundError: No module named 'calipers'", "no module 'calipers': install"),
        ("Job aborted: ExecutorLostFailure (executor 1 exited)", "an executor of Spark died"),
        (
            "Traceback (most recent call last):\n  File x\nKeyError: 'z'\n SQLSTATE: 38000",
            "Spark failed: KeyError: 'z'",
        ),
        ("[TABLE_OR_VIEW_NOT_FOUND] no such table\nmore", "Spark failed: [TABLE_OR_VIEW_NOT_FOUND] no such table"),
    ],
)
def test_failures_are_one_line(text, expected):
    with pytest.raises(CalipersError) as caught, translated():
        raise PythonError(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "SQLSTATE" not in str(caught.value)


def test_a_failed_check_stays_one_and_bugs_stay_bugs():
    with pytest.raises(CheckFailed), translated():
        raise PythonError("calipers.errors.CheckFailed: V2: for 3 of 4 queries")
    with pytest.raises(ZeroDivisionError), translated():
        raise ZeroDivisionError
