"""Writes the figures of text_study.md.

    python -m research.figures.text_study DATA ENCODER [CACHE [PART ...]]

DATA is a folder with summaries/SummEval.json.xz, ENCODER a folder of all-MiniLM-L6-v2, CACHE a folder for the scores of
texts, so that a second time, or one after a stop, is quick. PART is words or vectors; without it both are made.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np

from calipers import Table, plot, texts as text
from calipers.lists import Floats
from calipers.results import Cell
from research.feng2023.summeval import ABSTRACTIVE
from research.feng2023.text_study import NormalisedTexts, TextStudy, gain_chart, normalised_texts
from research.figures.pages import RESEARCH, replace

PAGE = RESEARCH / "text_study.md"
MEASURES = "ROUGE-1 ROUGE-2 ROUGE-L BLEU chrF chrF++ TER"
TEXTS = 2  # random texts for each summary under BERTScore, which takes longest
SHOWN = {
    "all": ("by-chance", "chosen", "by-measure", "plain"),
    "abstractive": ("by-chance", "chosen", "by-measure"),
    "bert": ("by-chance", "chosen", "plain"),
    "bert-abstractive": ("by-chance", "chosen"),
}


def write(mark: str, study: TextStudy) -> None:
    replace(PAGE, f"text-study-{mark}-words", "\n".join(study.words()) + "\n")
    tables = study.tables()
    for name in SHOWN[mark]:
        replace(PAGE, f"text-study-{mark}-{name}", tables[name][1].to_markdown())


def words_and_characters(given: text.TextCollection, cache: Path | None) -> None:
    """The measures that count words or characters: all systems, and the abstractive ones."""
    every = normalised_texts(given, MEASURES, cache=cache)
    some = every.of_systems(ABSTRACTIVE)
    study, abstractive = every.study(), some.study()
    write("all", study)
    write("abstractive", abstractive)
    plot.save(gain_chart(study), str(RESEARCH / "images/text-study.png"))
    replace(PAGE, "text-study-cut", cut_at_0({"all": every, "abstractive": some}))
    replace(PAGE, "text-study-without-ter", gains_without("TER", study, abstractive))


def cut_at_0(normalised: dict[str, NormalisedTexts]) -> str:
    """What max(0, 1 - TER) changes before there is any chance in it, the mean over judgments."""
    rows: list[tuple[Cell, ...]] = []
    for name, every in normalised.items():
        ter = every.measures.index("TER")
        shares = np.maximum(0, 1 + every.plain[ter])  # less than 0, as more is better
        beside_lead = every.normal[ter, every.chances.index("lead"), 1][shares == 0]
        changes = changed_by_scale(every, ter, shares)
        rows.append((name, float((shares == 0).mean()), float((beside_lead == 0).mean()), *changes))
    columns = ("systems", "summaries with a share of 0", "of these, V2 under lead is 0", "system", "summary", "pooled")
    return Table(columns, tuple(rows)).to_markdown()


def changed_by_scale(every: NormalisedTexts, measure: int, shares: Floats) -> list[float]:
    """What a measure gains at each level as a share, before there is any chance in it, the mean over judgments."""
    alone = dataclasses.replace(
        every,
        measures=every.measures[measure : measure + 1],
        chances=("none",),
        plain=every.plain[[measure]],
        normal=np.stack([shares, shares])[None, None],
    )
    gains: list[float] = alone.study(samples=2, splits=1).gains[0, 0, 0, :, :, 0].mean(axis=0).tolist()
    return gains


def gains_without(measure: str, study: TextStudy, abstractive: TextStudy) -> str:
    """The mean gains of all other measures: all systems, and the abstractive ones."""
    left = [m for m, name in enumerate(study.measures) if name != measure]
    names = tuple(study.measures[m] for m in left)
    parts = [
        dataclasses.replace(each, measures=names, plain=each.plain[left], normal=each.normal[left]).by_chance().rows
        for each in (study, abstractive)
    ]
    rows = tuple((*one[:6], *other[3:6]) for one, other in zip(*parts, strict=True))
    columns = ("level", "chance", "normalised", "all systems", "low", "high", "abstractive", "low", "high")
    return Table(columns, rows).to_markdown()


def vectors(given: text.TextCollection, model: str, cache: Path | None) -> None:
    """BERTScore: all systems, and the abstractive ones."""
    options, matcher = text.TextOptions(texts=TEXTS), text.matcher(text.Encoder(model))
    write_both("bert", normalised_texts(given, "BERTScore", options=options, matcher=matcher, cache=cache))


def write_both(mark: str, every: NormalisedTexts) -> None:
    write(mark, every.study())
    write(f"{mark}-abstractive", every.of_systems(ABSTRACTIVE).study())


def main(data: Path, encoder: str, cache: Path | None, *asked: str) -> None:
    given = text.as_collection(data / "summaries/SummEval.json.xz")
    parts = {
        "words": lambda: words_and_characters(given, cache),
        "vectors": lambda: vectors(given, encoder, cache),
    }
    for part in asked or parts:
        parts[part]()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]) if len(sys.argv) > 3 else None, *sys.argv[4:])
