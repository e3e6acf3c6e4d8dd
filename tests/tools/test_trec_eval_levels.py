"""`calipers trec_eval -l`, against a plain reading of trec_eval's definitions in exact fractions."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import log
from pathlib import Path

import pytest
from click.testing import CliRunner

from calipers.cli.commands import root

Code = int  # of a document: its grade, -1 where nobody judged it, -2 where it was judged below 0
Oracle = Callable[[Sequence[Code], int, int, int], "Fraction | float"]  # of the list, the level, R and those retrieved


def reached(codes: Sequence[Code], level: int, cutoff: int | None = None) -> list[int]:
    return [rank for rank, code in enumerate(codes[:cutoff], 1) if code >= level]


def precisions(codes: Sequence[Code], level: int, cutoff: int | None = None) -> Fraction:
    return sum((Fraction(i, rank) for i, rank in enumerate(reached(codes, level, cutoff), 1)), Fraction())


def over(value: Fraction, relevant: int) -> Fraction:
    return value / relevant if relevant else Fraction()


def interpolated(*shares: Fraction) -> Oracle:
    """Counted down from the number of relevant documents retrieved."""

    def at(codes: Sequence[Code], level: int, relevant: int, retrieved: int, share: Fraction) -> Fraction:
        needed = int(share * relevant + Fraction(1, 2))
        best, left = Fraction(), retrieved
        for rank in range(len(codes), 0, -1):
            if left < max(needed, 1):
                break
            best = max(best, Fraction(left, rank))
            left -= codes[rank - 1] >= level
        return best if needed <= retrieved else Fraction()

    return lambda codes, level, relevant, retrieved: (
        sum((at(codes, level, relevant, retrieved, share) for share in shares), Fraction()) / len(shares)
    )


def at_multiple(multiple: Fraction) -> Oracle:
    def precision(codes: Sequence[Code], level: int, relevant: int, retrieved: int) -> Fraction:
        depth = int(multiple * relevant + Fraction(9, 10))
        return Fraction(max(retrieved - len(reached(codes[depth:], level)), 0), depth) if depth else Fraction()

    return precision


ORACLES: dict[str, Oracle] = {
    "num_ret": lambda codes, level, relevant, retrieved: len(codes),
    "num_rel": lambda codes, level, relevant, retrieved: relevant,
    "num_rel_ret": lambda codes, level, relevant, retrieved: retrieved,
    "map": lambda codes, level, relevant, retrieved: over(precisions(codes, level), relevant),
    "map_cut_2": lambda codes, level, relevant, retrieved: over(precisions(codes, level, 2), relevant),
    "Rprec": lambda codes, level, relevant, retrieved: (
        Fraction(len(reached(codes, level, relevant)), relevant) if relevant else 0
    ),
    "recip_rank": lambda codes, level, relevant, retrieved: (
        Fraction(1, ranks[0]) if (ranks := reached(codes, level)) else 0
    ),
    "P_3": lambda codes, level, relevant, retrieved: Fraction(len(reached(codes, level, 3)), 3),
    "recall_3": lambda codes, level, relevant, retrieved: (
        Fraction(len(reached(codes, level, 3)), relevant) if relevant else 0
    ),
    "relative_P_3": lambda codes, level, relevant, retrieved: (
        Fraction(len(reached(codes, level, 3)), min(3, relevant)) if relevant else 0
    ),
    "success_2": lambda codes, level, relevant, retrieved: int(bool(reached(codes, level, 2))),
    "binG": lambda codes, level, relevant, retrieved: over(
        Fraction(sum(log(2) / log(2 + rank - i) for i, rank in enumerate(reached(codes, level), 1))), relevant
    ),
    "iprec_at_recall_0.00": interpolated(Fraction(0)),
    "iprec_at_recall_0.50": interpolated(Fraction(1, 2)),
    "11pt_avg": interpolated(*(Fraction(i, 10) for i in range(11))),
    "Rprec_mult_0.60": at_multiple(Fraction(6, 10)),
    "Rprec_mult_2.00": at_multiple(Fraction(2)),
    "set_recall": lambda codes, level, relevant, retrieved: Fraction(retrieved, relevant) if relevant else 0,
}
ASKED = [
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "map_cut.2",
    "Rprec",
    "recip_rank",
    "P.3",
    "recall.3",
    "relative_P.3",
    "success.2",
    "binG",
    "iprec_at_recall.0,0.5",
    "11pt_avg",
    "Rprec_mult.0.6,2",
    "set_recall",
]


def some_grades(chance: random.Random) -> dict[str, int]:
    grades = [-1, 0, 1, 2] if chance.random() < 0.9 else [-1]
    return {document: chance.choice(grades) for document in chance.sample("abcdefg", chance.randint(1, 6))}


def expected(ranked: Sequence[str], grades: Mapping[str, int], level: int, oracle: Oracle) -> float:
    codes = [-1 if document not in grades else grades[document] if grades[document] >= 0 else -2 for document in ranked]
    relevant = sum(grade >= level for grade in grades.values())
    return float(oracle(codes, level, relevant, sum(code >= level for code in codes)))


def printed(*arguments: str) -> dict[tuple[str, str], float]:
    result = CliRunner().invoke(root, ["trec_eval", *arguments])
    assert result.exit_code == 0
    rows = (line.split("\t") for line in result.stdout.splitlines())
    return {(name.strip(), query): float(value) for name, query, value in rows}


@pytest.mark.parametrize("level", [0, 1, 2])
def test_levels(level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries 80 to 99 are missing in the run."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(level)
    judged = {str(query): some_grades(chance) for query in range(100)}
    runs = {query: chance.sample("abcdefghij", chance.randint(1, 8)) for query in judged if int(query) < 80}
    Path("qrels").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, of in judged.items() for d, g in of.items()), encoding="utf-8"
    )
    Path("run").write_text(
        "".join(f"{q} Q0 {d} 0 {-i} t\n" for q, of in runs.items() for i, d in enumerate(of)), encoding="utf-8"
    )
    options = [part for name in ASKED for part in ("-m", name)]
    got = printed("-q", "-c", "-l", str(level), *options, "qrels", "run")
    checked = 0
    for name, oracle in ORACLES.items():
        for query, grades in judged.items():
            wanted = expected(runs.get(query, ["nothing"]), grades, level, oracle)
            if query not in runs and name == "num_ret":
                wanted = 0
            assert got[name, query] == pytest.approx(wanted, abs=5.1e-5), (name, query, grades, runs.get(query))
            checked += wanted > 0
    assert checked > 400
    old = printed("--v9", "-q", "-l", str(level), *options, "qrels", "run")
    same = [key for key in old if key[1] != "all" and not key[0].startswith(("iprec", "11pt"))]
    assert len(same) > 1000
    assert {key: old[key] for key in same} == {key: got[key] for key in same}
