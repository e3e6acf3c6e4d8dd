"""Every measure, every tie rule, against enumeration in exact fractions on random small cases.

The cases are the queries of two collections, so that one call evaluates them all. They hold ties with
unjudged documents in them, grades below 0, relevant documents that were not retrieved, empty lists, missing
lists and pools without a relevant document.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import calipers as cal
import oracle
from calipers.results.scores import Reason
from oracle_measures import LARGEST, MEASURES, WITH_LEVEL, WITH_TABLE

TIE_RULES = ("average", "docid", "input", "best", "worst")
MOST_ORDERS = 130
NEAR = 1e-12


@dataclass(frozen=True)
class Case:
    """One query: the grades of its pool, and {document: score} or None where the run lacks the query."""

    pool: dict[str, float]
    run: dict[str, float] | None

    def groups(self, ties: str) -> list[list[oracle.Entry]]:
        """The tie groups that are left under the rule, as the oracle takes them."""
        scored = {name: (score, self.pool.get(name)) for name, score in (self.run or {}).items()}
        return oracle.ordered(scored, ties)


def orders(groups: list[list[oracle.Entry]]) -> int:
    """How many distinct orders the ties allow."""
    total = 1
    for group in groups:
        total *= math.factorial(len(group))
        for times in Counter(group).values():
            total //= math.factorial(times)
    return total


def case(draw: random.Random, grades: list[float]) -> Case:
    """A random query. Ids are of uneven length and shuffled, so that byte order is not input order."""
    names = [f"d{number}" for number in draw.sample(range(1, 130), 14)]
    judged = draw.randint(1, 8)
    pool = {name: draw.choice(grades) for name in names[:judged]}
    shown = draw.sample(names[:judged], draw.randint(0, judged)) + names[judged : judged + draw.randint(0, 4)]
    draw.shuffle(shown)
    levels = draw.choice([1, 2, 3, 8])
    return Case(pool, {name: draw.randint(1, levels) / 4 for name in shown})


def collection(seed: int, size: int, palettes: list[list[float]]) -> dict[str, Case]:
    """Random cases that can be enumerated, and the odd ones that chance would rarely give."""
    draw = random.Random(seed)
    cases = [
        Case({"a": 1, "b": 0}, {}),
        Case({"a": 1, "b": 0}, None),
        Case({"a": 0, "b": 0}, {"a": 1.0, "u": 1.0, "b": 1.0}),
        Case({"a": -1, "b": -2}, {"b": 1.0, "a": 1.0}),
        Case({"a": 2}, {"a": -3.5}),
        Case({"a": 2}, {"u": 0.0, "v": 0.0, "w": 0.0}),
        Case({"a": 1, "b": -1, "c": 0}, {"b": 1.0, "u": 1.0, "c": 1.0, "a": 1.0}),
        Case({"a": 4, "b": 3, "c": 2, "d": 1}, {"d": 1.0, "c": 1.0, "b": 1.0, "a": 1.0}),
        Case({"a": 4}, {"a": 1.0}),
    ]
    while len(cases) < size:
        one = case(draw, draw.choice(palettes))
        if orders(one.groups("average")) <= MOST_ORDERS:
            cases.append(one)
    return {f"q{number}": one for number, one in enumerate(cases)}


BINARY, RARE, GRADED, BELOW_ZERO = [0, 1], [0, 0, 0, 1], [0, 1, 2, 3, 4], [-1, -1, 0, 1]
COLLECTIONS = {
    "whole": collection(11, 120, [BINARY, RARE, GRADED, BELOW_ZERO, [-2, -1, 0, 2], [1, 2, 3], [0]]),
    "fractional": collection(12, 45, [[0, 0.5, 1, 1.5], [-0.5, 0.25, 0.9, 2.5], [0.5, 0.75], [0.1, 1, 3.5]]),
}


# Gains of a table and fractional levels are asked for where there are such grades.
ASKED = {"whole": MEASURES | WITH_TABLE, "fractional": MEASURES | WITH_LEVEL}


# --- the comparison ---------------------------------------------------------------------------------------


@cache
def tied_orders(which: str, ties: str) -> dict[str, list[tuple[oracle.Entry, ...]]]:
    """All the rankings of each case that the rule leaves possible."""
    return {query: [*map(tuple, oracle.tie_orders(one.groups(ties)))] for query, one in COLLECTIONS[which].items()}


@cache
def judgments(which: str) -> Any:
    """The pools of a collection. Its largest grade is always the same, as ERR and graded RBP divide by it."""
    pools = {query: one.pool for query, one in COLLECTIONS[which].items()}
    assert max(grade for pool in pools.values() for grade in pool.values()) == LARGEST
    return cal.Judgments.from_dict(pools)


@cache
def scored(which: str, ties: str) -> Any:
    """All measures of a collection at once; `test_all_measures_in_one_call` holds that each alone gives the same."""
    run = {query: one.run for query, one in COLLECTIONS[which].items() if one.run is not None}
    return cal.evaluate(judgments(which), run, list(ASKED[which]), ties=ties, empty="skip", warn=False)


@cache
def of_order(measure: oracle.Measure, order: tuple[oracle.Entry, ...], pool: tuple[float, ...]) -> oracle.Number | None:
    """Every tie rule leaves some of the orders over which `average` goes."""
    return measure(list(order), list(pool))


def differences(which: str, ties: str, name: str) -> list[str]:
    """Where the library and the oracle disagree, told so that it can be looked at.

    Undefined must also be undefined for the right reason: a query that no ranking could help is skipped, a list
    that merely found nothing counts 0.
    """
    cases = COLLECTIONS[which]
    scores, m, measure = scored(which, ties), list(ASKED[which]).index(name), ASKED[which][name]
    assert scores.values.shape == (len(ASKED[which]), 1, len(cases))
    assert scores.queries == tuple(cases)
    told = []
    for place, (query, one) in enumerate(cases.items()):
        value, reason = float(scores.values[m, 0, place]), Reason(int(scores.reasons[m, 0, place]))
        pool = tuple(one.pool.values())
        wanted = oracle.mean([of_order(measure, order, pool) for order in tied_orders(which, ties)[query]])
        if wanted is None and of_order(measure, tuple(sorted(pool, reverse=True)), pool) is None:
            alike = math.isnan(value) and reason is Reason.NO_RELEVANT
        elif wanted is None:
            alike = value == 0 and reason is Reason.NOTHING_FOUND
        else:
            near = abs(value - float(wanted)) <= NEAR * max(1, abs(wanted))
            alike = near and reason is Reason.DEFINED
        if not alike:
            told.append(f"{ties}, {query}: {value!r} ({reason}), not {wanted}; {one.pool}, ties {one.groups(ties)}")
    return told


@pytest.mark.parametrize(
    ("which", "name"),
    [(which, name) for which, names in ASKED.items() for name in names],
)
def test_equals_the_definition(which: str, name: str) -> None:
    told = [each for ties in TIE_RULES for each in differences(which, ties, name)]
    assert not told, "\n".join([f"{len(told)} of {len(TIE_RULES) * len(COLLECTIONS[which])} differ:", *told[:4]])


def test_the_cases_hold_what_they_promise() -> None:
    """A generator that stopped making the hard cases would make every test above easier."""
    cases = [one for which in COLLECTIONS.values() for one in which.values()]
    groups = [group for one in cases for group in one.groups("average") if len(group) > 1]
    assert sum(None in group and any(entry is not None for entry in group) for group in groups) > 60
    assert sum(any(entry is not None and entry < 0 for entry in group) for group in groups) > 20
    assert sum(not oracle.count(one.pool.values()) for one in cases) > 15
    assert sum(one.run is None or not one.run for one in cases) > 3
    missed = [
        one for one in cases if any(grade >= 1 and name not in (one.run or {}) for name, grade in one.pool.items())
    ]
    assert len(missed) > 60
    assert max(orders(one.groups("average")) for one in cases) > 60


def test_all_measures_in_one_call() -> None:
    """Together they give what each gives alone: what kernels share between them does not leak."""
    cases = COLLECTIONS["whole"]
    run = {query: one.run for query, one in cases.items() if one.run is not None}
    names = list(MEASURES)
    for ties in ("average", "docid"):
        together = cal.evaluate(judgments("whole"), run, names, ties=ties, empty="skip")
        for row, name in enumerate(names):
            alone = cal.evaluate(judgments("whole"), run, [name], ties=ties, empty="skip")
            np.testing.assert_allclose(
                together.values[row], alone.values[0], rtol=1e-13, atol=1e-15, err_msg=f"{name} {ties}"
            )
