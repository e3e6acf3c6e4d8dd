"""The seven numeric properties: the table of Moffat's paper, its notes and numbers, counterexamples, proofs, cards."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings, strategies as st
from measure_pages import card_name, measure_pages, with_derived_tables

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.measures.gains import LinearGain
from calipers.measures.registry import declared
from calipers.measures.weights import DISCOUNTS
from calipers.questions.properties import counterexamples, property_tables
from calipers.questions.properties.cards import measure_card
from calipers.questions.properties.counterexamples import NOISE
from calipers.questions.properties.examined_measures import Subject, subject_of, subjects_of
from calipers.questions.properties.property_tables import CONFLICT, contradictions, impossibility
from calipers.questions.properties.small_rankings import Space, lists_of, space
from calipers.questions.properties.verdicts import NINE, SEVEN, Properties, Verdict, examine
from conftest import ROOT

DOCS = ROOT / "docs"

# Moffat (2013), Table 2: bounded, monotone, convergent, top-weighted, localized, complete, realizable; with notes.
TABLE_2 = """
    DCG     No   Yes   Yes   Yes  Yes   Yes   No
    SP      No   Yes   Yes   Yes  Yes   Yes   No
    RPrec   Yes  No    No    No   No    No    Yes
    SN-DCG  Yes  No    No    Yes  Yes   No.d  Yes
    SN-AP   Yes  No    No    Yes  Yes   No.d  Yes
    P       Yes  No    Yes   No   Yes   Yes   No.e
    nDCG    Yes  No    Yes   Yes  No    No    Yes
    SDCG    Yes  No    Yes   Yes  Yes   Yes   No.e
    HIT     Yes  Yes   No.b  No.b Yes   Yes   Yes
    RR      Yes  Yes   No.b  No.b Yes.c Yes.c Yes
    Recall  Yes  Yes   Yes   No   No    No    No.f
    AP      Yes  Yes   Yes   Yes  No    No    No.f
    RBP     Yes  Yes.a Yes.a Yes  Yes.a Yes   No
