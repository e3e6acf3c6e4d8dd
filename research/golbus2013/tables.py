"""Golbus & Aslam (2013) on the runs of TREC 8 and 9: every printed figure, under every reading of what the paper leaves
open.

What a search of the readings found: the lists of tables 3 and 4 were not cut after the last relevant document, although
the text says so (all ten information differences come out without the cut, three with it), while those of table 2 were.
|delta AP| of table 4 is of AP at 100, ties as in the files. A majority in table 3 is one of the votes that are cast.
research/README.md tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from calipers import (
    CalipersError,
    Judgments,
    Scores,
    evaluate,
)
from calipers.collection import RememberedRun
from calipers.evaluation import ScoredCandidates
from calipers.lists import Floats, Ints
from calipers.questions.fuse import VOTES, judged as with_grades
from calipers.questions.information import MISSING, InformationDifference, Rankings, difference_of, joint_of
from calipers.questions.metaeval import discriminative_power
from calipers.results import Cell
from calipers.statistics import rank_correlation
from calipers.support.choices import TieRule
from research.golbus2013.groups import (
    AGREEMENT,
    PaperFusion,
    ShownRanks,
    agreement,
    blocks_of_deals,
    dealt_groups,
    errors_of_agreement,
    joint_of_groups,
    numbered_by_id,
    rics_of_groups,
    scattered_blocks,
    spread_of_scores,
)
from research.golbus2013.surrogates import GroupFeatures, Refined, refined
from research.printed_figures import CONSISTENT, DIFFERS, EXACT, NEEDS_DATA, Figure, judged
from research.readings import KeptParts, Reading, readings_of
from research.registry import printed, reproduction, reproduction_of_readings

SEEDS = range(42, 52)
SIZE = 10  # systems of a group in table 3; the paper does not say how many groups it drew
SAMPLES = 30_000  # groups for the figures: 2,500 deals, minutes on two cores
STEP = 1_200  # groups that are fused, and kept, at a time
A_GROUP = 0.027  # seconds of one processor for a group, measured where others were at work too
SEARCHED = 60  # groups for each reading of a search
BY_CHANCE = 240  # groups for what is chance in the joint value
HALF_A_DIGIT = 0.0005  # of table 3
REFINED = 2_400  # groups from which predictions can be learnt
DRAWN_THEN = 100  # groups that the paper is taken to have drawn, where the error of its own figures matters
SEED = 42
FOLDERS = {"TREC 8": "trec/trec8-adhoc", "TREC 9": "trec/trec9-web"}
ALONE = "adhoc8_ap.csv"  # AP of TREC 8's systems, where there are no runs
DATA = "runs of TREC 8's ad hoc task and of TREC 9's web track"
LAYOUT = (
    "trec/trec8-adhoc and trec/trec9-web, each with qrels.txt and runs/, the former with runs.csv (run, group); for AP "
    f"in table 2, {ALONE} will do: one row per topic and one column per system (Urbano, Lima & Hanjalic, SIGIR 2019)"
)
# `rel` of RIC: 0 keeps everything down to the last judged document
CUT = {"last relevant": 1, "last highly relevant": 2, "none": 0}
STATED = {"cut": "last relevant"}  # lists are cut after the last relevant document, says the text
CUT_BINARY = ("last relevant", "none")  # on TREC 8
CIRTC = {"cirtc82": "cirtrc82"}  # the name that a run has in table 4, and its own


@dataclass(frozen=True, eq=False)
class Collection:
    """Judgments and runs, each read once."""

    folder: Path
    judgments: Judgments
    runs: tuple[RememberedRun, ...]
    fused: dict[tuple[PaperFusion, ShownRanks, int], Floats] = field(default_factory=dict)  # see fused_rics
    joint: dict[tuple[int, int], Floats] = field(default_factory=dict)  # see joint_values

    @cached_property
    def systems(self) -> tuple[str, ...]:
        return self.rankings("docid").systems

    @cache  # noqa: B019  there are two collections in a process
    def scores(self, measure: str, ties: TieRule, condensed: bool = False, depth: int | None = None) -> Scores:
        return evaluate(
            self.judgments,
            list(self.runs),
            measure,
            ties=ties,
            condensed=condensed,
            depth=depth,
            empty="skip",
            warn=False,
        )

    def read_as(self, measure: str, name: str, reading: Reading) -> Scores:
        """The scores of AP, nDCG or RIC on TREC 8 or 9 under a reading."""
        own = _measure(measure, name, reading)
        if measure == "RIC":
            return self.scores(own, reading["ties"], depth=100 if reading["depth"] == DEPTHS[2] else None)
        return self.scores(own, reading["ties"], reading["unjudged"] == "left out")

    def mean(self, measure: str, name: str, reading: Reading) -> Floats:
        return np.asarray(np.nanmean(self.read_as(measure, name, reading).values[0], axis=1))

    @cache  # noqa: B019  the same
    def rankings(self, ties: TieRule) -> Rankings:
        return Rankings.of(self.judgments, list(self.runs), ties=ties)

    @cache  # noqa: B019  the same
    def scored(self, unjudged: str) -> ScoredCandidates:
        """What the runs say about all documents, or about judged ones."""
        whole = with_grades(ScoredCandidates.of([run.run for run in self.runs]), self.judgments)
        return numbered_by_id(whole.only_judged() if unjudged == "left out" else whole)

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
    from calipers import read_qrels, read_runs

    return Collection(
        place, read_qrels(place / "qrels.txt"), tuple(RememberedRun(run) for run in read_runs(place / "runs"))
    )


def needs_data(cells: Iterable[tuple[str, str]]) -> list[Figure]:
    """Printed figures that cannot be computed: cell, printed."""
    return [Figure(cell, figure, None, NEEDS_DATA) for cell, figure in cells]


def depth_of(measure: str, depth: str) -> str:
    return measure if depth == "1000" else f"{measure}@100"


# -- table 2: discriminative power -------------------------------------------------------------------

DEPTHS = ("1000", "100", "100, RIC too")  # of AP and nDCG
UNJUDGED = ("not relevant", "left out")  # what AP and nDCG do with unjudged documents; RIC leaves them out
OF_SCORES = {
    "cut": tuple(CUT),
    "gain": ("exp", "linear"),
    "thresholds": ("equal", "gains"),
    "depth": DEPTHS,
    "unjudged": UNJUDGED,
}


@reproduction_of_readings(
    "golbus2013/table-2",
    "Discriminative power of AP, nDCG and RIC on TREC 8 and 9",
    DATA,
    LAYOUT,
    axes={
        **OF_SCORES,
        "ties": ("average", "docid"),
    },
    stated=STATED,
    best={
        "cut": "last relevant",
        "gain": "exp",
        "thresholds": "gains",
        "depth": "1000",
        "unjudged": "not relevant",
        "ties": "docid",
    },
)
def table_2(folder: Path | None, reading: Reading) -> Sequence[Figure]:
    """Sakai's bootstrap, 1,000 samples, two-sided, as the paper says; and how much that depends on the samples."""
    found = []
    for name, figures in printed("golbus2013")["table-2"]["cells"].items():
        known = collection(folder, name)
        for measure, figure in figures.items():
            cell = f"{name}, {measure}"
            if known is not None:
                power = _power(known.read_as(measure, name, reading), SEEDS)
                found.append(_power_figure(cell, figure, *power, _measure(measure, name, reading)))
            elif (scores := _scores_alone(folder)) is not None and cell == "TREC 8, AP":
                found.append(_power_figure(cell, figure, *_power(scores, SEEDS), "AP"))
            else:
                found.append(Figure(cell, figure, None, NEEDS_DATA, "needs the runs, not only scores of AP"))
    return found


