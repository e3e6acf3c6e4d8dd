"""The studies of Karmaker & Feng (2022) and Feng (2023): rankers trained on every fold, and measures judged by them.

Karmaker & Feng, Joint upper and lower bound normalization for IR evaluation, 2022; Feng, chapters 4, 6 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from calipers import CalipersError, Experiment, Judgments, Table
from calipers.collection import ArrayRun
from calipers.lists import Floats
from calipers.questions.metaeval import SETS, MetaEvaluation
from calipers.results import Cell
from calipers.support.atomic_files import write_whole
from research.karmaker2022.rerun import EMPTY, SIZE, LetorStudy, families
from research.rankers import METRIC, ranker as make, write_score_lines
from research.registry import printed
from research.study_folder import LetorCollection, Say, TrainingFolder

# The eight of Karmaker & Feng (2022), in the order of its tables, and what it calls them.
SHORT = {
    "adarank": "ARank",
    "listnet": "LNet",
    "rankboost": "RBoost",
    "randomforest": "RF",
    "ranknet": "RNet",
    "coordinateascent": "CA",
    "logistic": "L2LR",
    "lambdamart": "LMART",
}
EIGHT = tuple(SHORT)
USUAL_SIZE = 0.25  # of the uninformative and ideal sets, for a collection that the papers do not have
PRINTED = ("MSLR-WEB30K", "MQ2007")


@dataclass(frozen=True, eq=False)
class CollectionStudy:
    """One collection, ranked by all rankers, and the measures judged on it."""

    name: str
    judgments: Judgments
    scores: dict[str, Floats]  # of each ranker, for the test documents of all folds
    families: dict[str, MetaEvaluation]  # nDCG and MAP

    @property
    def rankers(self) -> tuple[str, ...]:
        return tuple(self.scores)


@dataclass(frozen=True, eq=False)
class RankerStudy:
    """Collections ranked by rankers; what the tables of the papers become on them."""

    collections: tuple[CollectionStudy, ...]

    @cached_property
    def figures(self) -> LetorStudy:
        """Figures of the tables of the papers, as `python -m research reproduce` computes them."""
        made = {(each.name, family, False): meta for each in self.collections for family, meta in each.families.items()}
        return LetorStudy(Path(), tuple(each.name for each in self.collections), made)

    def tables(self) -> dict[str, tuple[str, Table]]:
        """All tables by name, each with its title."""
        found: dict[str, tuple[str, Table]] = {}
        for each in self.collections:
            for family, meta in each.families.items():
                for name, title in _TITLES.items():
                    found[f"{each.name}-{family}-{name}"] = (f"{each.name}, {family}: {title}", meta.table(name))
        if len(self.collections) > 1:
            one, other = self.collections[:2]
            for family in one.families:
                title = f"{one.name} and {other.name}, {family}: swap rates between the orderings on the two"
                found[f"across-{family}"] = (title, one.families[family].across(other.families[family]))
        if all(each.rankers == EIGHT for each in self.collections):
            found["beside-scores"] = ("mean nDCG@10, beside what Karmaker & Feng (2022) prints", self.scores_beside())
            found["beside"] = ("the derived figures, beside what Karmaker & Feng (2022) prints", self.beside())
        return found

    def scores_beside(self) -> Table:
        """ranker, nDCG@10 as printed for each collection of the paper, and ours for each of these."""
        tables = printed("karmaker2022")
        place = tables["table-2"]["cutoffs"].index(10)
        columns = ("ranker", *(f"{name} (printed)" for name in PRINTED), *(each.name for each in self.collections))
        rows: list[tuple[Cell, ...]] = []
        for r, (name, short) in enumerate(SHORT.items()):
            theirs = [tables[table]["scores"]["nDCG"][short][place] for table in ("table-2", "table-3")]
            ours = [self.figures.scores(each.name, "nDCG") for each in self.collections]
            rows.append((name, *theirs, *(float(scores[r, place]) for scores in ours if scores is not None)))
        return Table(columns, tuple(rows))

    def beside(self) -> Table:
        """table, figure, measure, set, what is printed for each collection of the paper, and ours for each of these."""
        rows: list[tuple[Cell, ...]] = []
        for name, table in printed("karmaker2022").items():
            kind = table["kind"]
            if kind in _DERIVED:
                cells = table["cells"]
                for measure in cells[PRINTED[0]]:
                    for of_set in cells[PRINTED[0]][measure]:
                        theirs = [float(cells[each][measure][of_set]) for each in PRINTED]
                        ours = [
                            _DERIVED[kind](self.figures, each.name, table["base"], measure, of_set)
                            for each in self.collections
                        ]
                        shown = [_as_count(x) if kind in _COUNTS else x for x in (*theirs, *ours)]
                        rows.append((name, kind, measure, of_set, *shown))
            elif kind == "swaps across sets":
                for measure, cell in table["cells"].items():
                    theirs = [float(cell[each]) for each in PRINTED]
                    ours = [
                        self.figures.swaps_between(each.name, measure, "uninformative", "ideal")
                        for each in self.collections
                    ]
                    rows.append((name, kind, measure, "uninformative / ideal", *theirs, *ours))
        columns = ("table", "figure", "measure", "set", *(f"{name} (printed)" for name in PRINTED))
        return Table((*columns, *(each.name for each in self.collections)), tuple(rows))

    def __repr__(self) -> str:
        parts = [f"{each.name}: {len(each.rankers)} rankers" for each in self.collections]
        return f"<RankerStudy: {', '.join(parts)}>"


_TITLES = {
    "scores": "mean scores",
    "tau": "Kendall's tau between the orderings of the rankers",
    "conflicts": "tests that are significant under one of two measures only; opposite directions apart",
    "power": "significant tests",
    "pad": "percentage absolute difference between rankers",
    "swaps": "swap rates between the orderings on two sets",
    "stability": "the ranking over bootstrap samples of the queries",
}
_COUNTS = ("conflicts", "power")
_Derived = Callable[[LetorStudy, str, str, str, str], float]
_DERIVED: dict[str, _Derived] = {
    "tau": lambda study, name, base, measure, of_set: study.tau(name, base, measure, of_set),
    "conflicts": lambda study, name, base, measure, of_set: study.conflicts(name, base, measure, of_set),
    "power": lambda study, name, base, measure, of_set: study.significant(name, measure, of_set),
    "pad": lambda study, name, base, measure, of_set: study.pad(name, measure, of_set),
}


def _as_count(value: float) -> Cell:
    return value if math.isnan(value) else int(value)


def letor_study(
    collections: Sequence[LetorCollection],
    folder: str,
    *,
    rankers: Sequence[str] = EIGHT,
    preset: str = "quick",
    metric: str = METRIC,
    like: str | None = None,
    normalize: str = "none",
    size: float | None = None,
    normaliser: str = "k",
    seed: int = 42,
    jobs: int = 1,
    say: Say | None = None,
    progress: Callable[[int], None] | None = None,
) -> RankerStudy:
    """Train the rankers on every fold, rank every test set, and judge nDCG and MAP and their normalisations by that.

    folder: where models and scores are kept; a study that was stopped goes on from there.
    size: of the uninformative and ideal sets, a number or a share of the queries; without it, the papers' for the
        collections that they have, and a quarter for others.
    normaliser: what AP divides the sum of precisions by: k (as equation 3 of the paper), R, min(R, k) or found.
    """
    names = tuple(dict.fromkeys(rankers))
    if len(names) < 2:
        raise CalipersError("measures are judged by how they order rankers: name at least two")
    for name in names:
        make(name, preset)  # an unknown name is found before anything is trained
    if len({each.name for each in collections}) < len(collections):
        raise CalipersError("two of the collections have one name: rename a folder")
    measures = families(normaliser)
    sizes = [SIZE.get(each.name, USUAL_SIZE) if size is None else size for each in collections]
    opened = []
    for collection in collections:
        settings = {
            "study": "letor",
            "preset": preset,
            "metric": metric,
            "like": like,
            "normalize": normalize,
            "seed": seed,
            "queries": collection.queries,
            "data": collection.digest(),
        }
        opened.append(TrainingFolder.open(str(Path(folder) / collection.name), settings, say or (lambda text: None)))
    for collection, share in zip(collections, sizes, strict=True):
        _check(collection, names[:2], measures, share, seed)
    studies = []
    for collection, share, trained in zip(collections, sizes, opened, strict=True):
        parts: dict[str, list[Floats]] = {name: [] for name in names}
        for fold in collection.folds:
            for name in names:
                machine = make(name, preset, metric=metric, like=like, normalize=normalize, seed=seed)
                if "jobs" in machine.get_params():
                    machine.set_params(jobs=jobs)
                parts[name].append(trained.scores(machine, collection, fold))
                if progress:
                    progress(1)
        scores = {name: np.concatenate(each) for name, each in parts.items()}
        judgments = collection.tests.judgments()
        _write_pooled(trained.folder, judgments, scores)
        judged = {family: _judged(judgments, scores, each, share, seed) for family, each in measures.items()}
        studies.append(CollectionStudy(collection.name, judgments, scores, judged))
    return RankerStudy(tuple(studies))


def _check(
    collection: LetorCollection, names: Sequence[str], measures: dict[str, list[str]], size: float, seed: int
) -> None:
    """Judge the measures by rankers that know nothing, so that what cannot work is refused before training."""
    judgments = collection.tests.judgments()
    nothing = {name: np.zeros(len(judgments.pool.grade)) for name in names}
    for each in measures.values():
        _judged(judgments, nothing, each, size, seed)


def _judged(
    judgments: Judgments, scores: dict[str, Floats], measures: list[str], size: float, seed: int
) -> MetaEvaluation:
    runs: Any = [ArrayRun(values, name) for name, values in scores.items()]
    experiment = Experiment(judgments, runs, measures, jobs=1, warn=False, empty=EMPTY)
    return experiment.metaeval(sets=SETS, set_size=size, seed=seed)


def _write_pooled(folder: Path, judgments: Judgments, scores: dict[str, Floats]) -> None:
    """Join the test sets of all folds, in the form that `python -m research reproduce --data` reads."""
    grade = judgments.pool.grade
    order = np.arange(len(grade)) if judgments.row is None else judgments.row
    lines = [""] * len(grade)
    for row, label, query in zip(order.tolist(), grade.tolist(), judgments.pool.query.tolist(), strict=True):
        lines[row] = f"{label:g} qid:{judgments.queries[query]}\n"
    write_whole(folder / "judgments.txt", "".join(lines).encode("utf-8", "surrogateescape"))
    for name, values in scores.items():
        write_score_lines(values, folder / f"{SHORT.get(name, name)}.txt")
