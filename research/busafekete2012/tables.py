"""Busa-Fekete et al. (2012): what they say of six tools that compute nDCG, and what figures 1 and 2 show on MQ2008.

The figures are plots without printed numbers, so that what is checked is what the text says of them. Statements on
rankers are checked in the tables that `python -m research study conventions` writes.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import calipers as cal
from research.printed_figures import CONSISTENT, DIFFERS, EXACT, NEEDS_DATA, Figure
from research.registry import printed, reproduction

MEASURE = "nDCG(gain=exp)@10"
GRADES = {
    "a list of 12 documents": (2, 0, 1, 0, 0, 2, 0, 1, 0, 0, 0, 1),
    "a list of 3 documents": (1, 2, 0),
    "no relevant document": (0,) * 12,
}
DATA = "MQ2008 (LETOR 4.0), and rankers that were trained on it"
LAYOUT = (
    "letor/MQ2008 with S1.txt to S5.txt; for statements on rankers also conventions/, written by "
    "`python -m research study conventions FOLDER/letor/MQ2008 -o FOLDER/conventions`"
)
AROUND = 0.05  # what is around 0.25


@reproduction("busafekete2012/tools", "nDCG@10 of three lists under six tools, and what section 3 says of them")
def tools(folder: Path | None) -> Sequence[Figure]:
    """Compare what the text says of each tool with what the tool does, on three short lists."""
    table = printed("busafekete2012")["tools"]
    found = []
    for tool, facts in table["tools"].items():
        values = dict(zip(GRADES, scores(facts["like"]), strict=True))
        for what, statement in table["statements"][str(facts["group"])].items():
            found.append(_statement(f"{tool}, {what}", statement, values[what], facts["like"], what))
    letor, ms = (scores(table["tools"][name]["like"]) for name in ("LETOR 4.0", "MS"))
    same = EXACT if letor == ms else DIFFERS
    return [*found, Figure("LETOR 4.0 and MS, three labels", "the same score", letor[0], same, f"{ms[0]:.4f} by MS")]


def _statement(cell: str, statement: str, value: float, like: str, what: str) -> Figure:
    place = [*GRADES].index(what)
    wanted = scores("definition")[place] if statement == "the definition" else float(statement)
    if value == wanted:
        return Figure(cell, statement, value, EXACT)
    discounted = scores("definition", "nDCG(gain=exp,discount=jk2)@10")[place]
    if value == discounted:
        why = "with the discount 1/log2(i) from rank 2 on; equation 2 leaves the discount open, equation 3 has another"
        return Figure(cell, statement, value, CONSISTENT, why)
    return Figure(cell, statement, value, DIFFERS, f"{wanted:.4f} by the definition; {like} counts {value:.4f}")


def scores(like: str, measure: str = MEASURE) -> list[float]:
    """Return the scores of the three lists under the conventions of a tool."""
    judgments = {query: {f"d{i:02}": grade for i, grade in enumerate(grades)} for query, grades in GRADES.items()}
    run = {query: {document: -i for i, document in enumerate(grades)} for query, grades in judgments.items()}
    found = cal.evaluate(judgments, {"run": run}, measure, like=like, warn=False)
    place = {query: i for i, query in enumerate(found.queries)}
    return [round(float(found.values[0, 0, place[query]]), 12) for query in GRADES]


@reproduction("busafekete2012/figure-1", "Conventions of training and evaluation: what the text says", DATA, LAYOUT)
def figure_1(folder: Path | None) -> Sequence[Figure]:
    """Check what the text says of four rankers that are trained and evaluated under three conventions."""
    claims = printed("busafekete2012")["figure-1"]["claims"]
    study = Study.of(folder)
    found = []
    for cell, claim in claims.items():
        if cell.startswith("YAHOO"):
            found.append(_offset_of_yahoo(cell, claim, folder))
        elif study is None:
            found.append(Figure(cell, claim, None, NEEDS_DATA))
        elif cell.startswith("LETOR"):
            found.append(study.offset_of_letor(cell, claim, cell.rpartition(" ")[2]))
        else:
            ranker, convention = cell.split(", trained under ")
            found.append(study.effect_of_training(cell, claim, ranker, TRAINED[convention]))
    return found


def _offset_of_yahoo(cell: str, claim: str, folder: Path | None) -> Figure:
    """Return the share of queries without a relevant document: by that, whatever the ranker, the two means differ."""
    place = None if folder is None else folder / "letor" / "MQ2008"
    paths = [] if place is None else sorted(place.glob("S[1-5].txt*"))
    if not paths:
        return Figure(cell, claim, None, NEEDS_DATA)
    counts = [cal.read_letor(path).pool.relevant(1) for path in paths]
    share = float(np.mean(np.concatenate(counts) == 0))
    verdict = CONSISTENT if abs(share - 0.25) <= AROUND else DIFFERS
    return Figure(cell, claim, share, verdict, "the share of queries without a relevant document, for any ranker")


TRAINED = {"YAHOO": "yahoo", "LETOR": "letor4"}


class Study:
    """Tables of a study of rankers under conventions, read from its folder."""

    def __init__(self, folder: Path) -> None:
        """Read the tables of the study."""
        self.curves, self.training = (list(_rows(folder / "tables" / f"{name}.csv")) for name in ("curves", "training"))

    @staticmethod
    def of(folder: Path | None) -> Study | None:
        """Return the study in a folder of data, or None."""
        place = None if folder is None else folder / "conventions"
        return Study(place) if place is not None and (place / "tables" / "curves.csv").is_file() else None

    def means(self, evaluated: str, cutoff: str = "10") -> dict[str, float]:
        """Return nDCG of each ranker that was trained under the definition."""
        return {
            row["ranker"]: float(row["nDCG"])
            for row in self.curves
            if (row["trained"], row["evaluated"], row["cutoff"]) == ("definition", evaluated, cutoff)
        }

    def offset_of_letor(self, cell: str, claim: str, cutoff: str) -> Figure:
        """Return how far LETOR's figures lie below the definition, as the mean over rankers."""
        definition, letor = self.means("definition", cutoff), self.means("letor4", cutoff)
        below = [definition[ranker] - letor[ranker] for ranker in definition]
        verdict = CONSISTENT if min(below) >= 0.25 - AROUND else DIFFERS
        return Figure(cell, claim, float(np.mean(below)), verdict, f"{min(below):.3f} to {max(below):.3f} over rankers")

    def effect_of_training(self, cell: str, claim: str, ranker: str, trained: str) -> Figure:
        """Return what training under another convention changes, evaluated under the definition."""
        row = next((row for row in self.training if (row["ranker"], row["trained"]) == (ranker, trained)), None)
        if row is None:
            return Figure(cell, claim, None, NEEDS_DATA, "the study lacks this ranker")
        change, p = float(row["difference to definition"]), float(row["p"])
        holds = {
            "significantly worse": change < 0 and p < 0.05,
            "slightly better": change > 0,
            "unaffected": p >= 0.05,
        }[claim]
        about = f"nDCG@10 changes by {change:+.4f}, p = {p:.2g} (paired t test over queries)"
        return Figure(cell, claim, change, CONSISTENT if holds else DIFFERS, about)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


