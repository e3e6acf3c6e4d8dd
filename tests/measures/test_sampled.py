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


def estimated(strata: Strata, rel: float = 1) -> float:
    """R^."""
    total = 0.0
    for graded in strata.values():
        judged = [g for g in graded.values() if g >= 0]
        total += len(graded) / len(judged) * sum(g >= rel for g in judged)
    return total


def test_where_everything_is_judged_they_are_the_plain_measures() -> None:
    names = ["statAP", "statAP(rel=2)", "infNDCG", "infNDCG(gain=exp)@4", "xinfAP"]
    found = evaluated([TRUTH], names)
    plain = cal.evaluate(PLAIN, RUN, ["AP", "AP(rel=2)", "nDCG", "nDCG(gain=exp)@4"], warn=False)
    assert found.values[:4, 0, 0] == pytest.approx(plain.values[:, 0, 0], rel=1e-12)
    assert found["xinfAP"][0, 0] == pytest.approx(plain["AP"][0, 0], abs=1e-4)  # which smoothes


def test_one_stratum_is_infap() -> None:
    """trec_eval's infAP takes a grade below 0 for a document of the pool that was not sampled."""
    draw = random.Random(3)
    pool = {f"d{n:02}": draw.choice([-1, -1, 0, 0, 1, 2]) for n in range(30)} | {"d00": 1}
    run = {"q": {d: draw.random() for d in [*pool, "x", "y", "z"]}}
    found = cal.evaluate(cal.SampledJudgments.from_strata({"q": {"1": pool}}), run, "xinfAP", warn=False)
    assert found.values[0, 0, 0] == pytest.approx(cal.evaluate({"q": pool}, run, "infAP", warn=False).values[0, 0, 0])


@pytest.mark.parametrize("sizes", [{"top": 2, "deep": 3}, {"top": 4, "deep": 2}, {"top": 1, "deep": 4}])
def test_estimates_are_unbiased(sizes: dict[str, int]) -> None:
    """Over all samples: R^, the sum of precisions of statAP where no stratum has one judged document, and DCG."""
    drawn = list(samples(TRUTH, sizes))
    relevant = np.array([estimated(each) for each in drawn])
    assert relevant.mean() == pytest.approx(5)
    found = evaluated(drawn, ["statAP", "infNDCG@6"])
    plain = cal.evaluate(PLAIN, RUN, ["SP", "DCG@6"], warn=False).values[:, 0, 0]
    if min(sizes.values()) > 1:
        assert (found["statAP"][0] * relevant).mean() == pytest.approx(plain[0], rel=1e-12)
    ideal = [ideal_of(each, 6) for each in drawn]
    assert (found["infNDCG@6"][0] * ideal).mean() == pytest.approx(plain[1], rel=1e-12)


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


def test_xinfap_is_nearly_unbiased() -> None:
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
    found = cal.evaluate(judgments, dict.fromkeys(queries, run), ["xinfAP", "statAP", "infNDCG"])
    for name, other in (("xinfAP", "AP"), ("statAP", "AP"), ("infNDCG", "nDCG")):
        values = found[name][0]
        wanted = cal.evaluate(plain, {"q": run}, other)[other][0, 0]
        assert values.mean() == pytest.approx(wanted, abs=4 * values.std() / np.sqrt(300) + 0.005), name
        assert values.std() > 0.005


@pytest.mark.parametrize("name", ["infNDCG@3", "infNDCG", "statAP", "xinfAP"])
def test_ties_and_bounds_over_all_orders(name: str) -> None:
    strata: Strata = {"1": {"a": 1, "b": 0}, "2": {"c": 2, "d": -1, "e": 1, "f": -1}}
    judgments = cal.SampledJudgments.from_strata({"q": strata})
    orders = {str(n): {"q": {d: -float(r) for r, d in enumerate(o)}} for n, o in enumerate(permutations("abcdef"))}
    values = cal.evaluate(judgments, orders, [name], warn=False)[name][:, 0]
    found = cal.bounds(judgments, [name])
    tied = cal.evaluate(judgments, {"q": dict.fromkeys("abcdef", 1.0)}, [name], warn=False)
    assert tied[name][0, 0] == pytest.approx(values.mean(), rel=1e-12)  # 720 orders: none is drawn
    assert found.expected[name][0] == pytest.approx(values.mean(), rel=1e-12)
    if name.startswith("infNDCG"):
        assert (found.ideal[name][0], found.worst[name][0]) == pytest.approx((values.max(), values.min()), rel=1e-12)
        assert found.exactness[name]["ideal"] == "exact"
    else:
        assert found.exactness[name] == {"ideal": "sorted", "expected": "enumerated", "worst": "sorted"}


def test_files_and_the_command_line(tmp_path: Path) -> None:
    qrels, run = tmp_path / "sampled.qrels", tmp_path / "run.txt"
    sample = next(samples(TRUTH, {"top": 2, "deep": 3}))
    qrels.write_text("".join(f"q 0 {d} {s} {g:g}\n" for s, graded in sample.items() for d, g in graded.items()))
    run.write_text("".join(f"q Q0 {d} 0 {score} r\n" for d, score in RUN["q"].items()))
    done = CliRunner().invoke(
        root, ["evaluate", str(qrels), str(run), "-m", "xinfAP infNDCG statAP", "--format", "csv"]
    )
    assert done.exit_code == 0, done.output
    wanted = evaluated([sample], ["xinfAP", "infNDCG", "statAP"]).values[:, 0, 0]
    assert [float(cell) for cell in done.stdout.splitlines()[1].split(",")[1:4]] == pytest.approx(wanted)
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
        cal.evaluate(cal.Judgments.from_dict({"q": {"a": 1}}), {"q": {"a": 1}}, "xinfAP")
    with pytest.raises(CalipersError, match="ask for them apart"):
        cal.evaluate(TRUTH, RUN, ["xinfAP", "AP"])
    with pytest.raises(CalipersError, match="rel=0 of 'xinfAP' is not a number above 0"):
        cal.parse("xinfAP(rel=0)")


