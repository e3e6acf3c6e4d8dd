"""Writes the figures of text_study.md: `python docs/figures_text_study.py DATA MODEL [CACHE]`.

DATA is a folder with summaries/SummEval.json.xz, MODEL a folder of all-MiniLM-L6-v2, CACHE a folder for the scores of
random texts, so that a second time, or one after a stop, is quick. The first time takes a quarter of an hour of CPU
time, of which BERTScore and TER take most.
"""

from __future__ import annotations

import sys
from pathlib import Path

from figures import HERE, replace

from calipers import plot, text
from calipers.papers.summeval import ABSTRACTIVE
from calipers.papers.text_study import TextStudy, gain_chart, normalised_texts
from calipers.text.options import CHANCES

PAGE = "text_study.md"
MEASURES = "ROUGE-1 ROUGE-2 ROUGE-L ROUGE-W ROUGE-SU4 METEOR BLEU chrF chrF++ BERTScore"
# sacrebleu's TER takes a second per text with 11 references, and a third of a second with one whose order is random.
ONE_REFERENCE = "ROUGE-1 ROUGE-2 ROUGE-L ROUGE-W ROUGE-SU4 METEOR BLEU chrF chrF++ TER"
IN_ORDER = tuple(chance for chance in CHANCES if chance != "shuffled")
SHOWN = {
    "all": ("by-chance", "chosen", "by-measure", "plain"),
    "abstractive": ("by-chance", "chosen", "by-measure"),
    "one": ("by-chance", "chosen", "by-measure", "plain"),
}


def write(mark: str, study: TextStudy) -> None:
    replace(PAGE, f"text-study-{mark}-words", "\n".join(study.words()) + "\n")
    tables = study.tables()
    for name in SHOWN[mark]:
        replace(PAGE, f"text-study-{mark}-{name}", tables[name][1].to_markdown())


def main(data: Path, model: str, cache: Path | None) -> None:
    """All systems, the abstractive ones, and all with one reference."""
    given = text.read_summaries(data / "summaries/SummEval.json.xz")
    every = normalised_texts(given, MEASURES, matcher=text.matcher(text.Encoder(model)), cache=cache)
    study = every.study()
    write("all", study)
    plot.save(gain_chart(study), str(HERE / "images/text-study.png"))
    write("abstractive", every.of_systems(ABSTRACTIVE).study())
    few = text.TextOptions(texts=2)
    write("one", normalised_texts(given.first_references(1), ONE_REFERENCE, IN_ORDER, few, cache=cache).study())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]) if len(sys.argv) > 3 else None)
