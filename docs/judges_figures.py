"""Writes the figures of judges.md: `python docs/judges_figures.py DATA`.

DATA is a folder with judges/dl19, judges/llmjudge, trec/dl19-passage and trec/qrels. A table stands between two
comments in the page and is replaced there; a picture goes to docs/images.
"""

from __future__ import annotations

import sys
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from figures import HERE, replace
from PIL import Image

import calipers as cal
from calipers import plot
from calipers.judging.score_repair import HEAVY, RepairedMeans, prediction_powered
from calipers.judging.study import JudgeStudy
from calipers.plot.drawing import styled
from calipers.results.tables import Table

PAGE = "judges.md"
UMBRELA = "umbrella_gpt-4_zeroshot_dl19"
# Everybody's grades as relevant or not: the human's at the level of the track, the judges' where the page says.
BINARY = ["human:>=2", "umbrella*:>=2", "qrels.max*:>=4", "qrels.mean*:>=2.5"]
SHORT = {
    "binary_gpt4_dl19": "binary GPT-4",
    "binary_gpt4o_dl19": "binary GPT-4o",
    "binary_llama3.2_dl19": "binary Llama 3.2",
    "qrels.max.exam_selfrate_graded_dl19": "EXAM max",
    "qrels.mean.exam_selfrate_graded_dl19": "EXAM mean",
    UMBRELA: "UMBRELA GPT-4",
}
DRAWS = 2000


def named(table: Table) -> Table:
    """With short names of the judges."""
    return Table(table.columns, tuple(tuple(SHORT.get(str(c), c) for c in row) for row in table.rows))


def columns(table: Table, *names: str) -> Table:
    place = [table.columns.index(name) for name in names]
    return Table(names, tuple(tuple(row[p] for p in place) for row in table.rows))


def agreement(study: JudgeStudy) -> Table:
    """One row per judge: labels, agreement, kappa with its interval, alpha, AC1, bias."""
    table = study.statistics()
    ends = {(row[0], row[1]): row[3:] for row in study.intervals().rows}
    rows = []
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        low, high = ends[row[0], "kappa"]
        interval = f"{low:.3f} to {high:.3f}"
        rows.append((row[0], *(cells[name] for name in ("labels", "missing", "agreement", "kappa")), interval,
                     *(cells[name] for name in ("alpha", "ac1", "bias"))))  # fmt: skip
    heads = ("judge", "labels", "missing", "agreement", "kappa", "95% interval", "alpha", "AC1", "bias")
    return named(Table(heads, tuple(rows)))


def families(study: JudgeStudy) -> Table:
    """Whether judges favour the runs of BM25, by their names."""
    groups = {s: "BM25" if s.startswith("bm25") else "others" for s in study.effect.systems}
    table = study.families(groups)
    return named(Table(table.columns, tuple(row for row in table.rows if row[2] == "BM25")))


def covered(
    y: np.ndarray, f: np.ndarray, n: int, queries: int, random: np.random.Generator
) -> tuple[float, RepairedMeans]:
    """How often the repaired interval, where there is one, holds the truth: queries drawn again and again.

    y and f of [query] are the scores of a system; of [2, query] those of two systems, whose difference is repaired.
    """
    drawn = random.integers(0, y.shape[-1], (DRAWS, queries))
    known, rest = drawn[:, :n], drawn[:, n:]
    apart = None
    if y.ndim == 2:
        apart = y[:, known].var(axis=-1, ddof=1).sum(axis=0)
        y, f = y[0] - y[1], f[0] - f[1]
    found = prediction_powered(y[known], f[known], f[rest], ahead=0, apart=apart)
    said = ~np.isnan(found.low)
    return float(((found.low <= y.mean()) & (y.mean() <= found.high))[said].mean()) if said.any() else np.nan, found


