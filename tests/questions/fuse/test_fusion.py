"""Fusion and its bounds: against plain definitions, against laws, against ranx, and on real runs."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

import calipers as cal
from calipers.cli.commands import root
from calipers.collection import id_codes as coding
from calipers.collection.runs import DictRun
from calipers.errors import CalipersError
from calipers.evaluation.candidates import ScoredCandidates
from calipers.evaluation.inputs import as_judgments
from calipers.native import plain, scanner
from calipers.native.ids import Ids
from calipers.questions.fuse.combine import fused as fused_run
from calipers.questions.fuse.methods import METHODS, SCALINGS
from calipers.questions.fuse.oracles import judged, sorted_score
from run_calipers import calipers

Ranked = dict[str, float]
Runs = dict[str, dict[str, Ranked]]

VECTOR: Runs = {
    "x": {"q": {"a": 3, "b": 2, "c": 1}},
    "y": {"q": {"b": 10, "c": 5, "d": 0}},
    "z": {"q": {"c": 0.9, "a": 0.5, "e": 0.1}},
}
CYCLE: Runs = {"x": {"q": {"A": 4, "B": 3, "C": 2, "D": 1}}, "y": {"q": {"C": 4, "D": 3, "A": 2, "B": 1}}}


def fused(runs: Any, method: str = "combmnz", **options: Any) -> Ranked:
    return cal.fuse(runs, method, **options).to_dict()["q"]


def random_runs(seed: int, queries: int = 4, runs: int = 5, documents: int = 30, levels: int = 0) -> Runs:
    """Runs that overlap in part; with levels, of few different scores."""
    draw = random.Random(seed)
    made: Runs = {}
    for run in range(runs):
        made[f"r{run}"] = {}
        for query in range(queries):
            shown = draw.sample([f"d{number}" for number in range(documents)], draw.randint(1, documents))
            score = (lambda: float(draw.randint(0, levels))) if levels else (lambda: draw.gauss(0, 3))
            made[f"r{run}"][f"q{query}"] = {document: score() for document in shown}
    return made


def random_grades(seed: int, queries: int = 4, documents: int = 30) -> dict[str, dict[str, float]]:
    draw = random.Random(seed)
    return {
        f"q{query}": {f"d{n}": draw.choice([0, 0, 1, 2]) for n in draw.sample(range(documents), documents * 2 // 3)}
        | {"d0": 1}
        for query in range(queries)
    }


# --- plain definitions --------------------------------------------------------------------------------------


def ranking(scores: Ranked) -> list[str]:
    """By score, then by id, both descending."""
    return sorted(scores, key=lambda d: (scores[d], d.encode()), reverse=True)


def plain_scaled(scores: Ranked, how: str) -> Ranked:
    values = list(scores.values())
    low, high = min(values), max(values)
    if how == "none":
        return dict(scores)
    if how == "rank":
        return {d: 1 - place / len(scores) for place, d in enumerate(ranking(scores))}
    if low == high:
        return dict.fromkeys(scores, 1.0)
    if how == "minmax":
        return {d: (s - low) / (high - low) for d, s in scores.items()}
    if how == "z":
        return {d: (s - fmean(values)) / pstdev(values) for d, s in scores.items()}
    total = sum(s - low for s in values)
    return {d: (s - low) / total for d, s in scores.items()}


COMB: dict[str, Callable[[list[float]], float]] = {
    "combsum": sum,
    "combmnz": lambda s: sum(s) * len(s),
    "combanz": fmean,
    "combmin": min,
    "combmax": max,
    "combmed": median,
}


def plain_fusion(lists: list[Ranked], method: str, how: str, k: float = 60, p: float = 0.8) -> Ranked:
    candidates = {document for scores in lists for document in scores}
    if method in COMB:
        scaled = [plain_scaled(scores, how) for scores in lists if scores]
        return {d: COMB[method]([scores[d] for scores in scaled if d in scores]) for d in candidates}
    ranks = [{d: place for place, d in enumerate(ranking(scores), 1)} for scores in lists]
    found = {}
    for d in candidates:
        here = [rank[d] for rank in ranks if d in rank]
        n = len(candidates)
        found[d] = {
            "rrf": sum(1 / (k + rank) for rank in here),
            "isr": sum(1 / rank**2 for rank in here) * len(here),
            "rbc": sum((1 - p) * p ** (rank - 1) for rank in here),
            "borda": sum(n - rank[d] + 1 if d in rank else (n - len(rank) + 1) / 2 for rank in ranks),
            "copeland": sum(int(np.sign(votes(ranks, d, other))) for other in candidates),
        }[method]
    return found


def votes(ranks: list[dict[str, int]], one: str, other: str) -> int:
    """Runs that put one above the other, less those that do the opposite."""
    below = float("inf")
    pairs = [(rank.get(one, below), rank.get(other, below)) for rank in ranks]
    return sum((a < b) - (a > b) for a, b in pairs)


# --- methods ------------------------------------------------------------------------------------------------


def test_the_vector_of_the_specification() -> None:
    assert {d: s for d, s in fused(VECTOR, "combsum").items() if d in "abc"} == {"a": 1.5, "b": 1.5, "c": 1.5}
    assert {d: s for d, s in fused(VECTOR, "combmnz").items() if d in "abc"} == {"c": 4.5, "a": 3.0, "b": 3.0}
    assert {d: s for d, s in fused(VECTOR, "combanz").items() if d in "abc"} == {"a": 0.75, "b": 0.75, "c": 0.5}
    assert fused(VECTOR, "combsum")["d"] == fused(VECTOR, "combsum")["e"] == 0


@pytest.mark.parametrize("how", SCALINGS)
@pytest.mark.parametrize("method", [name for name in METHODS if name != "condorcet"])
@pytest.mark.parametrize("levels", [0, 3])
def test_methods_are_their_definitions(method: str, how: str, levels: int) -> None:
    runs = random_runs(3, levels=levels)
    got = cal.fuse(runs, method, normalize=how).to_dict()
    for query in next(iter(runs.values())):
        wanted = plain_fusion([run[query] for run in runs.values()], method, how)
        assert got[query] == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        assert list(got[query]) == ranking(got[query])


def test_parameters() -> None:
    lists = [run["q"] for run in VECTOR.values()]
    assert fused(VECTOR, "rrf", k=0) == pytest.approx(plain_fusion(lists, "rrf", "none", k=0))
    assert fused(VECTOR, "rbc", p=0.5) == pytest.approx(plain_fusion(lists, "rbc", "none", p=0.5))
    assert list(fused(VECTOR, "combmnz", keep=2)) == ["c", "b"]
    shallow = {name: {"q": dict(list(run["q"].items())[:2])} for name, run in VECTOR.items()}
    assert fused(VECTOR, "rrf", depth=2) == fused(shallow, "rrf")


# The others count runs, or take one of them.
@pytest.mark.parametrize("method", sorted({*METHODS} - {"combmnz", "combanz", "combmin", "combmax", "combmed", "isr"}))
def test_a_run_of_weight_two_is_there_twice(method: str) -> None:
    runs = random_runs(5, runs=3)
    twice = {**runs, "again": runs["r1"]}
    one = cal.fuse(runs, method, weights={"r1": 2}).to_dict()
    other = cal.fuse(twice, method).to_dict()
    for query in one:
        assert one[query] == pytest.approx(other[query])
    assert cal.fuse(runs, method, weights=[1, 2, 1]).to_dict() == one


def test_weights_of_the_comb_methods_multiply_scores() -> None:
    assert fused(VECTOR, "combsum", weights=[1, 0, 0.5])["a"] == 1 + 0.5 * 0.5
    assert fused(VECTOR, "combmax", weights=[1, 1, 0.25]) == {"a": 1, "b": 1, "c": 0.5, "d": 0, "e": 0}


def test_a_query_that_only_some_runs_answer() -> None:
    runs = {"x": {"q": {"a": 1, "b": 0}, "r": {"c": 1}}, "y": {"q": {"b": 1, "a": 0}}}
    run = cal.fuse(runs, "combsum")
    assert run.to_dict()["r"] == {"c": 1}
    assert run.alone == 1


def test_constant_scores_are_normalised_to_1_and_counted() -> None:
    runs = {"x": {"q": {"a": 7, "b": 7}}, "y": {"q": {"b": 2, "c": 1}}}
    for how in ("minmax", "z", "sum"):
        assert fused(runs, "combsum", normalize=how)["a"] == 1
    assert cal.fuse(runs).constant == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_input_does_not_matter(method: str, seed: int) -> None:
    runs = random_runs(seed, levels=4)
    draw = random.Random(seed)

    def mixed(items: dict[str, Any]) -> dict[str, Any]:
        return dict(draw.sample(list(items.items()), len(items)))

    again = {name: {q: mixed(ranked) for q, ranked in mixed(run).items()} for name, run in runs.items()}
    one, other = cal.fuse(runs, method).to_dict(), cal.fuse(again, method).to_dict()
    assert one == other
    assert all(list(one[query]) == list(other[query]) for query in one)


# --- Condorcet ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_condorcet_neighbours_stand_as_more_runs_have_them(seed: int) -> None:
    runs = random_runs(seed, runs=4 + seed % 4)
    order = cal.fuse(runs, "condorcet").to_dict()
    for query, scores in order.items():
        documents = list(scores)
        assert list(scores.values()) == list(range(len(scores), 0, -1))
        ranks = [{d: i for i, d in enumerate(ranking(run[query]))} for run in runs.values()]
        for one, other in pairwise(documents):
            assert votes(ranks, one, other) >= 0


def test_condorcet_follows_a_majority_that_is_an_order() -> None:
    draw = random.Random(1)
    documents = [f"d{n}" for n in range(25)]
    runs: Runs = {}
    for run in range(9):  # two neighbours exchanged here and there
        order = list(documents)
        for i in draw.sample(range(0, 24, 2), 3):
            order[i], order[i + 1] = order[i + 1], order[i]
        runs[f"r{run}"] = {"q": {d: float(-i) for i, d in enumerate(order)}}
    ranks = [{d: i for i, d in enumerate(ranking(run["q"]))} for run in runs.values()]
    wanted = sorted(documents, key=lambda d: sum(votes(ranks, other, d) > 0 for other in documents))
    assert list(fused(runs, "condorcet")) == wanted
    assert list(fused(runs, "copeland")) == wanted


def test_condorcet_of_a_circle_depends_on_nothing_but_the_runs() -> None:
    runs = {
        "x": {"q": {"a": 3, "b": 2, "c": 1}},
        "y": {"q": {"b": 3, "c": 2, "a": 1}},
        "z": {"q": {"c": 3, "a": 2, "b": 1}},
    }
    wanted = list(fused(runs, "condorcet"))
    for names in (["y", "z", "x"], ["z", "y", "x"]):
        assert list(fused({name: runs[name] for name in names}, "condorcet")) == wanted


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
@pytest.mark.parametrize("weights", [(1.0, 0.5, 2.0, 1.0), (1.0,) * 11, (1.0,) * 17], ids=len)
@pytest.mark.parametrize(
    ("graded", "share", "half_stays"),
    [(False, False, False), (True, False, False), (True, True, False), (True, True, True)],
)
def test_the_sort_by_votes_is_one_merge_sort(
    kind: type[np.unsignedinteger[Any]], weights: tuple[float, ...], graded: bool, share: bool, half_stays: bool
) -> None:
    """Compiled and plain against a merge sort that is written down one comparison at a time.

    At most 16 runs of equal weight and small ranks are compared all at once.
    """
    draw = np.random.default_rng(7)
    offsets = np.array([0, 0, 1, 6, 40])
    rank = draw.integers(1, 12, (40, len(weights))).astype(kind)
    rank[draw.random(rank.shape) < 0.3] = 0xFFFF
    weight, grade = np.array(weights), draw.integers(0, 2, 40).astype(float) if graded else None
    needed = 0.5 if share else 2.25 if graded else 0.75
    options = (needed, grade, share, half_stays)

    def second_first(one: int, other: int) -> bool:
        above, below = (sum(weight[rank[a] < rank[b]]) for a, b in ((one, other), (other, one)))
        if grade is None:
            return bool(below - above > needed)
        least = needed * (above + below) if share else needed
        if half_stays and above >= least and below >= least:
            return False
        if (above >= least) == (below >= least):
            return bool(grade[other] > grade[one])
        return bool(below >= least)

    def merged(one: list[int], other: list[int]) -> list[int]:
        if not one or not other:
            return one + other
        later = second_first(one[0], other[0])
        return [other[0], *merged(one, other[1:])] if later else [one[0], *merged(one[1:], other)]

    start = np.concatenate([a + draw.permutation(b - a) for a, b in pairwise(offsets.tolist())])
    wanted: list[int] = []
    for a, b in pairwise(offsets.tolist()):
        parts = [[row] for row in start[a:b].tolist()]
        while len(parts) > 1:
            parts = [merged(parts[i], parts[i + 1] if i + 1 < len(parts) else []) for i in range(0, len(parts), 2)]
        wanted += parts[0] if parts else []
    for module in (scanner, plain):
        assert module.sort_by_votes(start, offsets, rank, weight, *options).tolist() == wanted
        with pytest.raises(ValueError, match="do not fit"):
            module.sort_by_votes(start, offsets[:-1], rank, weight, *options)
        with pytest.raises(ValueError, match="do not fit"):
            module.sort_by_votes(start + 1, offsets, rank, weight, *options)


def test_weights_that_floats_cannot_add_up_still_tie() -> None:
    runs = {"x": {"q": {"a": 2, "b": 1}}, "y": {"q": {"a": 2, "b": 1}}, "z": {"q": {"b": 2, "a": 1}}}
    assert fused(runs, "copeland", weights=[0.1, 0.2, 0.3]) == {"b": 0, "a": 0}


# --- bounds -------------------------------------------------------------------------------------------------


def bound(grades: Any, runs: Any, kind: str) -> list[str]:
    return list(cal.questions.fuse.fusion_bound({"q": grades}, runs, kind).to_dict()["q"])


def test_the_circle_of_the_specification() -> None:
    grades = {"B": 1, "D": 1, "A": 0, "C": 0}
    assert bound(grades, CYCLE, "naive") == ["B", "D", "A", "C"]
    assert bound(grades, CYCLE, "pareto") == ["A", "B", "C", "D"]
    assert bound(grades, CYCLE, "majoritarian") == ["A", "B", "C", "D"]


def above(ranks: list[dict[str, int]], one: str, other: str) -> int:
    below = float("inf")
    return sum(rank.get(one, below) < rank.get(other, below) for rank in ranks)


def kept_above(lists: list[Ranked], kind: str) -> set[tuple[str, str]]:
    """Which documents have to stand above which: the definition, with Warshall's closure for the circles."""
    documents = sorted({d for scores in lists for d in scores})
    ranks = [{d: place for place, d in enumerate(ranking(scores))} for scores in lists]
    half = len(lists) / 2
    edges = set()
    for one in documents:
        for other in documents:
            up, down = above(ranks, one, other), above(ranks, other, one)
            if up == len(lists) if kind == "pareto" else up >= half > down:
                edges.add((one, other))
    reach = set(edges)
    for middle in documents:
        reach |= {(a, d) for a, b in reach if b == middle for c, d in reach if c == middle}
    return {(a, b) for a, b in edges if (b, a) not in reach}


