"""Golbus & Aslam (2013) on the runs of TREC 8 and 9: every printed figure, under every reading of what the paper leaves
open.

What a search of the readings found: the lists of tables 3 and 4 were not cut after the last relevant document, although
the text says so (all ten information differences come out without the cut, three with it), while those of table 2 were.
|delta AP| of table 4 is of AP at 100, ties as in the files. docs/reproduce.md tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from calipers.collection.model import Judgments
from calipers.collection.reader import processors
from calipers.errors import CalipersError
from calipers.evaluation import evaluate
from calipers.fusion.candidates import Ballots
from calipers.fusion.combine import fused
from calipers.fusion.methods import METHODS, Votes
from calipers.fusion.oracles import BOUNDS, sorted_score
from calipers.fusion.oracles import judged as with_grades
from calipers.information.difference import InformationDifference, difference_of
from calipers.information.joint import joint_of
from calipers.information.rankings import MISSING, Rankings
from calipers.lists import Floats
from calipers.metaeval.power import discriminative_power
from calipers.metaeval.query_sets import RememberedRun
from calipers.papers.printed_figures import CONSISTENT, DIFFERS, EXACT, NEEDS_DATA, Figure, judged
from calipers.papers.readings import Reading
from calipers.papers.registry import printed, reproduction, reproduction_of_readings
from calipers.results.scores import Scores
from calipers.results.tables import Cell
from calipers.stats.correlation import rank_correlation

SEEDS = range(42, 52)
SAMPLES = 100  # groups of ten systems in table 3; the paper does not say how many it drew
SIZE = 10
SEED = 42
FOLDERS = {"TREC 8": "trec/trec8-adhoc", "TREC 9": "trec/trec9-web"}
ALONE = "adhoc8_ap.csv"  # AP of TREC 8's systems, where there are no runs
DATA = "runs of TREC 8's ad hoc task and of TREC 9's web track"
LAYOUT = (
    "trec/trec8-adhoc and trec/trec9-web, each with qrels.txt and runs/, the former with runs.csv (run, group); for AP "
    f"in table 2, {ALONE} will do: one row per topic and one column per system (Urbano, Lima & Hanjalic, SIGIR 2019)"
)
CUT = {"last relevant": 1, "none": 0}  # `rel` of RIC: 0 keeps everything down to the last judged document
CIRTC = {"cirtc82": "cirtrc82"}  # the name that a run has in table 4, and its own


@dataclass(frozen=True, eq=False)
class Collection:
    """Judgments and runs, each read once."""

    folder: Path
    judgments: Judgments
    runs: tuple[RememberedRun, ...]

    @cached_property
    def systems(self) -> tuple[str, ...]:
        return self.rankings("docid").systems

    @cache  # noqa: B019 - there are two collections in a process
    def scores(self, measure: str, ties: str) -> Scores:
        return evaluate(self.judgments, list(self.runs), measure, ties=ties, empty="skip", warn=False)

    def mean(self, measure: str, ties: str) -> Floats:
        return np.asarray(np.nanmean(self.scores(measure, ties).values[0], axis=1))

    @cache  # noqa: B019
    def rankings(self, ties: str) -> Rankings:
        return Rankings.of(self.judgments, list(self.runs), ties=ties)

    @cached_property
    def ballots(self) -> Ballots:
        return with_grades(Ballots.of([run.run for run in self.runs]), self.judgments)

    @cached_property
    def groups(self) -> dict[str, str]:
        import csv

        path = self.folder / "runs.csv"
        if not path.is_file():
            return {}
        try:
            with open(path, encoding="utf-8-sig", newline="") as file:
                return {row["run"]: row["group"] for row in csv.DictReader(file)}
        except (OSError, UnicodeDecodeError, csv.Error, KeyError) as error:
            raise CalipersError(f"expected a table with columns run and group ({error})", file=str(path)) from None


@cache
def collection(folder: Path | None, name: str) -> Collection | None:
    """TREC 8 or TREC 9 in a folder, where it is there."""
    place = None if folder is None else folder / FOLDERS[name]
    if place is None or not (place / "qrels.txt").is_file() or not (place / "runs").is_dir():
        return None
    from calipers.collection.sources import read_qrels, read_runs

    return Collection(
        place, read_qrels(place / "qrels.txt"), tuple(RememberedRun(run) for run in read_runs(place / "runs"))
    )


def depth_of(measure: str, depth: str) -> str:
    return measure if depth == "1000" else f"{measure}@{depth}"


# -- table 2: discriminative power -------------------------------------------------------------------


@reproduction_of_readings(
    "golbus2013/table-2",
    "Discriminative power of AP, nDCG and RIC on TREC 8 and 9",
    DATA,
    LAYOUT,
    axes={
        "cut": tuple(CUT),
        "gain": ("exp", "linear"),
        "thresholds": ("equal", "gains"),
        "depth": ("1000", "100"),
        "ties": ("average", "docid"),
    },
    best={"cut": "last relevant", "gain": "exp", "thresholds": "gains", "depth": "1000", "ties": "average"},
)
def table_2(folder: Path | None, reading: Reading) -> Sequence[Figure]:
    """Sakai's bootstrap, 1,000 samples, two-sided, as the paper says; and how much that depends on the samples."""
    found = []
    for name, figures in printed("golbus2013")["table-2"]["cells"].items():
        known = collection(folder, name)
        for measure, figure in figures.items():
            cell = f"{name}, {measure}"
            if known is not None:
                own = _measure(measure, name, reading)
                found.append(_power_figure(cell, figure, *_power(known, own, reading["ties"]), own))
            elif (scores := _scores_alone(folder)) is not None and cell == "TREC 8, AP":
                found.append(_power_figure(cell, figure, *_power_of(scores), "AP"))
            else:
                found.append(Figure(cell, figure, None, NEEDS_DATA, "needs the runs, not only scores of AP"))
    return found


