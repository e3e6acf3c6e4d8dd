"""Write the figures of research/rankers.md.

    python -m research.figures.rankers DATA FOLDER

DATA is a folder with letor/MQ2008 and letor/OHSUMED. FOLDER keeps the models and scores; what is there already is not
trained again. A table stands between two comments in the page and is replaced there; a picture goes to research/images.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from calipers import Table, evaluate
from calipers.plot.vega import png
from calipers.results import Cell
from research.busafekete2012.conventions_study import ConventionStudy, convention_study
from research.figures.pages import RESEARCH, replace
from research.karmaker2022.letor_study import EIGHT, RankerStudy, letor_study
from research.study_charts import convention_charts, letor_charts
from research.study_folder import LetorCollection

PAGE = RESEARCH / "rankers.md"
PICTURES = ("MQ2008-queries", "MQ2008-nDCG", "figure-1", "figure-2")


def over_folds(values: np.ndarray, fold: np.ndarray) -> list[float]:
    """The mean over folds of the means over queries, and the errors averaged in quadrature."""
    parts = [values[fold == f] for f in np.unique(fold)]
    errors = [part.std(ddof=1) / len(part) ** 0.5 for part in parts]
    return [float(np.mean([part.mean() for part in parts])), float(np.sqrt(np.sum(np.square(errors))) / len(parts))]


def letor4(study: ConventionStudy, letor: RankerStudy) -> Table:
    """Mean nDCG@10 of MQ2008 over its folds, as defined and under the LETOR 4.0 convention, of all nine rankers."""
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys((*study.rankers, *EIGHT)):
        cells: list[float] = []
        for like in ("definition", "letor4"):
            if name in study.rankers:
                values = study.values[study.rankers.index(name), 0, study.conventions.index(like), -1]
            else:  # stopped by the same measure, in the other study
                judgments, scores = letor.collections[0].judgments, letor.collections[0].scores[name]
                values = evaluate(judgments, scores, "nDCG@10", like=like).values.ravel()
            cells += over_folds(values, study.fold)
        rows.append((name, *cells))
    rows.sort(key=lambda row: -float(row[3] or 0))
    return Table(("ranker", "definition", "±", "letor4", "± "), tuple(rows))


def sizes(letor: RankerStudy) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for each in letor.collections:
        for family, meta in each.families.items():
            rows.append((each.name, family, *(size for _, size in meta.set_sizes())))
    return Table(("collection", "family", *letor.collections[0].families["nDCG"].sets), tuple(rows))


def main(data: Path, folder: Path) -> None:
    collections = [LetorCollection.of(str(data / "letor" / name)) for name in ("MQ2008", "OHSUMED")]

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    letor = letor_study(collections, str(folder / "letor"), say=say)
    conventions = convention_study(collections[0], str(folder / "conventions"), say=say)
    tables = letor.tables()
    replace(RESEARCH / "rankers.md", "letor4", letor4(conventions, letor).to_markdown())
    replace(PAGE, "scores", tables["beside-scores"][1].to_markdown())
    replace(PAGE, "sizes", sizes(letor).to_markdown())
    replace(PAGE, "beside", letor.beside().to_markdown())
    replace(PAGE, "across", "\n".join(tables[f"across-{family}"][1].to_markdown() for family in ("nDCG", "MAP")))
    for name in ("at-ten", "training", "orders", "offsets"):
        replace(PAGE, name, conventions.tables()[name][1].to_markdown())
    charts = {**letor_charts(letor), **convention_charts(conventions)}
    for name in PICTURES:
        content = png(charts[name][1]().to_dict(), scale=1)
        (RESEARCH / "images" / f"rankers-{name}.png").write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