def _measure(measure: str, name: str, reading: Reading) -> str:
    if measure == "RIC":
        return f"RIC(rel={min(CUT[reading['cut']], 1 if name == 'TREC 8' else 2)})"
    if measure == "nDCG":
        return depth_of(
            "nDCG" if reading["gain"] == "linear" or name == "TREC 8" else "nDCG(gain=exp)", reading["depth"]
        )
    if name == "TREC 8":
        return depth_of("AP", reading["depth"])
    return depth_of("GAP" if reading["thresholds"] == "equal" else "GAP(t=[0.25,0.75])", reading["depth"])


@cache
def _power(scores: Scores, seeds: range) -> tuple[list[float], float, int]:
    """Of some seeds; of the paired t test; and how many systems there are."""
    known = np.flatnonzero(~np.isnan(scores.values).any(axis=(0, 1)))  # topics without pairs count for nothing
    queries = tuple(scores.queries[q] for q in known.tolist())
    one = Scores(("it",), scores.systems, queries, scores.values[:, :, known], scores.reasons[:, :, known])
    power = [discriminative_power(one, "bootstrap", samples=1000, seed=seed)["it"] for seed in seeds]
    return power, discriminative_power(one)["it"], len(scores.systems)


def _power_figure(cell: str, figure: str, power: list[float], student: float, systems: int, measure: str) -> Figure:
    low, high = min(power), max(power)
    about = (
        f"{measure}, {systems} systems; {len(power)} seeds give {low:.4f} to {high:.4f}, the paired t test "
        f"{student:.4f}"
    )
    return judged(cell, figure, float(np.mean(power)), (low, high), about, about, rounds=True, drawn=True)