def _measure(measure: str, name: str, reading: Reading) -> str:
    if measure == "RIC":
        return f"RIC(rel={CUT[reading['cut']]})"
    if measure == "nDCG":
        return depth_of("nDCG" if reading["gain"] == "linear" else "nDCG(gain=exp)", reading["depth"])
    if name == "TREC 8":
        return depth_of("AP", reading["depth"])
    return depth_of("GAP" if reading["thresholds"] == "equal" else "GAP(t=[0.25,0.75])", reading["depth"])


@cache
def _power(known: Collection, measure: str, ties: str) -> tuple[list[float], float, int]:
    return _power_of(known.scores(measure, ties))


def _power_of(scores: Scores) -> tuple[list[float], float, int]:
    """Of ten seeds; of the paired t test; and how many systems there are."""
    one = Scores(("it",), scores.systems, scores.queries, scores.values, scores.reasons)
    power = [discriminative_power(one, "bootstrap", samples=1000, seed=seed)["it"] for seed in SEEDS]
    return power, discriminative_power(one)["it"], len(scores.systems)


def _power_figure(cell: str, figure: str, power: list[float], student: float, systems: int, measure: str) -> Figure:
    low, high = min(power), max(power)
    about = (
        f"{measure}, {systems} systems; {len(power)} seeds give {low:.4f} to {high:.4f}, the paired t test "
        f"{student:.4f}"
    )
    return judged(cell, figure, float(np.mean(power)), (low, high), about, about, rounds=True)


def _scores_alone(folder: Path | None) -> Scores | None:
    from calipers.results.score_files import read_scores

    places = () if folder is None else (folder / ALONE, folder / "scores" / ALONE)
    path = next((path for path in places if path.is_file()), None)
    return None if path is None else read_scores(path, measures="AP")


# -- figure 2: RIC beside other measures -------------------------------------------------------------


