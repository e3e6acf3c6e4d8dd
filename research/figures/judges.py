"""Writes the figures of research/judges.md: `python -m research.figures.judges DATA`.

DATA is a folder with judges/dl19, judges/llmjudge, trec/dl19-passage and trec/qrels. A table stands between two
comments in the page and is replaced there; a picture goes to docs/images.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.stats import binom

import calipers as cal
from calipers import Table, plot
from calipers.plot.vega import png
from calipers.questions.judges import JudgeStudy, prediction_powered
from research.figures.pages import DOCS, RESEARCH, replace

PAGE = RESEARCH / "judges.md"
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
        rows.append(
            (
                row[0],
                *(cells[name] for name in ("labels", "missing", "agreement", "kappa")),
                interval,
                *(cells[name] for name in ("alpha", "ac1", "bias")),
            )
        )
    heads = ("judge", "labels", "missing", "agreement", "kappa", "95% interval", "alpha", "AC1", "bias")
    return named(Table(heads, tuple(rows)))


def families(study: JudgeStudy) -> Table:
    """Whether judges favour the runs of BM25, by their names."""
    groups = {s: "BM25" if s.startswith("bm25") else "others" for s in study.effect.systems}
    table = study.families(groups)
    return named(Table(table.columns, tuple(row for row in table.rows if row[2] == "BM25")))


class Coverage:
    """How often repaired intervals hold the truth: queries drawn again and again.

    Every row of y and f, of [row, query], is a system, whose scores are between 0 and 1, or the difference of two.
    """

    def __init__(
        self, y: np.ndarray, f: np.ndarray, n: int, within: tuple[int, int], random: np.random.Generator
    ) -> None:
        varies = np.ptp(y, axis=1) > 1e-12
        self.n, self.within, self.places = n, within, np.flatnonzero(varies)
        found = np.array([self._of(*row, random) for row in zip(y[varies], f[varies], strict=True)])
        self.share, self.said, self.width, self.sparse_width, self.worth = found.T
        apart = np.array([len(row) - np.unique(row.round(9), return_counts=True)[1].max() for row in y[varies]])
        self.few = (1 - apart / y.shape[1]) ** n > TAIL

    def _of(self, y: np.ndarray, f: np.ndarray, random: np.random.Generator) -> tuple[float, ...]:
        drawn = random.integers(0, len(y), (DRAWS, len(y)))
        known, rest = drawn[:, : self.n], drawn[:, self.n :]
        found = prediction_powered(y[known], f[known], f[rest], ahead=0, within=self.within)
        hit = (found.low <= y.mean()) & (y.mean() <= found.high)
        width, alone = found.high - found.low, found.human_high - found.human_low
        both = found.sparse & ~np.isnan(alone)
        wider = np.median(width[both]) / np.median(alone[both]) if both.any() else np.nan
        return (
            float(hit.mean()),
            float(found.sparse.mean()),
            float(np.median(width) / np.nanmedian(alone)),
            float(wider),
            float(np.median(found.worth)),
        )

    def cells(self) -> tuple[float | int, ...]:
        """How many rows there are, their coverage, and how often and how wide they are sparse."""
        below, above = float((self.share < LEAST).mean()), float((self.share > MOST).mean())
        return (
            len(self.share),
            float(self.share.mean()),
            1 - below - above,
            below,
            above,
            float(self.share.min()),
            float(self.share.max()),
            float(self.said.mean()),
            float(np.nanmedian(self.sparse_width)),
        )


LEAST, MOST = 0.92, 0.98  # what is promised
RARE = 0.05  # of draws
TAIL = 0.025  # of either side of a 95% interval
HEADS = ("rows", "mean", "92% to 98%", "below", "above", "least", "most", "called sparse", "width of these / human's")
MEANS, DIFFERENCES = (0, 1), (-1, 1)


def joined(parts: list[Coverage]) -> Coverage:
    """One of several."""
    whole = parts[0]
    for name in ("places", "share", "said", "width", "sparse_width", "worth", "few"):
        setattr(whole, name, np.concatenate([getattr(part, name) for part in parts]))
    return whole


def single_rows(means: dict[tuple[str, int], Coverage], differences: dict[tuple[str, int], Coverage]) -> str:
    """How many single rows keep the promise, and which ones cannot, in words."""
    every = [*means.values(), *differences.values()]
    share, said, few = (np.concatenate([getattr(each, name) for each in every]) for name in ("share", "said", "few"))
    low, high, dense = share < LEAST, share > MOST, share[said < RARE]
    parts = [
        f"Of all {len(share):,} rows of both tables, {1 - (low | high).mean():.1%} are covered in 92% to 98% of draws, "
        f"{low.sum()} in fewer (the least in {share.min():.1%}) and {high.mean():.1%} in more. The {len(dense):,} rows "
        f"that are hardly ever called sparse, in fewer than 5% of draws, are covered in {dense.min():.1%} to "
        f"{dense.max():.1%}. Of the {high.sum()} rows above 98%, {(high & few).sum()} have so few queries unlike the "
        f"rest that n of 43 hold none of them in more than 2.5% of draws"
    ]
    for n in (15, 30):
        found = differences["RR", n]
        parts.append(
            f"{found.few.sum()} of {len(found.few)} differences of RR at n = {n}, whose mean coverage is "
            f"{found.share[found.few].mean():.1%} (of the others {found.share[~found.few].mean():.1%})"
        )
    return f"{parts[0]}. Such are {parts[1]}, and {parts[2]}.\n"


def binomial(queries: int = 43) -> Table:
    """What an equal-tailed 95% interval of a binomial share covers, if m of the queries are unlike the rest."""
    rows = []
    for m in (1, 2, 3, 4, 6, 9):
        cells: list[float] = []
        for n in (15, 30):
            held = np.arange(n + 1)
            left_out = (binom.cdf(held, n, m / queries) <= TAIL) | (binom.sf(held - 1, n, m / queries) <= TAIL)
            cells += [binom.pmf(0, n, m / queries), 1 - binom.pmf(held[left_out], n, m / queries).sum()]
        rows.append((m, *map(float, cells)))
    return Table(("m", *(f"{what}, n = {n}" for n in (15, 30) for what in ("none of them", "covered"))), tuple(rows))


def least(found: Coverage, what: Callable[[int], str], y: np.ndarray) -> tuple[float, str]:
    """The least coverage of a row, and why, in words; y of [row, query], what: the name of a row."""
    row = int(found.share.argmin())
    scores = y[found.places[row]]
    squares = np.sort((scores - scores.mean()) ** 2)[::-1]
    two, neither = squares[:2].sum() / squares.sum(), (1 - 2 / len(scores)) ** found.n
    return float(found.share[row]), (
        f"The least is {found.share[row]:.1%}, of {what(int(found.places[row]))} at n = {found.n}: two queries of "
        f"{len(scores)} have {two:.0%} of the variance, and {neither:.0%} of draws of {found.n} hold neither.\n"
    )


def coverage(study: JudgeStudy) -> tuple[Table, str, Table, float, dict[tuple[str, int], Coverage]]:
    """Means of all systems under all judges; how wide they are by nDCG@10; UMBRELA's mean coverage at n = 15."""
    random = np.random.default_rng(42)
    rows, widths, umbrela, every, worst = [], [], 0.0, {}, (1.0, "")
    systems = study.effect.systems
    for m, measure in enumerate(study.effect.measures):
        for n in (15, 30):
            parts = []
            for judge in study.judges:
                ours, theirs = (scores.values[m] for scores in study.effect.common(judge))
                parts.append(Coverage(ours, theirs, n, MEANS, random))
                what = f"by {measure} with {SHORT.get(judge, judge)}"
                worst = min(worst, least(parts[-1], lambda s, what=what: f"{systems[s]} {what}", ours))
                if measure in ("nDCG@10", "AP"):
                    cells = float(np.mean(parts[-1].width)), float(np.median(parts[-1].worth))
                    widths.append((judge, measure, n, *cells))
                if (measure, judge, n) == ("nDCG@10", UMBRELA, 15):
                    umbrela = float(np.mean(parts[-1].share))
            every[measure, n] = joined(parts)
            rows.append((measure, n, *every[measure, n].cells()))
    wide = Table(("judge", "measure", "n", "width / human's", "worth in queries"), tuple(widths))
    low = sum(int((each.share < LEAST).sum()) for each in every.values())
    said = f"Below 92% are {low} of these {sum(int(row[2]) for row in rows):,} rows. {worst[1]}"
    return Table(("measure", "n", *HEADS), tuple(rows)), said, named(wide), umbrela, every