"""
CELLS = [
    (row.split()[0], name, *(cell + ".").split(".")[:2])
    for row in TABLE_2.strip().splitlines()
    for name, cell in zip(SEVEN, row.split()[1:], strict=True)
]
ROWS = {subject.name: subject for subject in subjects_of((*property_tables.DOCUMENT, *property_tables.FURTHER))}
EVERY = [card_name(declaration) for declaration in declared()]
DECLARED = [declaration.name for declaration in declared()]  # before other tests declare measures of their own
EXAMINED = ROWS | {subject.name: subject for subject in subjects_of(EVERY)}
_known: dict[str, Properties] = {}


def known(name: str) -> Properties:
    """The properties of a measure, worked out once."""
    if name not in _known:
        _known[name] = cal.properties(name)
    return _known[name]


def row(name: str) -> str:
    """Y or N for each of the seven."""
    return "".join("Y" if known(name)[each] else "N" for each in SEVEN)


def grades(text: str) -> tuple[float, ...]:
    return tuple({"h": 0.5}.get(symbol) or float(symbol) for symbol in text.replace(";", ""))


# --- Moffat (2013) -----------------------------------------------------------------------------------------


def test_the_table_has_91_cells() -> None:
    assert len(CELLS) == 91
    assert tuple(dict.fromkeys(cell[0] for cell in CELLS)) == property_tables.DOCUMENT


@pytest.mark.parametrize(("measure", "name", "wanted", "letter"), CELLS)
def test_table_2(measure: str, name: str, wanted: str, letter: str) -> None:
    verdict = known(measure)[name]
    assert verdict.word == wanted.lower()
    assert verdict.note == letter


def test_ten_combinations() -> None:
    assert len({row(name) for name in property_tables.DOCUMENT}) == 10


# The smallest counterexamples: ranking, then k, or what comes out of a swap.
SMALLEST = [
    ("DCG", "bounded", "11", 2, None, 1 + 1 / log2(3), math.nan),
    ("SP", "bounded", "11", 2, None, 2, math.nan),
    ("RPrec", "monotone", "101", 1, "101", 1, 0.5),
    ("RPrec", "convergent", "00;1", 2, "01;0", 0, 0),
    ("RPrec", "top-weighted", "001", 3, "010", 0, 0),
    ("RPrec", "localized", "01", 2, "01;1", 0, 0.5),
    ("SN-DCG", "monotone", "101", 2, "101", 1, 1.5 / (1 + 1 / log2(3))),
    ("SN-DCG", "convergent", "10;1", 2, "11;0", 1, 1),
    ("SN-AP", "monotone", "101", 2, "101", 1, (1 + 2 / 3) / 2),
    ("SN-AP", "convergent", "10;1", 2, "11;0", 1, 1),
    ("P", "monotone", "10", 1, "10", 1, 0.5),
    ("P", "top-weighted", "01", 2, "10", 0.5, 0.5),
    ("P", "realizable", "10", 2, "1", 0.5, 1),
    ("nDCG", "monotone", "101", 1, "101", 1, 1 / (1 + 1 / log2(3))),
    ("nDCG", "localized", "01", 2, "01;1", 1 / log2(3), 1 / log2(3) / (1 + 1 / log2(3))),
    ("SDCG", "monotone", "10", 1, "10", 1, 1 / (1 + 1 / log2(3))),
    ("SDCG", "realizable", "10", 2, "1", 1 / (1 + 1 / log2(3)), 1),
    ("HIT", "convergent", "01;1", 2, "11;0", 1, 1),
    ("HIT", "top-weighted", "01", 2, "10", 1, 1),
    ("RR", "convergent", "10;1", 2, "11;0", 1, 1),
    ("RR", "top-weighted", "101", 3, "110", 1, 1),
    ("Recall", "top-weighted", "01", 2, "10", 1, 1),
    ("Recall", "localized", "1", 1, "1;1", 1, 0.5),
    ("Recall", "realizable", "11", 1, "1", 0.5, 1),
    ("AP", "localized", "1", 1, "1;1", 1, 0.5),
    ("AP", "realizable", "11", 1, "1", 0.5, 1),
    ("RBP", "realizable", "1", 1, "11", 0.2, 0.36),
    *((name, "complete", "0", 1, None, math.nan, math.nan) for name in ("RPrec", "SN-DCG", "SN-AP", "nDCG", "AP")),
]


@pytest.mark.parametrize(("measure", "name", "before", "k", "after", "score", "then"), SMALLEST)
def test_smallest_counterexamples(
    measure: str, name: str, before: str, k: int, after: str | None, score: float, then: float
) -> None:
    found = known(measure)[name].counterexample
    assert found is not None
    assert (found.before, found.k_before) == (grades(before), k)
    assert found.after == (None if after is None else grades(after))
    np.testing.assert_allclose([found.score_before, found.score_after], [score, then], rtol=1e-12)


@pytest.mark.parametrize(
    ("measure", "ranking", "wanted"),
    [
        ("DCG@5", "11000", 1 + 1 / log2(3)),
        ("DCG@11", "00000111111", sum(1 / log2(i + 1) for i in range(6, 12))),
        ("DCG", "1" * 1000, sum(1 / log2(i + 1) for i in range(1, 1001))),
        ("SDCG@5", "11000", (1 + 1 / log2(3)) / sum(1 / log2(i + 1) for i in range(1, 6))),
        ("SN-DCG@5", "10100", 1.5 / (1 + 1 / log2(3))),
        ("SN-DCG@5", "10101", (1.5 + 1 / log2(6)) / (1.5 + 1 / log2(3))),
        ("SN-AP@5", "10000", 1.0),
        ("SN-AP@5", "10001", (1 + 2 / 5) / 2),
        ("P@6", "1111101", 5 / 6),
        ("SDCG@6", "1111101", 1 - 1 / log2(7) / sum(1 / log2(i + 1) for i in range(1, 7))),
        ("nDCG@6", "1111101", 1 - 1 / log2(7) / sum(1 / log2(i + 1) for i in range(1, 7))),
        ("RR@5", "10001", 1.0),
        ("RR@5", "01100", 0.5),
    ],
)
def test_printed_values(measure: str, ranking: str, wanted: float) -> None:
    assert cal.parse(measure).score(lists_of([grades(ranking)]))[0] == pytest.approx(wanted, rel=1e-12)


def test_printed_digits() -> None:
    """The same, as the document prints them."""
    printed = {
        ("DCG@5", "11000"): "1.6309",
        ("DCG@11", "00000111111"): "1.8740",
        ("DCG", "1" * 1000): "123.09",
        ("SDCG@5", "11000"): "0.5531",
        ("SN-DCG@5", "10100"): "0.9197",
        ("SN-DCG@5", "10101"): "0.8855",
        ("SN-AP@5", "10001"): "0.7000",
        ("P@6", "1111101"): "0.8333",
        ("nDCG@6", "1111101"): "0.8922",
    }
    for (measure, ranking), digits in printed.items():
        decimals = len(digits.partition(".")[2])
        assert f"{cal.parse(measure).score(lists_of([grades(ranking)]))[0]:.{decimals}f}" == digits


def test_the_upper_end_of_rbp_is_not_monotone() -> None:
    """Note a: the score is the lower end of a range; with the residual added, 00 falls from 0.8 to 0.64."""
    nothing = lists_of([(0.0, 0.0)])
    ends = [cal.parse(f"RBP@{k}").score(nothing)[0] + cal.parse(f"RBP-residual@{k}").score(nothing)[0] for k in (1, 2)]
    np.testing.assert_allclose(ends, [0.8, 0.64], rtol=1e-12)


# --- more rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "wanted"),
    [
        *((name, "YYYYYYN") for name in ("RBP", "INSQ", "INSQ(T=3)", "Weighted", "RBP(gain=linear)", "RBP(gain=exp)")),
        *((name, "YYYYYYN") for name in ("ERR", "ERR(max_grade=4)", "ERR@20")),
        ("GAP", "YYYYNNN"),
        ("GAP(t=[0.2,0.3,0.5])", "YYYYNNN"),
        ("AP(rel=2)", "YYYYNNN"),
        ("AP(norm=k)", "YNYYYYN"),
        ("AP(norm=min)", "YNYYNNY"),
        ("bpref", "YYNNNNN"),
        ("nDCG(gain=exp)@10", "YNYYNNY"),
        ("nDCG(discount=jk2)", "YNYNNNY"),
        ("nDCG(gain=exp,discount=jk2)", "YNYNNNY"),
        ("U(DCG)", "YNYYNNY"),
        ("V1(DCG)", "YNYYNNN"),
        ("V2(DCG)", "YNYYNNY"),
        ("V2(nDCG@10)", "YNYYNNY"),
        ("V2s(DCG)", "YNYYNNY"),
        ("U(SP)", "YNYYNNY"),
        ("V1(SP)", "YNYYNNN"),
        ("V2(SP)", "YNYYNNY"),
        ("V2(AP)", "YNYYNNY"),
        ("V2s(SP)", "YNYYNNY"),
        ("HIT(gain={1:3,2:9})", "YYNNYYY"),
        ("Success", "YYNNYYY"),
    ],
)
def test_further_rows(measure: str, wanted: str) -> None:
    assert row(measure) == wanted


def test_a_cascade_with_a_certain_stop_is_like_reciprocal_rank() -> None:
    form = cal.Cascade(DISCOUNTS["zipf"], LinearGain())  # the grades tried are 0, 1/2 and 1: surely a stop
    found = cal.properties(form)
    assert found.grades == (0.0, 0.5, 1.0)
    assert "".join("Y" if found[name] else "N" for name in SEVEN) == row("RR")


@pytest.mark.parametrize(
    ("measure", "tie_invariant", "insensitive"),
    [
        ("Recall", True, True),
        ("HIT", True, True),
        ("SetP", True, False),
        ("SetR", True, True),
        ("P", False, False),
        ("AP", False, False),
        ("nDCG", False, False),
        ("RR", False, False),
        ("bpref", False, True),
        ("bpref(judged_only=True)", False, True),
        ("AP(judged_only=True)", False, True),
    ],
)
def test_two_more_properties(measure: str, tie_invariant: bool, insensitive: bool) -> None:
    found = known(measure)
    assert bool(found.tie_invariant) is tie_invariant
    assert bool(found.insensitive_to_unjudged) is insensitive


def test_only_ties_across_the_cutoff_matter_to_precision() -> None:
    assert known("P").tie_invariant.note == "g"
    assert known("AP").tie_invariant.note == ""


# --- counterexamples hold up ------------------------------------------------------------------------------


def direct(subject: Subject, ranking: tuple[float | None, ...], k: int | None) -> float:
    """The score by way of `evaluate`, judgments and a run; NaN where it is undefined."""
    measure = subject.measure
    assert isinstance(measure, cal.Measure)
    names = [f"d{rank:04}" for rank in range(1, len(ranking) + 1)]
    qrels = {"q": {name: grade for name, grade in zip(names, ranking, strict=True) if grade is not None}}
    shown = names if subject.cuts or k is None else names[:k]
    run = {"q": {name: -float(rank) for rank, name in enumerate(shown)}}
    if subject.cuts:
        measure = measure @ k
    if not qrels["q"]:
        return math.nan
    top = max(subject.grades)
    for filler in ("r", "s", "t"):  # ordinary queries: evaluation refuses normalisations with hardly any
        qrels[filler] = {"a": 0.0, "b": top, "c": 0.0}
        run[filler] = {"a": 3.0, "b": 2.0, "c": 1.0}
    policy: Any = None if measure.name in ("U", "V1") else "skip"  # these are defined there
    scores = cal.evaluate(qrels, run, [measure], empty="skip", missing="skip", degenerate=policy)
    return float(scores.values[0, 0, scores.queries.index("q")])


def breaks(verdict: Verdict, subject: Subject, bound: float) -> bool:
    """Whether the counterexample of a no breaks the property, by its definition and by direct evaluation."""
    found = verdict.counterexample
    assert found is not None
    before = direct(subject, found.before, found.k_before)
    np.testing.assert_allclose(before, found.score_before, rtol=1e-9, atol=1e-12)
    if found.after is None:
        if verdict.name == "complete":
            return math.isnan(before) and not any(found.before)
        return abs(before) > bound
    after = direct(subject, found.after, found.k_after)
    np.testing.assert_allclose(after, found.score_after, rtol=1e-9, atol=1e-12)
    if verdict.name == "monotone":
        assert found.after == found.before
        assert found.k_before is not None
        assert found.k_after == found.k_before + 1
        return after < before - NOISE
    if verdict.name in ("convergent", "top-weighted", "tie-invariant"):
        i, j = (place for place, pair in enumerate(zip(found.before, found.after, strict=True)) if pair[0] != pair[1])
        swapped = list(found.before)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        assert tuple(swapped) == found.after
        if verdict.name == "tie-invariant":
            return j == i + 1 and abs(after - before) > NOISE
        one, other, k = found.before[i], found.before[j], found.k_before
        assert one is not None
        assert other is not None
        assert k is not None
        assert one < other
        assert (j < k) if verdict.name == "top-weighted" else (i < k <= j)
        return after <= before + NOISE
    if verdict.name == "localized":
        assert found.before[: found.k_before] == found.after[: found.k_after]
        return math.isnan(before) or math.isnan(after) or abs(after - before) > NOISE
    if verdict.name == "insensitive-to-unjudged":
        assert tuple(grade for grade in found.before if grade is not None) == found.after
        return math.isnan(before) or math.isnan(after) or abs(after - before) > NOISE
    assert verdict.name == "realizable"
    best = np.nanmax([direct(subject, order, found.k_before) for order in distinct_orders(found.before)])
    return bool(best <= before + NOISE and before < after - NOISE)


def distinct_orders(ranking: tuple[float | None, ...]) -> set[tuple[float | None, ...]]:
    orders: set[tuple[float | None, ...]] = {()}
    for _ in ranking:
        orders = {
            (*order, grade) for order in orders for grade in set(ranking) if order.count(grade) < ranking.count(grade)
        }
    return orders


@pytest.mark.parametrize("measure", [*ROWS, "Z(DCG)", "W(nDCG)", "SetF", "RBP-residual"])
def test_counterexamples_recheck(measure: str) -> None:
    (subject,) = subjects_of([measure])
    found = known(measure)
    for verdict in found:
        if not verdict:
            assert breaks(verdict, subject, found.bound), f"{verdict.name}: {verdict}"


def test_counterexamples_show_what_they_are_shown_for() -> None:
    """Of scores without a bound, one above it; of scores between bounds, none that is 0 / 0."""
    assert str(known("utility").realizable) == "No: there is no largest score: 11 scores 2 at k = 2"
    assert str(known("Z(nDCG)").bounded) == "No: 100 scores 1.414 at k = 1, beyond 1"
    assert str(known("W(SN-AP)").convergent).startswith("No: 10;1 scores 1 at k = 2")
    assert known("W(SN-AP)").realizable

    def below(ranking: Any) -> float:
        return -float(len(ranking))

    found = cal.properties(below)
    assert str(found.bounded) == "No: 00 scores -2 at k = 2, beyond -1"
    assert "scores more than -2 at k = 2, but 0 scores -1 at k = 1" in str(found.realizable)


def test_a_counterexample_is_always_the_same() -> None:
    for name in ("nDCG", "V2(AP)", "bpref"):
        assert str(cal.properties(name)) == str(cal.properties(name))


def test_counterexamples_in_words() -> None:
    assert str(known("nDCG").monotone) == "No: 101 scores 1 at k = 1 and 0.6131 at k = 2"
    assert str(known("RR").convergent.counterexample) == (
        "10;1 scores 1 at k = 2, and with ranks 2 and 3 swapped, 11;0, still 1"
    )
    assert str(known("SN-DCG").complete.counterexample) == "0 has no score at k = 1"
    assert str(known("DCG").realizable.counterexample) == "there is no largest score: 11 scores 1.631 at k = 2"
    assert str(known("RBP").localized).startswith("Yes, proved: ")
    assert str(known("V2s(DCG)").convergent) == "Yes up to n = 7 (graded: 6, grades 0 to 3: 4)"
    assert str(known("infAP").monotone) == "Yes up to n = 7"


# --- the search against a plain one -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arbitrary(cal.Form):
    """Any score at all for each state: decided by the top k and by the set of what is outside it."""

    scores: dict[Any, float]

    def state(self, top: tuple[float, ...], rest: tuple[float, ...]) -> float:
        return self.scores[top, tuple(sorted(rest))]

    def score(self, lists: cal.Lists) -> Any:
        result = []
        for i, query in enumerate(lists.query.tolist()):
            top = tuple(lists.grade[lists.offsets[i] : lists.offsets[i + 1]].tolist())
            rest = lists.pool.grade[lists.pool.offsets[query] : lists.pool.offsets[query + 1]].tolist()
            for grade in top:
                rest.remove(grade)
            result.append(self.state(top, tuple(rest)))
        return np.array(result)


def plain_search(form: Arbitrary, depth: int) -> dict[str, tuple[Any, ...] | None]:
    """Each property read off its definition; the first counterexample by ranking, k and ranks."""
    rankings = [r for d in range(1, depth + 1) for r in product((0.0, 1.0), repeat=d)]
    score = {(r, k): form.state(r[:k], r[k:]) for r in rankings for k in range(1, len(r) + 1)}
    largest = max(s for s in score.values() if s == s)
    found: dict[str, tuple[Any, ...] | None] = dict.fromkeys(SEVEN)

    def note(name: str, *example: Any) -> None:
        if found[name] is None:
            found[name] = example

    for r in rankings:
        ks = range(1, len(r) + 1)
        for k in ks:
            if score[r, k] > 1:
                note("bounded", r, k)
            if k < len(r) and score[r, k + 1] < score[r, k]:
                note("monotone", r, k)
            if not any(r) and score[r, k] != score[r, k]:
                note("complete", r, k)
            for i, j in combinations(range(len(r)), 2):
                if i < k and r[i] < r[j]:
                    swapped = (*r[:i], r[j], *r[i + 1 : j], r[i], *r[j + 1 :])
                    if score[r, k] >= score[swapped, k]:  # false where either is undefined
                        note("top-weighted" if j < k else "convergent", r, k, swapped)
    for undefined_too in (False, True):
        for r in rankings:
            for k in range(1, len(r) + 1):
                alike = [o for o in rankings if o[:k] == r[:k] and len(o) >= k]
                defined = [o for o in alike if score[o, k] == score[o, k]]
                first = (defined or alike)[0]
                one, other = score[first, k], score[r, k]
                if (one != other) if undefined_too and (one == one or other == other) else (one < other or one > other):
                    note("localized", r, k)
    if found["bounded"] is None:
        for r in rankings:
            if list(r) == sorted(r) and r[-1] == 1:
                for k in range(1, len(r) + 1):
                    reached = [score[o, k] for o in rankings if sorted(o) == list(r) and score[o, k] == score[o, k]]
                    if reached and max(reached) < largest:
                        note("realizable", r, k)
    return found


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.sampled_from([(0.0, 1.0), (0.0, 0.5, 1.0, math.nan), (0.0, 0.5, 2.0)]))
def test_the_search_does_what_the_definitions_say(random: Any, values: tuple[float, ...]) -> None:
    """On measures that are nothing but a random score for each state, some of them nearly well-behaved."""
    depth, many = 4, Space((0.0, 1.0), 4)
    slope = random.choice([0.0, 0.0, 0.05])
    scores = {
        (r[:k], tuple(sorted(r[k:]))): random.choice(values) * (slope == 0)
        + slope * sum(value / 2**place for place, value in enumerate(r[:k]))
        for d in range(1, depth + 1)
        for r in product((0.0, 1.0), repeat=d)
        for k in range(1, d + 1)
    }
    form = Arbitrary(scores)
    scored = counterexamples.Scored(
        Subject("arbitrary", form), many, Subject("arbitrary", form).scores(many), np.array([0.0])
    )
    if np.isnan(scored.scores[many.possible]).all():
        return
    wanted = plain_search(form, depth)
    for name, examine_one in counterexamples.PROPERTIES.items():
        if name == "realizable" and wanted["bounded"] is not None:
            continue
        finding = examine_one(scored, 1.0)
        example = wanted[name]
        assert (finding is None) == (example is None), name
        if finding is None or example is None:
            continue
        if name == "localized":
            assert finding.after is not None
            assert (finding.after.ranking, finding.after.k) == example
        elif name == "realizable":
            assert (tuple(sorted(finding.before.ranking)), finding.before.k) == example
        else:
            assert (finding.before.ranking, finding.before.k) == example[:2]
            if len(example) == 3:
                assert finding.after is not None
                assert finding.after.ranking == example[2]


def test_the_space_has_every_ranking_once() -> None:
    for among, depth in (((0.0, 1.0), 7), ((0.0, 0.5, 1.0), 5)):
        many = space(among)
        assert many.depth == depth
        rankings = [many.ranking(place) for place in range(len(many))]
        assert rankings == [r for d in range(1, depth + 1) for r in product(among, repeat=d)]
        lists = many.lists
        assert [tuple(lists.grade[a:b]) for a, b in pairwise(lists.offsets)] == rankings
        pool = lists.pool
        assert all(
            sorted(ranking) == pool.grade[pool.offsets[q] : pool.offsets[q + 1]].tolist()
            for ranking, q in zip(rankings, lists.query.tolist(), strict=True)
        )
        assert all(
            len(set(lists.document[a:b].tolist())) == b - a and (np.diff(lists.first[a:b]) == 1).all()
            for a, b in pairwise(lists.offsets.tolist())
        )


# --- proofs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", EXAMINED)
def test_search_and_proof_never_disagree(measure: str) -> None:
    (subject,) = subjects_of([measure])
    proved = subject.proofs()
    among = subject.grades
    spaces = [space((among[0], among[-1])), *([space(among)] if len(among) > 2 else [])]
    scored = [counterexamples.scored(subject, each) for each in spaces]
    if len(scored) > 1 and not counterexamples.tells_apart(scored[1]):
        scored = scored[:1]
    for name in proved:
        for each in scored:
            assert counterexamples.PROPERTIES[name](each, known(measure).bound) is None, (name, proved[name])
    assert all(known(measure)[name].how == "proved" for name in proved)


def test_many_cells_are_proved() -> None:
    yes = [known(name)[each] for name in property_tables.DOCUMENT for each in SEVEN if known(name)[each]]
    assert all(verdict.how == "proved" for verdict in yes)


def test_a_wrong_proof_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "calipers.questions.properties.examined_measures.Subject.proofs", lambda subject: {"monotone": "because"}
    )
    with pytest.raises(AssertionError, match="proved"):
        examine(subject_of("nDCG"))


def test_a_rise_too_small_for_floating_point_is_proved() -> None:
    tiny = cal.properties("RBP(p=0.001)")  # the seventh rank weighs 1e-18
    assert tiny.top_weighted.how == tiny.convergent.how == "proved"
    assert not cal.properties("RBP(p=0)").convergent  # and here it weighs nothing


def test_a_form_with_a_cutoff_inside_proves_nothing() -> None:
    form = cal.Linear(DISCOUNTS["log2"].up_to(3), cal.AtLeast(1))
    found = cal.properties(form)
    assert not found.convergent
    assert not any(verdict.proof for verdict in found)


def test_weights_without_known_facts_are_searched() -> None:
    rising = cal.Linear(cal.Weights(lambda rank: rank / 100), cal.AtLeast(1))
    found = cal.properties(rising)
    assert found.monotone.how == "searched"
    assert found.localized.how == "proved"
    assert not found.top_weighted


# --- what is found to hold, holds for larger lists too ----------------------------------------------------


@st.composite
def larger(draw: st.DrawFn) -> tuple[list[int], int, int, int, list[int]]:
    """Places among three grades, a cutoff, two ranks, and another rest."""
    ranking = draw(st.lists(st.integers(0, 2), min_size=8, max_size=24))
    k = draw(st.integers(1, len(ranking) - 1))
    i = draw(st.integers(0, len(ranking) - 2))
    j = draw(st.integers(i + 1, len(ranking) - 1))
    return ranking, k, i, j, draw(st.lists(st.integers(0, 2), max_size=16))


@settings(max_examples=40)
@given(larger())
def test_no_yes_is_violated_by_larger_lists(example: tuple[list[int], int, int, int, list[int]]) -> None:
    places, k, i, j, rest = example
    for name, subject in EXAMINED.items():
        found = known(name)
        among = (*found.grades[:1], *found.grades[1:-1], found.grades[-1])
        levels = among if len(among) == 3 else (among[0], among[0], among[1])
        ranking = tuple(levels[place] for place in places)
        swapped = list(ranking)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        other = (*ranking[:k], *(levels[place] for place in rest))
        best = tuple(sorted(ranking, reverse=True))
        rankings: list[tuple[float | None, ...]] = [ranking, tuple(swapped), other, best, (0.0,) * len(ranking)]
        lists = lists_of(rankings)
        now, then, elsewhere, ideal, nothing = subject.score(shown(subject, lists, k), k).tolist()
        deeper = subject.score(shown(subject, lists, k + 1), k + 1)[0]
        where = (name, ranking, k, i + 1, j + 1, other)
        room = 1e-9
        if found.bounded:
            assert not abs(now) > found.bound + room, where
        if found.monotone:
            assert not deeper < now - room, where
        if ranking[i] < ranking[j] and ((i < k <= j and found.convergent) or (j < k and found.top_weighted)):
            assert not then <= now, where
        if found.localized:
            assert _alike(now, elsewhere), where
        if found.complete:
            assert not math.isnan(nothing), where
        if found.realizable and max(ranking) == among[-1]:
            assert not ideal < found.largest - room, where


def shown(subject: Subject, lists: cal.Lists, k: int) -> cal.Lists:
    """The lists for a measure at cutoff k: themselves, or cut after k documents where it has no cutoff."""
    return lists if subject.cuts else replace(lists.top(k), length=np.minimum(lists.length, k), memo={})


def _alike(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))


@settings(max_examples=60)
@given(st.lists(st.sampled_from([None, 0.0, 1.0]), min_size=6, max_size=14), st.integers(0, 12))
def test_no_yes_of_the_further_properties_is_violated(ranking: list[float | None], place: int) -> None:
    place = min(place, len(ranking) - 2)
    swapped = [*ranking[:place], ranking[place + 1], ranking[place], *ranking[place + 2 :]]
    condensed = [grade for grade in ranking if grade is not None]
    for name in ("Recall", "HIT", "Success", "SetR", "bpref", "SetP", "AP(judged_only=True)"):
        (subject,) = subjects_of([name])
        score, after = subject.score(lists_of([tuple(ranking), tuple(swapped)]), None).tolist()
        if known(name).tie_invariant and None not in ranking[place : place + 2]:
            assert _alike(score, after), (name, ranking, place)
        if known(name).insensitive_to_unjudged and condensed:
            assert _alike(score, subject.score(lists_of([tuple(condensed)]), None)[0]), (name, ranking)


# --- impossible -------------------------------------------------------------------------------------------


def test_all_seven_are_impossible() -> None:
    chains = contradictions()
    assert chains is not None
    for chain in chains:
        assert chain[0][0] == "realizable"
        assert chain[-1][0] == "convergent"
        assert all(reason == "monotone" for reason, _ in chain[1:-1])
    assert "No measure has all seven" in impossibility()


@pytest.mark.parametrize("left_out", CONFLICT)
def test_each_premise_is_needed(left_out: str) -> None:
    rest = [name for name in CONFLICT if name != left_out]
    assert contradictions(premises=rest) is None
    assert any(known(name).has(rest) for name in property_tables.DOCUMENT)


def test_other_collections_are_no_better() -> None:
    assert contradictions((0.0, 0.0, 1.0, 1.0, 1.0), k=2) is not None
    assert contradictions((0.0, 1.0), k=1) is None  # with k = R nothing is left to be swapped in


@pytest.mark.parametrize("measure", EXAMINED)
def test_no_measure_has_them_all(measure: str) -> None:
    assert not known(measure).has(CONFLICT)


# --- a user's own measure ---------------------------------------------------------------------------------


def test_a_function() -> None:
    def precision(ranking: Any) -> float:
        return float((ranking >= 1).mean())

    found = cal.properties(precision)
    assert found.measure == "precision"
    assert [verdict.word for verdict in found][:7] == [known("P")[name].word for name in SEVEN]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test declares is gone after it."""
    from calipers.measures import registry

    for name in ("_DECLARED", "_BY_NAME"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


@pytest.mark.usefixtures("registry")
def test_a_declared_function() -> None:
    @cal.measure("HalfAP", cutoff=None, rel=1)
    def half(cutoff: int | None, rel: float) -> Any:
        """Average precision by the relevant documents shown."""

        def score(ranking: Any) -> float:
            relevant = ranking[:cutoff] >= rel
            if not relevant.any():
                return math.nan
            return float((np.cumsum(relevant) / np.arange(1, len(relevant) + 1))[relevant].mean())

        return score

    for examined in (half, "HalfAP", "HalfAP@10", cal.parse("HalfAP")):
        found = cal.properties(examined)
        assert [found[name].word for name in SEVEN] == [known("SN-AP")[name].word for name in SEVEN]
        assert all(found[name].how != "proved" for name in SEVEN)
    card = cal.measure_card("HalfAP")
    assert "average precision by the relevant documents shown" in card.formula
    assert card.citation == ()


@pytest.mark.usefixtures("registry")
def test_a_measure_of_a_known_form() -> None:
    @cal.measure("Halving", cutoff=None)
    def halving(cutoff: int | None) -> cal.Form:
        """Each rank weighs half of the one above."""
        return cal.Linear(cal.Weights(lambda rank: 0.5**rank, cutoff), cal.AtLeast(1))

    found = cal.properties(halving)
    assert [found[name].word for name in SEVEN] == [known("RBP")[name].word for name in SEVEN]


def test_a_measure_with_other_grades_and_bound() -> None:
    def percent(ranking: Any) -> float:
        return 50.0 * float((ranking >= 3).sum() / len(ranking))

    assert not cal.properties(percent, grades=(0, 3)).monotone
    assert cal.properties(percent, grades=(0, 3)).bounded  # one perfect document scores as much
    assert not cal.properties(percent, grades=(0, 3), bound=10).bounded
    assert cal.properties("HIT", grades=(0, 1, 2, 3)).bound == 3


def test_a_function_that_fails() -> None:
    def broken(ranking: Any) -> float:
        return 1 / 0

    with pytest.raises(CalipersError, match="measure 'broken' fails on small rankings: ZeroDivisionError"):
        cal.properties(broken)


def test_a_measure_that_is_never_defined() -> None:
    with pytest.raises(CalipersError, match="undefined for every small ranking"):
        cal.properties(lambda ranking: math.nan)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": "nDGC"}, "unknown measure 'nDGC'; did you mean nDCG"),
        ({"measure": "nDCG AP"}, "names 2 measures"),
        ({"measure": "U"}, "needs of"),
        ({"measure": "IPrec"}, "needs recall"),
        ({"measure": "AP(norm=x)"}, "norm=x of 'AP' is not one of R, k, min"),
        ({"measure": "V2(V2(AP))"}, "not normalised again"),
        ({"measure": "nDCG(gain=exp"}, "brackets"),
        ({"measure": ""}, "no measure is named"),
        ({"measure": 7}, "cannot be of type int"),
        ({"measure": "AP", "grades": (1, 2)}, "grades 1, 2 are not 0 and"),
        ({"measure": "AP", "bound": 0}, "bound 0 is not a number above 0"),
    ],
)
def test_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(CalipersError, match=message.replace("(", r"\(")):
        cal.properties(**arguments)


