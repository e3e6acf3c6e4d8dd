"""Preferences: both ways to write them, the pairs that follow, and what is refused."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError


def pairs_of(found: cal.Preferences, query: str) -> list[tuple[str, str]]:
    """The better and the worse document of each pair, by name."""
    q = found.queries.index(query)
    start = int(found.judgments.pool.offsets[q])
    names = found.judgments.document_names
    better, worse = (rows.tolist() for rows in found.pairs_of(q))
    return sorted((names[start + one], names[start + other]) for one, other in zip(better, worse, strict=True))


def test_both_ways_to_write_them(tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("# better worse\nq1 a b\nq2 x y\nq1\tc b\n")
    (tmp_path / "prefs").write_text("q1 g 0 a 2\nq1 g 0 b 1\nq2 g 0 x 1\nq2 g 0 y 0\nq1 g 1 c 1\nq1 g 1 b 0\n")
    for name in ("pairs", "prefs"):
        found = cal.read_preferences(tmp_path / name)
        assert found.queries == ("q1", "q2")
        assert pairs_of(found, "q1") == [("a", "b"), ("c", "b")]
        assert pairs_of(found, "q2") == [("x", "y")]
        assert found.judgments.to_dict() == {"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"x": 1, "y": 0}}


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_those_of_one_subgroup_with_different_levels(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    lines = [
        (f"q{q}", f"g{g}", f"s{s}", f"d{d}", int(random.integers(4)))
        for q in range(3)
        for g in range(2)
        for s in range(int(random.integers(1, 4)))
        for d in random.permutation(8)[: random.integers(1, 7)].tolist()
    ]
    random.shuffle(lines)
    path = tmp_path / "prefs"
    path.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))
    found = cal.read_preferences(path)
    for query in found.queries:
        wanted = sorted(
            (one[3], other[3]) if one[4] > other[4] else (other[3], one[3])
            for one, other in combinations([line for line in lines if line[0] == query], 2)
            if one[1:3] == other[1:3] and one[4] != other[4]
        )
        assert pairs_of(found, query) == wanted


@pytest.mark.acceptance
def test_what_trec_eval_reads(data: Path) -> None:
    found = cal.read_preferences(data / "trec/trec_eval-test/prefs.test")
    printed = [line.split() for line in (data / "trec/trec_eval-test/out.test.prefs").read_text().splitlines()]
    possible = {line[1]: int(line[2]) for line in printed if line[0] == "prefs_num_prefs_poss" and line[1] != "all"}
    for query in ("1.EC.AB", "2.EC.A", "5.EC.noPrf", "21.EC.cb", "22.EC.c3l", "23.EC.cml"):
        assert len(pairs_of(found, query)) == possible[query]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q a b\nq a\n", ":2: expected 3 fields"),
        ("q a b c\n", ":1: expected preferences (query document document, the better one first, or query group"),
        ("q a a\n", ":1: document 'a' is preferred to itself"),
        ("q 0 0 d x\n", ":1: level 'x' is not a number"),
        ("q 0 0 d 1\nq 0 0 e 1\nq 0 0 d 2\n", ":3: document 'd' appears twice in one subgroup"),
        ("# nothing\n", "nothing but comments"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "p").write_text(text)
    with pytest.raises(CalipersError) as error:
        cal.read_preferences(tmp_path / "p")
    assert message in str(error.value)