def coverage(study: JudgeStudy) -> tuple[Table, float]:
    """How often the intervals of all systems hold the truth and how wide they are; UMBRELA's mean at n = 15."""
    rows, umbrela = [], 0.0
    random = np.random.default_rng(42)
    for m, measure in enumerate(study.effect.measures):
        for judge in study.judges:
            ours, theirs = (scores.values[m] for scores in study.effect.common(judge))
            for n in (15, 30):
                found = [covered(y, f, n, 200, random) for y, f in zip(ours, theirs, strict=True)]
                shares = [share for share, _ in found]
                wide = [np.nanmean(e.high - e.low) / np.nanmean(e.human_high - e.human_low) for _, e in found]
                worth = [float(np.median(e.worth)) for _, e in found]
                if (measure, judge, n) == ("nDCG@10", UMBRELA, 15):
                    umbrela = float(np.mean(shares))
                rows.append((judge, measure, n, min(shares), float(np.mean(shares)), max(shares), float(np.mean(wide)),
                             float(np.median(worth))))  # fmt: skip
    heads = ("judge", "measure", "n", "coverage, least", "mean", "most", "width / human's", "worth in queries")
    return named(Table(heads, tuple(rows))), umbrela


def differences(study: JudgeStudy) -> tuple[Table, str]:
    """How often the intervals of the differences of all pairs hold the truth, and the worst pair in words."""
    random = np.random.default_rng(42)
    pairs = list(combinations(range(len(study.effect.systems)), 2))
    rows, said = [], ""
    for m, measure in enumerate(study.effect.measures):
        ours, theirs = (scores.values[m] for scores in study.effect.common(UMBRELA))
        for n in (15, 30):
            found = [covered(ours[list(pair)], theirs[list(pair)], n, 43, random) for pair in pairs]
            shares = np.array([share for share, _ in found])
            warned = np.array([np.mean(each.heaviest > HEAVY) for _, each in found])
            there = ~np.isnan(shares)
            low = there & (shares < 0.92)
            within = there & ~low & (shares <= 0.98)
            worst = int(np.nanargmin(shares))
            rows.append((measure, n, int(there.sum()), *(float(part[there].mean()) for part in (low, within)),
                         float((shares[there] > 0.98).mean()), float(shares[worst]),
                         float(np.median(shares[there])), float(warned[low].mean()) if low.any() else None,
                         float(warned[within].mean())))  # fmt: skip
            if (measure, n) == ("nDCG@10", 15):
                a, b = (study.effect.systems[i] for i in pairs[worst])
                y = ours[pairs[worst][0]] - ours[pairs[worst][1]]
                three = np.sort((y - y.mean()) ** 2)[-3:].sum() / ((y - y.mean()) ** 2).sum()
                said = (
                    f"The worst pair by nDCG@10 at n = 15, {a} and {b}, is nearly the same run twice: three queries of "
                    f"43 have {three:.0%} of the variance of the difference, and {(40 / 43) ** 15:.0%} of draws of 15 "
                    f"hold none of them; nothing in such a draw tells how far off the mean is.\n"
                )
    heads = ("measure", "n", "pairs", "below 92%", "92% to 98%", "above 98%", "least", "median",
             "warned, pairs below 92%", "warned, 92% to 98%")  # fmt: skip
    return Table(heads, tuple(rows)), said


def elsewhere(data: Path) -> Table:
    """Shares of means and of differences that are covered in 92% to 98% of draws on two collections without LLM judges.

    A second measure of the same runs stands in for the judge; means of all runs, differences of 300 random pairs.
    """
    random = np.random.default_rng(42)
    rows = []
    files = {
        "adhoc8_ap": ("TREC-8 ad hoc", "AP"),
        "adhoc8_p10": ("TREC-8 ad hoc", "P@10"),
        "web2010_ndcg20": ("Web 2010", "nDCG@20"),
        "web2010_err20": ("Web 2010", "ERR@20"),
    }
    for ours, theirs in (("adhoc8_ap", "adhoc8_p10"), ("adhoc8_p10", "adhoc8_ap"), ("web2010_ndcg20", "web2010_err20")):
        y, f = (np.loadtxt(data / f"scores/{each}.csv", delimiter=",", skiprows=1).T for each in (ours, theirs))
        pairs = random.permutation(list(combinations(range(len(y)), 2)))[:300]
        for n in (15, 30):
            means = np.array([covered(y[s], f[s], n, y.shape[1], random)[0] for s in range(len(y))])
            apart = np.array([covered(y[pair], f[pair], n, y.shape[1], random)[0] for pair in pairs])
            cells = (np.nanmean((part >= 0.92) & (part <= 0.98)) for part in (means, apart))
            least = (float(np.nanquantile(part, 0.01)) for part in (means, apart))
            rows.append((*files[ours], files[theirs][1], n, *(float(cell) for cell in cells), *least))
    heads = ("collection", "measure", "in the judge's place", "n", "means in 92% to 98%", "differences",
             "lowest 1% of means", "of differences")  # fmt: skip
    return Table(heads, tuple(rows))


