"""TER, the translation edit rate: edits per word of the references, less being better.

    TER = (insertions + deletions + substitutions + shifts of blocks of words) / words of the reference

A text is what stands between blanks, in small letters. With several references it is the fewest edits over their mean
length; `mean` scores against each reference alone. Scores are those of sacrebleu over 100 (`calipers.text.edit_counts`
says what they have in common). TER is normalised as max(0, 1 - TER), the share of the reference that needs no edit.

Snover et al., A study of translation edit rate with targeted human annotation, AMTA 2006.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calipers._version import __version__
from calipers.lists import Floats
from calipers.text.bounded_scores import Progress
from calipers.text.edit_counts import Words, fewest_edits
from calipers.text.registry import Context, Scorer, TextDeclaration, TextTask, declare


class EditRateScorer(Scorer):
    """TER of texts."""

    name = "TER"

    def __init__(self, several: str) -> None:
        self._several = several
        self._counts: set[int] = set()  # of references
        self.identity = f"TER {several}"

    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        found = []
        for task in tasks:
            references = [text.lower().split() for text in task.document.references]
            texts = [text.lower().split() for text in task.texts]
            groups = [[each] for each in references] if self._several == "mean" else [references]
            self._counts.add(len(groups[0]))
            self.signature = _signature(self._counts)
            found.append(np.mean([edit_rates(texts, each) for each in groups], axis=0)[:, None])
            if progress is not None:
                progress(1)
        return found


def _signature(counts: set[int]) -> str:
    """What was counted, in the words of sacrebleu's signatures.

    >>> _signature({2, 3}).split("|")[:3]
    ['calipers nrefs:var', 'case:lc', 'tok:tercom']
    """
    count = str(*counts) if len(counts) == 1 else "var"
    return f"calipers nrefs:{count}|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:{__version__}"


def edit_rates(texts: Sequence[Words], references: Sequence[Words]) -> Floats:
    """The fewest edits over the mean length of references; 1 for words where there should be none.

    >>> edit_rates([["b", "c", "a"], ["a", "b", "c"]], [["a", "b", "c"]]).round(4).tolist()
    [0.3333, 0.0]
    """
    length = np.mean([len(each) for each in references])
    edits = fewest_edits(texts, references)
    return np.asarray(edits / length if length else np.minimum(edits, 1.0))


def words_left(scores: Floats) -> Floats:
    """The share of a reference that needs no edit."""
    return np.maximum(0.0, 1 - scores)


def _prepare(context: Context, _: str) -> Scorer:
    """Words that are inserted, deleted or replaced, and blocks that are moved, on the way to a reference."""
    return EditRateScorer(context.options.several)


declare(TextDeclaration("TER", _prepare, lower=True, share=words_left))