@reproduction_of_readings(
    "golbus2013/figure-2",
    "Rank correlation of RIC with AP (GAP) and nDCG on TREC 8 and 9",
    DATA,
    LAYOUT,
    axes={
        "cut": tuple(CUT),
        "gain": ("exp", "linear"),
        "thresholds": ("equal", "gains"),
        "depth": ("1000", "100"),
        "top by": ("the other measure", "RIC"),
        "ties": ("average", "docid"),
    },
    best={
        "cut": "last relevant",
        "gain": "exp",
        "thresholds": "equal",
        "depth": "1000",
        "top by": "the other measure",
        "ties": "docid",
    },
)
def figure_2(folder: Path | None, reading: Reading) -> Sequence[Figure]:
    """The text gives the smallest tau of the four panels, over all systems and over the top ten."""
    cells = printed("golbus2013")["figure-2"]["cells"]
    known = {name: collection(folder, name) for name in FOLDERS}
    if any(each is None for each in known.values()):
        return [Figure(f"smallest tau, {which}", figure, None, NEEDS_DATA) for which, figure in cells.items()]
    panels = {
        (name, measure): correlations(each, measure, name, reading)
        for name, each in known.items()
        if each is not None
        for measure in ("AP", "nDCG")
    }
    found = []
    for i, (which, figure) in enumerate(cells.items()):
        (name, measure), values = min(panels.items(), key=lambda item: item[1][2 * i])
        where = f"that of {_measure(measure, name, reading)} on {name}"
        found.append(judged(f"smallest tau, {which}", figure, values[2 * i], None, where, where, rounds=True))
        for (name, measure), values in panels.items():
            value = values[2 * i]
            verdict = CONSISTENT if value >= float(figure) - 0.0005 else DIFFERS
            said = f"rho {values[2 * i + 1]:.4f}"
            found.append(Figure(f"tau, {name}, {measure}, {which}", f"at least {figure}", value, verdict, said))
    for name, each in known.items():
        assert each is not None
        own = [_measure(measure, name, reading) for measure in ("AP", "nDCG")]
        one, other = (each.mean(measure, reading["ties"]) for measure in own)
        between = rank_correlation(one, other, "tau-b")
        most = max(panels[name, measure][0] for measure in ("AP", "nDCG"))
        verdict = CONSISTENT if between > most else DIFFERS
        found.append(
            Figure(f"tau of AP with nDCG, {name}", "more than with RIC", between, verdict, f"with RIC {most:.4f}")
        )
    return found


def correlations(known: Collection, measure: str, name: str, reading: Reading) -> tuple[float, float, float, float]:
    """tau and rho of RIC with another measure, over all systems and over the top ten."""
    ric, other = (known.mean(_measure(each, name, reading), reading["ties"]) for each in ("RIC", measure))
    best = np.argsort(-(ric if reading["top by"] == "RIC" else other), kind="stable")[:10]
    tau, rho, top_tau, top_rho = (
        rank_correlation(ric[some], other[some], kind)
        for some in (np.arange(len(ric)), best)
        for kind in ("tau-b", "spearman")
    )
    return tau, rho, top_tau, top_rho


# -- table 3: the joint value and fusion -------------------------------------------------------------

