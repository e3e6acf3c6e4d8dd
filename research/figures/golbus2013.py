"""Writes the figures of Golbus & Aslam (2013): `python -m research.figures.golbus2013 DATA [PART...]`.

DATA is a folder with trec/trec8-adhoc, trec/trec9-web, trec/dl19-passage and trec/qrels. The parts are

    figure-2 figure-3 figure-5   the pictures of README.md; figure 3 has the first 240 groups of systems
    weights estimators           tables of research/information.md
    FILE.csv                     verdicts of README.md: `python -m research reproduce golbus2013 -o FILE.csv`,
                                 or of some of its tables
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

import calipers as cal
from calipers import Experiment, Table, plot
from calipers.collection import RememberedRun
from calipers.questions.information import (
    ESTIMATORS,
    MISSING,
    QueryRankings,
    Rankings,
    estimate,
    joint_of,
    pairs_of_grades,
    ric,
)
from calipers.questions.metaeval import discriminative_power
from research.figures.pages import RESEARCH, replace
from research.golbus2013 import tables as paper
from research.golbus2013.charts import fusion_scatter, ric_scatter

IMAGES = RESEARCH / "images"
SPLITS = 60
DRAWN = 240  # groups in the picture of figure 3
TABLE_3 = ("interval", "groups for all digits", "if 100 were drawn", "drawn at most", "shuffled", "corrected")
_NUMBER = r"(-?[\d.]+)"
TABLE_3_REASON = (
    r"groups give (\S+ to [^,]+), (narrower|wider[^;]* [\d,]+ groups)[^;]*; "
    r"100 groups would give (\S+ to [^;]+); "
    r"what is printed may come of (?:at most )?([^;]+);"
    rf".* ranks {_NUMBER}, .* one {_NUMBER}"
)
WEIGHED = (
    "RIC",
    "RIC(weight=gain)",
    "RIC(weight=top)",
    "RIC(weight=top, signed=True)",
    "RIC(weight=top, p=0.95, signed=True)",
    "nDCG@10",
)


def collection(data: Path, name: str) -> paper.Collection:
    found = paper.collection(data, name)
    assert found is not None, f"{data} lacks {paper.FOLDERS[name]}"
    return found


def figure_2(data: Path) -> None:
    """RIC against AP and nDCG on TREC 8, GAP and nDCG on TREC 9."""
    charts = []
    for name, measures in (("TREC 8", ("AP", "nDCG")), ("TREC 9", ("GAP", "nDCG"))):
        known = collection(data, name)
        study = ric(Experiment(known.judgments, list(known.runs), ties="docid", unmatched="warn"))
        charts += [ric_scatter(study, measure).spec | {"title": f"{name}, {measure}"} for measure in measures]
    save(plot.Chart({"concat": charts, "columns": 2}), "2")


def figure_3(data: Path) -> None:
    """RIC of fusions against the joint RIC of ten systems of TREC 8; and what the values are on average."""
    drawn = paper.drawn_groups(collection(data, "TREC 8"), paper.BEST_3, DRAWN)
    save(fusion_scatter(cast("Any", SimpleNamespace(joint=drawn.joint, ric=drawn.ric))), "3")
    print(f"joint {drawn.joint.mean():.3f}, shuffled {drawn.null.mean():.3f}, corrected {drawn.corrected.mean():.3f}")
    for name, own in drawn.ric.items():
        above = int((drawn.corrected > own[: len(drawn.corrected)]).sum())
        print(
            f"{name}: RIC {own.mean():.3f}; the corrected value is above it in {above} of {len(drawn.corrected)} groups"
        )


def figure_5(data: Path) -> None:
    """Information difference against |delta AP| of TREC 8's pairs of systems."""
    save(plot.difference_scatter(paper.differences(collection(data, "TREC 8"), paper.BEST_4)), "5")


def save(chart: Any, number: str) -> None:
    from PIL import Image

    path = IMAGES / f"golbus-figure-{number}.png"
    plot.save(chart, str(path))
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def weights(data: Path) -> None:
    """Does a weight of pairs serve web search? tau with other measures, discriminative power, stability."""
    nine = collection(data, "TREC 9")
    passages = data / "trec/qrels/qrels.dl19-passage.txt.xz"
    runs = [RememberedRun(run) for run in cal.read_runs(data / "trec/dl19-passage/runs")]
    text = weighed(nine.judgments, list(nine.runs), "TREC-9 web")
    text += "\n" + weighed(cal.read_qrels(passages), runs, "DL19 passages")
    replace(RESEARCH / "information.md", "information-weights", text)


def weighed(judgments: cal.Judgments, runs: list[RememberedRun], name: str) -> str:
    against = ("nDCG@10", "ERR@20", "AP")
    scores = cal.evaluate(judgments, runs, [*WEIGHED, *against[1:]], empty="skip", warn=False)
    means = {measure: np.nanmean(scores[measure], axis=1) for measure in scores.measures}
    rows = []
    for measure in WEIGHED:
        tau = [
            None if measure == other else cal.statistics.rank_correlation(means[measure], means[other])
            for other in against
        ]
        power = discriminative_power(scores.of_measures([measure]), "bootstrap", samples=1000)[measure]
        rows.append((measure, *map(_short, (*tau, power, stability(scores[measure])))))
    columns = (f"{name}, {len(runs)} runs, {len(scores.queries)} topics", *against, "power", "stability")
    return Table(columns, tuple(rows)).to_markdown()


