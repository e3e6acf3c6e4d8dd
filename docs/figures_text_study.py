"""Writes the figures of text_study.md: `python docs/figures_text_study.py DATA`, in about a minute of CPU time.

DATA is a folder with summaries/SummEval.json.xz.
"""

from __future__ import annotations

import sys
from pathlib import Path

from figures import HERE, replace

from calipers import plot, text
from calipers.papers.summeval import ABSTRACTIVE
from calipers.papers.text_study import MEASURES, gain_chart, text_study

PAGE = "text_study.md"


def main(data: Path) -> None:
    """Both studies."""
    every = text.read_summaries(data / "summaries/SummEval.json.xz")
    for mark, given, names in (("abstractive", every.of_systems(ABSTRACTIVE), MEASURES),
                               ("all", every, MEASURES)):  # fmt: skip
        study = text_study(given, names)
        replace(PAGE, f"text-study-{mark}-words", "\n".join(study.words()) + "\n")
        for name, (_, table) in study.tables().items():
            if name != "gains" and (mark == "all" or name in ("by-chance", "chosen")):
                replace(PAGE, f"text-study-{mark}-{name}", table.to_markdown())
        if mark == "all":
            plot.save(gain_chart(study), str(HERE / "images/text-study.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
