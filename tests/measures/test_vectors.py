"""vectors.json through the public face: a score, and the three orders of a pool that bound it.

A random ranking is one in which everything is tied, so the expected score is the score of a constant run.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import calipers as cal
from spec_vectors import VECTORS

NEAR = {"rel": 1e-12, "abs": 1e-12}


def names(query: dict[str, Any]) -> dict[str, tuple[str, float]]:
    """Our name for each vector, and the factor between the two.

    The vectors' graded RBP and INSQ value a document by (2^g - 1) / 2^max, ours by (2^g - 1) / (2^max - 1).
    Their INSQ has the weights 1 / (i (i + 1)), which are called telescoping here.
    """
    k, top = query["k"], query["gmax"]
    t = ",".join(repr(float(Fraction(share))) for share in query["gap_threshold_probs"])
    scale = (2**top - 1) / 2**top
    return {
        "DCG exp log2(i+1)": (f"DCG(gain=exp)@{k}", 1),
        "SP": (f"SP@{k}", 1),
        "P": (f"P@{k}", 1),
        "RR": (f"RR@{k}", 1),
        "HIT graded": (f"HIT@{k}", 1),
        "ERR": (f"ERR(max_grade={top})@{k}", 1),
        "RBP p=0.8": (f"RBP(p=0.8,gain=exp,max_grade={top})@{k}", scale),
        "INSQ": (f"Weighted(discount=telescoping,gain=exp,max_grade={top})@{k}", scale),
        "Recall": (f"Recall@{k}", 1),
        "AP/R": (f"AP@{k}", 1),
        "AP/k": (f"AP(norm=k)@{k}", 1),
        "AP/min(R,k)": (f"AP(norm=min)@{k}", 1),
        "GAP": (f"GAP(t=[{t}])@{k}", 1),
        "SN-AP (empty=0)": (f"SN-AP@{k}", 1),
    }


def score(name: str, grades: list[int], scores: list[float]) -> float:
    """The value of one measure on one list, undefined as 0."""
    pool = {f"d{row}": grade for row, grade in enumerate(grades)}
    run = {f"d{row}": value for row, value in enumerate(scores)}
    return float(cal.evaluate({"q": pool}, {"q": run}, [name], empty=0.0).values[0, 0, 0])


@pytest.mark.parametrize(
    ("query", "vector"),
    [(query, vector) for query in VECTORS["queries"] for vector in names(query) if vector in query],
    ids=lambda part: part if isinstance(part, str) else part["name"],
)
def test_pools(query: dict[str, Any], vector: str) -> None:
    name, scale = names(query)[vector]
    grades, wanted = query["grades"], query[vector]
    n = len(grades)
    descending = [float(n - row) for row in range(n)]
    ranked = {
        "A": descending,
        "E": [1.0] * n,
        "ideal": [float(grade) for grade in grades],
        "worst": [-float(grade) for grade in grades],
    }
    if vector.startswith("SN-"):
        del ranked["worst"]  # the worst ranking of a self-normalised measure is not the sorted one
    for order, scores in ranked.items():
        got = score(name, grades, scores) * scale
        assert got == pytest.approx(wanted[order]["float"], **NEAR), order


@pytest.mark.parametrize(
    ("vector", "name"),
    [
        ("SP", "SP@4"),
        ("P", "P@4"),
        ("RR", "RR@4"),
        ("ERR stop=1/2*rel", "ERR(max_grade=1)@4"),
        ("RBP p=1/2", "RBP(p=0.5)@4"),
        ("DCG log2(i+1)", "DCG@4"),
    ],
)
def test_ties(vector: str, name: str) -> None:
    groups, wanted = VECTORS["ties"]["groups (binary)"], VECTORS["ties"]["k=4"][vector]
    grades = [grade for group in groups for grade in group]
    scores = [float(-number) for number, group in enumerate(groups) for _ in group]
    assert score(name, grades, scores) == pytest.approx(float(Fraction(wanted)), **NEAR)


def test_ties_of_hit() -> None:
    """HIT@4 is 1: see test_oracle.test_the_hit_of_the_tied_vector for why the vector's 1/2 is not."""
    groups = VECTORS["ties"]["groups (binary)"]
    grades = [grade for group in groups for grade in group]
    scores = [float(-number) for number, group in enumerate(groups) for _ in group]
    assert score("HIT@4", grades, scores) == 1
    assert score("HIT@1", grades, scores) == pytest.approx(1 / 2, **NEAR)


def test_expected_scores_of_large_pools() -> None:
    """One tie of 120 documents, which no enumeration reaches: sums of many small terms stay exact."""
    large = VECTORS["large"]

    def chance(name: str, grades: list[int]) -> float:
        return score(name, grades, [0.0] * len(grades))

    thirty = [1] * 30 + [0] * 90
    assert chance("SP@10", thirty) == pytest.approx(large["E SP N=120 Np=30 k=10"]["float"], **NEAR)
    assert chance("RR@10", thirty) == pytest.approx(large["E RR n=120 R=30 k=10"], **NEAR)
    assert chance("bpref", [1] * 10 + [0] * 50) == pytest.approx(11 / 102, **NEAR)
    assert chance("bpref", [1] * 10 + [0] * 5) == pytest.approx(1 / 2, **NEAR)
    graded = [0] * 40 + [1] * 30 + [2] * 20 + [3] * 8 + [4] * 2
    wanted = large["E ERR 40x0 30x1 20x2 8x3 2x4 gmax4 k=10"]
    assert chance("ERR(max_grade=4)@10", graded) == pytest.approx(wanted, **NEAR)