def _scores_alone(folder: Path | None) -> Scores | None:
    from calipers import read_scores

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
        **OF_SCORES,
        "top by": ("the other measure", "RIC"),
        "ties": ("average", "docid"),
    },
    stated=STATED,
    best={
        "cut": "last highly relevant",
        "gain": "linear",
        "thresholds": "gains",
        "depth": "100, RIC too",
        "unjudged": "left out",
        "top by": "the other measure",
        "ties": "docid",
    },
)
def figure_2(folder: Path | None, reading: Reading) -> Sequence[Figure]:
    """The text gives the smallest tau of the four panels, over all systems and over the top ten."""
    cells = printed("golbus2013")["figure-2"]["cells"]
    known = {name: collection(folder, name) for name in FOLDERS}
    if any(each is None for each in known.values()):
        return needs_data((f"smallest tau, {which}", figure) for which, figure in cells.items())
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
        one, other = (each.mean(measure, name, reading) for measure in ("AP", "nDCG"))
        between = rank_correlation(one, other, "tau-b")
        most = max(panels[name, measure][0] for measure in ("AP", "nDCG"))
        verdict = CONSISTENT if between > most else DIFFERS
        found.append(
            Figure(f"tau of AP with nDCG, {name}", "more than with RIC", between, verdict, f"with RIC {most:.4f}")
        )
    return found


def correlations(known: Collection, measure: str, name: str, reading: Reading) -> tuple[float, float, float, float]:
    """tau and rho of RIC with another measure, over all systems and over the top ten."""
    ric, other = (known.mean(each, name, reading) for each in ("RIC", measure))
    best = np.argsort(-(ric if reading["top by"] == "RIC" else other), kind="stable")[:10]
    tau, rho, top_tau, top_rho = (
        rank_correlation(ric[some], other[some], kind)
        for some in (np.arange(len(ric)), best)
        for kind in ("tau-b", "spearman")
    )
    return tau, rho, top_tau, top_rho


# -- table 3: the joint value and fusion -------------------------------------------------------------

