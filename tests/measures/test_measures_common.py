"""What must hold for every declared measure: a new one is tested the moment it is declared.

A law compares two scenarios: the plain collection, and one that was changed in a way that should not matter, or
should matter in a known way. Each scenario is evaluated once, for all measures together.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import comb, log2
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.measures.normalisation import Normalised
from calipers.measures.registry import examples

Pools = dict[str, dict[str, float]]
Run = dict[str, dict[str, float]]
Scored = dict[str, dict[str, float]]

TIE_RULES = ("average", "docid", "input", "best", "worst")
EXAMPLES = examples()
# Those that are not made from another measure and its bounds, as U, W, V1, V2 and Z are.
PLAIN = [name for name in EXAMPLES if not isinstance(cal.parse(name).form, Normalised)]
# Not better for more relevant documents higher up: what the list shows of the judgments, counts, and
# self-normalised scores, which a relevant document far down can lower. RIC rewards the wrong order like the right one.
# What is spent is no score. A forager whose goal is reached earlier gains less per document at times.
NOT_INCREASING = (
    "SN-",
    "Judged",
    "unj",
    "RBP-residual",
    "Num",
    "RIC",
    "EC(",
    "ETC(",
    "ED(",
    "IFT-C1",
    "P-measure",
    "P-plus",
)
# Not the mean over the orders of a tie: RIC takes each tied pair half each way.
TIES_BY_HALVES = ("RIC",)
# The length of the whole list is part of the measure. Compat (the depth of its overlap) and Accuracy (pairs of
# retrieved documents) are defined so by ir_measures.
SEES_LENGTH = ("SetP", "SetF", "SetAP", "NumRet", "Judged", "utility", "Compat", "Accuracy")
# Not 0 for a list without a judged document: costs, logarithms, what is known of the query alone, a tie of all pairs.
NOT_ZERO = (
    "NumRet",
    "NumRel",
    "NumQ",
    "RBP-residual",
    "unj",
    "utility",
    "yaap",
    "ideal_dcg",
    "AUC",
    "EC(",
    "ETC(",
    "ED(",
)


every = pytest.mark.parametrize("name", EXAMPLES)


def all_but(prefixes: tuple[str, ...], names: Sequence[str] = EXAMPLES) -> pytest.MarkDecorator:
    """Run a test for each measure whose name has none of these prefixes."""
    return pytest.mark.parametrize("name", [name for name in names if not name.startswith(prefixes)])


def collection(levels: int = 6) -> tuple[Pools, Run]:
    """Judgments and one run: ties, unjudged documents, grades from -1 to 3, lists of 10 to 18 documents."""
    draw = random.Random(5)
    pools: Pools = {}
    run: Run = {}
    for number in range(16):
        names = [f"{draw.choice('xyz')}{number}-{row}" for row in range(24)]
        judged = draw.sample(names, 14)
        pools[f"q{number}"] = {name: draw.choice([-1, 0, 0, 0, 1, 2, 3]) for name in judged}
        shown = draw.sample(names, draw.randint(10, 18))
        run[f"q{number}"] = {name: draw.randint(1, levels) / 2 for name in shown}
    pools["q0"] = dict.fromkeys(pools["q0"], 0)
    return pools, run


POOLS, RUN = collection()


# --- the scenarios ----------------------------------------------------------------------------------------


def shuffled(items: Mapping[str, Any]) -> dict[str, Any]:
    """The same mapping in another order."""
    keys = list(items)
    random.Random(1).shuffle(keys)
    return {key: items[key] for key in keys}


def changed(run: Run, change: Callable[[float], float]) -> Run:
    """The run with another score for every document."""
    return {query: {d: change(s) for d, s in documents.items()} for query, documents in run.items()}


def judged_only(run: Run) -> Run:
    """The run without its unjudged documents."""
    return {query: {d: s for d, s in documents.items() if d in POOLS[query]} for query, documents in run.items()}


def cut(run: Run, depth: int) -> Run:
    """The first documents of each list in trec_eval's order, kept in the order of the input."""
    shorter: Run = {}
    for query, documents in run.items():
        order = sorted(documents, key=lambda d: (documents[d], d.encode()), reverse=True)
        kept = set(order[:depth])
        shorter[query] = {d: s for d, s in documents.items() if d in kept}
    return shorter