TABLE_3: dict[str, Sequence[str]] = {
    "cut": tuple(CUT),
    "normalisation": ("minmax", "none", "sum", "z", "rank"),
    "sort starts from": ("grades", "borda"),
    "fused lists": ("whole", "1000"),
}
BEST_3 = {"cut": "none", "normalisation": "minmax", "sort starts from": "grades", "fused lists": "whole"}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Groups of ten systems: what they know together, and RIC of their fusions."""

    joint: Floats
    null: Floats
    corrected: Floats
    ric: dict[str, Floats]


@reproduction_of_readings(
    "golbus2013/table-3",
    "Joint RIC of ten systems of TREC 8 against RIC of their fusions",
    DATA,
    LAYOUT,
    axes=TABLE_3,
    best=BEST_3,
)
def table_3(folder: Path | None, reading: Reading) -> Sequence[Figure]:
    cells = printed("golbus2013")["table-3"]["cells"]
    known = collection(folder, "TREC 8")
    if known is None:
        return [
            Figure(f"{fusion}: {what}", figure, None, NEEDS_DATA)
            for fusion, figures in cells.items()
            for what, figure in zip(("tau", "rho", "RMSE"), figures, strict=True)
        ]
    drawn = drawn_groups(known, reading)
    found = []
    for fusion, figures in cells.items():
        values, errors = agreement(drawn.joint, drawn.ric[fusion])
        beside, _ = agreement(drawn.null, drawn.ric[fusion])
        without, _ = agreement(drawn.corrected, drawn.ric[fusion])
        rows = zip(("tau", "rho", "RMSE"), figures, values, errors, beside, without, strict=True)
        for what, figure, value, error, null, corrected in rows:
            about = (
                f"{len(drawn.joint)} groups, standard error {error:.3f}; against the joint value of shuffled ranks "
                f"{null:.3f}, of the corrected one {corrected:.3f}"
            )
            # The paper's own draws are as uncertain as ours, or more.
            reach = 2 * np.sqrt(2) * error
            found.append(
                judged(f"{fusion}: {what}", figure, value, (value - reach, value + reach), about, about, 3, rounds=True)
            )
    return found


def agreement(joint: Floats, ric: Floats) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """tau, rho and RMSE of two columns, and their standard errors by resampling the rows."""
    values = (
        rank_correlation(joint, ric, "tau-b"),
        rank_correlation(joint, ric, "spearman"),
        float(np.sqrt(np.mean((joint - ric) ** 2))),
    )
    n = len(joint)
    times = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), 1000).astype(np.float64)
    signs = np.sign(joint[:, None] - joint) * np.sign(ric[:, None] - ric)
    tau = ((times @ signs) * times).sum(axis=1) / (n * n - (times**2).sum(axis=1))
    x, y = (np.argsort(np.argsort(each)).astype(np.float64) for each in (joint, ric))
    mean = [times @ each / n for each in (x, y, x * y, x * x, y * y)]
    spread = np.sqrt((mean[3] - mean[0] ** 2) * (mean[4] - mean[1] ** 2))
    rho = (mean[2] - mean[0] * mean[1]) / np.where(spread > 0, spread, 1.0)
    rmse = np.sqrt(times @ (joint - ric) ** 2 / n)
    return values, (float(tau.std()), float(rho.std()), float(rmse.std()))


def drawn_groups(known: Collection, reading: Reading, samples: int | None = None) -> Drawn:
    """The groups under one reading; what two readings share is computed once."""
    samples = samples or SAMPLES
    cut, keep = CUT[reading["cut"]], reading["fused lists"]
    joint, null, corrected = joint_values(known, samples, cut)
    ric = {}
    for fusion in printed("golbus2013")["table-3"]["cells"]:
        how = reading["normalisation"] if fusion.startswith("comb") else ""
        how = reading["sort starts from"] if fusion in BOUNDS and fusion != "naive" else how
        ric[fusion] = _fused_ric(known, samples, fusion, how)[keep, cut]
    return Drawn(joint, null, corrected, ric)


def groups_of_systems(known: Collection, samples: int) -> list[list[int]]:
    if len(known.runs) < SIZE:
        raise CalipersError(f"groups of {SIZE} systems cannot be drawn from {len(known.runs)}", file=str(known.folder))
    random = np.random.default_rng(SEED)
    return [sorted(random.choice(len(known.runs), SIZE, replace=False).tolist()) for _ in range(samples)]


@cache
def joint_values(known: Collection, samples: int, cut: int) -> tuple[Floats, Floats, Floats]:
    """Of each group: the joint RIC, that of shuffled ranks, and the corrected one."""
    rankings = replace(known.rankings("docid"), rel=cut)
    joint, null, corrected = [], [], []
    for number, group in enumerate(groups_of_systems(known, samples)):
        part = replace(rankings, systems=tuple(rankings.systems[s] for s in group), rank=rankings.rank[group])
        found = joint_of(part, 1, SEED + number)
        joint.append(found.mean)
        null.append(found.null_mean)
        corrected.append(found.corrected_mean)
    return np.array(joint), np.array(null), np.array(corrected)


@cache
def _fused_ric(known: Collection, samples: int, fusion: str, how: str) -> dict[tuple[str, int], Floats]:
    """RIC of each group's fusion, for whole and shortened lists, and for each cut."""
    measures = [f"RIC(rel={cut})" for cut in CUT.values()]

    def of_group(group: list[int]) -> Floats:
        drawn = known.ballots.only(group)
        score = fused_score(drawn, fusion, how)
        runs = [fused(drawn, score, name, keep) for name, keep in (("whole", None), ("1000", 1000))]
        scores = evaluate(known.judgments, runs, measures, empty="skip", warn=False)
        return np.asarray(np.nanmean(scores.values, axis=2))

    with ThreadPoolExecutor(processors()) as pool:
        values = np.array(list(pool.map(of_group, groups_of_systems(known, samples))))  # [group, measure, run]
    return {
        (keep, cut): values[:, m, r] for m, cut in enumerate(CUT.values()) for r, keep in enumerate(("whole", "1000"))
    }


def fused_score(ballots: Ballots, fusion: str, how: str) -> Floats:
    votes = Votes(ballots, np.ones(len(ballots.runs)), how or "minmax")
    if fusion not in BOUNDS:
        return METHODS[fusion].fuse(votes)
    start = ballots.ordered(METHODS["borda"].fuse(Votes(ballots, votes.weight, "minmax"))) if how == "borda" else None
    return sorted_score(ballots, fusion, start)