TABLE_3: dict[str, Sequence[str]] = {
    "cut": CUT_BINARY,
    "normalisation": ("minmax", "none", "sum", "z", "rank"),
    "Condorcet starts from": ("borda", "ids"),
    "oracles start from": ("grades", "borda"),
    "votes": VOTES,  # that oracles count
    "unjudged": ("kept", "left out"),  # before runs are fused
    "fused lists": ("whole", "1000"),
}
BEST_3 = {
    "cut": "none",
    "normalisation": "none",
    "Condorcet starts from": "ids",
    "oracles start from": "borda",
    "votes": VOTES[2],
    "unjudged": "left out",
    "fused lists": "1000",
}
LENGTHS = {"whole": None, "1000": 1000}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Groups of ten systems: what they know together, and RIC of their fusions."""

    joint: Floats
    ric: dict[str, Floats]
    null: Floats  # of the first groups
    corrected: Floats  # of the first groups


@reproduction_of_readings(
    "golbus2013/table-3",
    "Joint RIC of ten systems of TREC 8 against RIC of their fusions",
    DATA,
    LAYOUT,
    axes=TABLE_3,
    best=BEST_3,
    stated=STATED,
    groups=SAMPLES,
)
def table_3(
    folder: Path | None, reading: Reading, groups: int = SEARCHED, cache: str | Path | None = None
) -> Sequence[Figure]:
    cells = printed("golbus2013")["table-3"]["cells"]
    known = collection(folder, "TREC 8")
    if known is None:
        each = ((fusion, pair) for fusion, figures in cells.items() for pair in zip(AGREEMENT, figures, strict=True))
        return needs_data((f"{fusion}: {what}", figure) for fusion, (what, figure) in each)
    if groups == SEARCHED:  # each group is drawn once for all readings
        every = readings_of(TABLE_3)
        fused_rics(
            known,
            [fusion_under(name, each) for each in every for name in cells],
            [shown_under(each) for each in every],
            groups,
        )
    else:
        fuse_in_steps(known, reading, groups, cache)
    found = []
    for fusion, figures in cells.items():
        known_of = agreements_under(known, fusion, reading, groups)
        for what, figure, one in zip(AGREEMENT, figures, known_of, strict=True):
            least, most = one.value - 2 * one.chance, one.value + 2 * one.chance
            apart = max(abs(one.value - float(figure)) - HALF_A_DIGIT, 0.0)
            drawn = f"at most {(2 * one.chance / apart) ** 2 * DRAWN_THEN:.0f}" if apart else "any number"
            about = (
                f"{groups} groups give {one.value - 2 * one.error:.4f} to {one.value + 2 * one.error:.4f}, "
                f"{precision(one.error, groups)}; {DRAWN_THEN} groups would give {least:.3f} to "
                f"{most:.3f}; what is printed may come of {drawn}; of the first {min(groups, BY_CHANCE)}, against the "
                f"joint value of shuffled ranks {one.null:.3f}, of the corrected one {one.corrected:.3f}"
            )
            error = float(np.hypot(one.error, one.chance))
            reach = one.value - 2 * error, one.value + 2 * error
            verdict = judged(f"{fusion}: {what}", figure, one.value, reach, about, about, 3, rounds=True, drawn=True)
            found.append(replace(verdict, error=error))
    return found


def precision(error: float, groups: int) -> str:
    """Whether an interval of two standard errors is within half of the last printed digit; if not, what it takes.

    >>> precision(0.0002, 1000)
    'narrower than the printed digits'
    >>> precision(0.001, 90_000)
    'wider than the printed digits, which take about 1,400,000 groups (10.5 hours of a processor)'
    """
    if 2 * error <= HALF_A_DIGIT:
        return "narrower than the printed digits"
    needed = float(f"{groups * (2 * error / HALF_A_DIGIT) ** 2:.2g}")
    hours = needed * A_GROUP / 3600
    return f"wider than the printed digits, which take about {needed:,.0f} groups ({hours:.1f} hours of a processor)"


class Agreed(NamedTuple):
    """One of tau, rho and RMSE between the joint RIC of groups and RIC of a fusion."""

    value: float
    error: float  # its standard error
    chance: float  # the standard error of a paper that draws DRAWN_THEN groups
    null: float  # the same with the joint value of shuffled ranks
    corrected: float  # the same with the corrected joint value


@cache
def agreements(known: Collection, fusion: PaperFusion, shown: ShownRanks, samples: int) -> tuple[Agreed, ...]:
    """tau, rho and RMSE."""
    fused_rics(known, [fusion], [shown], samples)
    ric, joint = known.fused[fusion, shown, samples], joint_values(known, samples, shown.cut)
    own = errors_of_agreement(joint, ric, blocks_of_deals(samples, len(known.runs) // SIZE))
    alone = np.array(errors_of_agreement(joint, ric, scattered_blocks(samples)))
    chance = (alone * np.sqrt(samples / DRAWN_THEN)).tolist()
    others = chance_values(known, min(samples, BY_CHANCE), shown.cut)
    null, corrected = (agreement(other, ric[: len(other)]) for other in others)
    return tuple(Agreed(*each) for each in zip(agreement(joint, ric), own, chance, null, corrected, strict=True))


def agreements_under(known: Collection, fusion: str, reading: Reading, samples: int) -> tuple[Agreed, ...]:
    """tau, rho and RMSE under a reading, with the help of predictions where these make them more precise."""
    plain = agreements(known, fusion_under(fusion, reading), shown_under(reading), samples)
    if samples < REFINED:
        return plain
    better = _refined(known, tuple(reading.items()), samples)
    place = list(printed("golbus2013")["table-3"]["cells"]).index(fusion)
    pairs = zip(plain, better.value[place].tolist(), better.error[place].tolist(), strict=True)
    return tuple(one._replace(value=value, error=error) if error < one.error else one for one, value, error in pairs)


@cache
def _refined(known: Collection, reading: tuple[tuple[str, str], ...], samples: int) -> Refined:
    """tau, rho and RMSE of all fusions, in the order of the table."""
    under = dict(reading)
    shown, wanted = shown_under(under), fusions_under(under)
    scored = known.scored(under["unjudged"])
    spread = spread_of_scores(scored, under["normalisation"])
    features = GroupFeatures.of(replace(known.rankings("docid"), rel=shown.cut), spread, shown.length)
    values = [joint_values(known, samples, shown.cut), *(known.fused[fusion, shown, samples] for fusion in wanted)]
    return refined(features, groups_of_systems(known, samples), np.column_stack(values), SEED)


def fuse_in_steps(known: Collection, reading: Reading, samples: int, cache: str | Path | None = None) -> None:
    """Remember the joint RIC of each group and RIC of its fusions; what the cache folder has is not computed again."""
    shown, wanted = shown_under(reading), fusions_under(reading)
    if all((fusion, shown, samples) in known.fused for fusion in wanted):
        return
    options = {"reading": dict(reading), "size": SIZE, "seed": SEED, "step": STEP}
    kept = KeptParts(cache, "golbus2013/groups", options, known.folder)
    groups = groups_of_systems(known, samples)
    rankings = replace(known.rankings("docid"), rel=shown.cut)
    scored = {reading["unjudged"]: known.scored(reading["unjudged"])}
    parts = []
    for start in range(0, samples, STEP):
        part = groups[start : start + STEP]
        done = kept.get(str(start))
        if done is None:
            rics = rics_of_groups(scored, known.judgments.pool, wanted, part, [shown])
            columns = [joint_of_groups(rankings, part), *(rics[fusion, shown] for fusion in wanted)]
            done = np.column_stack(columns).tolist()
            if len(part) == STEP:
                kept.put(str(start), done)
        parts.append(np.array(done[: len(part)]))
    values = np.concatenate(parts)
    known.joint[samples, shown.cut] = values[:, 0]
    for i, fusion in enumerate(wanted, 1):
        known.fused[fusion, shown, samples] = values[:, i]


def drawn_groups(known: Collection, reading: Reading, samples: int) -> Drawn:
    """The groups under one reading."""
    shown, wanted = shown_under(reading), fusions_under(reading)
    fuse_in_steps(known, reading, samples)
    ric = {fusion.name: known.fused[fusion, shown, samples] for fusion in wanted}
    chance = chance_values(known, min(samples, BY_CHANCE), shown.cut)
    return Drawn(joint_values(known, samples, shown.cut), ric, *chance)


def shown_under(reading: Reading) -> ShownRanks:
    return ShownRanks(LENGTHS[reading["fused lists"]], CUT[reading["cut"]])


def fusion_under(name: str, reading: Reading) -> PaperFusion:
    how, votes = "", ""
    if name.startswith("comb"):
        how = reading["normalisation"]
    elif name == "condorcet":
        how = reading["Condorcet starts from"]
    elif name != "naive":
        how, votes = reading["oracles start from"], reading["votes"]
    return PaperFusion(name, how, votes, reading["unjudged"])


def fusions_under(reading: Reading) -> list[PaperFusion]:
    """Those of the table, in its order."""
    return [fusion_under(name, reading) for name in printed("golbus2013")["table-3"]["cells"]]


def groups_of_systems(known: Collection, samples: int) -> Ints:
    if len(known.runs) < SIZE:
        raise CalipersError(f"groups of {SIZE} systems cannot be drawn from {len(known.runs)}", file=str(known.folder))
    return dealt_groups(len(known.runs), samples, SIZE, SEED)


def joint_values(known: Collection, samples: int, cut: int) -> Floats:
    """The joint RIC of each group, computed once."""
    if (samples, cut) not in known.joint:
        groups = groups_of_systems(known, samples)
        known.joint[samples, cut] = joint_of_groups(replace(known.rankings("docid"), rel=cut), groups)
    return known.joint[samples, cut]


@cache
def chance_values(known: Collection, samples: int, cut: int) -> tuple[Floats, Floats]:
    """Of each group: the joint RIC of shuffled ranks, and the corrected one."""
    rankings = replace(known.rankings("docid"), rel=cut)
    null, corrected = [], []
    for number, group in enumerate(groups_of_systems(known, samples).tolist()):
        part = replace(rankings, systems=tuple(rankings.systems[s] for s in group), rank=rankings.rank[group])
        found = joint_of(part, 1, SEED + number)
        null.append(found.null_mean)
        corrected.append(found.corrected_mean)
    return np.array(null), np.array(corrected)


def fused_rics(known: Collection, wanted: Iterable[PaperFusion], shown: Iterable[ShownRanks], samples: int) -> None:
    """Remember RIC of each group's fusions that are not known yet."""
    shown = list(dict.fromkeys(shown))
    fresh = [
        fusion for fusion in dict.fromkeys(wanted) if any((fusion, each, samples) not in known.fused for each in shown)
    ]
    if not fresh:
        return
    scored = {unjudged: known.scored(unjudged) for unjudged in dict.fromkeys(fusion.unjudged for fusion in fresh)}
    found = rics_of_groups(scored, known.judgments.pool, fresh, groups_of_systems(known, samples), shown)
    for (fusion, each), values in found.items():
        known.fused[fusion, each, samples] = values