# -- prels: a chance for each document ----------------------------------------------------------------

CHANCE = {"a": 0.5, "b": 0.25, "c": 0.8, "d": 1.0, "e": 0.4, "f": 0.5}


def prels(chosen: str, truth: dict[str, float], query: str = "q") -> str:
    return "".join(f"{query} {document} {truth[document]:g} 1 {CHANCE[document]}\n" for document in chosen)


def test_prels_are_estimates_with_the_right_mean(tmp_path: Path) -> None:
    """Over all samples in which documents are drawn one by one: the sums of statAP and infNDCG, and R^."""
    truth = {"a": 1, "b": 2, "c": 0, "d": 1, "e": 3, "f": 0}
    run = {d: -float(rank) for rank, d in enumerate("xbcafyed")}
    drawn = ["d" + "".join(some) for size in range(6) for some in combinations("abcef", size)]  # d surely is
    file = tmp_path / "prels"
    file.write_text("".join(prels(some, truth, f"q{n}") for n, some in enumerate(drawn)))
    judgments = cal.read_samples(file)
    found = cal.evaluate(judgments, dict.fromkeys(judgments.queries, run), ["statAP", "infNDCG"], warn=False)
    likely = np.array([np.prod([CHANCE[d] if d in some else 1 - CHANCE[d] for d in truth]) for some in drawn])
    assert likely.sum() == pytest.approx(1)
    relevant = np.array([sum(1 / CHANCE[d] for d in some if truth[d] > 0) for some in drawn])
    plain = cal.evaluate({"q": truth}, {"q": run}, ["SP", "DCG", "NumRel"], warn=False).values[:, 0, 0]
    assert likely @ relevant == pytest.approx(plain[2])
    assert likely @ (found["statAP"][0] * relevant) == pytest.approx(plain[0], rel=1e-12)
    gains = [sum(truth[d] / CHANCE[d] / np.log2(2 - run[d]) for d in some) for some in drawn]
    assert likely @ gains == pytest.approx(plain[1], rel=1e-12)
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
    """AP = sum over relevant documents of (1 + sum of 1 / chance above) / rank / chance, over the sum of 1 / chance."""
    lines = [
        "q a 1 1 0.5", "q b 0 1 0.2", "q c 2 4 0.25", "q d 1 0 0.3", "q e 1 2 0.1",  # chosen: d and e count once
        "q f 1 1 NA", "q g -999 1 0.5", "q h 1 1 1.5", "q i -2 1 0.5",  # chances that are none; not sampled; worthless
        "r a 1 0 1",  # nothing was drawn
    ]  # fmt: skip
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
    above = total = 0.0
    for rank, document in enumerate("gcxaebdfh", start=1):
        if document in chance:
            total += (1 + above) / rank / chance[document]
            above += 1 / chance[document]
    assert cal.evaluate(judgments, run, "statAP", warn=False).values.item() == pytest.approx(total / above, rel=1e-12)
    (tmp_path / "run").write_text("".join(f"q Q0 {d} 0 {score} r\n" for d, score in run["q"].items()))
    for more in ((), ("--judgments-as", "prels")):
        asked = ["evaluate", str(file), str(tmp_path / "run"), "-m", "statAP", "--format", "csv", *more]
        done = CliRunner().invoke(root, asked)
        assert f"r,{total / above!r}" in done.stdout, done.output


def test_what_prels_cannot_tell(tmp_path: Path) -> None:
    file, run = tmp_path / "prels", {"q": {"a": 1.0}}
    file.write_text("q a 1 1 0.5\n")
    for name, said in (("xinfAP", "needs strata"), ("V2(statAP)", "only the documents that were judged")):
        with pytest.raises(CalipersError, match=said):
            cal.evaluate(file, run, name)
    with pytest.raises(CalipersError, match="only the documents that were judged"):
        cal.bounds(file, "statAP")
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


def test_sums_of_samples_have_the_right_mean_where_pairs_are_known() -> None:
    """Where one document of several was drawn, statAP is too low on average; infNDCG may exceed 1."""
    grades = {"a": 1, "b": 1, "c": 0}
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    means = []
    for drawn in (1, 2, 3):
        sums, shares = [], []
        for sample in combinations(grades, drawn):
            strata = {"q": {"s": {d: grade if d in sample else -1 for d, grade in grades.items()}}}
            known = cal.SampledJudgments.from_strata(strata)
            found = cal.evaluate(known, run, ["statAP", "infNDCG"], empty=0.0, warn=False).values[:, 0, 0]
            sums.append(found[0] * sum(grades[d] for d in sample) * len(grades) / drawn)
            shares.append(found[1])
        means.append(sum(sums) / len(sums))
        assert (max(shares) > 1) == (drawn < 3)
    assert means[0] < 2 - 0.1
    assert means[1:] == pytest.approx([2, 2])