@reproduction(
    "golbus2013/figure-3",
    "RIC of fusions of ten systems of TREC 8 against their joint RIC: what the text says",
    DATA,
    LAYOUT,
)
def figure_3(folder: Path | None) -> Sequence[Figure]:
    claims: dict[str, Callable[[dict[str, float], dict[str, float]], bool]] = {
        "combanz correlates least": lambda tau, rmse: min(tau, key=tau.__getitem__) == "combanz",
        "naive correlates best": lambda tau, rmse: max(tau, key=tau.__getitem__) == "naive",
        "combmnz, condorcet and majoritarian are alike": lambda tau, rmse: (
            np.ptp([tau[name] for name in ("combmnz", "condorcet", "majoritarian")]) < 0.15
        ),
        "the joint value is that of naive": lambda tau, rmse: rmse["naive"] < 0.05,
        "naive is not appreciably better than pareto": lambda tau, rmse: abs(rmse["naive"] - rmse["pareto"]) < 0.05,
    }
    known = collection(folder, "TREC 8")
    if known is None:
        return [Figure(claim, "as the text says", None, NEEDS_DATA) for claim in claims]
    drawn = drawn_groups(known, BEST_3)
    values = {name: agreement(drawn.joint, ric)[0] for name, ric in drawn.ric.items()}
    tau, rmse = ({name: each[i] for name, each in values.items()} for i in (0, 2))
    shown = "tau " + ", ".join(f"{name} {value:.3f}" for name, value in tau.items())
    return [
        Figure(claim, "as the text says", None, CONSISTENT if holds(tau, rmse) else DIFFERS, shown)
        for claim, holds in claims.items()
    ]


# -- table 4 and figure 5: information difference -----------------------------------------------------

TABLE_4: dict[str, Sequence[str]] = {
    "cut": tuple(CUT),
    "depth": ("1000", "100"),
    "depth of AP": ("1000", "100"),
    "bins": ("equal number", "equal width", "nearest centre"),
    "identical": ("kept", "dropped"),
    "ties": ("average", "docid", "input"),
}
BEST_4 = {
    "cut": "none",
    "depth": "1000",
    "depth of AP": "100",
    "bins": "nearest centre",
    "identical": "dropped",
    "ties": "input",
}
BINS = 20
IDENTICAL = 0.001  # bits, below which two systems are the same but for a few ties
FIRST_RANKS = (1, 2, 3, 4, 5, 28, 29, 30, 31, 32)


@reproduction_of_readings(
    "golbus2013/table-4",
    "Information difference and difference in AP of systems of TREC 8",
    DATA,
    LAYOUT,
    axes=TABLE_4,
    best=BEST_4,
)
def table_4(folder: Path | None, reading: Reading) -> Sequence[Figure]:
    cells = printed("golbus2013")["table-4"]["cells"]
    known = collection(folder, "TREC 8")
    if known is None:
        needed = [(f"{pair}: {what}", figure) for pair, figures in cells.items() for what, figure in _columns(figures)]
        needed.append(("first pairs of one group", "27"))
        return [Figure(cell, figure, None, NEEDS_DATA) for cell, figure in needed]
    found = differences(known, reading)
    place = {name: i for i, name in enumerate(found.systems)}
    binned = within_bins(found, reading)
    ranks = {frozenset(map(str, row[:2])): i for i, row in enumerate(binned, 1)}
    figures = []
    for (pair, printed_figures), printed_rank in zip(cells.items(), FIRST_RANKS, strict=True):
        one, other = (CIRTC.get(name, name) for name in pair.split(", "))
        if one not in place or other not in place:
            figures += [
                Figure(f"{pair}: {what}", figure, None, NEEDS_DATA) for what, figure in _columns(printed_figures)
            ]
            continue
        values = (
            float(found.matrix[place[one], place[other]]),
            abs(float(found.ap[place[one]] - found.ap[place[other]])),
        )
        for (what, figure), value in zip(_columns(printed_figures), values, strict=True):
            figures.append(judged(f"{pair}: {what}", figure, value, least=3, rounds=True))
        rank = ranks.get(frozenset((one, other)))
        same = EXACT if rank == printed_rank else DIFFERS
        why = "" if rank else "the two systems are in different bins"
        figures.append(Figure(f"{pair}: rank", str(printed_rank), None if rank is None else float(rank), same, why))
    if not known.groups or not binned:
        return [*figures, Figure("first pairs of one group", "27", None, NEEDS_DATA, "runs.csv: run, group")]
    group = [known.groups.get(str(row[0])) == known.groups.get(str(row[1])) for row in binned]
    first = _first_unlike(group)
    by_ap = [group[i] for i in np.argsort([float(str(row[3])) for row in binned], kind="stable")]
    why = (
        f"of {len(group)} pairs in bins {sum(group)} are of one group; sorted by |delta AP|, the first "
        f"{_first_unlike(by_ap)}"
    )
    verdict = EXACT if first == 27 else DIFFERS
    return [*figures, Figure("first pairs of one group", "27", float(first), verdict, why)]


