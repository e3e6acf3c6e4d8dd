"""Measures of diversity: against plain definitions, over all orders, against ndeval, and what is refused."""

from __future__ import annotations

import lzma
import pickle
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.errors import CalipersError
from calipers.measures.exactness import exactness_notes
from calipers.measures.normalisation import Normalised
from calipers.measures.registry import examples
from calipers.results.scores import Reason
from run_calipers import calipers

Topic = dict[str, dict[str, float]]  # subtopic -> document -> grade

EXAMPLES = examples("subtopics")
NAMES = [
    *(f"{n}@{k}" for n in ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG", "P-IA", "StRecall") for k in (1, 3, 9)),
    *("NRBP", "NRBP@3", "nNRBP", "P-IA", "AP-IA", "AP-IA@3", "D-nDCG@3", "D-nDCG", "D#-nDCG@1", "D#-nDCG@3", "D#-nDCG"),
    *("ERR-IA(alpha=0.3)@4", "alpha-DCG(alpha=0)@3", "alpha-nDCG(alpha=1)@5", "NRBP(alpha=0.2,beta=0.7)"),
    *("D#-nDCG(gamma=0.2,gain=exp)@4", "ERR-IA(rel=2)@5", "ERR-IA(graded=True)@5", "StRecall(rel=2)@2"),
    *("ERR-IA(norm=perfect)@3", "ERR-IA(norm=perfect)", "alpha-DCG(norm=perfect)@3", "NRBP(alpha=0)"),
]
VECTOR: Topic = {"1": {"d1": 1, "d2": 1}, "2": {"d1": 1, "d4": 1}, "3": {"d3": 1}}
CHANCES = {"q": {"1": 0.5, "2": 0.25, "3": 0.25}}


# --- plain definitions --------------------------------------------------------------------------------------


class Plain:
    """The measures of one topic, from their formulas."""

    def __init__(self, topic: Topic, chances: dict[str, float] | None = None, largest: float = 1) -> None:
        self.topic, self.chances, self.largest = topic, chances, largest

    def intents(self, rel: float) -> dict[str, float]:
        able = [i for i, graded in self.topic.items() if any(g >= rel for g in graded.values())]
        raw = {i: 1.0 if self.chances is None else self.chances.get(i, 0.0) for i in able}
        return {i: p / sum(raw.values()) for i, p in raw.items()}

    def relevant(self, document: str, intent: str, rel: float = 1) -> bool:
        return self.topic[intent].get(document, 0) >= rel

    def fading(
        self, ranked: Sequence[str], weight: Callable[[int], float], alpha: float, rel: float, share: dict[str, float]
    ) -> float:
        seen = dict.fromkeys(share, 0)
        total = 0.0
        for r, d in enumerate(ranked, 1):
            for i, p in share.items():
                if self.relevant(d, i, rel):
                    total += weight(r) * p * (1 - alpha) ** seen[i]
                    seen[i] += 1
        return total

    def greedy(self, alpha: float, rel: float, share: dict[str, float]) -> list[str]:
        """Ties by id, descending, as ndeval has them."""
        left = sorted({d for graded in self.topic.values() for d in graded}, reverse=True)
        order: list[str] = []
        while left:
            adds = {
                d: round(
                    sum(
                        p * (1 - alpha) ** sum(self.relevant(e, i, rel) for e in order)
                        for i, p in share.items()
                        if self.relevant(d, i, rel)
                    ),
                    12,
                )
                for d in left
            }
            order.append(max(left, key=lambda d: adds[d]))
            left.remove(order[-1])
        return order

    def score(self, measure: Any, ranked: Sequence[str]) -> float:
        p = measure.parameters
        rel = p["rel"]
        share = self.intents(rel)
        k = p.get("cutoff") or 10**6
        top = ranked[:k]
        alone = dict.fromkeys(share, 1.0)
        name = measure.name

        def normalised(value: Callable[[Sequence[str]], float], order: list[str]) -> float:
            return value(top) / value(order[:k])

        if name in ("ERR-IA", "nERR-IA"):
            if p.get("graded"):
                return sum(w * self.graded_err(top, i) for i, w in share.items())

            def err(documents: Sequence[str]) -> float:
                return p["alpha"] * self.fading(documents, lambda r: 1 / r, p["alpha"], rel, share)

            if name == "nERR-IA":
                return normalised(err, self.greedy(p["alpha"], rel, share))
            deep = range(1, min(k, 500) + 1)
            perfect = sum(p["alpha"] * (1 - p["alpha"]) ** (r - 1) / r for r in deep) if p["norm"] else 1
            return err(top) / perfect
        if name in ("alpha-DCG", "alpha-nDCG"):

            def dcg(documents: Sequence[str]) -> float:
                return self.fading(documents, lambda r: 1 / log2(r + 1), p["alpha"], rel, alone)

            if name == "alpha-nDCG":
                return normalised(dcg, self.greedy(p["alpha"], rel, alone))
            if p["norm"]:
                return dcg(top) / len(share) / sum((1 - p["alpha"]) ** (r - 1) / log2(r + 1) for r in range(1, k + 1))
            return dcg(top)
        if name in ("NRBP", "nNRBP"):
            alpha, beta = p["alpha"], p["beta"]

            def nrbp(documents: Sequence[str]) -> float:
                return (1 - (1 - alpha) * beta) * self.fading(documents, lambda r: beta ** (r - 1), alpha, rel, share)

            return normalised(nrbp, self.greedy(alpha, rel, share)) if name == "nNRBP" else nrbp(top)
        if name == "P-IA":
            depth = p["cutoff"] or len(top)
            return sum(w * sum(self.relevant(d, i, rel) for d in top) / depth for i, w in share.items())
        if name == "AP-IA":
            return sum(w * self.ap(top, i, rel) for i, w in share.items())
        recall = sum(any(self.relevant(d, i, rel) for d in top) for i in share) / len(share)
        if name == "StRecall":
            return recall

        def gain(d: str) -> float:
            grades = {i: max(self.topic[i].get(d, 0), 0) for i in share}
            return sum(w * (2 ** grades[i] - 1 if p["gain"] == "exp" else grades[i]) for i, w in share.items())

        def d_dcg(documents: Sequence[str]) -> float:
            return sum(gain(d) / log2(r + 1) for r, d in enumerate(documents, 1))

        best = sorted({d for graded in self.topic.values() for d in graded}, key=gain, reverse=True)
        d_ndcg = d_dcg(top) / d_dcg(best[:k])
        return d_ndcg if name == "D-nDCG" else p["gamma"] * recall + (1 - p["gamma"]) * d_ndcg

    def graded_err(self, top: Sequence[str], intent: str) -> float:
        through, total = 1.0, 0.0
        for r, d in enumerate(top, 1):
            stop = (2 ** max(self.topic[intent].get(d, 0), 0) - 1) / 2**self.largest
            total += through * stop / r
            through *= 1 - stop
        return total

    def ap(self, top: Sequence[str], intent: str, rel: float) -> float:
        hits = [r for r, d in enumerate(top, 1) if self.relevant(d, intent, rel)]
        total = sum(g >= rel for g in self.topic[intent].values())
        return sum(found / r for found, r in enumerate(hits, 1)) / total


def random_topic(seed: int, documents: int = 9, intents: int = 4) -> Topic:
    """Some documents answer several intents, some none; one intent is answered by nothing."""
    draw = random.Random(seed)
    topic: Topic = {
        str(i): {f"d{n}": draw.choice([-2, 0, 0, 1, 2, 3]) for n in draw.sample(range(documents), documents - 2)}
        for i in range(intents)
    }
    topic["nothing"] = {"d0": 0, "d1": 0}
    topic["0"]["d1"] = 2
    return topic


def evaluated(
    topic: Topic, ranked: Sequence[str], names: Iterable[str], chances: Any = None, **options: Any
) -> dict[str, float]:
    judgments = cal.SubtopicJudgments.from_subtopics({"q": topic}, None if chances is None else {"q": chances})
    run = {"q": {d: float(-r) for r, d in enumerate(ranked)}}
    scores = cal.evaluate(judgments, run, list(names), **options)
    return dict(zip(scores.measures, scores.values[:, 0, 0].tolist(), strict=True))


# --- scores -------------------------------------------------------------------------------------------------


def test_the_vector_of_the_specification() -> None:
    judgments = cal.SubtopicJudgments.from_subtopics({"q": VECTOR}, CHANCES)
    run = {"q": {"d2": 4.0, "d1": 3.0, "d4": 2.0, "d3": 1.0}}
    names = [f"{name}@{k}" for k in (2, 4) for name in ("ERR-IA", "alpha-nDCG", "D#-nDCG")]
    got = cal.evaluate(judgments, run, names).values[:, 0, 0]
    wanted = [0.375, 0.739812467, 0.790034130, 0.427083333, 0.848463751, 0.964461465]
    assert got == pytest.approx(wanted, abs=5e-10)


@pytest.mark.parametrize("seed", range(8))
def test_scores_are_their_definitions(seed: int) -> None:
    topic = random_topic(seed)
    draw = random.Random(seed)
    ranked = draw.sample([f"d{n}" for n in range(9)] + ["u1", "u2", "u3"], 8)
    chances = {i: draw.random() for i in topic} if seed % 2 else None
    got = evaluated(topic, ranked, NAMES, chances)
    plain = Plain(topic, chances, largest=max(g for graded in topic.values() for g in graded.values()))
    for name, value in got.items():
        assert value == pytest.approx(plain.score(cal.parse(name), ranked), rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("seed", range(3))
def test_ties_are_averaged_over_all_orders(seed: int) -> None:
    topic = random_topic(seed, documents=5, intents=3)
    judgments = cal.SubtopicJudgments.from_subtopics({"q": topic})
    documents = ["d0", "d1", "d2", "d3", "u"]
    orders = {
        str(n): {"q": {"first": 9.0} | {d: float(-r) for r, d in enumerate(order)} | {"d4": -9.0}}
        for n, order in enumerate(permutations(documents))
    }
    tied = {"q": {"first": 9.0} | dict.fromkeys(documents, 1.0) | {"d4": -9.0}}
    mean = cal.evaluate(judgments, orders, NAMES).values.mean(axis=1)[:, 0]
    assert cal.evaluate(judgments, tied, NAMES).values[:, 0, 0] == pytest.approx(mean, rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_expected_is_the_mean_over_all_rankings_of_the_pool(seed: int) -> None:
    topic = random_topic(seed, documents=6, intents=3)
    judgments = cal.SubtopicJudgments.from_subtopics({"q": topic})
    documents = sorted({d for graded in topic.values() for d in graded})
    orders = {str(n): {"q": {d: float(-r) for r, d in enumerate(o)}} for n, o in enumerate(permutations(documents))}
    scores = cal.evaluate(judgments, orders, NAMES).values[:, :, 0]
    bounds = cal.bounds(judgments, NAMES)
    for name, values in zip(NAMES, scores, strict=True):
        assert bounds.expected[name][0] == pytest.approx(values.mean(), rel=1e-10), name
        assert bounds.exactness[name]["expected"] == "exact"
        assert bounds.error[name][0] == 0
        assert bounds.ideal[name][0] == pytest.approx(values.max(), rel=1e-12), name
        assert bounds.worst[name][0] == pytest.approx(values.min(), rel=1e-12, abs=1e-15), name
        assert bounds.exactness[name]["ideal"] == bounds.exactness[name]["worst"] == "exact"


def test_the_best_order_is_not_the_greedy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two documents for each intent; sorted by what each is worth alone, the first two answer different ones."""
    topic = {"1": {"d1": 1.0, "d5": 1.0}, "2": {"d0": 1.0, "d3": 1.0}, "3": {"d2": 0.0, "d4": 0.0, "d6": 0.0}}
    judgments = cal.SubtopicJudgments.from_subtopics({"q": topic})
    found = cal.bounds(judgments, "AP-IA@2")
    assert found.ideal["AP-IA@2"][0] == 0.5
    assert found.exactness["AP-IA@2"]["ideal"] == "exact"
    assert cal.bounds(judgments, "AP-IA@2", ideal="greedy").ideal["AP-IA@2"][0] == 0.375
    assert cal.bounds(judgments, "AP-IA@2", ideal="greedy").exactness["AP-IA@2"]["ideal"] == "greedy"
    run = {"q": {"d1": 2.0, "d5": 1.0}}
    assert cal.evaluate(judgments, run, "V2(AP-IA@2)").values[0, 0, 0] == 1
    # a answers most, but b and c answer everything without it.
    answers = {"1": "ab", "2": "ab", "3": "ac", "4": "ac", "5": "b", "6": "c"}
    cover = {intent: dict.fromkeys(documents, 1.0) for intent, documents in answers.items()}
    names = ["alpha-nDCG(ideal=best,alpha=1)@2", "StRecall@2", "D#-nDCG@2", "ERR-IA(alpha=1)@2", "AP-IA@2"]
    exact = cal.bounds(cal.SubtopicJudgments.from_subtopics({"q": cover}), names)
    greedy = cal.bounds(cal.SubtopicJudgments.from_subtopics({"q": cover}), names, ideal="greedy")
    assert exact.ideal[names[0]][0] == pytest.approx(1)
    assert (exact.ideal["StRecall@2"][0], greedy.ideal["StRecall@2"][0]) == pytest.approx((1, 5 / 6))
    # Where the search is stopped, the bounds are outside of the true ones, and said to be bounds.
    monkeypatch.setattr("calipers.measures.forms.extreme_orders.MOST_TRIED", 0)
    stopped = cal.bounds(cal.SubtopicJudgments.from_subtopics({"q": cover}), names)
    for name in names[1:]:
        assert stopped.ideal[name][0] >= exact.ideal[name][0] - 1e-12
        assert stopped.worst[name][0] <= exact.worst[name][0] + 1e-12
    assert "bound" in {stopped.exactness[name]["ideal"] for name in names}
    assert any("no ranking exceeds" in note for note in exactness_notes(stopped.inexact))


@pytest.mark.parametrize("tried", [3000, 2])
def test_no_list_passes_its_bounds(tried: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """V2 and V2s stay in [-1, 1] and U in [0, 1] for every order of every subset, also where the search is stopped,
    where measures are divided by the greedy list, and where later ranks weigh more.
    """
    monkeypatch.setattr("calipers.measures.forms.extreme_orders.MOST_TRIED", tried)
    rising = ["alpha-DCG(discount=[0.2,1,0.5])", "D-nDCG(discount=[0.2,1,0.5])", "D#-nDCG(discount=[0.2,1,0.5])@3"]
    plain = [*(name for name in NAMES if name not in ("P-IA", "P-IA@9", "StRecall@9")), *rising]  # sets, not rankings
    names = [f"{of}({name})" for name in plain for of in ("V2", "V2s", "U", "W")]
    documents = [f"d{n}" for n in range(5)]
    judged = {"nothing": dict.fromkeys(documents, 0.0)}
    topics = {f"q{seed}": random_topic(seed, documents=5, intents=3) | judged for seed in range(5)}
    orders = [order for size in (1, 3, 5) for order in permutations(documents, size)]
    whole = [n for n, order in enumerate(orders) if len(order) == len(documents)]
    runs = {str(n): {q: {d: -float(r) for r, d in enumerate(order)} for q in topics} for n, order in enumerate(orders)}
    judgments = cal.SubtopicJudgments.from_subtopics(topics)
    scores = cal.evaluate(judgments, runs, [*names, *plain], warn=False)
    found = cal.bounds(judgments, plain)
    for name in names:
        low = -1 if name[0] == "V" else 0 if name[0] == "U" else -np.inf  # lists may leave out what the worst one holds
        assert low - 1e-9 <= scores[name].min() <= scores[name].max() <= 1 + 1e-9, name
        # What is called degenerate is so: every order of all documents scores the same.
        flat = scores.reasons[scores.measures.index(name)][whole[0]] == Reason.DEGENERATE
        of = scores[name.partition("(")[2].removesuffix(")")][whole]
        np.testing.assert_allclose(of.max(axis=0)[flat], of.min(axis=0)[flat], rtol=1e-12)
    for name in plain:
        values = scores[name][whole]
        assert (found.worst[name] <= values.min(axis=0) + 1e-9).all(), name
        assert (found.ideal[name] >= values.max(axis=0) - 1e-9).all(), name
        assert not {"greedy", "sorted"} & {*found.exactness[name].values()}
        for bound, extreme in ((found.ideal, values.max(axis=0)), (found.worst, values.min(axis=0))):
            if found.exactness[name]["ideal" if bound is found.ideal else "worst"] == "exact":
                np.testing.assert_allclose(bound[name], extreme, rtol=1e-9, atol=1e-12, err_msg=name)
    assert found.exactness["D-nDCG(discount=[0.2,1,0.5])"]["ideal"] == "exact"
    assert found.exactness["alpha-DCG(discount=[0.2,1,0.5])"]["ideal"] == "bound"


def test_between_the_bounds() -> None:
    topic = random_topic(4)
    documents = sorted({d for graded in topic.values() for d in graded})
    names = [f"V2({name})" for name in ("ERR-IA@5", "alpha-nDCG@5", "D#-nDCG@5", "AP-IA", "NRBP", "P-IA@3")]
    judgments = cal.SubtopicJudgments.from_subtopics({"q": topic})
    tied = {"q": dict.fromkeys(documents, 1.0)}
    assert cal.evaluate(judgments, tied, names).values[:, 0, 0] == pytest.approx(0, abs=1e-9)
    share = dict.fromkeys(Plain(topic).intents(1), 1.0)
    greedy = Plain(topic).greedy(0.5, 1, share)
    assert evaluated(topic, greedy, ["V2(alpha-nDCG@5)", "U(ERR-IA@5)"]) == {"V2(alpha-nDCG@5)": 1, "U(ERR-IA@5)": 1}
    empty = cal.evaluate(judgments, {"q": {"u": 1.0}}, names, unmatched="warn").values[:, 0, 0]
    assert empty == pytest.approx(-1)


@pytest.mark.parametrize("ties", ["average", "docid", "input", "best", "worst"])
def test_one_intent_is_the_plain_measure(ties: str) -> None:
    """With a single intent, intent-aware measures are those that they are made of."""
    draw = random.Random(2)
    grades = {f"d{n}": draw.choice([0, 0, 1]) for n in range(20)} | {"d1": 1}
    run = {"q": {f"d{n}": float(draw.randint(0, 5)) for n in range(25)}}
    pairs = {
        "ERR-IA@5": "ERR@5",
        "P-IA@5": "P@5",
        "AP-IA": "AP",
        "D-nDCG@7": "nDCG@7",
        "StRecall@2": "Success@2",
        "alpha-nDCG(alpha=0)@5": "nDCG@5",
        "alpha-nDCG(alpha=1)@5": "DCG@5",
    }
    got = cal.evaluate({"q": {"only": grades}}, run, list(pairs), ties=ties).values[:, 0, 0]
    wanted = cal.evaluate({"q": grades}, run, list(pairs.values()), ties=ties).values[:, 0, 0]
    assert got[:-1] == pytest.approx(wanted[:-1])


def test_best_and_worst_enclose_the_average() -> None:
    topic = random_topic(7)
    documents = [f"d{n}" for n in range(9)]
    judgments = cal.SubtopicJudgments.from_subtopics({"q": topic})
    run = {"q": {d: float(n // 4) for n, d in enumerate(documents)}}
    names = ["P-IA@3", "D-nDCG@3", "AP-IA"]
    worst, average, best = (
        cal.evaluate(judgments, run, names, ties=ties).values[:, 0, 0] for ties in ("worst", "average", "best")
    )
    assert (worst <= average + 1e-12).all()
    assert (average <= best + 1e-12).all()


# --- every measure ------------------------------------------------------------------------------------------


def collection(seed: int = 1, topics: int = 6) -> tuple[dict[str, Topic], dict[str, dict[str, float]]]:
    draw = random.Random(seed)
    judged = {f"q{n}": random_topic(seed + n) for n in range(topics)}
    run = {
        query: {d: float(draw.randint(0, 6)) for d in draw.sample([f"d{n}" for n in range(9)] + ["u", "v"], 8)}
        for query in judged
    }
    return judged, run


@pytest.mark.parametrize("name", EXAMPLES)
def test_names_parse_print_and_pickle(name: str) -> None:
    measure = cal.parse(name)
    assert cal.parse(repr(measure)) == measure == pickle.loads(pickle.dumps(measure))
    assert measure.reads == "subtopics"
    assert cal.parse(f"V2({name})").reads == "subtopics"
    assert not isinstance(measure.form, Normalised)


def test_the_order_of_the_judgments_does_not_matter() -> None:
    judged, run = collection()
    draw = random.Random(0)

    def mixed(items: Any) -> Any:
        if not isinstance(items, dict):
            return items
        return {key: mixed(items[key]) for key in draw.sample(list(items), len(items))}

    again, other = mixed(judged), mixed(run)
    for ties in ("average", "docid", "best", "worst"):
        one = cal.evaluate(judged, run, NAMES, ties=ties)
        two = cal.evaluate(again, other, NAMES, ties=ties)
        place = [two.queries.index(query) for query in one.queries]
        np.testing.assert_allclose(two.values[:, :, place], one.values, rtol=1e-12, atol=1e-12)


def test_depth_condensed_and_judged_only() -> None:
    judged, run = collection()
    known = {query: {d for graded in topic.values() for d in graded} for query, topic in judged.items()}
    by_hand = {q: {d: s for d, s in ranked.items() if d in known[q]} for q, ranked in run.items()}
    wanted = cal.evaluate(judged, by_hand, NAMES).values
    np.testing.assert_allclose(cal.evaluate(judged, run, NAMES, condensed=True).values, wanted, rtol=1e-12)
    alone = cal.evaluate(judged, run, ["ERR-IA@5", "ERR-IA(judged_only=True)@5"], depth=5).values
    assert alone.shape == (2, 1, len(judged))


def test_undefined_topics_follow_the_policies() -> None:
    judged = {"q": VECTOR, "none": {"1": {"d1": 0, "d2": -1}, "2": {"d1": 0}}}
    run = {"q": {"d1": 1.0}, "none": {"d1": 1.0}}
    for value in (0.0, 1.0):
        scores = cal.evaluate(judged, run, NAMES, empty=value).values[:, 0, 1]
        assert (scores == value).all()
    assert np.isnan(cal.evaluate(judged, run, EXAMPLES, empty="skip").values[:, 0, 1]).all()
    assert (cal.evaluate(judged, {"q": run["q"]}, EXAMPLES).values[:, 0, 1] == 0).all()


def test_systems_together_or_alone() -> None:
    judged, run = collection()
    runs = {"a": run, "b": collection(9)[1]}
    together = cal.evaluate(judged, runs, NAMES).values
    for s, each in enumerate(runs.values()):
        np.testing.assert_allclose(together[:, s], cal.evaluate(judged, each, NAMES).values[:, 0], rtol=1e-12)


def test_collapsed_judgments_are_plain_ones() -> None:
    judgments = cal.SubtopicJudgments.from_subtopics({"q": {"1": {"a": 1, "b": -2}, "2": {"a": 3, "b": -1, "c": 0}}})
    assert judgments.collapsed().to_dict() == {"q": {"a": 3.0, "b": -1.0, "c": 0.0}}
    assert cal.evaluate(judgments.collapsed(), {"q": {"a": 1.0}}, "AP").values.tolist() == [[[1.0]]]


# --- files, and what is refused -----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    lines = [f"q {i} {d} {g}" for i, graded in VECTOR.items() for d, g in graded.items()] + ["q 1 d9 0", "q 2 d2 0"]
    (tmp_path / "diversity.qrels").write_text("\n".join(lines) + "\n")
    (tmp_path / "plain.qrels").write_text("q 0 d1 1\nq 0 d2 0\n")
    (tmp_path / "intents.txt").write_text("# query subtopic probability\nq 1 0.5\nq 2 0.25\nq 3 0.25\n")
    ranked = ["d2", "d1", "d4", "d3"]
    (tmp_path / "a.run").write_text("".join(f"q Q0 {d} {r} {-r} a\n" for r, d in enumerate(ranked, 1)))
    return tmp_path


def test_a_path_is_read_as_the_measures_want(files: Path) -> None:
    path, run = files / "diversity.qrels", files / "a.run"
    assert cal.evaluate(path, run, "ERR-IA@2").values.item() == pytest.approx((0.625 + 0.25) / 3)
    judgments = cal.read_subtopics(path, probabilities=files / "intents.txt")
    assert cal.evaluate(judgments, run, "ERR-IA@2").values.item() == pytest.approx(0.375)
    assert judgments.subtopics == (("1", "2", "3"),)
    assert cal.bounds(path, "ERR-IA@2").ideal["ERR-IA@2"].item() > 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda f: cal.evaluate(f / "diversity.qrels", f / "a.run", "AP"),
            "diversity.qrels:3: expected plain qrels, but this looks like judgments by subtopic "
            "(query subtopic document grade): document 'd1' of query 'q' is judged for '1' and '2'",
        ),
        (lambda f: cal.read_qrels(f / "same.qrels"), "looks like judgments by subtopic"),
        (
            lambda f: cal.evaluate(f / "plain.qrels", f / "a.run", "V2(ERR-IA@5)"),
            "expected judgments by subtopic (query subtopic document grade), but this looks like plain qrels: the "
            "second field is '0' throughout",
        ),
        (
            lambda f: cal.evaluate({"q": VECTOR}, f / "a.run", "V2(nDCG@5)"),
            "nDCG@5 needs one grade per document, but these look like judgments by subtopic",
        ),
        (
            lambda f: cal.evaluate({"q": {"a": 1}}, f / "a.run", "D#-nDCG@5"),
            "D#-nDCG@5 needs judgments by subtopic (query subtopic document grade), but these look like plain ones",
        ),
        (lambda f: cal.evaluate(f / "diversity.qrels", f / "a.run", "AP ERR-IA@5"), "ask for them apart"),
        (lambda f: cal.read_subtopics(f / "clash.qrels"), "clash.qrels:3: document 'a' of query 'q', subtopic '1'"),
        (lambda f: cal.read_subtopics(f / "a.run"), "expected 4 fields"),
        (lambda f: cal.SubtopicJudgments.from_subtopics({}), "no judgments"),
        (lambda f: cal.SubtopicJudgments.from_subtopics({"q": {"1": {"a": "x"}}}), "not a number"),
        (lambda f: cal.SubtopicJudgments.from_subtopics({"q": VECTOR}, {"r": {}}), "has no probabilities"),
        (lambda f: cal.SubtopicJudgments.from_subtopics({"q": VECTOR}, {"q": {"1": 2}}), "not a probability"),
        (lambda f: cal.read_subtopics(f / "diversity.qrels", probabilities=f / "a.run"), "expected 3 fields"),
        (lambda f: cal.parse("ERR-IA(alpha=2)@5"), "alpha=2 of 'ERR-IA' is not a number from 0 to 1"),
        (lambda f: cal.parse("NRBP(beta=1)"), "beta=1"),
        (lambda f: cal.parse("D#-nDCG(gamma=-1)@5"), "gamma=-1"),
        (lambda f: cal.parse("ERR-IA(rel=0)@5"), "rel=0 of 'ERR-IA' is not a number above 0"),
        (lambda f: cal.parse("alpha-DCG(norm=perfect,alpha=0)"), "needs an alpha above 0"),
        (lambda f: cal.parse("alpha-DCG(norm=best)@5"), "norm=best of 'alpha-DCG' is not one of perfect"),
    ],
)
def test_bad_input(files: Path, call: Callable[[Path], Any], words: str) -> None:
    (files / "same.qrels").write_text("q 1 a 1\nq 1 b 0\nq 2 a 1\n")
    (files / "clash.qrels").write_text("q 1 a 1\nq 2 a 0\nq 1 a 0\n")
    with pytest.raises(CalipersError) as caught:
        call(files)
    assert words in str(caught.value)


def test_iterations_are_no_subtopics(tmp_path: Path) -> None:
    """TREC-COVID's second field is the round: each document is judged once."""
    (tmp_path / "qrels").write_text("q 0.5 a 1\nq 1 b 0\nq 1 b 0\n")
    assert len(cal.read_qrels(tmp_path / "qrels")) == 2


def test_the_command_line(files: Path) -> None:
    measures = ["-m", "ERR-IA@2 alpha-nDCG@2 D#-nDCG@2", "--format", "csv"]
    named = ["--intents", files / "intents.txt"]
    done = calipers("evaluate", files / "diversity.qrels", files / "a.run", *measures, *named)
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert head == "system,ERR-IA@2,alpha-nDCG@2,D#-nDCG@2"
    assert [float(cell) for cell in row.split(",")[1:]] == pytest.approx([0.375, 0.739812467, 0.790034130], abs=1e-9)
    bounds = calipers("bounds", files / "diversity.qrels", "-m", "alpha-nDCG@5")
    assert bounds.returncode == 0, bounds.stderr
    for judgments, name, words in [
        ("plain.qrels", "ERR-IA@5", "looks like plain qrels"),
        ("diversity.qrels", "AP", "looks like judgments by subtopic"),
    ]:
        refused = calipers("evaluate", files / judgments, files / "a.run", "-m", name)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert words in refused.stderr
        assert refused.stderr.count("\n") == 1
    plain = calipers("evaluate", files / "plain.qrels", files / "a.run", *named)
    assert "--intents is for measures of diversity" in plain.stderr


# --- ndeval -------------------------------------------------------------------------------------------------


def lines_of(path: Path) -> list[tuple[str, str, str, int]]:
    with lzma.open(path, "rt") as file:
        return [(q, i, d, int(g)) for q, i, d, g in map(str.split, file)]


def simulated(lines: list[tuple[str, str, str, int]], seed: int, quality: float) -> dict[str, dict[str, float]]:
    """A run of a thousand documents per topic: judged ones by their grades and noise, and unjudged ones."""
    draw = random.Random(seed)
    best: dict[str, dict[str, int]] = {}
    for query, _, document, grade in lines:
        graded = best.setdefault(query, {})
        graded[document] = max(grade, graded.get(document, grade))
    run = {}
    for query, graded in best.items():
        run[query] = {d: quality * g + draw.gauss(0, 1) for d, g in graded.items() if draw.random() < 0.9}
        for number in range(1000 - len(run[query])):
            run[query][f"unjudged-{number:04d}"] = draw.gauss(-0.5, 1)
    return run


@pytest.mark.data
@pytest.mark.peers
@pytest.mark.parametrize("track", ["201-250", "251-300"])
def test_parity_with_ndeval(data: Path, require: Any, track: str) -> None:
    """At every cutoff that ndeval has; at 1 it does not normalise ERR-IA and alpha-DCG."""
    pyndeval = require.module("pyndeval")
    path = data / f"trec/qrels/qrels.web.{track}.ndeval.txt.xz"
    lines = lines_of(path)
    judgments = cal.read_subtopics(path)
    ours = {
        "ERR-IA": "ERR-IA(norm=perfect)",
        "nERR-IA": "nERR-IA",
        "alpha-DCG": "alpha-DCG(norm=perfect)",
        "alpha-nDCG": "alpha-nDCG",
        "P-IA": "P-IA",
        "strec": "strec",
    }
    names = {f"{name}@{k}": f"{mine}@{k}" for name, mine in ours.items() for k in (1, 2, 3, 5, 10, 17, 20)}
    names |= {name: name for name in ("NRBP", "nNRBP", "MAP-IA")}
    for seed, quality in enumerate((0.0, 0.5, 2.0)):
        run = simulated(lines, seed, quality)
        flat = [(q, d, s) for q, ranked in run.items() for d, s in sorted(ranked.items(), key=lambda item: -item[1])]
        theirs = pyndeval.ndeval(lines, flat, list(names))
        scores = cal.evaluate(judgments, run, list(names.values()))
        assert sorted(theirs) == sorted(scores.queries)
        for name, mine in names.items():
            if name in ("ERR-IA@1", "alpha-DCG@1"):
                continue
            wanted = [theirs[query][name] for query in scores.queries]
            np.testing.assert_allclose(scores[mine][0], wanted, rtol=0, atol=1e-9, err_msg=name)


@pytest.mark.peers
def test_parity_with_ndeval_for_other_parameters(require: Any) -> None:
    pyndeval = require.module("pyndeval")
    judged, run = collection(3)
    run = {query: {d: s + n / 100 for n, (d, s) in enumerate(ranked.items())} for query, ranked in run.items()}
    lines = [(q, i, d, int(g)) for q, t in judged.items() for i, graded in t.items() for d, g in graded.items()]
    flat = [(q, d, s) for q, ranked in run.items() for d, s in sorted(ranked.items(), key=lambda item: -item[1])]
    names = ["alpha-nDCG@5", "nERR-IA@5", "NRBP", "nNRBP"]
    theirs = pyndeval.ndeval(lines, flat, names, alpha=0.3, beta=0.8)
    mine = ["alpha-nDCG(alpha=0.3)@5", "nERR-IA(alpha=0.3)@5", *(f"{n}(alpha=0.3,beta=0.8)" for n in names[2:])]
    scores = cal.evaluate(judged, run, mine)
    for name, each in zip(names, mine, strict=True):
        assert scores[each][0] == pytest.approx([theirs[query][name] for query in scores.queries], abs=1e-9), name


@pytest.mark.peers
def test_ties_as_ndeval_breaks_them(require: Any) -> None:
    """By id, ascending, whatever the order of the lines; ERR-IA and alpha-DCG are shares of perfect lists."""
    pyndeval = require.module("pyndeval")
    judged, run = collection(7)
    run = {query: {d: round(s) / 2 for d, s in ranked.items()} for query, ranked in run.items()}
    lines = [(q, i, d, int(g)) for q, t in judged.items() for i, graded in t.items() for d, g in graded.items()]
    flat = [(q, d, s) for q, ranked in run.items() for d, s in ranked.items()]
    names = ["alpha-nDCG@5", "nERR-IA@5", "ERR-IA@5", "alpha-DCG@10", "NRBP", "nNRBP", "P-IA@5", "MAP-IA", "strec@5"]
    theirs = pyndeval.ndeval(lines, flat, names)
    scores = cal.evaluate(judged, run, names, like="ndeval")
    other = cal.evaluate(judged, run, names, ties="docid")
    for name in names:
        assert scores[name][0] == pytest.approx([theirs[query][name] for query in scores.queries], abs=1e-9), name
    assert (abs(scores["nERR-IA@5"] - other["nERR-IA@5"]) > 0.01).any()


@pytest.mark.peers
def test_names_of_ir_measures_give_its_values(require: Any) -> None:
    ir_measures = require.module("ir_measures")
    require.module("pyndeval")
    judged, run = collection(5)
    run = {query: {d: s + n / 100 for n, (d, s) in enumerate(ranked.items())} for query, ranked in run.items()}
    qrels = [
        ir_measures.Qrel(q, d, int(g), i)
        for q, topic in judged.items()
        for i, graded in topic.items()
        for d, g in graded.items()
    ]
    names = ["ERR_IA@5", "nERR_IA@10", "alpha_DCG@5", "alpha_nDCG@10", "P_IA@5", "StRecall@3", "NRBP", "AP_IA"]
    docs = [ir_measures.ScoredDoc(q, d, s) for q, ranked in run.items() for d, s in ranked.items()]
    scores = cal.evaluate(judged, run, names)
    for name in names:
        theirs = {m.query_id: m.value for m in ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, docs)}
        assert scores[name][0] == pytest.approx([theirs[query] for query in scores.queries], abs=1e-9), name
