"""Writes the figures of this manual that come from real data: `python -m research.figures.manual DATA`.

DATA is a folder with letor/MQ2008/S1.txt.xz ... S5.txt.xz, letor/oracle-output and trec/covid-round1.
A table stands between two comments in a page and is replaced there; a picture goes to docs/images.
"""

from __future__ import annotations

import csv
import lzma
import sys
from pathlib import Path
from typing import Any

import numpy as np

import calipers as cal
from calipers import Table, plot
from calipers.collection import RememberedRun, SubtopicPool
from calipers.conventions import TOOLS
from calipers.questions.metaeval import discriminative_power
from research.figures.pages import DOCS, RESEARCH, replace
from research.golbus2013.charts import fusion_scatter
from research.golbus2013.fusion_study import fusion_study
from research.golbus2013.ric_validation import correlations


def letor(paths: list[Path]) -> tuple[cal.Judgments, dict[str, np.ndarray]]:
    """Labels, and every feature as a system."""
    labels, queries, features = [], [], []
    for path in paths:
        with lzma.open(path, "rt") as lines:
            for line in lines:
                label, query, *pairs = line.partition("#")[0].split()
                labels.append(float(label))
                queries.append(query)
                features.append([float(pair.partition(":")[2]) for pair in pairs])
    systems = dict(zip((f"feature {i}" for i in range(1, 1000)), np.array(features).T, strict=False))
    return cal.Judgments.from_arrays(labels, qid=queries), systems


def published_expected(data: Path) -> str:
    """How far V2 of AP moves when E[SP] = k p^2 replaces the exact value."""
    judgments, systems = letor(sorted((data / "letor/MQ2008").glob("S*.txt.xz")))
    rows = []
    for k in (5, 10, 15, 20, 30):
        names = [f"AP(norm=k)@{k}", f"V2(AP(norm=k)@{k})", f"V2(AP(norm=k)@{k}, expected=paper)"]
        scores = cal.evaluate(judgments, systems, names)
        bounds = [cal.bounds(judgments, names[:1], expected=how).expected[names[0]] for how in ("exact", "paper")]
        exact, paper = (np.nanmean(values, axis=1) for values in (scores[names[1]], scores[names[2]]))
        moved = paper - exact
        ranks = [np.argsort(np.argsort(-values)) for values in (exact, paper)]
        rows.append(
            (
                f"{k}",
                float(np.nanmean(bounds[0])),
                float(np.nanmean(bounds[1])),
                float(exact.mean()),
                float(paper.mean()),
                float(moved[np.abs(moved).argmax()]),
                int((ranks[0] != ranks[1]).sum()),
            )
        )
    columns = (
        "k",
        "E[AP] exact",
        "E[AP] published",
        "mean V2 exact",
        "mean V2 published",
        "largest move",
        "ranks that change",
    )
    return Table(columns, tuple(rows)).to_markdown()


def covid_bounds(data: Path) -> str:
    """Make the table of five runs of TREC-COVID round 1 between their bounds, from the best to the worst by nDCG@10."""
    folder = data / "trec/covid-round1"
    names = ["nDCG@10", "V1(nDCG@10)", "V2(nDCG@10)", "Z(nDCG@10)", "V2(nDCG@10, population=retrieved)", "AP", "V2(AP)"]
    scores = cal.evaluate(folder / "qrels-rnd1.txt", folder / "runs", names)
    order = np.argsort(-scores["nDCG@10"].mean(axis=1))
    means = scores.mean()
    rows = [next(row for row in means.rows if row[0] == scores.systems[i]) for i in order[[0, 35, 71, 107, 142]]]
    limits = cal.bounds(folder / "qrels-rnd1.txt", ["nDCG@10", "AP"])
    of_random = {name: float(limits.expected[name].mean()) for name in limits.measures}
    rows.append(("a random ranking of the judged documents", *(of_random.get(name) for name in names)))
    below = {name: int((np.nanmean(scores[name], axis=1) < 0).sum()) for name in ("V2(nDCG@10)", "V2(AP)")}
    said = " and ".join(f"{count} of {len(scores.systems)} runs for {name}" for name, count in below.items())
    return Table(means.columns, tuple(rows)).to_markdown() + f"\nThe mean is below 0 for {said}.\n"