def test_counterexamples_beyond_the_small_rankings() -> None:
    """What five documents, two grades above 0, or a list of all relevant documents do not show."""
    assert not cal.properties("ndcg_rel").convergent
    assert not cal.properties("G").top_weighted
    assert str(cal.properties("G").top_weighted).startswith("No: 123 scores 0.75")
    assert not cal.properties("SetRelP").insensitive_to_unjudged
    assert "?1;1 scores 0.5 at k = 2; without the unjudged document 1" in str(
        cal.properties("SetRelP").insensitive_to_unjudged
    )
    assert cal.properties("AP(norm=k)").has(("localized", "complete"))


def test_tables_say_how_far_a_search_went() -> None:
    """A yes without a proof is one up to a size."""
    index = measure_pages()["measures/README.md"]
    row = next(line for line in index.splitlines() if line.startswith("| [RIC]"))
    assert row.split(" | ")[1] == "yes up to n = 7 (graded: 5)"


# --- cards ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_every_measure_has_a_card(name: str) -> None:
    card = measure_card(name)
    text = str(card)
    assert card.formula
    assert card.range
    assert card.reader
    assert card.exactness
    assert text.startswith(f"# {name}\n")
    assert all(f"| {each} | " in text for each in NINE)


def test_a_card() -> None:
    card = cal.measure_card("RBP(p=0.8)")
    assert card.formula == "RBP@k = (1 - p) * sum over i <= k of p^(i - 1) * value_i"
    assert card.range == "0 to 1"
    assert card.reader == "Goes on from each document to the next with probability 0.8."
    assert any("Rank-biased precision" in line for line in card.citation)
    assert cal.measure_card("AP(norm=k)").formula == "sum over ranks i <= k of rel_i * P@i / k"
    assert cal.measure_card("V2(AP)").range == "-1 to 1"
    for name in ("SDCG", "HIT"):
        assert cal.measure_card(name).range == "0 to 1 for gains up to 1; documents of grade 3 score 3"
    assert cal.measure_card("ERR").range.startswith("0 to 1; the largest")  # its scale ends with the largest grade
    assert cal.measure_card("DCG").range == "0 and up, without bound"
    assert cal.measure_card(lambda ranking: float(ranking[0])).formula == "a function of the ranked grades"