@reproduction(
    "golbus2013/figure-3",
    "RIC of fusions of ten systems of TREC 8 against their joint RIC: what the text says",
    DATA,
    LAYOUT,
    groups=SAMPLES,
)
def figure_3(folder: Path | None, groups: int = SAMPLES, cache: str | Path | None = None) -> Sequence[Figure]:
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
        return needs_data((claim, "as the text says") for claim in claims)
    fuse_in_steps(known, BEST_3, groups, cache)
    fusions = printed("golbus2013")["table-3"]["cells"]
    values = {name: agreements_under(known, name, BEST_3, groups) for name in fusions}
    tau, rmse = ({name: each[i].value for name, each in values.items()} for i in (0, 2))
    shown = "tau " + ", ".join(f"{name} {value:.3f}" for name, value in tau.items())
    return [
        Figure(claim, "as the text says", None, CONSISTENT if holds(tau, rmse) else DIFFERS, shown)
        for claim, holds in claims.items()
    ]


# -- table 4 and figure 5: information difference -----------------------------------------------------

TABLE_4: dict[str, Sequence[str]] = {
    "cut": CUT_BINARY,
    "depth": ("1000", "100"),
    "depth of AP": ("1000", "100"),
    "bins": ("equal number", "equal width", "nearest centre", "fitted"),
    "identical": ("kept", "dropped"),
    "groups": ("as listed", "partners as one"),
    "ties": ("average", "docid", "input"),
}
BEST_4 = {
    "cut": "none",
    "depth": "1000",
    "depth of AP": "100",
    "bins": "fitted",
    "identical": "dropped",
    "groups": "as listed",
    "ties": "input",
}
BINS = 20
# Of all bins of one width, 0.012 to 0.030, and all edges, those that give most of the printed ranks.
FITTED_WIDTH, FITTED_EDGE = 0.0196, 0.01895
IDENTICAL = 0.001  # bits, below which two systems are the same but for a few ties
PARTNERS = (frozenset({"utwente", "twentyone"}),)  # Twente and TNO, both of the project Twenty-One
FIRST_RANKS = (1, 2, 3, 4, 5, 28, 29, 30, 31, 32)