def within_bins(found: InformationDifference, reading: Reading) -> list[tuple[Cell, ...]]:
    """The pairs of systems of one bin of AP, the most alike first: system, system, id, |delta AP|."""
    if reading["bins"] == "equal number":
        rows = list(found.within_bins(BINS).rows)
    else:
        share = found.ap / max(float(found.ap.max()), 1e-300) * BINS
        bins = np.minimum(np.floor(share), BINS - 1) if reading["bins"] == "equal width" else np.round(share)
        place = dict(zip(found.systems, bins.tolist(), strict=True))
        rows = [row for row in found.table().rows if place[str(row[0])] == place[str(row[1])]]
    return [row for row in rows if reading["identical"] == "kept" or float(str(row[2])) >= IDENTICAL]


def _first_unlike(group: Sequence[bool]) -> int:
    return list(group).index(False) if False in group else len(group)


def _columns(figures: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(("id", "|delta AP|"), figures, strict=True)


def differences(known: Collection, reading: Reading) -> InformationDifference:
    bits = _bits(known, reading["cut"], reading["depth"], reading["ties"])
    scores = known.scores(depth_of("AP", reading["depth of AP"]), reading["ties"])
    return replace(bits, ap=np.asarray(scores.values[0].mean(axis=1)))


@cache
def _bits(known: Collection, cut: str, depth: str, ties: str) -> InformationDifference:
    rankings = known.rankings(ties)
    rank = np.where(rankings.rank > int(depth), np.int32(MISSING), rankings.rank)
    part = replace(rankings, rank=rank, rel=CUT[cut])
    return difference_of(part, np.zeros((len(rankings.systems), len(known.judgments.queries))))


@reproduction(
    "golbus2013/figure-5", "Information difference against the difference in AP: what the text says", DATA, LAYOUT
)
def figure_5(folder: Path | None) -> Sequence[Figure]:
    known = collection(folder, "TREC 8")
    cell, claim = "correlation of id with |delta AP|", "some, not high"
    if known is None:
        return [Figure(cell, claim, None, NEEDS_DATA)]
    found = differences(known, BEST_4)
    a, b = np.triu_indices(len(found.systems), 1)
    bits, apart = found.matrix[a, b], np.abs(found.ap[a] - found.ap[b])
    tau, rho = (rank_correlation(bits, apart, kind) for kind in ("tau-b", "spearman"))
    verdict = CONSISTENT if 0.2 < rho < 0.8 else DIFFERS
    return [Figure(cell, claim, rho, verdict, f"Spearman's rho over {len(a)} pairs; tau {tau:.4f}")]


# -- table 1: information tau -------------------------------------------------------------------------


@reproduction(
    "golbus2013/table-1",
    "Information tau of diversity measures, given ad hoc measures",
    "scores of the systems of TREC's web tracks",
    "web2010/ and web2011/ with ERR-IA.csv, alpha-nDCG.csv, D#-nDCG.csv, ERR.csv and nDCG.csv: at rank 20, "
    "one row per topic and one column per system",
)
def table_1(folder: Path | None) -> Sequence[Figure]:
    found = []
    for name, figures in printed("golbus2013")["table-1"]["cells"].items():
        place = None if folder is None else folder / f"web{name.split()[1]}"
        for row, figure in figures.items():
            cell = f"{name}, {row}"
            if place is None or not place.is_dir():
                found.append(Figure(cell, figure, None, NEEDS_DATA))
                continue
            both, _, given = row.partition(" | ")
            names = [each.strip() for each in (*both.split(";"), *given.split(",")) if each.strip()]
            found.append(judged(cell, figure, _information_tau(place, names)))
    return found


def _information_tau(folder: Path, names: Sequence[str]) -> float:
    from calipers.information.tau import tau_of_measures
    from calipers.results.score_files import read_scores

    scores = read_scores([folder / f"{name}.csv" for name in names], measures=names, warn=False)
    x, y, *given = names
    return float(np.nanmean(tau_of_measures(scores, x, y, given)[x, y, *given]))