def holes(data: Path, runs: list[cal.Run]) -> Table:
    """Half of the human labels hidden, and filled by UMBRELA: the order of systems against that of all labels."""
    whole = cal.read_qrels(data / "trec/qrels/qrels.dl19-passage.txt.xz")
    random = np.random.default_rng(42)
    half = {
        q: {d: g for d, g in of.items() if random.random() < 0.5} for q, of in whole.to_dict().items()
    }  # fmt: skip
    truth = cal.evaluate(whole, runs, "nDCG@10").values[0].mean(axis=1)
    study = cal.judges(half, data / f"judges/dl19/{UMBRELA}.txt", runs, "nDCG@10")
    table = study.fill()
    rows = []
    for name, column in (("half of the human's labels", "human_only"), ("the holes filled by UMBRELA", "score")):
        values = np.array(table.column(column), float)
        tau = cal.rank_correlation(truth, values)
        share = float(np.mean(np.array(table.column("judge_share"), float))) if column == "score" else 0.0
        rows.append((name, tau, float(np.abs(values - truth).mean()), share))
    return Table(
        ("labels", "tau with all human labels", "mean error of nDCG@10", "share that rests on the judge"), tuple(rows)
    )


def trusted(graded: JudgeStudy, binary: JudgeStudy, covered: float, unsure: float) -> str:
    """The answer, in a paragraph."""
    effects = {(row[0], row[1]): row for row in graded.effects().rows}
    stats = {row[0]: dict(zip(binary.statistics().columns, row, strict=True)) for row in binary.statistics().rows}
    kappas = [float(row["kappa"]) for row in stats.values()]
    ndcg = [row for key, row in effects.items() if key[1] == "nDCG@10"]
    row = effects[UMBRELA, "nDCG@10"]
    taus = [float(each[2]) for each in ndcg]
    significant = int(row[8]) + int(row[9]) + int(row[10])
    return (
        f"**May an LLM judge be trusted on DL19?** For the rough order of systems yes, for single labels no, and for "
        f"close calls not alone. Over 37 runs, Kendall's tau by nDCG@10 between the human's order and a judge's is "
        f"{min(taus):.2f} to {max(taus):.2f} for six judges, {row[2]:.2f} for UMBRELA with GPT-4, while the kappa of "
        f"relevant against not is only {min(kappas):.2f} to {max(kappas):.2f}. No judge turns a significant difference "
        f"round ({sum(int(each[9]) for each in ndcg)} conflicts in {sum(sum(map(int, each[8:11])) for each in ndcg)} "
        f"significant pairs), but UMBRELA misses {row[10]} of the human's {significant} and adds {row[11]} of its own, "
        f"{row[7]} drops {row[6]} ranks, and {unsure:.0%} of the systems are less than 90% sure to stay above the "
        f"next one under its own error rates. Fifteen human-judged queries repair its scores: the corrected 95% "
        f"intervals hold the truth in {covered:.1%} of draws.\n"
    )