def renamed(lists: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Every document under another name, in which another byte order holds."""
    return {query: {f"{d[::-1]}é": x for d, x in documents.items()} for query, documents in lists.items()}


def untied(run: Run) -> Run:
    """Ties broken at random."""
    draw = random.Random(3)
    return changed(run, lambda s: s + draw.random() / 1e3)


def padded(run: Run) -> Run:
    """Unjudged documents after everything else."""
    tail = {f"unjudged{row}": -1.0 - row for row in range(7)}
    return {query: {**documents, **tail} for query, documents in run.items()}


HALF = list(POOLS)[::2]
ONE = {"q1": RUN["q1"]}
SCENARIOS: dict[str, tuple[Pools, Any, dict[str, Any]]] = {
    "plain": (POOLS, RUN, {}),
    "run's queries in another order": (POOLS, shuffled(RUN), {}),
    "judgments' queries in another order": (shuffled(POOLS), RUN, {}),
    "run's documents in another order": (POOLS, {q: shuffled(RUN[q]) for q in RUN}, {}),
    "judgments' documents in another order": ({q: shuffled(POOLS[q]) for q in POOLS}, RUN, {}),
    "documents renamed": (renamed(POOLS), renamed(RUN), {}),
    "scores to the power of 2": (POOLS, changed(RUN, lambda s: 2.0**s), {}),
    "scores inverted": (POOLS, changed(RUN, lambda s: -1 / s), {}),
    "scores huge": (POOLS, changed(RUN, lambda s: 1e300 * s), {}),
    "half of the queries": ({q: POOLS[q] for q in HALF}, {q: RUN[q] for q in HALF}, {}),
    "unjudged documents at the end": (POOLS, padded(RUN), {}),
    "untied": (POOLS, untied(RUN), {}),
    "condensed": (POOLS, RUN, {"condensed": True}),
    "condensed by hand": (POOLS, judged_only(RUN), {}),
    "one list": (POOLS, ONE, {}),
    "one list, the others empty": (POOLS, {**{q: {} for q in POOLS}, **ONE}, {}),
    "some lists": (POOLS, {q: RUN[q] for q in RUN if q not in ("q3", "q4")}, {}),
    "some lists, undefined as 0": (POOLS, {q: RUN[q] for q in RUN if q not in ("q3", "q4")}, {"empty": 0.0}),
    "some lists, undefined as 1": (POOLS, {q: RUN[q] for q in RUN if q not in ("q3", "q4")}, {"empty": 1.0}),
    "only unjudged documents": (POOLS, {q: {"u1": 2.0, "u2": 2.0, "u3": 1.0} for q in POOLS}, {"empty": 0.0}),
}
for depth in (1, 4, 30):
    SCENARIOS[f"depth {depth}"] = (POOLS, RUN, {"depth": depth})
    SCENARIOS[f"depth {depth} by hand"] = (POOLS, cut(RUN, depth), {})
    SCENARIOS[f"depth {depth}, condensed"] = (POOLS, RUN, {"depth": depth, "condensed": True})
    SCENARIOS[f"depth {depth}, condensed by hand"] = (POOLS, judged_only(cut(RUN, depth)), {})


@cache
def scored(scenario: str, ties: str = "average") -> Scored:
    """{measure: {query: score}}, undefined as NaN."""
    pools, run, options = SCENARIOS[scenario]
    scores = cal.evaluate(pools, run, EXAMPLES, ties=ties, unmatched="warn", **{"empty": "skip", **options})
    assert scores.measures == tuple(EXAMPLES)
    return {
        name: dict(zip(scores.queries, values[0].tolist(), strict=True))
        for name, values in zip(EXAMPLES, scores.values, strict=True)
    }


def assert_same(got: Mapping[str, float], wanted: Mapping[str, float], message: str = "") -> None:
    """Compare scores by query, in any order of the queries. Undefined scores must be undefined in both."""
    assert sorted(got) == sorted(wanted)
    keys = list(wanted)
    np.testing.assert_allclose(
        [got[key] for key in keys],
        [wanted[key] for key in keys],
        rtol=1e-12,
        atol=1e-12,
        equal_nan=True,
        err_msg=message,
    )


def assert_same_under(rules: Sequence[str], name: str, scenario: str, other: str) -> None:
    """Compare the scores of a measure in two scenarios under each of these tie rules."""
    for ties in rules:
        assert_same(scored(scenario, ties)[name], scored(other, ties)[name], f"ties={ties!r}")


def one_list(name: str, pool: Mapping[str, float], run: Mapping[str, float], **options: Any) -> float:
    """The score of a single list."""
    return float(cal.evaluate({"q": pool}, {"q": run}, [name], **options).values[0, 0, 0])


def test_there_are_measures() -> None:
    assert len(EXAMPLES) == len(set(EXAMPLES)) > 20


# --- names ------------------------------------------------------------------------------------------------


@every
def test_repr_parses_back(name: str) -> None:
    measure = cal.parse(name)
    again = cal.parse(repr(measure))
    assert again == measure
    assert repr(again) == repr(measure)
    assert hash(again) == hash(measure)


@every
def test_pickles(name: str) -> None:
    measure = cal.parse(name)
    again = pickle.loads(pickle.dumps(measure))
    assert again == measure
    assert repr(again) == repr(measure)


@every
def test_alone_or_with_others_by_name_or_as_an_object(name: str) -> None:
    alone = cal.evaluate(POOLS, RUN, [cal.parse(name)], empty="skip")
    assert_same(dict(zip(alone.queries, alone.values[0, 0].tolist(), strict=True)), scored("plain")[name])


# --- what does not matter ---------------------------------------------------------------------------------


@every
@pytest.mark.parametrize(
    "scenario",
    [
        "run's queries in another order",
        "judgments' queries in another order",
        "judgments' documents in another order",
        "scores to the power of 2",
        "scores inverted",
        "scores huge",
    ],
)
def test_makes_no_difference(scenario: str, name: str) -> None:
    assert_same_under(TIE_RULES, name, scenario, "plain")


@every
def test_order_of_input(name: str) -> None:
    assert_same_under(["average", "docid", "best", "worst"], name, "run's documents in another order", "plain")


@every
def test_names_of_documents(name: str) -> None:
    assert_same_under(["average", "input", "best", "worst"], name, "documents renamed", "plain")


@cache
def systems(ties: str) -> tuple[dict[str, Run], Any]:
    runs = {f"s{levels}": collection(levels)[1] for levels in (1, 3, 6, 40)}
    return runs, cal.evaluate(POOLS, runs, EXAMPLES, ties=ties, empty="skip")


@cache
def alone(system: str, ties: str) -> Any:
    return cal.evaluate(POOLS, systems(ties)[0][system], EXAMPLES, ties=ties, empty="skip")


@every
@pytest.mark.parametrize("ties", ["average", "docid"])
def test_systems_together_or_alone(name: str, ties: str) -> None:
    runs, together = systems(ties)
    assert together.systems == tuple(runs)
    for row, system in enumerate(runs):
        # To the last bit or two: sums over blocks of another width may round differently.
        wanted = alone(system, ties)[name][0]
        np.testing.assert_allclose(together[name][row], wanted, rtol=1e-13, atol=1e-15)


@every
def test_other_queries(name: str) -> None:
    """A query's score does not depend on the other queries, their largest grade aside."""
    assert max(max(POOLS[query].values()) for query in HALF) == max(max(pool.values()) for pool in POOLS.values())
    assert_same(scored("half of the queries")[name], {query: scored("plain")[name][query] for query in HALF})


def test_twice_gives_the_same_bits() -> None:
    first, second = (cal.evaluate(POOLS, RUN, EXAMPLES, empty="skip").values for _ in range(2))
    np.testing.assert_array_equal(first, second)


@all_but(SEES_LENGTH)
def test_unjudged_documents_at_the_end(name: str) -> None:
    assert_same_under(TIE_RULES, name, "unjudged documents at the end", "plain")


# --- ties -------------------------------------------------------------------------------------------------


@every
def test_no_ties_no_rule(name: str) -> None:
    for ties in TIE_RULES[1:]:
        assert_same(scored("untied", ties)[name], scored("untied")[name])


@all_but(NOT_INCREASING)
def test_average_lies_between_worst_and_best(name: str) -> None:
    worst, average, best = (scored("plain", ties)[name] for ties in ("worst", "average", "best"))
    for query in POOLS:
        if not np.isnan(average[query]):
            assert worst[query] <= average[query] + 1e-12
            assert average[query] <= best[query] + 1e-12


@cache
def all_orders(grades: tuple[float | None, ...]) -> tuple[Any, Any]:
    """Every order of a pool as a system of its own, and the pool in one tie."""
    documents = [f"d{row}" for row in range(len(grades))]
    pools = {
        "q": {d: grade for d, grade in zip(documents, grades, strict=True) if grade is not None},
        "other": {"d": 3, "e": 0},  # the same largest grade for all
    }
    orders = {
        str(number): {"q": dict(zip(order, range(len(order), 0, -1), strict=True))}
        for number, order in enumerate(permutations(documents))
    }
    return (
        cal.evaluate(pools, orders, PLAIN, empty=0.0),
        cal.evaluate(pools, {"q": dict.fromkeys(documents, 1.0)}, PLAIN, empty=0.0),
    )


@all_but(TIES_BY_HALVES, PLAIN)
@pytest.mark.parametrize("grades", [(2, 0, 1, 0, -1), (1, 0, 0, 3, 0), (1, 1, 1, 1, 1), (0, 0, 0, 2, None)], ids=str)
def test_all_tied_is_the_mean_of_all_orders(name: str, grades: tuple[float | None, ...]) -> None:
    """The one idea of the library: a random ranking is a ranking in which everything is tied."""
    orders, tied = all_orders(grades)
    mean = orders[name][:, orders.queries.index("q")].mean()
    assert tied[name][0, tied.queries.index("q")] == pytest.approx(mean, rel=1e-12, abs=1e-12)


@cache
def large_tie(share: float) -> dict[str, Any]:
    n = 1000
    pool = {f"d{row}": 1 + row % 3 if row < share * n else 0 for row in range(n)}
    run = {"q": dict.fromkeys(pool, 1.0)}
    return {ties: cal.evaluate({"q": pool}, run, PLAIN, ties=ties) for ties in ("worst", "average", "best")}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("share", [0.001, 0.05, 0.5, 1.0])
def test_a_large_tie(name: str, share: float) -> None:
    """A thousand documents in one tie: nothing overflows, nothing vanishes."""
    worst, value, best = (float(scores[name][0, 0]) for scores in large_tie(share).values())
    assert np.isfinite(value)
    if not name.startswith(NOT_INCREASING):
        assert worst - 1e-9 <= value <= best + 1e-9
        if best > worst:
            assert value > worst


@pytest.mark.parametrize(
    ("n", "r", "k"), [(300, 40, 100), (3000, 20, 1000), (3000, 2000, 10), (3000, 1500, 1000), (4000, 3999, 2000)]
)
def test_self_normalised_measures_of_a_large_tie(n: int, r: int, k: int) -> None:
    """By their closed forms, where binomials do not fit a float."""
    pool = {f"d{row}": int(row < r) for row in range(n)}
    run = dict.fromkeys(pool, 1.0)
    weight = np.concatenate([[0.0], np.cumsum([1 / log2(i + 1) for i in range(1, k + 1)])])
    harmonic = float(sum(Fraction(1, i) for i in range(1, k + 1)))
    sn_dcg = sn_ap = 0.0
    total = comb(n, k)
    for m in range(max(1, k - (n - r)), min(r, k) + 1):
        chance = comb(r, m) * comb(n - r, k - m) / total
        p = m / k
        sn_dcg += chance * p * weight[k] / weight[m]
        sn_ap += chance * (k * p**2 + p * (1 - p) * (k * harmonic - k) / (k - 1)) / m
    assert one_list(f"SN-DCG@{k}", pool, run) == pytest.approx(sn_dcg, rel=1e-9)
    assert one_list(f"SN-AP@{k}", pool, run) == pytest.approx(sn_ap, rel=1e-9)


# --- cutting ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in EXAMPLES if isinstance(cal.parse(name).parameters.get("cutoff", 0.0), int | None)]
)
def test_cutoffs_beyond_the_list(name: str) -> None:
    measure = cal.parse(name)
    cutoffs = [measure @ 1, measure @ 2, measure @ 19, measure @ 100_000]
    for ties in ("average", "docid", "best"):
        assert np.isfinite(cal.evaluate(POOLS, RUN, cutoffs, ties=ties, empty=0.0).values).all()