def query_map(data: Path) -> None:
    """Types of the queries of MQ2008, fold 1, by three single features."""
    judgments = cal.read_letor(data / "letor/MQ2008/S5.txt.xz")
    runs = cal.read_runs(sorted((data / "letor/oracle-output").glob("*.scores")))
    scores = cal.evaluate(judgments, runs, "nDCG@10", empty="skip")
    bounds = cal.bounds(judgments, "nDCG@10")
    chart = plot.query_map(cal.query_types(scores, bounds), "nDCG@10")
    plot.save(chart, str(DOCS / "images/queries.png"))


def information(data: Path) -> None:
    """Write the tables about TREC-COVID round 1 in research/information.md and docs/information.md."""
    folder = data / "trec/covid-round1"
    judgments = cal.read_qrels(folder / "qrels-rnd1.txt")
    runs = [RememberedRun(run) for run in cal.read_runs(folder / "runs/*")]
    with open(folder / "leaderboard.csv", newline="", encoding="utf-8") as file:
        teams = {row["run"]: row["team"] for row in csv.DictReader(file)}
    study = cal.questions.information.ric(cal.Experiment(judgments, runs))
    page = RESEARCH / "information.md"
    replace(page, "information-wrong-way", wrong_way_round(study))
    replace(RESEARCH / "README.md", "information-correlations", correlations(study).to_markdown())
    power = discriminative_power(study.scores, "bootstrap", samples=1000)
    replace(RESEARCH / "README.md", "information-power", power.table().to_markdown())
    best = [runs[i] for i in np.argsort(-study.mean("AP"), kind="stable")]
    joint = [cal.questions.information.joint(cal.Experiment(judgments, best[:m])) for m in (1, 2, 3, 5, 10, 20)]
    rows = [(*found.table().rows[0], float(found.alone.mean(axis=1).max())) for found in joint]
    replace(page, "information-joint", Table((*joint[0].table().columns, "best alone"), tuple(rows)).to_markdown())
    found = cal.questions.information.difference(cal.Experiment(judgments, runs))
    replace(page, "information-teams", same_teams(found, teams))
    alike = found.within_bins(20)
    replace(page, "information-alike", Table(alike.columns, alike.rows[:10]).to_markdown())
    plot.save(plot.difference_scatter(found), str(DOCS / "images/difference.png"))
    scores = cal.evaluate(judgments, runs, ["nDCG@10", "ERR@20", "AP", "P@5"])
    tau = cal.questions.information.tau(scores, x="nDCG@10", y="ERR@20", given=["AP", "P@5"])
    replace(DOCS / "information.md", "information-tau", tau.table().to_markdown())


def wrong_way_round(study: cal.questions.information.RicStudy) -> str:
    """Which of the worst runs by AP plain RIC puts too high."""
    wrong = study.wrong_way_round
    order = {name: np.argsort(np.argsort(study.mean(name), kind="stable")) + 1 for name in ("AP", "RIC", "signed")}
    rows = [
        (study.systems[s], float(study.mean("AP")[s]), *(int(order[name][s]) for name in order), int(wrong[s].sum()))
        for s in np.argsort(study.mean("AP"), kind="stable")[:6].tolist()
    ]
    columns = ("run", "AP", "place from the bottom by AP", "by RIC", "by signed RIC", "lists the wrong way round")
    return (
        f"{wrong.sum()} of {wrong.size} lists have more pairs in the wrong order than in the right one. "
        "The six worst runs by AP:\n\n" + Table(columns, tuple(rows)).to_markdown()
    )


def same_teams(found: cal.questions.information.InformationDifference, teams: dict[str, str]) -> str:
    strong = {system for system, ap in zip(found.systems, found.ap, strict=True) if ap >= 0.05}

    def only_strong(table: Table) -> Table:
        return Table(table.columns, tuple(row for row in table.rows if row[0] in strong and row[1] in strong))

    pairs = {"all": found.table(), "within 20 bins of like AP": found.within_bins(20)}
    pairs |= {f"{name}, AP of 0.05 and more": only_strong(table) for name, table in pairs.items()}
    rows = [
        (
            name,
            len(table.rows),
            cal.questions.information.same_group_share(table, teams, 27),
            cal.questions.information.same_group_share(table, teams, 27, by="delta_ap"),
            cal.questions.information.same_group_share(table, teams, len(table.rows)),
        )
        for name, table in pairs.items()
    ]
    columns = ("pairs", "number", "by information difference", "by delta AP", "of all pairs")
    return Table(columns, tuple(rows)).to_markdown()


