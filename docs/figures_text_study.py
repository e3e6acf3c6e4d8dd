"""Writes the figures of text_study.md: `python docs/figures_text_study.py DATA MODEL [CACHE]`.

DATA is a folder with summaries/SummEval.json.xz, MODEL a folder of all-MiniLM-L6-v2, CACHE a folder for the scores of
random texts, so that a second time, or one after a stop, is quick. Of an hour of CPU time, half is TER's.
"""

from __future__ import annotations

import sys
from pathlib import Path

from figures import HERE, replace

from calipers import plot, text
from calipers.papers.summeval import ABSTRACTIVE
from calipers.papers.text_study import TEXTS, NormalisedTexts, TextStudy, gain_chart, normalised_texts

PAGE = "text_study.md"
MEASURES = "ROUGE-1 ROUGE-2 ROUGE-L ROUGE-W ROUGE-SU4 METEOR BLEU chrF chrF++ BERTScore"
SLOW = "TER"  # takes seconds per text with 11 references: with one only
SHOWN = {
    "all": ("by-chance", "chosen", "by-measure", "plain"),
    "abstractive": ("by-chance", "chosen", "by-measure"),
    "one": ("by-chance", "chosen", "by-measure", "plain"),
}


def scores(data: Path, model: str, cache: Path | None, references: int | None) -> NormalisedTexts:
    """Of all systems, with all references or the first ones."""
    given = text.read_summaries(data / "summaries/SummEval.json.xz")
    given = given if references is None else given.first_references(references)
    names = MEASURES if references is None else f"{MEASURES} {SLOW}"
    options = text.TextOptions(texts=TEXTS if references is None else 2)
    return normalised_texts(given, names, options=options, matcher=text.matcher(text.Encoder(model)), cache=cache)


def write(mark: str, study: TextStudy) -> None:
    replace(PAGE, f"text-study-{mark}-words", "\n".join(study.words()) + "\n")
    tables = study.tables()
    for name in SHOWN[mark]:
        replace(PAGE, f"text-study-{mark}-{name}", tables[name][1].to_markdown())


def main(data: Path, model: str, cache: Path | None) -> None:
    """All three studies."""
    every = scores(data, model, cache, None)
    study = every.study()
    write("all", study)
    plot.save(gain_chart(study), str(HERE / "images/text-study.png"))
    write("abstractive", every.of_systems(ABSTRACTIVE).study())
    write("one", scores(data, model, cache, 1).study())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]) if len(sys.argv) > 3 else None)