def differences(study: JudgeStudy) -> tuple[Table, str, dict[tuple[str, int], Coverage]]:
    """Differences of all pairs with UMBRELA, and the worst pair in words."""
    random = np.random.default_rng(42)
    a, b = np.array(list(combinations(range(len(study.effect.systems)), 2))).T
    rows, low, worst, every, systems = [], 0, (1.0, ""), {}, study.effect.systems
    for m, measure in enumerate(study.effect.measures):
        ours, theirs = (scores.values[m] for scores in study.effect.common(UMBRELA))
        for n in (15, 30):
            found = every[measure, n] = Coverage(ours[a] - ours[b], theirs[a] - theirs[b], n, DIFFERENCES, random)
            rows.append((measure, n, *found.cells()))
            low += int((found.share < LEAST).sum())
            pairs = [f"{systems[i]} and {systems[j]} by {measure}" for i, j in zip(a, b, strict=True)]
            worst = min(worst, least(found, pairs.__getitem__, ours[a] - ours[b]))
    total = sum(int(row[2]) for row in rows)
    said = f"Below 92% are {low} of these {total:,} rows. {worst[1]}"
    return Table(("measure", "n", *HEADS), tuple(rows)), said, every


def elsewhere(data: Path) -> Table:
    """The same on the collections on which the intervals were chosen, which have no LLM judges.

    A second measure of the same runs stands in for the judge; means of all runs, differences of 150 random pairs.
    """
    random = np.random.default_rng(42)
    rows = []
    files = {
        "adhoc8_ap": ("TREC-8", "AP"),
        "adhoc8_p10": ("TREC-8", "P@10"),
        "adhoc8_rr": ("TREC-8", "RR"),
        "web2010_ndcg20": ("Web 2010", "nDCG@20"),
        "web2010_err20": ("Web 2010", "ERR@20"),
    }
    pairs_of = {"adhoc8_ap": "adhoc8_p10", "adhoc8_rr": "adhoc8_p10", "web2010_ndcg20": "web2010_err20"}
    for ours, theirs in pairs_of.items():
        y, f = (np.loadtxt(data / f"scores/{each}.csv", delimiter=",", skiprows=1).T for each in (ours, theirs))
        a, b = random.permutation(list(combinations(range(len(y)), 2)))[:150].T
        for what, within, parts in (("means", MEANS, (y, f)), ("differences", DIFFERENCES, (y[a] - y[b], f[a] - f[b]))):
            found = [Coverage(parts[0], parts[1], n, within, random) for n in (15, 30)]
            rows += [(*files[ours], files[theirs][1], what, each.n, *each.cells()[:8]) for each in found]
    return Table(("collection", "measure", "in the judge's place", "of", "n", *HEADS[:8]), tuple(rows))