def precision(order: Sequence[str], grades: dict[str, float]) -> Fraction:
    """AP, in fractions."""
    found = [Fraction(k, i) for k, i in enumerate((i for i, d in enumerate(order, 1) if grades.get(d, 0) >= 1), 1)]
    return sum(found, Fraction(0)) / max(1, sum(grade >= 1 for grade in grades.values()))


def allowed_orders(documents: Sequence[str], edges: set[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    for order in permutations(documents):
        place = {d: i for i, d in enumerate(order)}
        if all(place[a] < place[b] for a, b in edges):
            yield order


@pytest.mark.parametrize("kind", ["pareto", "majoritarian"])
@pytest.mark.parametrize("seed", range(14))
def test_oracles_are_the_best_of_all_orders_that_keep_to_the_rule(kind: str, seed: int) -> None:
    runs = random_runs(seed, queries=2, runs=2 + seed % 4, documents=5 + seed % 3)
    grades = random_grades(seed, queries=2, documents=5 + seed % 3)
    made = cal.questions.fuse.fusion_bound(grades, runs, kind)
    assert made.exactness == "exact"
    assert made.exact_queries == 2
    for query, got in made.to_dict().items():
        lists = [run[query] for run in runs.values()]
        edges = kept_above(lists, kind)
        place = {d: i for i, d in enumerate(got)}
        assert all(place[a] < place[b] for a, b in edges)
        best = max(precision(order, grades[query]) for order in allowed_orders(sorted(got), edges))
        assert precision(list(got), grades[query]) == best


def test_the_example_in_which_taking_the_best_document_first_is_not_best() -> None:
    runs = {"A": {"q": {"x": 3, "r": 2, "a": 1}}, "B": {"q": {"a": 3, "x": 2, "r": 1}}}
    for kind in ("pareto", "majoritarian"):
        assert bound({"r": 1, "a": 0, "x": 0}, runs, kind) == ["x", "r", "a"]


@pytest.mark.parametrize("seed", range(6))
def test_a_look_ahead_is_never_worse_than_a_run_that_keeps_to_the_rule(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a look-ahead of one set of documents: still allowed, at least as good as every run, at most exact."""
    runs = random_runs(seed, queries=3, runs=2 + seed % 4, documents=25)
    grades = random_grades(seed, queries=3, documents=25)
    exact = {kind: cal.questions.fuse.fusion_bound(grades, runs, kind) for kind in ("pareto", "majoritarian")}
    monkeypatch.setattr("calipers.questions.fuse.oracles.LAYER", 1)
    for kind, best in exact.items():
        made = cal.questions.fuse.fusion_bound(grades, runs, kind)
        assert made.exactness == "look-ahead" or made.to_dict() == best.to_dict()
        for query, got in made.to_dict().items():
            edges = kept_above([run[query] for run in runs.values()], kind)
            place = {d: i for i, d in enumerate(got)}
            assert all(place[a] < place[b] for a, b in edges)
            reached = precision(list(got), grades[query])
            assert reached <= precision(list(best.to_dict()[query]), grades[query])
            for run in runs.values():
                order = ranking(run[query])
                at = {d: i for i, d in enumerate(order)}
                if all(at.get(a, 99) < at[b] for a, b in edges if b in at):
                    assert reached >= precision(order, grades[query])


@pytest.mark.parametrize("kind", ["pareto", "majoritarian"])
def test_the_published_sort_compares_neighbours(kind: str) -> None:
    """Each document has the rule, or as good a grade, over the next one."""
    for seed in range(5):
        runs, grades = random_runs(seed, runs=4, documents=20), random_grades(seed, documents=20)
        scored = judged(ScoredCandidates.of([DictRun(run, name) for name, run in runs.items()]), as_judgments(grades))
        made = fused_run(scored, sorted_score(scored, kind), kind).to_dict()
        for query, got in made.items():
            ranks = [{d: i for i, d in enumerate(ranking(run[query]))} for run in runs.values()]
            needed = len(runs) if kind == "pareto" else len(runs) / 2
            for one, other in pairwise(got):
                up, down = above(ranks, one, other) >= needed, above(ranks, other, one) >= needed
                assert up > down or (up == down and grades[query].get(one, 0) >= grades[query].get(other, 0))


@pytest.mark.parametrize("seed", range(10))
def test_bounds_dominate_every_fusion_in_ap(seed: int) -> None:
    """Nothing made of the same documents beats the naive bound, pareto and majoritarian included."""
    runs = random_runs(seed, runs=2 + seed % 6, documents=40)
    grades = random_grades(seed, documents=40)
    names = ["AP", "nDCG", "RR", "Recall@10"]
    ceiling = cal.evaluate(grades, cal.questions.fuse.fusion_bound(grades, runs, "naive"), names, ties="best").values[
        :, 0
    ]
    for other in ("pareto", "majoritarian"):
        scores = cal.evaluate(grades, cal.questions.fuse.fusion_bound(grades, runs, other), names).values[:, 0]
        assert (ceiling >= scores - 1e-12).all(), other
    for method in METHODS:
        scores = cal.evaluate(grades, cal.fuse(runs, method), names, ties="best").values[:, 0]
        assert (ceiling >= scores - 1e-12).all(), method


@pytest.mark.parametrize("seed", range(6))
def test_pareto_keeps_what_all_runs_agree_on(seed: int) -> None:
    runs = random_runs(seed, runs=3, documents=20)
    got = cal.questions.fuse.fusion_bound(random_grades(seed, documents=20), runs, "pareto").to_dict()
    for query, scores in got.items():
        ranks = [{d: i for i, d in enumerate(ranking(run[query]))} for run in runs.values()]
        for one, other in combinations(scores, 2):
            assert above(ranks, other, one) < len(runs)


def test_unjudged_documents_count_as_grade_0_and_worse_grades_come_last() -> None:
    runs = {"x": {"q": {"a": 4, "b": 3, "u": 2, "spam": 1}}, "y": {"q": {"spam": 4, "u": 3, "b": 2, "a": 1}}}
    assert bound({"a": 1, "b": 0, "spam": -2}, runs, "naive") == ["a", "b", "u", "spam"]


def test_queries_without_judgments_are_left_out_of_bounds() -> None:
    runs = {name: {**run, "other": {"x": 1.0}} for name, run in VECTOR.items()}
    assert list(cal.questions.fuse.fusion_bound({"q": {"a": 1}}, runs).to_dict()) == ["q"]


# --- what goes in and out -----------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, run in VECTOR.items():
        lines = [f"q Q0 {d} {rank} {s} {name}" for rank, (d, s) in enumerate(run["q"].items(), 1)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 0\nq 0 d 1\n")
    return tmp_path


def test_files_give_what_dicts_give(files: Path) -> None:
    for method in METHODS:
        assert cal.fuse(str(files / "*.run"), method).to_dict() == cal.fuse(VECTOR, method).to_dict()


def test_a_fused_run_is_a_run(files: Path) -> None:
    made = cal.fuse(str(files / "*.run"), name="mine")
    assert made.name == "mine"
    assert made.of == ("x", "y", "z")
    scores = cal.evaluate(files / "qrels.txt", [made, cal.read_run(files / "x.run")], ["AP", "RR"])
    assert scores.systems == ("mine", "x")
    assert scores["RR"][0, 0] == pytest.approx((1 / 2 + 1 / 3) / 2)  # a and b tie at ranks 2 and 3
    cal.write_run(made, files / "fused.run")
    assert cal.read_run(files / "fused.run").to_dict() == made.to_dict()


def test_fused_runs_are_fused_again() -> None:
    first = cal.fuse({name: VECTOR[name] for name in "xy"}, "combsum", name="first")
    again = cal.fuse([first, cal.fuse(VECTOR, "rrf")], "rrf").to_dict()["q"]
    lists = [first.to_dict()["q"], fused(VECTOR, "rrf")]
    assert again == pytest.approx(plain_fusion(lists, "rrf", "none"))


def test_long_lists() -> None:
    """Ranks that do not fit 16 bits, and what would not fit memory."""
    long = {f"d{n:06d}": float(-n) for n in range(70_000)}
    runs = {"x": {"q": long}, "y": {"q": {d: -s for d, s in long.items()}}}
    ends = fused(runs, "rrf")
    assert ends["d000000"] == ends["d069999"] == 1 / 61 + 1 / 70_060
    with pytest.raises(CalipersError, match="set a depth"):
        cal.questions.fuse.fusion_bound({"q": {"d000000": 1}}, runs, "pareto")
    assert bound({"d000005": 1}, runs, "naive")[0] == "d000005"
    shallow = cal.questions.fuse.fusion_bound({"q": {"d000005": 1}}, runs, "pareto", depth=50).to_dict()["q"]
    assert next(iter(shallow)) == "d000005"


def test_scattered_queries_and_long_ids(tmp_path: Path) -> None:
    long = "clueweb12-0000tw-00-000000000000000000"
    (tmp_path / "a").write_text(f"1 Q0 {long}1 1 9 a\n2 Q0 x 1 9 a\n1 Q0 {long}2 2 8 a\n2 Q0 é 2 8 a\n")
    (tmp_path / "b").write_text(f"2 Q0 é 1 9 b\n1 Q0 {long}2 1 9 b\n1 Q0 z 2 8 b\n")
    got = cal.fuse([tmp_path / "a", tmp_path / "b"], "rrf").to_dict()
    assert list(got["1"]) == [f"{long}2", f"{long}1", "z"]
    assert list(got["2"]) == ["é", "x"]


@given(st.lists(st.tuples(st.integers(0, 3), st.binary(min_size=1, max_size=20)), min_size=1, max_size=40))
def test_ids_are_told_apart_and_ordered_by_their_bytes(pairs: list[tuple[int, bytes]]) -> None:
    pairs = [(query, document.replace(b"\0", b"0")) for query, document in pairs]
    query = np.array([query for query, _ in pairs])
    words = coding.as_words(Ids.of(document for _, document in pairs))
    code, one = coding.coded(query, words)
    assert [pairs[one[c]] for c in code] == pairs
    assert len(one) == len(set(pairs))
    order = np.lexsort(words.T[::-1])
    assert [pairs[row][1] for row in order] == sorted(document for _, document in pairs)


def test_ids_that_share_a_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "mixed", lambda query, word: np.zeros(len(query), np.uint64))
    assert cal.fuse(VECTOR, "combmnz").to_dict() == {"q": {"c": 4.5, "b": 3.0, "a": 3.0, "e": 0.0, "d": 0.0}}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cal.fuse({"x": {"q": {"a": 1}}}), "cannot fuse a single run (x)"),
        (lambda: cal.fuse({"x": {"q": {"a": 1}}, "y": {"r": {"a": 1}}}), "no query in common"),
        (lambda: cal.fuse(VECTOR, "combx"), "unknown method 'combx'; expected one of combsum"),
        (lambda: cal.fuse(VECTOR, normalize="max"), "unknown normalisation 'max'; expected one of minmax"),
        (lambda: cal.fuse(VECTOR, weights=[1, 2]), "2 weights for 3 runs (x, y, z)"),
        (lambda: cal.fuse(VECTOR, weights={"w": 1}), "a weight for 'w'"),
        (lambda: cal.fuse(VECTOR, weights=[0, 0, 0]), "not all of them 0"),
        (lambda: cal.fuse(VECTOR, weights=[1, -1, 0]), "at least 0"),
        (lambda: cal.fuse(VECTOR, depth=0), "depth 0"),
        (lambda: cal.fuse(VECTOR, keep=0), "keep 0"),
        (lambda: cal.fuse(VECTOR, "rbc", p=1), "p=1"),
        (lambda: cal.fuse({"x": {"q": {"a": float("nan")}}, "y": {"q": {"a": 1}}}), "finite"),
        (lambda: cal.fuse({"x": {"q": {"a": 1e308, "b": -1e308}}, "y": {"q": {"a": 1}}}), "too large"),
        (lambda: cal.fuse([np.ones(3), np.ones(3)]), "no documents of its own"),
        (lambda: cal.questions.fuse.fusion_bound({"q": {"a": 1}}, VECTOR, "best"), "unknown bound 'best'"),
        (lambda: cal.questions.fuse.fusion_bound({"r": {"a": 1}}, VECTOR), "no query in common"),
        (lambda: cal.questions.fuse.fusion_bound({"q": {"1": {"a": 1}}}, VECTOR), "by subtopic"),
    ],
)
def test_bad_input(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(CalipersError) as caught:
        call()
    assert words in str(caught.value)


def test_a_document_twice_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("q Q0 x 1 3 a\nq Q0 y 2 2 a\nq Q0 x 3 1 a\n")
    (tmp_path / "b").write_text("q Q0 x 1 3 b\n")
    with pytest.raises(CalipersError, match=r"a:3: document 'x' appears twice for query 'q'"):
        cal.fuse([tmp_path / "b", tmp_path / "a"])


# --- the command line ---------------------------------------------------------------------------------------


def test_fuse_writes_a_run(files: Path) -> None:
    runs = [files / f"{name}.run" for name in VECTOR]
    done = calipers("fuse", *runs, "--method", "combmnz", "--normalize", "minmax", "-o", files / "fused.run")
    assert (done.returncode, done.stdout) == (0, "")
    assert (files / "fused.run").read_text().splitlines()[0] == "q Q0 c 1 4.5 combmnz"
    printed = calipers("fuse", *runs, "--name", "mine", "--weight", "x=2", "--method", "combsum", "--keep", "1")
    assert printed.stdout == "q Q0 a 1 2.5 mine\n"
    ceiling = calipers("fuse", *runs, "--bound", "naive", "--qrels", files / "qrels.txt")
    assert [line.split()[2] for line in ceiling.stdout.splitlines()] == ["a", "d", "b", "c", "e"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x.run"], "cannot fuse a single run (x)"),
        (["x.run", "y.run", "--bound", "naive"], "--bound needs judgments: add --qrels FILE"),
        (["x.run", "y.run", "--qrels", "qrels.txt"], "--qrels needs --bound"),
        (
            ["x.run", "y.run", "--bound", "naive", "--qrels", "qrels.txt", "--method", "rrf"],
            "--bound cannot be combined with --method",
        ),
        (["x.run", "y.run", "--weight", "a"], "expected numbers, or NAME=NUMBER"),
        (["x.run", "y.run", "--weight", "1", "--weight", "x=2"], "give all weights by name, or all in the order"),
        (["x.run", "qrels.txt"], "expected a run"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(files: Path, arguments: list[str], words: str) -> None:
    done = calipers("fuse", *[files / a if "." in a else a for a in arguments])
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_warnings_of_fuse(files: Path) -> None:
    (files / "flat.run").write_text("q Q0 a 1 5 flat\nq Q0 b 2 5 flat\nr Q0 b 1 5 flat\n")
    runs = [files / "x.run", files / "flat.run"]
    done = calipers("fuse", *runs)
    assert "2 lists with the same score for all documents; normalised to 1" in done.stderr
    assert "1 query answered by only one run" in done.stderr
    assert calipers("fuse", *runs, "--strict").returncode == 2


# --- real data, and another tool ----------------------------------------------------------------------------


@pytest.mark.data
def test_fused_runs_of_trec_covid_beat_most_of_what_they_are_made_of(data: Path) -> None:
    folder = data / "trec/covid-round1"
    chosen = sorted((folder / "runs").iterdir())[::14]
    runs = cal.read_runs(chosen)
    made = [cal.fuse(runs, method, name=method) for method in ("combmnz", "rrf")]
    ceiling = cal.questions.fuse.fusion_bound(folder / "qrels-rnd1.txt", runs, "naive")
    ap = cal.evaluate(folder / "qrels-rnd1.txt", [*runs, *made, ceiling], "AP").values[0].mean(axis=1)
    assert (ap[-3:-1] > np.median(ap[:-3])).all()
    assert ap[-1] > ap[:-1].max()


@pytest.mark.peers
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # its compiler has many
def test_fusions_agree_with_ranx(require: Any) -> None:
    """Where both define the same thing: its Condorcet takes a tied vote for one of the sides."""
    ranx = require.module("ranx")
    runs = {
        name: {query: ranked for query, ranked in run.items() if len(ranked) > 1}
        for name, run in random_runs(11, queries=3, runs=4).items()
    }
    queries = set.intersection(*(set(run) for run in runs.values()))
    runs = {name: {query: run[query] for query in sorted(queries)} for name, run in runs.items()}
    theirs = {
        "combsum": "sum",
        "combmnz": "mnz",
        "combanz": "anz",
        "combmin": "min",
        "combmax": "max",
        "combmed": "med",
        "borda": "bordafuse",
        "rrf": "rrf",
        "isr": "isr",
        "rbc": "rbc",
    }
    scalings = {"minmax": "min-max", "z": "zmuv", "sum": "sum", "rank": "rank", "none": None}
    for ours, name in theirs.items():
        for how in scalings if ours in ("combsum", "combmnz") else ["minmax"]:
            params = {"rrf": {"k": 60}, "rbc": {"phi": 0.8}}.get(ours)
            fused = ranx.fuse(
                [ranx.Run(run) for run in runs.values()],
                norm=scalings[how] if ours.startswith("comb") else None,
                method=name,
                params=params,
            )
            got = cal.fuse(runs, ours, normalize=how).to_dict()
            for query in queries:
                assert got[query] == pytest.approx(fused.to_dict()[query], rel=1e-6, abs=1e-8), (ours, how)


@pytest.mark.parametrize("votes", ["all", "cast", "half"])
@pytest.mark.parametrize("kind", ["pareto", "majoritarian"])
def test_the_published_sort_is_one_call(kind: str, votes: str) -> None:
    """Under each way to count votes: neighbours of the sorted list respect the rule, or are in order of grade."""
    runs, grades = random_runs(3, runs=4, documents=20), random_grades(3, documents=20)
    made = cal.questions.fuse.fusion_bound(grades, runs, kind, by="sort", votes=votes)
    assert made.exactness == "sorted"
    scored = judged(ScoredCandidates.of([DictRun(run, name) for name, run in runs.items()]), as_judgments(grades))
    assert made.to_dict() == fused_run(scored, sorted_score(scored, kind, votes=votes), kind).to_dict()
    part = 1.0 if kind == "pareto" else 0.5
    for query, got in made.to_dict().items():
        ranks = [{d: i for i, d in enumerate(ranking(run[query]))} for run in runs.values()]
        for one, other in pairwise(got):
            counted = len(runs) if votes == "all" else sum(one in rank or other in rank for rank in ranks)
            up, down = (above(ranks, a, b) >= part * counted for a, b in ((one, other), (other, one)))
            if not (votes == "half" and up):
                assert up > down or (up == down and grades[query].get(one, 0) >= grades[query].get(other, 0))


def test_votes_are_for_the_sort() -> None:
    runs, grades = random_runs(3, runs=3, documents=8), random_grades(3, documents=8)
    with pytest.raises(CalipersError, match="votes=cast works only with by="):
        cal.questions.fuse.fusion_bound(grades, runs, "pareto", votes="cast")
    with pytest.raises(CalipersError, match="unknown by 'quick'"):
        cal.questions.fuse.fusion_bound(grades, runs, "pareto", by="quick")
    naive = [
        list(cal.questions.fuse.fusion_bound(grades, runs, "naive", by=by).to_dict().values())
        for by in ("search", "sort")
    ]
    assert naive[0] == naive[1], "without a rule there is nothing to sort by but grades"


def test_the_published_sort_as_a_command(tmp_path: Path) -> None:
    runs, grades = random_runs(3, runs=4, documents=20), random_grades(3, documents=20)
    cal.write_qrels(grades, tmp_path / "qrels.txt")
    for name, run in runs.items():
        cal.write_run(run, tmp_path / f"{name}.run", name)
    paths = [str(tmp_path / f"{name}.run") for name in runs]
    ask = ["fuse", *paths, "--bound", "majoritarian", "--qrels", str(tmp_path / "qrels.txt")]
    done = CliRunner().invoke(root, [*ask, "--by", "sort", "--votes", "half", "-o", str(tmp_path / "out.run")])
    assert done.exit_code == 0, done.stderr
    assert "can be cyclic" in done.stderr
    wanted = cal.questions.fuse.fusion_bound(grades, runs, "majoritarian", by="sort", votes="half").to_dict()
    written = cal.read_run(tmp_path / "out.run").to_dict()
    assert {query: list(each) for query, each in written.items()} == {
        query: list(each) for query, each in wanted.items()
    }
    for wrong in ([*ask, "--votes", "half"], ["fuse", *paths, "--by", "sort"]):
        assert CliRunner().invoke(root, wrong, standalone_mode=False).exception is not None


def test_a_fused_run_pickles() -> None:
    fused = cal.fuse({"a": {"q": {"x": 1, "y": 2}}, "b": {"q": {"x": 3}}}, "rrf", warn=False)
    again = pickle.loads(pickle.dumps(fused))
    assert (again.to_dict(), again.of, repr(again)) == (fused.to_dict(), fused.of, repr(fused))