@every
def test_condensed_is_removing_unjudged_documents(name: str) -> None:
    assert_same_under(TIE_RULES, name, "condensed", "condensed by hand")


@every
@pytest.mark.parametrize("depth", [1, 4, 30])
def test_depth_is_cutting_the_run(name: str, depth: int) -> None:
    """The cut is made in trec_eval's order, before anything else, and ties are those of what is left."""
    assert_same_under(TIE_RULES, name, f"depth {depth}", f"depth {depth} by hand")
    condensed = scored(f"depth {depth}, condensed")[name]
    assert_same(condensed, scored(f"depth {depth}, condensed by hand")[name])


# --- nothing there ----------------------------------------------------------------------------------------


@every
def test_missing_and_empty_lists_are_alike(name: str) -> None:
    assert sorted(scored("one list")[name]) == sorted(POOLS)
    assert_same(scored("one list, the others empty")[name], scored("one list")[name])


@every
@pytest.mark.parametrize("value", [0, 1])
def test_undefined_is_what_the_policy_says(name: str, value: int) -> None:
    skipped = scored("some lists")[name]
    wanted = {query: value if np.isnan(score) else score for query, score in skipped.items()}
    assert_same(scored(f"some lists, undefined as {value}")[name], wanted)


@every
def test_only_unjudged_documents(name: str) -> None:
    values = list(scored("only unjudged documents")[name].values())
    assert np.isfinite(values).all()
    if name == "NumRelRet" or not (name.startswith(NOT_ZERO) or name not in PLAIN):
        assert set(values) == {0.0}