def holes(data: Path, runs: list[cal.Run]) -> Table:
    """Half of the human labels hidden, and filled by UMBRELA: the order of systems against that of all labels."""
    whole = cal.read_qrels(data / "trec/qrels/qrels.dl19-passage.txt.xz")
    random = np.random.default_rng(42)
    half = {q: {d: g for d, g in of.items() if random.random() < 0.5} for q, of in whole.to_dict().items()}
    truth = cal.evaluate(whole, runs, "nDCG@10").values[0].mean(axis=1)
    labels = cal.read_qrels(data / f"judges/dl19/{UMBRELA}.txt").to_dict()
    filled = {q: {**labels.get(q, {}), **of} for q, of in half.items()}
    rows = []
    for name, known in (("half of the human's labels", half), ("the holes filled by UMBRELA", filled)):
        values = cal.evaluate(known, runs, "nDCG@10").values[0].mean(axis=1)
        rows.append((name, cal.statistics.rank_correlation(truth, values), float(np.abs(values - truth).mean())))
    return Table(("labels", "tau with all human labels", "mean error of nDCG@10"), tuple(rows))


def trusted(graded: JudgeStudy, binary: JudgeStudy, covered: float) -> str:
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
        f"and {row[7]} drops {row[6]} ranks. Fifteen human-judged queries repair its scores: the corrected 95% "
        f"intervals hold the truth in {covered:.1%} of draws.\n"
    )


