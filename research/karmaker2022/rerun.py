"""Karmaker & Feng (2022) and Feng (2023) on a user's data: two collections, ranked by eight methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, cast

import numpy as np

from calipers import CalipersError, Experiment
from calipers.lists import Floats
from calipers.questions.metaeval import MetaEvaluation, conflicts, swap_rate
from calipers.statistics import kendall_b
from calipers.support.choices import TestName
from research.readings import Reading

METHODS = ("ARank", "LNet", "RBoost", "RF", "RNet", "CA", "L2LR", "LMART")
COLLECTIONS = ("MSLR-WEB30K", "MQ2007")
EMPTY: Literal["skip"] = "skip"  # V1 and V2 of a query without relevant documents are undefined; all skip it alike
CUTOFFS = (5, 10, 15, 20, 30)
SIZE = {"MSLR-WEB30K": 0.1, "MQ2007": 0.5}  # of the uninformative and ideal sets, as shares of the queries
SIZE_ACROSS = {"MSLR-WEB30K": 0.05, "MQ2007": 0.5}  # as large as each other, for 10,000 and 1,000 queries
DATA = "MSLR-WEB30K and MQ2007, ranked by eight methods"
LAYOUT = (
    f"for each of {' and '.join(COLLECTIONS)} a folder with judgments.txt (LETOR form) and a file of one score per "
    f"line for each method: {', '.join(f'{method}.txt' for method in METHODS)}; any of them may be compressed"
)
# What the sum of precisions is divided by, in the ranking that is scored and in the ideal one: for AP, its base and
# normalised form. Equation 3 says k.
NORMALISERS = {
    "k": ("AP(norm=k)@{k}", "(AP(norm=k)@{k}, expected=paper, ideal=k)"),
    "R": ("AP@{k}", "(AP@{k})"),
    "min(R, k)": ("AP(norm=min)@{k}", "(AP(norm=min)@{k})"),
    "found": ("SN-AP@{k}", "(SN-AP@{k})"),
}


def families(normaliser: str = "k") -> dict[str, list[str]]:
    """Return the measures of the two case studies: the base, V1 and V2 at every cutoff.

    >>> families("R")["MAP"][5]
    'V1(AP@5)'
    """
    found = {}
    for name, (base, inside) in {"nDCG": ("nDCG(gain=exp)@{k}",) * 2, "MAP": NORMALISERS[normaliser]}.items():
        inside = inside if inside.startswith("(") else f"({inside})"
        patterns = (base, f"V1{inside}", f"V2{inside}")
        found[name] = [pattern.format(k=k) for pattern in patterns for k in CUTOFFS]
    return found


# What the papers leave open: the test, and how queries are chosen (see `metaeval`).
STUDY_TESTS = ("t", "bootstrap")
QUERY_SETS = ("signed", "absolute")
TEXT = {"test": STUDY_TESTS[0], "query sets": QUERY_SETS[0], "normaliser": "k"}
_PLACE = {
    "nDCG": ("nDCG", 0),
    "DCG-V1": ("nDCG", 1),
    "DCG-V2": ("nDCG", 2),
    "MAP": ("MAP", 0),
    "MSP-V1": ("MAP", 1),
    "MSP-V2": ("MAP", 2),
}
_SETS = ("all", "uninformative", "ideal", "broad", "focused", "left", "right")


@dataclass(frozen=True, eq=False)
class LetorStudy:
    """What the papers' tables become on the collections that a folder has."""

    folder: Path
    collections: tuple[str, ...]
    _made: dict[tuple[str, str, bool], MetaEvaluation] = field(default_factory=dict)
    test: str = TEXT["test"]
    query_sets: str = TEXT["query sets"]
    normaliser: str = TEXT["normaliser"]

    @staticmethod
    def of(folder: Path | None, reading: Reading = TEXT) -> LetorStudy | None:
        read = {**TEXT, **reading}
        return None if folder is None else _study(folder, read["test"], read["query sets"], read["normaliser"])

    def scores(self, collection: str, measure: str) -> Floats | None:
        """[method, cutoff]; None where the folder lacks the collection."""
        if collection not in self.collections:
            return None
        meta, f = self._of(collection, measure)
        return np.asarray(np.nanmean(meta.views["all"][f].values, axis=-1).T)

    def tau(self, collection: str, base: str, measure: str, of_set: str) -> float:
        meta, f = self._of(collection, measure)
        _, b = self._of(collection, base)
        return kendall_b(meta.averages[of_set][b], meta.averages[of_set][f])

    def conflicts(self, collection: str, base: str, measure: str, of_set: str) -> float:
        meta, f = self._of(collection, measure)
        compared = meta.compared[of_set]
        if compared is None:
            return float("nan")
        return conflicts(compared, meta.placed[_PLACE[base][1]], meta.placed[f]).count

    def significant(self, collection: str, measure: str, of_set: str) -> float:
        meta, f = self._of(collection, measure)
        return float((meta.power(of_set).levels[f] < meta.method.alpha).sum())

    def pad(self, collection: str, measure: str, of_set: str) -> float:
        from calipers.questions.metaeval import percentage_absolute_difference

        meta, f = self._of(collection, measure)
        return percentage_absolute_difference(meta.averages[of_set][f])

    def swaps_between(self, collection: str, measure: str, one: str, other: str) -> float:
        meta, f = self._of(collection, measure)
        return swap_rate(meta.averages[one][f], meta.averages[other][f])

    def swaps_across(self, measure: str, of_set: str) -> float:
        both = [self._of(collection, measure, across=True) for collection in COLLECTIONS]
        return swap_rate(*(meta.averages[of_set][f] for meta, f in both))

    def _of(self, collection: str, measure: str, across: bool = False) -> tuple[MetaEvaluation, int]:
        family, f = _PLACE[measure]
        key = collection, family, across
        if key not in self._made:
            size = (SIZE_ACROSS if across else SIZE)[collection]
            folder = self.folder / collection
            runs = {method: _file(folder, method) for method in METHODS}
            measures = families(self.normaliser)[family]
            experiment = Experiment(_file(folder, "judgments"), runs, measures, warn=False, empty=EMPTY)
            self._made[key] = experiment.metaeval(
                sets=_SETS[:3] if across else _SETS,
                test=cast("TestName", self.test),
                set_size=size,
                absolute=self.query_sets == "absolute",
            )
        return self._made[key], f


@cache
def _study(folder: Path, test: str, query_sets: str, normaliser: str) -> LetorStudy:
    there = tuple(name for name in COLLECTIONS if (folder / name).is_dir())
    if not there:
        raise CalipersError(f"has neither of the collections; expected {LAYOUT}", file=str(folder))
    return LetorStudy(folder, there, test=test, query_sets=query_sets, normaliser=normaliser)


def _file(folder: Path, name: str) -> str:
    for path in sorted(folder.iterdir()):
        if path.name.split(".")[0] == name:
            return str(path)
    raise CalipersError(f"there is no file {name}.txt; expected {LAYOUT}", file=str(folder))