# --- the same data in another form ------------------------------------------------------------------------


@cache
def both_forms(ties: str) -> tuple[Any, Any]:
    """The same labels and scores as arrays and as dicts."""
    draw = np.random.default_rng(8)
    sizes = [5, 9, 12, 7]
    labels = draw.integers(0, 4, sum(sizes))
    scores = draw.integers(0, 4, sum(sizes)).astype(float)
    pools: Pools = {}
    run: Run = {}
    for number, (size, end) in enumerate(zip(sizes, np.cumsum(sizes), strict=True)):
        pools[str(number)] = {f"d{row}": int(labels[row]) for row in range(end - size, end)}
        run[str(number)] = {f"d{row}": float(scores[row]) for row in range(end - size, end)}
    arrays = cal.Judgments.from_arrays(labels, group=sizes)
    return (
        cal.evaluate(arrays, scores, EXAMPLES, ties=ties, empty="skip"),
        cal.evaluate(pools, run, EXAMPLES, ties=ties, empty="skip"),
    )


@every
@pytest.mark.parametrize("ties", ["average", "input", "best", "worst"])
def test_arrays_give_what_dicts_give(name: str, ties: str) -> None:
    by_array, by_dict = both_forms(ties)
    np.testing.assert_allclose(by_array[name], by_dict[name], rtol=1e-12, atol=1e-12)