def test_the_tables_of_the_manual_are_up_to_date() -> None:
    """`python docs/site/measure_pages.py` writes them."""
    page = DOCS / "properties.md"
    assert page.read_text(encoding="utf-8") == with_derived_tables(page)


def test_the_site_gets_a_card_for_every_measure() -> None:
    pages = measure_pages()
    assert {f"measures/{name}.md" for name in DECLARED} <= set(pages)
    assert len({path.lower() for path in pages}) == len(pages), "file systems may ignore case"


# --- the command ------------------------------------------------------------------------------------------


def run(*arguments: str) -> Result:
    return CliRunner().invoke(root, ["properties", *arguments], standalone_mode=False)


def read(result: Result) -> list[dict[str, str]]:
    assert result.exception is None, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_the_csv_form() -> None:
    result = run("--format", "csv")
    assert result.stdout.splitlines()[0] == (
        "measure,bounded,monotone,convergent,top-weighted,localized,complete,realizable"
    )
    rows = read(result)
    assert [each["measure"] for each in rows] == list(property_tables.DOCUMENT)
    for measure, name, wanted, _ in CELLS:
        assert rows[property_tables.DOCUMENT.index(measure)][name] == wanted.lower()


def test_the_table_and_its_notes() -> None:
    result = run()
    assert [line.split()[0] for line in result.stdout.splitlines()[2:]] == list(property_tables.DOCUMENT)
    assert "No e" in result.stdout
    assert [line[:2] for line in result.stderr.splitlines()] == ["a.", "b.", "c.", "d.", "e.", "f."]