def fragile(study: JudgeStudy) -> tuple[Table, float]:
    """The top ten by UMBRELA: how few labels turn each neighbour, and the chance that the order holds."""
    systems = study.effect.systems
    rows = []
    mean, chance = study.survival(UMBRELA, "nDCG@10")
    order = np.argsort(-mean, kind="stable").tolist()
    pairs = [(systems[a], systems[b]) for a, b in pairwise(order)]
    sure = [float(chance[a, b]) for a, b in pairwise(order)]
    turns = study.turns(UMBRELA, "nDCG@10", pairs[:10])
    exact = study.turns(UMBRELA, "P@10", pairs[:10])
    for (a, b), turn, linear, certain in zip(pairs, turns, exact, sure, strict=False):
        rows.append((a, b, turn.difference, f"{turn.how} {turn.labels}", f"{linear.how} {linear.labels}", certain))
    heads = ("system", "next one", "difference of nDCG@10", "labels that turn it", "of P@10", "chance that it holds")
    return Table(heads, tuple(rows)), float(np.mean(np.array(sure) < 0.9))


def llmjudge(data: Path) -> tuple[Table, JudgeStudy]:
    """Some of the 33 judges, and all of them combined."""
    folder = data / "judges/llmjudge"
    study = cal.judges(folder / "qrels.txt", folder / "labels", combine=("majority", "mean", "dawid-skene"))
    table = study.statistics()
    order = sorted(table.rows[:33], key=lambda row: -float(row[table.columns.index("kappa")]))
    chosen = [*order[:3], order[16], *order[-2:], *table.rows[33:]]
    rows = Table(table.columns, tuple(chosen))
    return columns(rows, "judge", "labels", "agreement", "kappa", "kappa_quadratic", "alpha", "mae", "bias"), study


def pictures(study: JudgeStudy) -> None:
    """At single size and in few colours: both have hundreds of marks."""
    charts = {"slopes": plot.slopes(study.effect, "nDCG@10"), "survival": plot.survival(study, UMBRELA, "nDCG@10")}
    for name, chart in charts.items():
        path = HERE / f"images/judges-{name}.png"
        styled(chart).save(str(path), format="png", scale_factor=1)
        Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def main(data: Path) -> None:
    human, judges = data / "trec/qrels/qrels.dl19-passage.txt.xz", data / "judges/dl19"
    runs = cal.read_runs(str(data / "trec/dl19-passage/runs"))
    graded = cal.judges(human, judges, runs, "nDCG@10 AP")
    binary = cal.judges(human, judges, graded.runs, "AP", map=BINARY, combine=("majority", "dawid-skene"))
    only = cal.judges(human, judges, map=BINARY)
    repaired, held = coverage(graded)
    turned, unsure = fragile(graded)
    replace(PAGE, "judges-answer", trusted(graded, only, held, unsure))
    replace(PAGE, "judges-agreement", agreement(binary).to_markdown())
    replace(
        PAGE, "judges-confusion", cal.judges(human, judges / f"{UMBRELA}.txt").confusion[UMBRELA].table().to_markdown()
    )
    replace(PAGE, "judges-effects", named(graded.effects()).to_markdown())
    replace(PAGE, "judges-effects-binary", named(binary.effects()).to_markdown())
    replace(PAGE, "judges-families", families(binary).to_markdown())
    replace(PAGE, "judges-repair", repaired.to_markdown())
    every = cal.judges(human, judges / f"{UMBRELA}.txt", graded.runs, "nDCG@10 AP P@10 RR")
    table, said = differences(every)
    replace(PAGE, "judges-differences", f"{table.to_markdown()}\n{said}")
    replace(PAGE, "judges-elsewhere", elsewhere(data).to_markdown())
    replace(PAGE, "judges-fragile", turned.to_markdown())
    replace(PAGE, "judges-holes", holes(data, list(graded.runs)).to_markdown())
    replace(PAGE, "judges-reliability", named(binary.reliability()).to_markdown())
    replace(PAGE, "judges-knowledge", named(graded.knowledge().table()).to_markdown())
    table, study = llmjudge(data)
    replace(PAGE, "judges-llmjudge", table.to_markdown())
    replace(PAGE, "judges-raters", study.alpha_of_all().to_markdown())
    pictures(graded)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