@reproduction_of_readings(
    "golbus2013/table-4",
    "Information difference and difference in AP of systems of TREC 8",
    DATA,
    LAYOUT,
    axes=TABLE_4,
    best=BEST_4,
    stated=STATED,
)
def table_4(folder: Path | None, reading: Reading) -> Sequence[Figure]:
    cells = printed("golbus2013")["table-4"]["cells"]
    known = collection(folder, "TREC 8")
    if known is None:
        each = ((pair, column) for pair, figures in cells.items() for column in _columns(figures))
        needed = [(f"{pair}: {what}", figure) for pair, (what, figure) in each]
        return needs_data([*needed, ("first pairs of one group", "27")])
    found = differences(known, reading)
    place = {name: i for i, name in enumerate(found.systems)}
    binned = within_bins(found, reading)
    ranks = {frozenset(map(str, row[:2])): i for i, row in enumerate(binned, 1)}
    figures = []
    for (pair, printed_figures), printed_rank in zip(cells.items(), FIRST_RANKS, strict=True):
        one, other = (CIRTC.get(name, name) for name in pair.split(", "))
        if one not in place or other not in place:
            figures += needs_data((f"{pair}: {what}", figure) for what, figure in _columns(printed_figures))
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
    group = [_of_one_group(known.groups, str(row[0]), str(row[1]), reading["groups"]) for row in binned]
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
        bins = {
            "equal width": np.minimum(np.floor(share), BINS - 1),
            "nearest centre": np.round(share),
            "fitted": np.floor((found.ap - FITTED_EDGE) / FITTED_WIDTH),
        }[reading["bins"]]
        place = dict(zip(found.systems, bins.tolist(), strict=True))
        rows = [row for row in found.table().rows if place[str(row[0])] == place[str(row[1])]]
    return [row for row in rows if reading["identical"] == "kept" or float(str(row[2])) >= IDENTICAL]


