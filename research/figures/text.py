"""Writes the figures of research/text_figures.md: `python -m research.figures.text DATA MODEL [BENCHMARK [CACHE]]`.

DATA is a folder with summaries/SummEval.json.xz, MODEL a folder of all-MiniLM-L6-v2, BENCHMARK the output of
`python -m benchmarks.text`, CACHE a folder for vectors, so that a second time is quick.
"""

from __future__ import annotations

import os
import sys
from itertools import product
from pathlib import Path

import numpy as np

from calipers import V1, V2, Experiment, Measure, Scores, Table, as_scores, plot, texts as text
from calipers.questions.metaeval import human_correlation
from calipers.results import Cell
from calipers.texts import RandomSummaries, References, unicode_words
from research.feng2023.summeval import ABSTRACTIVE, ASPECTS
from research.figures.pages import DOCS, RESEARCH, replace
from research.registry import printed, reproductions

PAGE = RESEARCH / "text_figures.md"


def encoder(model: str, layer: int | None = None) -> text.Encoder:
    return text.Encoder(model, layer, cache=sys.argv[4] if len(sys.argv) > 4 else None)


def scores_of(given: text.TextCollection, measures: str | list[str | Measure]) -> Scores:
    return Experiment(given, measures=measures, warn=False).scores


def best_of_several(given: text.TextCollection) -> str:
    """E of the best reference, beside the best of the expectations and the mean over references."""
    rows: list[tuple[Cell, ...]] = []
    lengths = np.array([60])
    for n in (1, 2):
        expected, best, mean = [], [], []
        for document in given.documents:
            source, words = unicode_words(document.source or ""), [unicode_words(r) for r in document.references]
            expected.append(RandomSummaries(source, References(words), lengths).expected(f"ROUGE-{n}")[0][0, 2])
            each = [
                RandomSummaries(source, References([one]), lengths).expected(f"ROUGE-{n}")[0][0, 2] for one in words
            ]
            best.append(max(each))
            mean.append(np.mean(each))
        rows.append((f"ROUGE-{n}", *(float(np.mean(values)) for values in (expected, best, mean))))
    return Table(
        ("60 random words, mean over documents", "E[best]", "best E", "mean E (exact)"), tuple(rows)
    ).to_markdown()


def levels(given: text.TextCollection) -> str:
    rows: list[tuple[Cell, ...]] = []
    for length in ("candidate", "reference"):
        scores = scores_of(given, f"ROUGE-1 V1(ROUGE-1, length={length}) V2(ROUGE-1, length={length})")
        taus = human_correlation(scores, given.human, coefficients=["tau-b"], samples=0)
        for level in ("system", "summary", "pooled"):
            for name, label in zip(scores.measures, ("ROUGE-1", "V1(ROUGE-1)", "V2(ROUGE-1)"), strict=True):
                if length == "candidate" or "(" in name:
                    values = [taus.value(name, aspect, level) for aspect in ASPECTS]
                    rows.append((label if "(" not in name else f"{label}, length of the {length}", level, *values))
    return Table(("measure", "level", *ASPECTS), tuple(rows)).to_markdown()


def first_documents(given: text.TextCollection, count: int) -> text.TextCollection:
    human = {aspect: values[:, :count] for aspect, values in given.human.items()}
    return text.TextCollection(given.documents[:count], given.systems, tuple(row[:count] for row in given.texts), human)


def layers(given: text.TextCollection, model: str) -> str:
    cells: list[Cell] = []
    for layer in range(1, 7):
        measure = text.BERTScore(encoder(model, layer))
        cells.append(float(scores_of(given, [measure]).values.mean()))
    return Table(("layer", *(str(layer) for layer in range(1, 7))), (("mean F1", *cells),)).to_markdown()


def profiles(given: text.TextCollection, model: str) -> str:
    found = text.document_profiles(given, text.matcher(encoder(model)))
    plot.save(plot.profile_chart(found), str(RESEARCH / "images/text-profiles.png"))
    rows: list[tuple[Cell, ...]] = []
    for name, chosen in zip(("20 most heterogeneous", "20 most homogeneous"), found.ends(20), strict=True):
        parts = (found.difference, found.mean, found.deviation)
        rows.append((name, *(float(part[chosen].mean()) for part in parts)))
    columns = ("documents", "difference", "similarity: mean", "deviation")
    return Table(columns, tuple(rows)).to_markdown()


def tables(data: Path, model: str) -> str:
    """Printed and computed correlations, side by side."""
    os.environ["CALIPERS_ENCODER"] = model
    rows: list[tuple[Cell, ...]] = []
    for each in reproductions("feng2023/table-8.*", "feng2023/table-9.1"):
        cells = {row[1]: row[3] for row in each.table(data).rows}
        name = each.id.partition("/")[2]
        table = printed("feng2023")[name]
        for row in ("base", "V1", "V2"):
            measure = table["base"] if row == "base" else f"{table['base']} {row}"
            both = [f"{table['cells'][row][a]} / {float(str(cells[f'tau-b {measure}, {a}'])):.3f}" for a in ASPECTS]
            rows.append((name.removeprefix("table-"), measure, *both))
    return Table(("table", "printed / computed", *ASPECTS), tuple(rows)).to_markdown()


