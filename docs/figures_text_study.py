"""Writes the figures of text_study.md: `python docs/figures_text_study.py DATA MODEL [CACHE]`.

DATA is a folder with summaries/SummEval.json.xz, MODEL a folder of all-MiniLM-L6-v2, CACHE a folder for the scores of
texts, so that a second time, or one after a stop, is quick. The first time takes some ten minutes of CPU time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from figures import HERE, replace
from figures_text import first_documents

from calipers import plot, text
from calipers.papers.summeval import ABSTRACTIVE
from calipers.papers.text_study import TextStudy, gain_chart, normalised_texts

PAGE = "text_study.md"
MEASURES = "ROUGE-1 ROUGE-2 ROUGE-L ROUGE-W ROUGE-SU4 METEOR BLEU chrF chrF++"
DOCUMENTS, TEXTS = 50, 2  # under BERTScore, which takes longest: of the documents, and random texts for each summary
SHOWN = {
    "all": ("by-chance", "chosen", "by-measure", "plain"),
    "abstractive": ("by-chance", "chosen", "by-measure"),
    "bert": ("by-chance", "chosen", "plain"),
}


def write(mark: str, study: TextStudy) -> None:
    replace(PAGE, f"text-study-{mark}-words", "\n".join(study.words()) + "\n")
    tables = study.tables()
    for name in SHOWN[mark]:
        replace(PAGE, f"text-study-{mark}-{name}", tables[name][1].to_markdown())


def words_and_characters(given: text.Summaries, cache: Path | None) -> None:
    """The measures that count words or characters: all systems, and the abstractive ones."""
    every = normalised_texts(given, MEASURES, cache=cache)
    study = every.study()
    write("all", study)
    plot.save(gain_chart(study), str(HERE / "images/text-study.png"))
    write("abstractive", every.of_systems(ABSTRACTIVE).study())


def vectors(given: text.Summaries, model: str, cache: Path | None) -> None:
    """BERTScore, all systems."""
    some, options = first_documents(given, DOCUMENTS), text.TextOptions(texts=TEXTS)
    matcher = text.matcher(text.Encoder(model))
    write("bert", normalised_texts(some, "BERTScore", options=options, matcher=matcher, cache=cache).study())


def main(data: Path, model: str, cache: Path | None) -> None:
    given = text.read_summaries(data / "summaries/SummEval.json.xz")
    words_and_characters(given, cache)
    vectors(given, model, cache)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]) if len(sys.argv) > 3 else None)