def figure_1(data: Path) -> str:
    """nDCG@k of three rankers by the definition, LETOR 4.0 and Yahoo, and the parts of what differs."""
    judgments = cal.read_letor(data / "letor/MQ2008/S5.txt.xz")
    runs = sorted((data / "letor/oracle-output").glob("*.scores"))
    measures = [f"nDCG@{k}" for k in range(1, 11)]
    found = cal.Experiment(judgments, runs, measures).audit(like=["letor4", "yahoo"], reference="definition")

    def part(tool: str, measure: str, cause: str) -> float:
        parts = found.attribution(tool, measure)
        return float(parts.parts[parts.causes.index(cause)].mean()) if cause in parts.causes else 0.0

    rows = [
        (
            measure.partition("@")[2],
            *(float(np.mean(found.figures(measure)[tool])) for tool in ("definition", "letor4", "yahoo")),
            part("letor4", measure, "lists shorter than k"),
            part("yahoo", measure, "no relevant document"),
        )
        for measure in measures
    ]
    columns = ("k", "definition", "letor4", "yahoo", "part of short lists, letor4", "part of empty queries, yahoo")
    return Table(columns, tuple(rows)).to_markdown()


def ndcg_by_tool(data: Path) -> str:
    """Return nDCG@10 of one run of TREC DL 2019 under each tool, whole and cut after five documents.

    Grades of 2 and 3 are relevant, so that tools without grades can read the judgments and the gain plays no part.
    """
    graded = cal.read_qrels(data / "trec/qrels/qrels.dl19-passage.txt.xz").to_dict()
    judgments = {query: {d: int(grade >= 2) for d, grade in of.items()} for query, of in graded.items()}
    run = sorted((data / "trec/dl19-passage/runs").glob("*idst_bert_p1*"))[:1]
    exp = cal.Experiment(judgments, run, "nDCG@10", warn=False)
    cut = exp.with_(depth=5).audit()
    whole = exp.audit()
    rows: dict[tuple[float, float], list[str]] = {}
    for tool in ("calipers", *TOOLS):
        if ("nDCG@10", tool) in whole.means:
            figures = (round(float(found.means["nDCG@10", tool][0]), 4) for found in (whole, cut))
            rows.setdefault((next(figures), next(figures)), []).append(tool)
    table = tuple((", ".join(tools), *figures) for figures, tools in rows.items())
    return Table(("tools", "whole run", "first five documents"), table).to_markdown()


def conventions(data: Path) -> None:
    replace(DOCS / "why-ndcg-differs.md", "ndcg", ndcg_by_tool(data))
    replace(RESEARCH / "README.md", "figure-1", figure_1(data))


PAPER = {  # Golbus & Aslam (2013), table 3: TREC 8
    "combanz": (0.221, 0.330, 0.481),
    "combmnz": (0.587, 0.764, 0.351),
    "condorcet": (0.519, 0.689, 0.362),
    "majoritarian": (0.552, 0.735, 0.340),
    "pareto": (0.657, 0.836, 0.044),
    "naive": (0.788, 0.931, 0.039),
}


def fusion(data: Path) -> None:
    """Golbus & Aslam's (2013) section 6 on TREC-COVID: joint RIC of ten systems at a time against fusions."""
    folder = data / "trec/covid-round1"
    judgments = cal.read_qrels(folder / "qrels-rnd1.txt")
    runs = cal.read_runs(folder / "runs")
    study = fusion_study(judgments, runs)
    rows = tuple((*row, *PAPER.get(str(row[0]), (None, None, None))) for row in study.table().rows)
    columns = (*study.table().columns, "paper's tau", "rho", "RMSE")
    replace(
        RESEARCH / "README.md",
        "fusion-study",
        f"Mean joint RIC {study.joint.mean():.4f}; of the same systems with shuffled ranks {study.null.mean():.4f}.\n\n"
        + Table(columns, rows).to_markdown(),
    )
    plot.save(fusion_scatter(study), str(RESEARCH / "images/fusion.png"))
    two = ("combmnz", "naive")
    small = [fusion_study(judgments, runs, samples=50, size=size, fusions=two) for size in (2, 3, 5)]
    found = [
        (
            each.groups.shape[1],
            float(each.joint.mean()),
            float(each.null.mean()),
            *(each.table()[name, column] for name in two for column in ("RIC", "tau", "RMSE")),
        )
        for each in [*small, study]
    ]
    heads = ("systems", "joint", "null", "combmnz RIC", "tau", "RMSE", "naive RIC", "tau", "RMSE")
    replace(RESEARCH / "README.md", "fusion-sizes", Table(heads, tuple(found)).to_markdown())
    chosen = [runs[i] for i in range(0, len(runs), 14)]
    methods = ("combsum", "combmnz", "combanz", "borda", "rrf", "rbc", "condorcet")
    made = {name: cal.fuse(chosen, name) for name in methods}
    bounds = [cal.questions.fuse.fusion_bound(judgments, chosen, kind) for kind in ("majoritarian", "pareto", "naive")]
    alone = cal.evaluate(judgments, chosen, ["AP", "nDCG@10"]).values.mean(axis=2)
    table = cal.evaluate(judgments, [*made.values(), *bounds], ["AP", "nDCG@10"]).mean()
    extra = (
        ("best of the runs alone", *alone.max(axis=1).tolist()),
        ("mean of the runs", *alone.mean(axis=1).tolist()),
    )
    replace(DOCS / "fusion.md", "fusion-methods", Table(table.columns, (*extra, *table.rows)).to_markdown())