def test_why() -> None:
    result = run("nDCG(gain=exp)@10", "V2(AP)", "ERR", "--why", "--format", "csv")
    rows = read(result)
    assert len(rows) == 21
    assert rows[0]["measure"] == "nDCG(gain=exp)@10"
    assert {each["known"] for each in rows} == {"refuted", "proved"}
    assert rows[1]["why"] == "101 scores 1 at k = 1 and 0.6131 at k = 2"
    assert "so these cutoffs are ignored: nDCG(gain=exp)@10" in result.stderr
    assert "No measure has all seven properties" in result.stderr


def test_prefer() -> None:
    result = run("--prefer", "realizable, Monotone", "--format", "csv")
    rows = read(result)
    assert [each["measure"] for each in rows][:2] == ["HIT", "RR"]
    order = [(each["realizable"], each["monotone"]) for each in rows]
    assert order == sorted(order, reverse=True)
    shown = run("--prefer", "realizable,monotone", "--format", "markdown").stdout
    assert shown.startswith("| measure | realizable | monotone | bounded |")


def test_find() -> None:
    rows = read(run("--find", "bounded monotone localized", "--format", "csv"))
    found = [each["measure"] for each in rows]
    assert found[:3] == ["HIT", "RR", "RBP"]
    assert "ERR" in found
    assert "AP" not in found
    assert [each["measure"] for each in read(run("AP", "RR", "--find", "localized", "--format", "csv"))] == ["RR"]