def stability(values: np.ndarray) -> float:
    """The mean tau between the orders of systems on two random halves of the topics."""
    known = values[:, ~np.isnan(values).any(axis=0)]
    random = np.random.default_rng(paper.SEED)
    found = []
    for _ in range(SPLITS):
        one, other = np.array_split(random.permutation(known.shape[1]), 2)
        found.append(cal.statistics.rank_correlation(known[:, one].mean(axis=1), known[:, other].mean(axis=1)))
    return float(np.mean(found))


def estimators() -> None:
    """Estimates of what systems know together, where the truth is known: 0 for random ones, RIC of one for copies."""
    rows = []
    for relevant, judged, queries in ((20, 220, 40), (100, 1700, 4)):
        for systems, kind in ((5, "random"), (5, "copies"), (10, "random"), (10, "copies")):
            random = np.random.default_rng([relevant, systems, kind == "copies"])
            cases = [_case(relevant, judged, 1 if kind == "copies" else systems, random) for _ in range(queries)]
            if kind == "copies":
                cases = [_query(each.relevant, np.tile(each.rank, (systems, 1))) for each in cases]
            known = cal.Judgments.from_arrays(
                np.concatenate([c.relevant for c in cases]) * 1.0, group=[judged] * queries
            )
            names = tuple(f"s{i}" for i in range(systems))
            found = joint_of(Rankings(known, names, np.hstack([case.rank for case in cases])), draws=2)
            truth = 0.0 if kind == "random" else float(found.alone.mean())
            values = [float(np.mean([estimate(case, by) for case in cases])) for by in ESTIMATORS.values()]
            less = found.mean - found.null_mean
            error = f"{found.corrected_mean:.3f} ({found.corrected_error:.3f})"
            numbers = map(_short, (truth, *values, less))
            rows.append((f"{relevant} of {judged}", f"{systems} {kind}", *numbers, error))
    columns = ("judged", "systems", "truth", *ESTIMATORS, "less the null value", "corrected (standard error)")
    replace(RESEARCH / "information.md", "information-estimators", Table(columns, tuple(rows)).to_markdown())


def _case(relevant: int, judged: int, systems: int, random: np.random.Generator) -> QueryRankings:
    """Systems that retrieve a random half; or one, to be copied, that knows something and retrieves everything."""
    grade = np.repeat([1.0, 0.0], [relevant, judged - relevant])
    if systems == 1:
        order = np.argsort(np.argsort(-grade - random.normal(0, 1, judged)))
        return _query(grade >= 1, order.astype(np.int32)[None] + 1)
    rank = np.stack([random.permutation(judged) for _ in range(systems)]).astype(np.int32) + 1
    rank[rank > judged // 2] = MISSING
    return _query(grade >= 1, rank)


def _query(relevant: np.ndarray, rank: np.ndarray) -> QueryRankings:
    return QueryRankings("q", 0, rank, relevant, pairs_of_grades(relevant.astype(float)))


def verdicts(file: Path) -> None:
    """The tables of README.md, from what the command wrote."""
    with open(file, encoding="utf-8", newline="") as lines:
        found = list(csv.DictReader(lines))
    for name in ("table-2", "figure-2", "table-3", "figure-3", "table-4", "figure-5"):
        columns = ["cell", "printed", "computed", "verdict", "about"]
        rows = []
        for row in found:
            if not row["table"].endswith(f"/{name}"):
                continue
            about = [row["reason"]]
            if name == "table-3":
                columns = ["cell", "printed", "computed", "verdict", *TABLE_3]
                match = re.search(TABLE_3_REASON, row["reason"])
                assert match, row
                about = [re.sub(r"narrower|wider.*about | groups", "", each) or "enough" for each in match.groups()]
            rows.append((row["cell"], row["printed"], _short(row["computed"], 4), row["verdict"], *about))
        if not rows:
            continue
        if not any(row[4] for row in rows):
            columns, rows = columns[:4], [row[:4] for row in rows]
        replace(RESEARCH / "README.md", f"golbus-{name}", Table(tuple(columns), tuple(rows)).to_markdown())


def _short(number: float | str | None, digits: int = 3) -> str:
    return "" if number in (None, "") else f"{float(number):.{digits}f}"


def main(data: Path, wanted: list[str]) -> None:
    for name, draw in (("figure-2", figure_2), ("figure-3", figure_3), ("figure-5", figure_5), ("weights", weights)):
        if not wanted or name in wanted:
            draw(data)
    if not wanted or "estimators" in wanted:
        estimators()
    for file in (part for part in wanted if part.endswith(".csv")):
        verdicts(Path(file))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
