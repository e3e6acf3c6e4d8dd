"""Estimates from stratified samples of the pool: right on average, and right where everything is judged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError

Strata = dict[str, dict[str, float]]
TRUTH: Strata = {
    "top": {"a": 2, "b": 0, "c": 1, "d": 1},
    "deep": {"e": 0, "f": 1, "g": 0, "h": 3, "i": 0},
}
PLAIN = {"q": {d: g for graded in TRUTH.values() for d, g in graded.items()}}
RUN = {"q": {d: -float(rank) for rank, d in enumerate("ebaxhgcyfdi")}}


def samples(truth: Strata, sizes: dict[str, int]) -> Iterator[Strata]:
    """All samples of so many documents of each stratum."""
    for chosen in product(*(combinations(graded, sizes[s]) for s, graded in truth.items())):
        kept = {d for each in chosen for d in each}
        yield {s: {d: g if d in kept else -1.0 for d, g in graded.items()} for s, graded in truth.items()}


def evaluated(drawn: list[Strata], names: list[str]) -> cal.Scores:
    queries = {f"q{n}": strata for n, strata in enumerate(drawn)}
    judgments = cal.SampledJudgments.from_strata(queries)
    return cal.evaluate(judgments, dict.fromkeys(queries, RUN["q"]), names, warn=False, empty=0)


def test_where_everything_is_judged_they_are_the_plain_measures() -> None:
    found = evaluated([TRUTH], ["infNDCG", "infNDCG(gain=exp)@4"])
    plain = cal.evaluate(PLAIN, RUN, ["nDCG", "nDCG(gain=exp)@4"], warn=False)
    assert found.values[:, 0, 0] == pytest.approx(plain.values[:, 0, 0], rel=1e-12)


@pytest.mark.parametrize("sizes", [{"top": 2, "deep": 3}, {"top": 4, "deep": 2}, {"top": 1, "deep": 4}])
def test_estimates_are_unbiased(sizes: dict[str, int]) -> None:
    """The mean DCG over all samples is that of all judgments."""
    drawn = list(samples(TRUTH, sizes))
    found = evaluated(drawn, ["infNDCG@6"])
    plain = cal.evaluate(PLAIN, RUN, ["DCG@6"], warn=False).values.item()
    ideal = [ideal_of(each, 6) for each in drawn]
    assert (found["infNDCG@6"][0] * ideal).mean() == pytest.approx(plain, rel=1e-12)


def ideal_of(strata: Strata, k: int) -> float:
    """Documents of each grade, as many as are estimated, best first; a part of a document takes a part of a rank."""
    number: dict[float, float] = {}
    for graded in strata.values():
        judged = [g for g in graded.values() if g >= 0]
        for grade in judged:
            number[grade] = number.get(grade, 0.0) + len(graded) / len(judged)
    total, place = 0.0, 0.0
    for grade, count in sorted(number.items(), reverse=True):
        while count > 1e-12:
            rank = int(place + 1e-9) + 1
            part = min(count, rank - place)
            total += grade * part / np.log2(rank + 1) if rank <= k else 0.0
            place, count = place + part, count - part
    return total


def test_infndcg_is_nearly_unbiased() -> None:
    """A pool of 200 documents, a tenth of its lower part judged: the mean over 300 samples is that of all judgments."""
    draw = random.Random(5)
    truth: Strata = {
        "top": {f"t{n}": float(draw.random() < 0.5) for n in range(40)},
        "deep": {f"e{n}": float(draw.random() < 0.25) for n in range(160)},
    }
    plain = {"q": {d: g for graded in truth.values() for d, g in graded.items()}}
    ranked = sorted(plain["q"], key=lambda d: plain["q"][d] + draw.gauss(0.5 * (d[0] == "t"), 0.8), reverse=True)
    run = {d: -float(rank) for rank, d in enumerate(ranked)}
    queries = {}
    for number in range(300):
        kept = {*truth["top"], *draw.sample([*truth["deep"]], 32)}
        judged = ((s, {d: g if d in kept else -1.0 for d, g in graded.items()}) for s, graded in truth.items())
        queries[f"q{number}"] = dict(judged)
    judgments = cal.SampledJudgments.from_strata(queries)
    values = cal.evaluate(judgments, dict.fromkeys(queries, run), "infNDCG").values[0, 0]
    wanted = cal.evaluate(plain, {"q": run}, "nDCG").values.item()
    assert values.mean() == pytest.approx(wanted, abs=4 * values.std() / np.sqrt(300) + 0.005)
    assert values.std() > 0.005


@pytest.mark.parametrize("name", ["infNDCG@3", "infNDCG"])
def test_ties_and_bounds_over_all_orders(name: str) -> None:
    strata: Strata = {"1": {"a": 1, "b": 0}, "2": {"c": 2, "d": -1, "e": 1, "f": -1}}
    judgments = cal.SampledJudgments.from_strata({"q": strata})
    orders = {str(n): {"q": {d: -float(r) for r, d in enumerate(o)}} for n, o in enumerate(permutations("abcdef"))}
    values = cal.evaluate(judgments, orders, [name], warn=False)[name][:, 0]
    found = cal.bounds(judgments, [name])
    tied = cal.evaluate(judgments, {"q": dict.fromkeys("abcdef", 1.0)}, [name], warn=False)
    assert tied[name][0, 0] == pytest.approx(values.mean(), rel=1e-12)  # 720 orders: none is drawn
    assert found.expected[name][0] == pytest.approx(values.mean(), rel=1e-12)
    assert (found.ideal[name][0], found.worst[name][0]) == pytest.approx((values.max(), values.min()), rel=1e-12)
    assert found.exactness[name]["ideal"] == "exact"


def test_files_and_the_command_line(tmp_path: Path) -> None:
    qrels, run = tmp_path / "sampled.qrels", tmp_path / "run.txt"
    sample = next(samples(TRUTH, {"top": 2, "deep": 3}))
    qrels.write_text("".join(f"q 0 {d} {s} {g:g}\n" for s, graded in sample.items() for d, g in graded.items()))
    run.write_text("".join(f"q Q0 {d} 0 {score} r\n" for d, score in RUN["q"].items()))
    done = CliRunner().invoke(root, ["evaluate", str(qrels), str(run), "-m", "infNDCG infNDCG@3", "--format", "csv"])
    assert done.exit_code == 0, done.output
    wanted = evaluated([sample], ["infNDCG", "infNDCG@3"]).values[:, 0, 0]
    assert [float(cell) for cell in done.stdout.splitlines()[1].split(",")[1:3]] == pytest.approx(wanted)
    for text, words in (
        ("q 0 a 1\n", r"expected 5 fields \(query 0 document stratum grade\), found 4"),
        ("q 0 a 1 x\n", "grade 'x' is not a number"),
        ("q 0 a 1 1\nq 0 a 2 1\n", "document 'a' of query 'q' is there twice"),
        ("", "the file is empty"),
    ):
        qrels.write_text(text)
        with pytest.raises(CalipersError, match=words):
            cal.read_samples(qrels)
    with pytest.raises(CalipersError, match="needs judgments of a sample"):
        cal.evaluate(cal.Judgments.from_dict({"q": {"a": 1}}), {"q": {"a": 1}}, "infNDCG")
    with pytest.raises(CalipersError, match="ask for them apart"):
        cal.evaluate(TRUTH, RUN, ["infNDCG", "AP"])


# -- prels: a chance for each document ----------------------------------------------------------------

CHANCE = {"a": 0.5, "b": 0.25, "c": 0.8, "d": 1.0, "e": 0.4, "f": 0.5}


def prels(chosen: str, truth: dict[str, float], query: str = "q") -> str:
    return "".join(f"{query} {document} {truth[document]:g} 1 {CHANCE[document]}\n" for document in chosen)


def test_prels_are_estimates_with_the_right_mean(tmp_path: Path) -> None:
    """Over all samples in which documents are drawn one by one: the sum of infNDCG, and the relevant documents."""
    truth = {"a": 1, "b": 2, "c": 0, "d": 1, "e": 3, "f": 0}
    run = {d: -float(rank) for rank, d in enumerate("xbcafyed")}
    drawn = ["d" + "".join(some) for size in range(6) for some in combinations("abcef", size)]  # d surely is
    file = tmp_path / "prels"
    file.write_text("".join(prels(some, truth, f"q{n}") for n, some in enumerate(drawn)))
    judgments = cal.read_samples(file)
    found = cal.evaluate(judgments, dict.fromkeys(judgments.queries, run), "infNDCG", warn=False)
    likely = np.array([np.prod([CHANCE[d] if d in some else 1 - CHANCE[d] for d in truth]) for some in drawn])
    assert likely.sum() == pytest.approx(1)
    relevant = np.array([sum(1 / CHANCE[d] for d in some if truth[d] > 0) for some in drawn])
    plain = cal.evaluate({"q": truth}, {"q": run}, ["DCG", "NumRel"], warn=False).values[:, 0, 0]
    assert likely @ relevant == pytest.approx(plain[1])
    gains = [sum(truth[d] / CHANCE[d] / np.log2(2 - run[d]) for d in some) for some in drawn]
    assert likely @ gains == pytest.approx(plain[0], rel=1e-12)
    weighed = [[(truth[d], 1 / CHANCE[d]) for d in some] for some in drawn]
    ideal = np.array([shared(each) for each in weighed])
    assert found["infNDCG"][0] * ideal == pytest.approx(np.array(gains), rel=1e-12)


def shared(weighed: list[tuple[float, float]]) -> float:
    """Documents of each grade, as many as are estimated, best first; a part of a document takes a part of a rank."""
    total, place = 0.0, 0.0
    for grade, count in sorted(weighed, reverse=True):
        left = count
        while left > 1e-12:
            rank = int(place + 1e-9) + 1
            part = min(left, rank - place)
            total, place, left = total + grade * part / np.log2(rank + 1), place + part, left - part
    return total


def test_prels_as_the_script_of_the_track_reads_them(tmp_path: Path) -> None:
    """Each judged document stands for 1 / chance documents, in the list as in the ideal one."""
    lines = [
        "q a 1 1 0.5",
        "q b 0 1 0.2",
        "q c 2 4 0.25",
        "q d 1 0 0.3",
        "q e 1 2 0.1",  # chosen: d and e count once
        "q f 1 1 NA",
        "q g -999 1 0.5",
        "q h 1 1 1.5",
        "q i -2 1 0.5",  # chances that are none; not sampled; worthless
        "r a 1 0 1",  # nothing was drawn
    ]
    file = tmp_path / "prels"
    file.write_text("\n".join(lines))
    run = {"q": {d: -float(rank) for rank, d in enumerate("gcxaebdfh", start=1)}, "r": {"a": 1.0}}
    judgments = cal.read_samples(file)
    assert judgments.queries == ("q",)
    assert judgments.notes == (
        "2 documents left out: how likely they were to be judged is not known",
        "1 query left out: none of their documents was drawn",
    )
    chance = {"a": 0.5, "c": 0.25, "d": 1.0, "e": 1.0}
    grade = {"a": 1, "c": 2, "d": 1, "e": 1}
    ranks = {document: rank for rank, document in enumerate("gcxaebdfh", start=1)}
    total = sum(grade[d] / chance[d] / np.log2(ranks[d] + 1) for d in chance)
    wanted = total / shared([(grade[d], 1 / chance[d]) for d in chance])
    assert cal.evaluate(judgments, run, "infNDCG", warn=False).values.item() == pytest.approx(wanted, rel=1e-12)
    (tmp_path / "run").write_text("".join(f"q Q0 {d} 0 {score} r\n" for d, score in run["q"].items()))
    for more in ((), ("--judgments-as", "prels")):
        asked = ["evaluate", str(file), str(tmp_path / "run"), "-m", "infNDCG", "--format", "csv", *more]
        done = CliRunner().invoke(root, asked)
        assert float(done.stdout.splitlines()[1].split(",")[1]) == pytest.approx(wanted, rel=1e-12), done.output


def test_what_prels_cannot_tell(tmp_path: Path) -> None:
    file, run = tmp_path / "prels", {"q": {"a": 1.0}}
    file.write_text("q a 1 1 0.5\n")
    for ask in (lambda: cal.evaluate(file, run, "V2(infNDCG)"), lambda: cal.bounds(file, "infNDCG")):
        with pytest.raises(CalipersError, match="only the documents that were judged"):
            ask()
    for text, said in (
        ("q a 1 x 0.5\n", "method 'x' is not a number"),
        ("q a 1 1 half\n", "probability 'half' is not a number"),
        ("q a 1 1\n", r"expected 5 fields \(query document grade method probability\), found 4"),
        ("q a 1 1 0.5\nq a 0 1 0.5\n", "document 'a' of query 'q' is there twice"),
        ("q a 1 0 0.5\n", "no document was drawn"),
    ):
        file.write_text(text)
        with pytest.raises(CalipersError, match=said):
            cal.read_samples(file, format="prels")
    with pytest.raises(CalipersError, match="unknown format 'qrels'"):
        cal.read_samples(file, format="qrels")


def test_estimates_may_exceed_1() -> None:
    grades = {"a": 1, "b": 1, "c": 0}
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    for drawn in (1, 2, 3):
        shares = []
        for sample in combinations(grades, drawn):
            strata = {"q": {"s": {d: grade if d in sample else -1 for d, grade in grades.items()}}}
            known = cal.SampledJudgments.from_strata(strata)
            shares.append(cal.evaluate(known, run, "infNDCG", empty=0.0, warn=False).values.item())
        assert (max(shares) > 1) == (drawn < 3)