def simulated_runs(judgments: cal.SubtopicJudgments, systems: int = 60, seed: int = 42) -> dict[str, Any]:
    """Systems that differ in how well they tell relevant documents, and in how many intents they care about."""
    random = np.random.default_rng(seed)
    pool, names = judgments.pool, judgments.document_names
    assert isinstance(pool, SubtopicPool)
    runs: dict[str, Any] = {}
    for system in range(systems):
        quality, focus = random.uniform(0.2, 1.5), 10 ** random.uniform(-1, 1)
        scores: dict[str, dict[str, float]] = {}
        for q, query in enumerate(judgments.queries):
            size = int(pool.starts[q + 1] - pool.starts[q])
            taste = random.dirichlet(np.full(size, focus)) * size
            start, end = int(pool.offsets[q]), int(pool.offsets[q + 1])
            here = (pool.document >= start) & (pool.document < end)
            liked = np.bincount(
                pool.document[here] - start,
                taste[pool.intents.query[here] - pool.starts[q]] * pool.intents.grade[here],
                end - start,
            )
            score = quality * liked / size + random.normal(0, 1, end - start)
            scores[query] = dict(zip(names[start:end], score.tolist(), strict=True))
        runs[f"s{system + 1:02d}"] = scores
    return runs


def diversity(data: Path) -> None:
    """Golbus & Aslam's (2013) table 1 on simulated runs: what diversity measures share beyond plain ones."""
    rows: dict[tuple[str, str, str], list[float]] = {}
    for track in ("201-250", "251-300"):
        judgments = cal.read_subtopics(data / f"trec/qrels/qrels.web.{track}.ndeval.txt.xz")
        runs = simulated_runs(judgments)
        diverse = cal.evaluate(judgments, runs, ["ERR-IA@20", "alpha-nDCG@20", "D#-nDCG@20"])
        plain = cal.evaluate(data / f"trec/qrels/qrels.web.{track}.txt.xz", runs, ["nDCG@20", "ERR@20"])
        scores = cal.concat([diverse, plain], along="measures")
        for y in ("alpha-nDCG@20", "D#-nDCG@20"):
            tau = cal.questions.information.tau(scores, x="ERR-IA@20", y=y, given=["nDCG@20", "ERR@20"])
            for x, other, given, bits, _ in tau.table().rows:
                rows.setdefault((str(x), str(other), str(given)), []).append(float(bits))
    paper = iter(
        [
            (0.8290, 0.8375),
            (0.4860, 0.4434),
            (0.2499, 0.3263),
            (0.2451, 0.2805),
            (0.6390, 0.5545),
            (0.3026, 0.1728),
            (0.1222, 0.1442),
            (0.1239, 0.1003),
        ]
    )
    table = tuple((*key, *bits, *next(paper)) for key, bits in rows.items())
    columns = ("x", "y", "given", "topics 201-250", "251-300", "paper: TREC 2010", "2011")
    replace(RESEARCH / "diversity.md", "diversity-tau", Table(columns, table).to_markdown())


def main(data: Path) -> None:
    fusion(data)
    diversity(data)
    conventions(data)
    information(data)
    replace(RESEARCH / "bounds.md", "published-expected", published_expected(data))
    replace(RESEARCH / "bounds.md", "covid-bounds", covid_bounds(data))
    query_map(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