def test_find_the_impossible() -> None:
    result = run("--find", ",".join(SEVEN), "--format", "csv")
    assert read(result) == []
    assert f"none of the {len(property_tables.DOCUMENT) + len(property_tables.FURTHER)} measures" in result.stderr
    assert "11;0 scores more (convergent)" in result.stderr


def test_all() -> None:
    rows = read(run("--all", "--format", "csv"))
    assert [each["measure"] for each in rows] == [*property_tables.DOCUMENT, *property_tables.FURTHER]
    assert list(rows[0]) == ["measure", *NINE]


def test_json_and_output(tmp_path: Path) -> None:
    target = tmp_path / "properties.json"
    run("P", "AP", "--format", "json", "-o", str(target))
    assert json.loads(target.read_text())[0] == {"measure": "P"} | {name: known("P")[name].word for name in SEVEN}
    run("--card", "P", "-o", str(tmp_path / "card.md"))
    assert (tmp_path / "card.md").read_text() == str(cal.measure_card("P"))


def test_card() -> None:
    assert run("--card", "RBP(p=0.8)").stdout == str(cal.measure_card("RBP(p=0.8)"))


def test_grades_and_bound() -> None:
    assert read(run("HIT(gain=exp)", "--grades", "0,1,2", "--format", "csv"))[0]["bounded"] == "yes"
    assert read(run("HIT(gain=exp)", "--grades", "0 1 2", "--bound", "1", "--format", "csv"))[0]["bounded"] == "no"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nDGC"], "unknown measure 'nDGC'"),
        (["--find", "bonded"], "unknown property 'bonded'; did you mean bounded?"),
        (["--prefer", ","], "no property is named"),
        (["--grades", "0,x"], "--grades '0,x' is not a list of numbers"),
        (["--grades", "2,1"], "are not 0 and one to five ascending grades"),
        (["--card", "nDGC"], "unknown measure"),
        (["AP", "-o", "no/such/folder/file"], "cannot write here"),
    ],
)
def test_errors_of_the_command(arguments: list[str], message: str) -> None:
    error = run(*arguments).exception
    assert isinstance(error, CalipersError)
    assert message in str(error)


# --- a process of its own ---------------------------------------------------------------------------------


def test_in_a_process_of_its_own() -> None:
    command = [sys.executable, "-c", "from calipers.cli import main; main()", "properties", "--format", "csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == run("--format", "csv").stdout