def llmjudge(data: Path) -> tuple[Table, JudgeStudy]:
    """Some of the 33 judges, and all of them combined."""
    folder = data / "judges/llmjudge"
    study = cal.Experiment(folder / "qrels.txt", None).judges(
        folder / "labels", combine=("majority", "mean", "dawid-skene")
    )
    table = study.statistics()
    order = sorted(table.rows[:33], key=lambda row: -float(row[table.columns.index("kappa")]))
    chosen = [*order[:3], order[16], *order[-2:], *table.rows[33:]]
    rows = Table(table.columns, tuple(chosen))
    return columns(rows, "judge", "labels", "agreement", "kappa", "kappa_quadratic", "alpha", "mae", "bias"), study


def picture(study: JudgeStudy) -> None:
    """At single size and in few colours: it has hundreds of marks."""
    path = DOCS / "images/judges-slopes.png"
    path.write_bytes(png(plot.slopes(study.effect, "nDCG@10").to_dict(), scale=1))
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def main(data: Path) -> None:
    human, judges = data / "trec/qrels/qrels.dl19-passage.txt.xz", data / "judges/dl19"
    runs = cal.read_runs(str(data / "trec/dl19-passage/runs"))
    graded = cal.Experiment(human, runs, "nDCG@10 AP").judges(judges)
    every = cal.Experiment(human, graded.runs, "nDCG@10 AP P@10 RR ERR@10").judges(judges)
    binary = cal.Experiment(human, graded.runs, "AP").judges(judges, map=BINARY, combine=("majority", "dawid-skene"))
    only = cal.Experiment(human, None).judges(judges, map=BINARY)
    repaired, below, widths, held, means = coverage(every)
    replace(PAGE, "judges-answer", trusted(graded, only, held))
    replace(PAGE, "judges-agreement", agreement(binary).to_markdown())
    replace(
        PAGE,
        "judges-confusion",
        cal.Experiment(human, None).judges(judges / f"{UMBRELA}.txt").confusion[UMBRELA].table().to_markdown(),
    )
    replace(PAGE, "judges-effects", named(graded.effects()).to_markdown())
    replace(PAGE, "judges-effects-binary", named(binary.effects()).to_markdown())
    replace(PAGE, "judges-families", families(binary).to_markdown())
    replace(PAGE, "judges-repair", f"{repaired.to_markdown()}\n{below}")
    replace(PAGE, "judges-widths", widths.to_markdown())
    table, said, pairs = differences(every)
    replace(PAGE, "judges-differences", f"{table.to_markdown()}\n{said}")
    replace(PAGE, "judges-rows", single_rows(means, pairs))
    replace(PAGE, "judges-binomial", binomial().to_markdown())
    replace(PAGE, "judges-elsewhere", elsewhere(data).to_markdown())
    replace(PAGE, "judges-holes", holes(data, list(graded.runs)).to_markdown())
    replace(PAGE, "judges-reliability", named(binary.reliability()).to_markdown())
    table, study = llmjudge(data)
    replace(PAGE, "judges-llmjudge", table.to_markdown())
    replace(PAGE, "judges-raters", study.alpha_of_all().to_markdown())
    picture(graded)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