def _of_one_group(groups: Mapping[str, str], one: str, other: str, reading: str) -> bool:
    listed = {str(groups.get(one)), str(groups.get(other))}
    return len(listed) == 1 or (reading == "partners as one" and any(listed <= each for each in PARTNERS))


def _first_unlike(group: Sequence[bool]) -> int:
    return list(group).index(False) if False in group else len(group)


def _columns(figures: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(("id", "|delta AP|"), figures, strict=True)


def differences(known: Collection, reading: Reading) -> InformationDifference:
    bits = _bits(known, reading["cut"], reading["depth"], reading["ties"])
    scores = known.scores(depth_of("AP", reading["depth of AP"]), reading["ties"])
    return replace(bits, ap=np.asarray(scores.values[0].mean(axis=1)))


@cache
def _bits(known: Collection, cut: str, depth: str, ties: TieRule) -> InformationDifference:
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
        return needs_data([(cell, claim)])
    found = differences(known, BEST_4)
    a, b = np.triu_indices(len(found.systems), 1)
    bits, apart = found.matrix[a, b], np.abs(found.ap[a] - found.ap[b])
    tau, rho = (rank_correlation(bits, apart, kind) for kind in ("tau-b", "spearman"))
    verdict = CONSISTENT if 0.2 < rho < 0.8 else DIFFERS
    return [Figure(cell, claim, rho, verdict, f"Spearman's rho over {len(a)} pairs; tau {tau:.4f}")]


# -- table 1 and figure 1: information tau -------------------------------------------------------------------------


WEB_TRACKS = (
    "scores of the systems of TREC's web tracks",
    "web2010/ and web2011/ with ERR-IA.csv, alpha-nDCG.csv, D#-nDCG.csv, ERR.csv and nDCG.csv: at rank 20, "
    "one row per topic and one column per system",
)


@reproduction("golbus2013/table-1", "Information tau of diversity measures, given ad hoc measures", *WEB_TRACKS)
def table_1(folder: Path | None) -> Sequence[Figure]:
    found = []
    for name, figures in printed("golbus2013")["table-1"]["cells"].items():
        for row, figure in figures.items():
            value = _information_tau(folder, name, row)
            cell = f"{name}, {row}"
            found += needs_data([(cell, figure)]) if value is None else [judged(cell, figure, value)]
    return found


@reproduction("golbus2013/figure-1", "Information tau query by query: what the text says", *WEB_TRACKS)
def figure_1(folder: Path | None) -> Sequence[Figure]:
    """Most of the correlation disappears when one conditions on the underlying performance model."""
    found = []
    for name in printed("golbus2013")["table-1"]["cells"]:
        cell, claim = f"{name}, share of ERR-IA ; D#-nDCG that is left given nDCG and ERR", "less than half"
        whole, left = (_information_tau(folder, name, f"ERR-IA ; D#-nDCG{given}") for given in ("", " | nDCG, ERR"))
        if whole is None or left is None:
            found += needs_data([(cell, claim)])
        else:
            found.append(Figure(cell, claim, left / whole, CONSISTENT if left < whole / 2 else DIFFERS))
    return found


def _information_tau(folder: Path | None, name: str, row: str) -> float | None:
    """The mean over topics of what two measures tell about each other, given others: "x ; y | z, w"."""
    from calipers import read_scores
    from calipers.questions.information import tau

    place = None if folder is None else folder / f"web{name.split()[1]}"
    if place is None or not place.is_dir():
        return None
    both, _, given = row.partition(" | ")
    x, y, *others = (each.strip() for each in (*both.split(";"), *given.split(",")) if each.strip())
    scores = read_scores([place / f"{each}.csv" for each in (x, y, *others)], measures=[x, y, *others], warn=False)
    return float(np.nanmean(tau(scores, x=x, y=y, given=others)[x, y, *others]))
