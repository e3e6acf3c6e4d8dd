"""Preferences: pairs of documents, how they are read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import calipers as cal
from calipers.errors import CalipersError

PAIRS = [("q1", "a", "b"), ("q2", "x", "y"), ("q1", "c", "b"), ("q1", "b", "a"), ("q1", "a", "b")]


def pairs_of(found: cal.Preferences, query: str) -> list[tuple[str, str]]:
    """Return the better and the worse document of each pair, by name."""
    q = found.queries.index(query)
    start = int(found.pool.offsets[q])
    better, worse = (rows.tolist() for rows in found.pairs_of(q))
    names = found.document_names
    return sorted((names[start + one], names[start + other]) for one, other in zip(better, worse, strict=True))


def test_a_file_and_pairs_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    path.write_text("# better worse\nq1 a b\nq2 x y\nq1\tc b\nq1 b a\nq1 a b\n")
    for found in (
        cal.read_preferences(path),
        cal.read_judgments(path, format="preferences"),
        cal.Preferences.from_pairs(PAIRS),
    ):
        assert isinstance(found, cal.Preferences)
        assert found.queries == ("q1", "q2")
        assert pairs_of(found, "q1") == [("a", "b"), ("a", "b"), ("b", "a"), ("c", "b")]
        assert pairs_of(found, "q2") == [("x", "y")]
        assert found.judgments.to_dict() == {"q1": {"a": 1, "b": 1, "c": 1}, "q2": {"x": 1, "y": 0}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q a b\nq a\n", ":2: expected 3 fields (query document document, the better one first), found 2"),
        ("q 0 0 d 1\n", ":1: expected 3 fields"),
        ("q a b\nq a a\n", ":2: document 'a' is preferred to itself"),
        ("# nothing\n", "nothing but comments"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "p").write_text(text)
    with pytest.raises(CalipersError) as error:
        cal.read_preferences(tmp_path / "p")
    assert message in str(error.value)


@pytest.mark.parametrize("pair", [("q", "a"), ("q", "judge", "a", "b"), "qab", ("q", "a", "a"), 3])
def test_pairs_that_are_refused(pair: object) -> None:
    with pytest.raises(CalipersError, match=r"is not \(query, better document, worse document\)|preferred to itself"):
        cal.Preferences.from_pairs([pair])


def test_no_measure_of_grades_reads_preferences() -> None:
    known = cal.Preferences.from_pairs([("q", "a", "b")])
    with pytest.raises(CalipersError, match="needs one grade per document, but these look like preferences"):
        cal.evaluate(known, {"q": {"a": 1.0}}, ["AP"])
