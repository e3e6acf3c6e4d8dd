"""The measures of NTCIR: against pyNTCIREVAL, their definitions over all orders, and their forms by subtopic."""

from __future__ import annotations

import random
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import calipers as cal
import oracle

LEVELS = 3  # of relevance


def collection(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    draw = random.Random(seed)
    qrels, run = {}, {}
    for number in range(25):
        documents = [f"d{d:02}" for d in range(30)]
        query = f"q{number:02}"
        qrels[query] = {d: draw.choice([0, 0, 1, 2, LEVELS]) for d in draw.sample(documents, 18)} | {"d00": 1}
        run[query] = {d: -float(rank) for rank, d in enumerate(draw.sample(documents, draw.randint(2, 22)))}
    qrels["q00"]["d01"] = LEVELS
    return qrels, run


@pytest.mark.peers
@pytest.mark.parametrize("condensed", [False, True])
@pytest.mark.parametrize("gains", [[1, 2, 3], [1, 3, 7]])
def test_pyntcireval(gains: list[int], condensed: bool, require: Any) -> None:
    theirs = require.module("pyNTCIREVAL.metrics")
    labeler = require.module("pyNTCIREVAL.labeler").Labeler
    qrels, run = collection(3)
    gain = "linear" if gains[-1] == 3 else "exp"
    given = "" if gain == "linear" else "gain=exp"

    def made(name: str, *others: str, k: int | None = None) -> str:
        inside = ",".join(filter(None, (given, *others)))
        return name + (f"({inside})" if inside else "") + (f"@{k}" if k else "")

    names: dict[str, Any] = {
        "RR": lambda x: theirs.RR(),
        made("O-measure"): lambda x: theirs.OMeasure(x, gains, 1.0),
        made("P-measure", "beta=2"): lambda x: theirs.PMeasure(x, gains, 2.0),
        made("P+"): lambda x: theirs.PPlusMeasure(x, gains, 1.0),
        "AP": lambda x: theirs.AP(x, gains),
        "AP@5": lambda x: theirs.AP(x, gains, 5),
        made("Q"): lambda x: theirs.QMeasure(x, gains, 1.0),
        made("Q", "beta=10", k=5): lambda x: theirs.QMeasure(x, gains, 10.0, 5),
        made("NCUguP"): lambda x: theirs.NCUguP(x, gains, gains),
        made("NCUguBR", "stops={1:1,2:1,3:5}"): lambda x: theirs.NCUguBR(x, gains, [1, 1, 5], 1.0),
        made("NCUrbP"): lambda x: theirs.NCUrbP(x, gains, 0.95),
        made("NCUrbBR", "gamma=0.5"): lambda x: theirs.NCUrbBR(x, gains, 0.5, 1.0),
        made("RBP"): lambda x: theirs.RBP(x, gains, 0.95),
        made("ERR"): lambda x: theirs.ERR(x, gains),
        made("nERR", k=5): lambda x: theirs.nERR(x, gains, 5),
        made("nDCG", k=10): lambda x: theirs.nDCG(x, gains, 2.0, 10),
        made("MSnDCG", "discount=log2", k=10): lambda x: theirs.MSnDCG(x, gains, 10),
        "P@5": lambda x: theirs.Precision(5),
        "Success@3": lambda x: theirs.Hit(3),
    }
    scores = cal.evaluate(qrels, run, list(names), like="ntcireval", condensed=condensed, warn=False)
    assert scores.exactness == dict.fromkeys(names, "exact")
    for q, query in enumerate(scores.queries):
        labels = labeler(qrels[query], is_condensed=condensed)
        ranked = labels.label(sorted(run[query], key=lambda d: -run[query][d]))
        levels = labels.compute_per_level_doc_num(LEVELS + 1)
        for name, metric in names.items():
            wanted = metric(levels).compute(ranked) if ranked else 0.0
            assert scores[name][0, q] == pytest.approx(wanted, rel=1e-9, abs=1e-12), (query, name)


GRADED = {
    "NCU(stop=graded)": oracle.ncu_graded,
    "NCU(rel=2,beta=0,gain=exp,stop=graded)": partial(oracle.ncu_graded, rel=2, beta=0, gain="exp"),
}
POOLS = [[3, 1, 0, 0, 2], [1, 1, 0, 2], [0, 0, 1], [2, 2, -1, 0, 3, 1], [3, 3]]


@pytest.mark.parametrize("name", GRADED)
def test_readers_who_stop_by_grade(name: str) -> None:
    """The expected score over all orders in fractions; the ideal is 1 where no document of the pool is missing."""
    qrels = {f"q{q}": {f"d{d}": grade for d, grade in enumerate(pool)} for q, pool in enumerate(POOLS)}
    found = cal.bounds(qrels, [name])
    wanted = [oracle.expected(GRADED[name], pool) for pool in POOLS]
    np.testing.assert_allclose(found.expected[name], [np.nan if w is None else float(w) for w in wanted], rtol=1e-12)
    defined = ~np.isnan(found.ideal[name])
    assert found.ideal[name][defined] == pytest.approx(1)
    assert (found.exactness[name]["ideal"], found.exactness[name]["worst"]) == ("exact", "sorted")


@pytest.mark.parametrize("name", ["Q", "Q@2", "O-measure", "P-measure", "P-plus(beta=4)", "NCU(stop=rank)"])
def test_extremes_of_what_a_run_retrieved(name: str) -> None:
    """Where a document of the pool is missing, the best grade need not come first."""
    pool = {"a": 3, "b": 2, "c": 1, "d": 0, "e": 1}
    for missing in "abc":
        documents = [d for d in (*pool, "u") if d != missing]
        orders = {str(n): {"q": {d: -float(r) for r, d in enumerate(o)}} for n, o in enumerate(permutations(documents))}
        values = cal.evaluate({"q": pool}, orders, [name], warn=False)[name][:, 0]
        found = cal.bounds({"q": pool}, [name], population="retrieved", runs=orders["0"])
        assert found.ideal[name][0] == pytest.approx(values.max(), rel=1e-12)
        assert found.worst[name][0] == pytest.approx(values.min(), rel=1e-12)
        assert found.expected[name][0] == pytest.approx(values.mean(), rel=1e-12)


def test_deep_ties_are_those_of_single_ranks() -> None:
    """A tie of everything in a large collection, whose ranks are not added up one by one, and the same rank by rank."""
    qrels = {"q": {"a": 3, "b": 0, "c": 1, "d": 1}}
    names = ["Q", "O-measure", "P-measure", "P-plus", "NCU(stop=rank)", "NCU(stop=graded)", "nERR"]
    found = cal.bounds(qrels, names, population="collection(200)")
    draw = random.Random(1)
    places = [draw.sample(range(200), 4) for _ in range(1000)]
    runs = {}
    for n, place in enumerate(places):
        where = dict(zip(place, "abcd", strict=True))
        runs[str(n)] = {"q": {where.get(r, f"u{r}"): -float(r) for r in range(max(place) + 1)}}
    scores = cal.evaluate(qrels, runs, names, warn=False)
    for name in names:
        values = scores[name][:, 0]
        error = values.std() / np.sqrt(len(values))
        assert found.expected[name][0] == pytest.approx(values.mean(), abs=4 * error), name


TOPIC = {"q": {"1": {"a": 2, "b": 1, "c": 0}, "2": {"b": 1, "d": 3}, "3": {"e": 1, "a": 1}, "4": {"c": 0}}}
CHANCES = {"1": 0.5, "2": 0.25, "3": 0.25, "4": 0.5}
SHARE = {"1": 0.5, "2": 0.25, "3": 0.25}  # of the intents that can be answered


def by_definition(name: str, ranked: list[str], k: int) -> float:
    topic = TOPIC["q"]
    documents = sorted({d for graded in topic.values() for d in graded})
    gain = {d: sum(p * topic[i].get(d, 0) for i, p in SHARE.items()) for d in documents}
    ideal = sorted(documents, key=lambda d: -gain[d])

    def ratio(r: int) -> float:
        found = [gain[d] for d in ranked[:r] if gain.get(d, 0) > 0]
        return (len(found) + sum(found)) / (r + sum(gain[d] for d in ideal[:r]))

    relevant = sum(g > 0 for g in gain.values())
    value = sum(ratio(r) for r, d in enumerate(ranked[:k], 1) if gain.get(d, 0) > 0) / min(relevant, k)
    answered = sum(any(topic[i].get(d, 0) >= 1 for d in ranked[:k]) for i in SHARE) / len(SHARE)
    return 0.5 * answered + 0.5 * value if "#" in name else value


@pytest.mark.parametrize("name", ["D-Q@3", "D#-Q@3", "D#-Q@5"])
def test_forms_by_subtopic(name: str) -> None:
    judgments = cal.SubtopicJudgments.from_subtopics(TOPIC, {"q": CHANCES})
    orders = list(permutations("abcde"))
    runs = {str(n): {"q": {d: -float(r) for r, d in enumerate(order)}} for n, order in enumerate(orders)}
    scores = cal.evaluate(judgments, runs, [name, f"V2({name})", f"V2s({name})"], warn=False)
    wanted = [by_definition(name, [*o], int(name[-1])) for o in orders]
    np.testing.assert_allclose(scores[name][:, 0], wanted, rtol=1e-12)
    tied = cal.evaluate(judgments, {"q": dict.fromkeys("abcde", 1.0)}, [name])[name][0, 0]
    found = cal.bounds(judgments, [name])
    assert tied == pytest.approx(np.mean(wanted), rel=1e-12) == found.expected[name][0]
    assert found.ideal[name][0] >= max(wanted) - 1e-12
    how = found.exactness[name]
    assert found.worst[name][0] <= min(wanted) + 1e-12
    if "#" not in name:
        assert how["ideal"] == "exact"
        assert found.ideal[name][0] == pytest.approx(1, rel=1e-12)
        assert found.worst[name][0] == pytest.approx(min(wanted), rel=1e-12)
    for normalised in scores.measures[1:]:
        assert -1 - 1e-9 <= scores[normalised].min() <= scores[normalised].max() <= 1 + 1e-9


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Q(beta=-1)", "at least 0"),
        ("Q(norm=k)@3", "R, min"),
        ("NCU(stop=never)", "uniform, graded, rank"),
        ("NCU(stop=rank,gamma=0)", "above 0"),
        ("D#-Q(gamma=2)", "from 0 to 1"),
        ("D-Q(rel=0)", "above 0"),
    ],
)
def test_bad_parameters(name: str, words: str) -> None:
    with pytest.raises(cal.CalipersError, match=words):
        cal.parse(name)
