"""Simulated collections have what was asked for."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from calipers.collection.simulate import Simulation, simulate
from calipers.errors import CalipersError


def read_run(path: Path) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "rt") as lines:
        for line in lines:
            query, _, document, _, score, _ = line.split()
            run.setdefault(query, {})[document] = float(score)
    return run


def mean_dcg(collection: Simulation, name: str) -> float:
    """DCG@10 with linear gain, averaged: written out, so that the simulator is tested by itself."""
    weights = 1 / np.log2(np.arange(2, 12))
    total = 0.0
    for query, documents in collection.runs[name].items():
        ranked = sorted(documents, key=documents.__getitem__, reverse=True)[:10]
        grades = [collection.qrels[query].get(document, 0) for document in ranked]
        total += float(np.dot(grades, weights[: len(grades)]))
    return total / len(collection.topics)


def test_sizes_and_names() -> None:
    collection = simulate(topics=30, pool=40, systems=12, retrieved=70)
    assert list(collection.qrels) == [str(i) for i in range(1, 31)]
    assert len(collection.grade) == pytest.approx(30 * 40, rel=0.1)
    assert list(collection.runs)[:2] == ["s01", "s02"]
    assert len(collection.runs) == 12
    assert all(len(documents) == 70 for run in collection.runs.values() for documents in run.values())
    assert sum(map(len, collection.qrels.values())) == len(collection.grade) == collection.offsets[-1]


def test_grades_come_as_often_as_asked() -> None:
    collection = simulate(topics=200, pool=100, grades=(60, 30, 10), systems=1, retrieved=1)
    shares = np.bincount(collection.grade) / len(collection.grade)
    np.testing.assert_allclose(shares, (0.6, 0.3, 0.1), atol=0.02)


def test_the_seed_decides() -> None:
    first, again, other = (simulate(5, pool=10, systems=2, retrieved=20, seed=seed) for seed in (1, 1, 2))
    assert first.qrels == again.qrels
    assert first.runs == again.runs
    assert first.qrels != other.qrels
    assert first.runs != other.runs


def test_a_run_does_not_depend_on_the_other_systems() -> None:
    alone = simulate(5, pool=10, systems={"a": 0.3}, retrieved=20)
    together = simulate(5, pool=10, systems={"a": 0.3, "b": 0.9}, retrieved=20)
    assert alone.runs["a"] == together.runs["a"]


def test_quality_orders_the_systems() -> None:
    qualities = {f"q{i}": i / 5 for i in range(6)}
    collection = simulate(topics=100, pool=60, systems=qualities, retrieved=100, unjudged=0.4)
    means = [mean_dcg(collection, name) for name in qualities]
    assert means == sorted(means)
    assert means[0] < means[-1] / 3


def test_quality_one_is_ideal_and_zero_is_blind() -> None:
    collection = simulate(300, pool=50, systems={"ideal": 1.0, "blind": 0.0}, retrieved=50, unjudged=0.0)
    for query, documents in collection.runs["ideal"].items():
        ranked = sorted(documents, key=documents.__getitem__, reverse=True)
        grades = [collection.qrels[query][document] for document in ranked]
        assert grades == sorted(grades, reverse=True)
    # A blind ranking finds grades at every rank as often as they are in the pool.
    weights = (1 / np.log2(np.arange(2, 12))).sum()
    assert mean_dcg(collection, "blind") == pytest.approx(collection.grade.mean() * weights, rel=0.1)


@pytest.mark.parametrize("decimals", [4, 0, None])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_share_of_ties(share: float, decimals: int | None) -> None:
    collection = simulate(topics=20, pool=50, systems=1, retrieved=200, ties=share, decimals=decimals)
    tied = total = 0
    for documents in collection.runs["s1"].values():
        _, counts = np.unique(list(documents.values()), return_counts=True)
        tied += int(counts[counts > 1].sum())
        total += len(documents)
    assert tied / total == pytest.approx(share, abs=0.04)
    if share in (0.0, 1.0):
        assert tied == share * total


def test_input_order_inside_a_tie_says_nothing() -> None:
    collection = simulate(topics=300, pool=40, systems={"ideal": 1.0}, retrieved=40, unjudged=0.0, ties=1.0)
    run = collection.run("ideal")
    first = [
        collection.qrels[collection.topics[t]][f"d{d}"]
        for t, d in zip(run.topic[run.rank == 1], run.document[run.rank == 1], strict=True)
    ]
    assert np.mean(first) == pytest.approx(collection.grade.mean(), abs=0.15)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.9, 1.0])
def test_share_of_unjudged_documents(share: float) -> None:
    collection = simulate(topics=20, pool=80, systems=2, retrieved=100, unjudged=share)
    for run in collection.runs.values():
        for query, documents in run.items():
            unjudged = sum(document not in collection.qrels[query] for document in documents)
            assert unjudged / len(documents) == pytest.approx(share, abs=1 / len(documents))
            assert len(documents) <= 100


def test_lists_are_filled_with_unjudged_documents() -> None:
    collection = simulate(topics=5, pool=10, systems=1, retrieved=100)
    for query, documents in collection.runs["s1"].items():
        assert len(documents) == 100
        assert collection.qrels[query].keys() <= documents.keys()


def test_systems_share_unjudged_documents_in_part() -> None:
    collection = simulate(topics=20, pool=5, systems=2, retrieved=100)
    shared = [
        len(a.keys() & b.keys()) for a, b in zip(*(run.values() for run in collection.runs.values()), strict=True)
    ]
    assert 10 < np.mean(shared) < 90


def test_missing_and_empty_topics() -> None:
    collection = simulate(topics=40, pool=10, systems=3, retrieved=20, missing=0.25, empty=0.1)
    assert [len(run) for run in collection.runs.values()] == [30, 30, 30]
    assert len({tuple(run) for run in collection.runs.values()}) == 3
    without = [query for query, grades in collection.qrels.items() if max(grades.values()) == 0]
    assert len(without) == 4


def test_every_other_topic_has_a_relevant_document() -> None:
    collection = simulate(topics=500, pool=2, grades=(0.95, 0.05), systems=1, retrieved=5)
    assert all(max(grades.values()) == 1 for grades in collection.qrels.values())


def test_no_relevant_document_at_all() -> None:
    collection = simulate(topics=5, pool=10, grades=(1.0,), systems={"a": 1.0}, retrieved=20)
    assert collection.grade.max() == 0
    assert all(map(len, collection.runs["a"].values()))


@pytest.mark.parametrize("compress", ["", "gz", "bz2", "xz"])
def test_files_hold_what_the_dicts_hold(tmp_path: Path, compress: str) -> None:
    collection = simulate(topics=7, pool=12, systems=2, retrieved=30, ties=0.2)
    qrels, runs = collection.write(tmp_path, compress=compress)
    assert [path.name for path in (qrels, *runs)] == [
        name + (compress and f".{compress}") for name in ("qrels.txt", "s1.run", "s2.run")
    ]
    if compress != "bz2":
        assert {path.name.split(".")[0]: read_run(path) for path in runs} == collection.runs
    before = qrels.read_bytes(), runs[0].read_bytes()
    collection.write(tmp_path, compress=compress)
    assert before == (qrels.read_bytes(), runs[0].read_bytes())


def test_qrels_file(tmp_path: Path) -> None:
    collection = simulate(topics=7, pool=12, systems=1, retrieved=1)
    qrels, _ = collection.write(tmp_path)
    read: dict[str, dict[str, int]] = {}
    for line in qrels.read_text().splitlines():
        query, _, document, grade = line.split()
        read.setdefault(query, {})[document] = int(grade)
    assert read == collection.qrels


def test_full_precision_survives_the_file(tmp_path: Path) -> None:
    collection = simulate(topics=4, pool=12, systems=1, retrieved=50, decimals=None)
    _, (path,) = collection.write(tmp_path)
    assert read_run(path) == collection.runs["s1"]
    digits = [len(line.split()[4].replace(".", "").lstrip("0")) for line in path.read_text().splitlines()]
    assert np.mean(digits) > 15


def test_shuffled_lines_are_the_same_lines(tmp_path: Path) -> None:
    collection = simulate(topics=10, pool=12, systems=1, retrieved=50)
    _, (sorted_path,) = collection.write(tmp_path / "sorted")
    _, (shuffled_path,) = collection.write(tmp_path / "shuffled", shuffle=True)
    lines, shuffled = sorted_path.read_text().splitlines(), shuffled_path.read_text().splitlines()
    assert lines != shuffled
    assert sorted(lines) == sorted(shuffled)


def test_letor_files(tmp_path: Path) -> None:
    collection = simulate(topics=6, pool=9, systems={"ideal": 1.0, "blind": 0.0}, ties=0.1)
    labels, scores = collection.write_letor(tmp_path, features=2)
    rows = labels.read_text().splitlines()
    assert len(rows) == len(collection.labels) == collection.group.sum()
    for row, grade, topic, document in zip(rows, collection.labels, collection.qid, collection.documents, strict=True):
        label, qid, one, two, rest = row.split(maxsplit=4)
        assert (label, qid) == (str(grade), f"qid:{collection.topics[topic]}")
        assert one.startswith("1:")
        assert two.startswith("2:")
        assert rest == f"#docid = d{document}"
    assert [path.name for path in scores] == ["ideal.scores", "blind.scores"]
    for path in scores:
        written = [float(line) for line in path.read_text().split()]
        assert written == collection.scores(path.stem).tolist()


def test_scores_of_the_pool_follow_the_quality() -> None:
    collection = simulate(topics=1000, pool=5, systems={"ideal": 1.0, "blind": 0.0})
    order = np.lexsort((-collection.scores("ideal"), collection.qid))
    ideal = np.lexsort((-collection.labels, collection.qid))
    np.testing.assert_array_equal(collection.labels[order], collection.labels[ideal])
    assert abs(np.corrcoef(collection.scores("blind"), collection.labels)[0, 1]) < 0.1


def test_many_topics_are_made_in_parts() -> None:
    collection = simulate(topics=1200, pool=3, systems=1, retrieved=4, missing=0.5)
    run = collection.run("s1")
    assert len(np.unique(run.topic)) == 600
    assert (np.diff(run.topic) >= 0).all()
    assert len(collection.scores("s1")) == len(collection.labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"topics": 0}, "topics 0 is not a whole number"),
        ({"pool": 0}, "pool is 0"),
        ({"retrieved": 0}, "retrieved is 0"),
        ({"retrieved": 10_000_000}, "too many documents"),
        ({"grades": ()}, "probability of each grade"),
        ({"grades": (0.5, -0.5)}, "probability of each grade"),
        ({"systems": 0}, "at least 1"),
        ({"systems": {}}, "at least one system"),
        ({"systems": {"a": 1.5}}, "quality of system 'a' is 1.5"),
        ({"systems": {"a b": 0.5}}, "cannot be a tag"),
        ({"systems": {"../a": 0.5}}, "cannot be a tag"),
        ({"ties": 1.5}, "ties is 1.5; it is a share"),
        ({"unjudged": -0.1}, "unjudged is -0.1"),
        ({"missing": 2}, "missing is 2"),
        ({"empty": -1}, "empty is -1"),
        ({"decimals": 12}, "decimals is 12"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_what_cannot_be_simulated(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(CalipersError, match=message):
        simulate(**arguments)


def test_unknown_system_and_compression(tmp_path: Path) -> None:
    collection = simulate(topics=1, pool=1, systems=1, retrieved=1)
    with pytest.raises(CalipersError, match="unknown simulated system 'x'; there are s1"):
        collection.run("x")
    with pytest.raises(CalipersError, match="cannot compress as 'zip'"):
        collection.write(tmp_path, compress="zip")
