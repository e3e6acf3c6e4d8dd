"""Writes the figures of judges.md: `python docs/judges_figures.py DATA`.

DATA is a folder with judges/dl19, judges/llmjudge, trec/dl19-passage and trec/qrels. A table stands between two
comments in the page and is replaced there; a picture goes to docs/images.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from figures import HERE, replace
from PIL import Image

import calipers as cal
from calipers import plot
from calipers.judging.score_repair import prediction_powered
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
SKEWED = "UNH_exDL_bm25"
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


def coverage(study: JudgeStudy) -> tuple[Table, str, float]:
    """How often the repaired interval holds the truth, and how wide it is: queries drawn again, all systems but one.

    Also what becomes of that one, whose scores are too skewed for Student's interval, and UMBRELA's coverage at n = 15.
    """
    rows, skewed, alone, umbrela = [], [], [], 0.0
    random = np.random.default_rng(42)
    for judge in study.judges:
        ours, theirs = (scores.values[0] for scores in study.effect.common(judge))
        for n in (15, 30):
            covered, wide, worth = [], [], []
            for system, y, f in zip(study.effect.systems, ours, theirs, strict=True):
                drawn = random.integers(0, len(y), (DRAWS, 200))
                known, rest = drawn[:, :n], drawn[:, n:]
                found = prediction_powered(y[known], f[known], f[rest], ahead=0)
                share, human = (
                    float(((low <= y.mean()) & (y.mean() <= high)).mean())
                    for low, high in ((found.low, found.high), (found.human_low, found.human_high))
                )
                if system == SKEWED:
                    skewed += [share] if n == 15 else []
                    alone += [human] if n == 15 else []
                    continue
                covered.append(share)
                wide.append(float((found.high - found.low).mean() / (found.human_high - found.human_low).mean()))
                worth.append(float(np.median(found.worth)))
            if judge == UMBRELA and n == 15:
                umbrela = float(np.mean(covered))
            rows.append((judge, n, 200 - n, min(covered), float(np.mean(covered)), max(covered), float(np.mean(wide)),
                         float(np.median(worth))))  # fmt: skip
    heads = ("judge", "n", "others", "coverage, least", "mean", "most", "width / human's", "worth in queries")
    said = (
        f"The other run is {SKEWED}, with an nDCG@10 near 0 on most queries: no interval of Student's holds for scores "
        f"so skewed at n = 15, neither the corrected one ({min(skewed):.0%} to {max(skewed):.0%}) nor that of the "
        f"human's part alone ({np.mean(alone):.0%}).\n"
    )
    return named(Table(heads, tuple(rows))), said, umbrela


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
    repaired, skewed, covered = coverage(graded)
    turned, unsure = fragile(graded)
    replace(PAGE, "judges-answer", trusted(graded, only, covered, unsure))
    replace(PAGE, "judges-agreement", agreement(binary).to_markdown())
    replace(
        PAGE, "judges-confusion", cal.judges(human, judges / f"{UMBRELA}.txt").confusion[UMBRELA].table().to_markdown()
    )
    replace(PAGE, "judges-effects", named(graded.effects()).to_markdown())
    replace(PAGE, "judges-effects-binary", named(binary.effects()).to_markdown())
    replace(PAGE, "judges-families", families(binary).to_markdown())
    replace(PAGE, "judges-repair", repaired.to_markdown())
    replace(PAGE, "judges-skewed", skewed)
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