@reproduction("busafekete2012/figure-2", "Six rankers under three conventions: what the text says", DATA, LAYOUT)
def figure_2(folder: Path | None) -> Sequence[Figure]:
    """Check what the text says of the order of six rankers that were trained under the definition."""
    claims = printed("busafekete2012")["figure-2"]["claims"]
    study = Study.of(folder)
    if study is None:
        return [Figure(cell, claim, None, NEEDS_DATA) for cell, claim in claims.items()]
    definition, yahoo, letor = (study.means(each) for each in ("definition", "yahoo", "letor4"))

    def best(means: dict[str, float]) -> tuple[str, bool]:
        name = max(means, key=means.__getitem__)
        return f"{name}, {means[name]:.4f}; coordinateascent has {means['coordinateascent']:.4f}", name == BEST

    def advantage(means: dict[str, float]) -> float:
        return means["rankboost"] - float(np.mean([means["ranksvm"], means["lambdamart"]]))

    def order(means: dict[str, float]) -> str:
        return " > ".join(sorted(means, key=lambda name: -means[name]))

    both = advantage(definition), advantage(letor)
    checks: Sequence[Callable[[], tuple[str, bool]]] = (
        lambda: best(definition),
        lambda: best(yahoo),
        lambda: best(letor),
        lambda: (f"{both[0]:+.4f} under the definition, {both[1]:+.4f} under LETOR", both[0] > 0 >= both[1]),
        lambda: (f"{order(definition)}; under LETOR {order(letor)}", order(definition) != order(letor)),
    )
    found = []
    for (cell, claim), check in zip(claims.items(), checks, strict=True):
        about, holds = check()
        found.append(Figure(cell, claim, None, CONSISTENT if holds else DIFFERS, about))
    return found


BEST = "coordinateascent"
