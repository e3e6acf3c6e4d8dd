"""Preferences: both ways to write them, the pairs that follow, and what is refused."""

from __future__ import annotations

import itertools
import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import calipers as cal
from calipers.collection.preferences import PreferencePool
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
    draw = np.random.default_rng(seed)
    lines = [
        (f"q{q}", f"g{g}", f"s{s}", f"d{d}", int(draw.integers(4)))
        for q in range(3)
        for g in range(2)
        for s in range(int(draw.integers(1, 4)))
        for d in draw.permutation(8)[: draw.integers(1, 7)].tolist()
    ]
    draw.shuffle(lines)
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


@pytest.mark.data
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


def by_hand(rows: list[tuple[str, str, str, str, float]]) -> set[tuple[str, str, str, str]]:
    """The pairs of every judge: those of each group, and what follows from them, by going round until nothing does."""
    found = set()
    for query, judge in {row[:2] for row in rows}:
        mine = [row for row in rows if row[:2] == (query, judge)]
        pairs = {(a[3], b[3]) for a in mine for b in mine if a[2] == b[2] and a[4] > b[4]}
        while more := {(a, d) for (a, b), (c, d) in itertools.product(pairs, pairs) if b == c} - pairs:
            pairs |= more
        if any(a == b for a, b in pairs):
            raise ValueError
        found |= {(query, judge, a, b) for a, b in pairs}
    return found


def test_pairs_of_random_lines_are_those_by_hand(tmp_path):
    draw = random.Random(1)
    contradictions = 0
    for number in range(150):
        rows = {}
        for _ in range(draw.randint(1, 25)):
            key = (draw.choice("pq"), draw.choice("xy"), draw.choice("12"), draw.choice("abcde"))
            rows[key] = float(draw.randint(1, 3))
        lines = [(*key, level) for key, level in rows.items()]
        path = tmp_path / f"{number}"
        path.write_text("".join(f"{q} {j}\t{g} {d}  {level}\n" for q, j, g, d, level in lines))
        try:
            expected = by_hand(lines)
        except ValueError:
            contradictions += 1
            with pytest.raises(CalipersError, match="contradicts themselves"):
                cal.read_preferences(path).closed_pairs()
            continue
        known = cal.read_preferences(path)
        pairs = known.closed_pairs()
        assert len(pairs) == len(set(pairs))
        assert set(pairs) == expected
        assert known.queries == tuple(dict.fromkeys(row[0] for row in lines))
        assert [*known.judges] == [tuple(sorted({r[1] for r in lines if r[0] == q})) for q in known.queries]
        wins = {(q, d): 0 for q, _, _, d, _ in lines}
        for q, _, a, b in pairs:
            wins[q, a] += 1
            wins[q, b] -= 1
        for query, start in zip(known.queries, known.pool.offsets, strict=False):
            mine = {d: n for (q, d), n in wins.items() if q == query}
            least = min(mine.values())
            assert known.pool.grade[start : start + len(mine)].tolist() == [mine[d] - least for d in sorted(mine)]
    assert 5 < contradictions < 100


def test_qrels_as_preferences(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("# graded\nq 0 b 2\nq 0 a 1\nq 0 c 0\nq 1 a 1\nq 1 b 0\nq 0 b 2\n")
    known = cal.read_preferences(path, format="qrels_prefs")
    assert known.closed_pairs() == [
        ("q", "0", "b", "a"), ("q", "0", "b", "c"), ("q", "0", "a", "c"), ("q", "1", "a", "b"),
    ]  # fmt: skip
    assert known.repeated == 1
    pool = known.pool
    assert isinstance(pool, PreferencePool)
    assert pool.complete.tolist() == [1, 1]
    assert np.diff(pool.levels.offsets).tolist() == [3, 2]
    same = cal.Preferences.from_judgments(cal.Judgments.from_dict({"q": {"b": 2, "a": 1, "c": 0}}))
    assert same.closed_pairs() == known.closed_pairs()[:3]


def test_what_follows_and_what_was_judged():
    pairs = [("q", "x", "a", "b"), ("q", "x", "b", "c"), ("q", "y", "b", "a")]
    found = cal.Preferences.from_pairs(pairs)
    assert found.closed_pairs() == [pairs[0], ("q", "x", "a", "c"), *pairs[1:]]
    assert pairs_of(found, "q") == [("a", "b"), ("b", "a"), ("b", "c")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q a b\nq b a\n", "judge 'pairs' contradicts themselves"),
        (
            "q j 1 a 2\nq j 2 a 0\n",
            ":2: document 'a' of query 'q': judge 'j' puts it at level 0, not relevant",
        ),
    ],
)
def test_judges_who_contradict_themselves_are_refused_by_measures(tmp_path, text, message):
    path = tmp_path / "prefs"
    path.write_text(text)
    found = cal.read_preferences(path)
    with pytest.raises(CalipersError, match=message):
        cal.evaluate(found, {"q": {"a": 1.0}}, ["prefs_simp"])


def test_no_measure_of_grades_reads_preferences():
    known = cal.Preferences.from_levels({"q": {"x": {"a": 1, "b": 0}}})
    with pytest.raises(CalipersError, match="needs one grade per document, but these look like preferences"):
        cal.evaluate(known, {"q": {"a": 1.0}}, ["AP"])