def sensitivity(given: text.TextCollection, model: str) -> str:
    """How much normalising adds to system-level tau-b, the mean over aspects, as layer and k change."""
    rows: list[tuple[Cell, ...]] = []
    matchers = {layer: text.matcher(encoder(model, layer)) for layer in (6, 5, 4)}
    for layer, count, k in product(matchers, (1, 11), ("reference", 20, 60)):
        by, part_of = matchers[layer], given.first_references(count)
        base = text.BERTScore(by)
        scores = scores_of(part_of, [base, V1(base, k=k), V2(base, k=k)])
        ends = text.document_profiles(part_of, by, text.TextOptions(k=k)).ends(20)
        cells: list[Cell] = []
        for chosen in (np.arange(len(given.documents)), *ends):
            human = {aspect: given.human[aspect][:, chosen] for aspect in ASPECTS}
            part = as_scores(scores.values[..., chosen], scores.systems, measure=scores.measures)
            found = human_correlation(part, human, ["system"], ["tau-b"], samples=0)
            tau = np.array([[found.value(name, aspect) for aspect in ASPECTS] for name in scores.measures])
            cells += [float(mean) for mean in (tau[1:] - tau[0]).mean(axis=1)]
        rows.append((f"{layer}", f"{count}", "of the references" if k == "reference" else f"{k}", *cells))
    columns = [f"{of}: {name}" for of in ("all", "20 heterogeneous", "20 homogeneous") for name in ("V1", "V2")]
    return Table(("layer", "references", "k", *columns), tuple(rows)).to_markdown()


def near_table_9_1(given: text.TextCollection) -> str:
    """Every kind of ROUGE, way to take references, stemming and level, by how far it is from the printed row."""
    wanted = np.array([float(printed("feng2023")["table-9.1"]["cells"]["base"][aspect]) for aspect in ASPECTS])
    found: list[tuple[float, tuple[Cell, ...]]] = []
    for count, several in ((1, "max"), (11, "max"), (11, "mean")):
        for stem in (False, True):
            kinds = list(product(("ROUGE-1", "ROUGE-2", "ROUGE-L"), ("f1", "recall")))
            names = [f"{rouge}(part={part}, stem={stem}, references={several})" for rouge, part in kinds]
            scores = scores_of(given.first_references(count), names)
            taus = human_correlation(scores, given.human, coefficients=["tau-b"], samples=0)
            for name, (rouge, part) in zip(scores.measures, kinds, strict=True):
                for level in ("system", "summary", "pooled"):
                    values = np.array([taus.value(name, aspect, level) for aspect in ASPECTS])
                    how = f"{count} references, {several}" if count > 1 else "1 reference"
                    row = (
                        rouge if part == "f1" else f"{rouge}(part={part})",
                        how + ", stemmed" * stem,
                        level,
                        *values.tolist(),
                        float(np.abs(values - wanted).max()),
                    )
                    found.append((float(np.abs(values - wanted).max()), row))
    found.sort(key=lambda each: each[0])
    right = sum(off <= 0.01 for off, _ in found)
    table = Table(
        ("measure", "references", "level", *ASPECTS, "largest difference"), tuple(row for _, row in found[:5])
    )
    said = f"{len(found)} settings, {right} within 0.01 of all four printed values. The nearest:\n\n"
    return said + table.to_markdown()


def main(data: Path, model: str, benchmark: Path | None) -> None:
    whole = text.as_collection(data / "summaries/SummEval.json.xz")
    abstractive = whole.of_systems(ABSTRACTIVE)
    replace(PAGE, "text-best", best_of_several(whole))
    asked = "ROUGE-1 E(ROUGE-1) V1(ROUGE-1) V2(ROUGE-1) ROUGE-2 V2(ROUGE-2) ROUGE-L V2(ROUGE-L)"
    replace(PAGE, "text-scores", scores_of(whole, asked).mean().to_markdown())
    replace(PAGE, "text-levels", levels(abstractive))
    scores = scores_of(abstractive, "ROUGE-1 V1(ROUGE-1) V2(ROUGE-1) ROUGE-L V1(ROUGE-L) V2(ROUGE-L)")
    taus = human_correlation(scores, abstractive.human, ["system"], ["tau-b"])
    plot.save(plot.correlation_chart(taus), str(DOCS / "images/text-correlation.png"))
    replace(RESEARCH / "README.md", "text-tables", tables(data, model))
    replace(RESEARCH / "README.md", "text-near", near_table_9_1(abstractive))
    replace(RESEARCH / "README.md", "text-sensitivity", sensitivity(abstractive, model))
    replace(PAGE, "text-profiles", profiles(whole, model))
    replace(PAGE, "text-layers", layers(first_documents(whole.first_references(1), 20), model))
    if benchmark is not None:
        replace(PAGE, "text-speed", benchmark.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]) if len(sys.argv) > 3 else None)
