"""BLEU, chrF, chrF++ and TER by sacrebleu, text by text.

    BLEU     geometric mean of the precisions of runs of 1 to 4 words, times a penalty for being short; smoothed (exp),
             and of effective order, as it is for single sentences
    chrF     F2 of runs of 1 to 6 characters; chrF++ also of runs of 1 and 2 words
    TER      edits per word of the reference: insertions, deletions, substitutions and moves of blocks of words. Less
             is better. TER is normalised as max(0, 1 - TER), the share of the reference that needs no edit.

Scores are sacrebleu's percentages divided by 100. A system's score is the mean over its texts, not the corpus score,
which pools counts. With several references each measure has its own rule: BLEU takes the largest count of a run of
words in any reference, chrF the best reference, TER the fewest edits divided by the mean length of the references.
`mean` scores against each reference alone.

Papineni et al., BLEU: a method for automatic evaluation of machine translation, ACL 2002. Popović, chrF: character
n-gram F-score for automatic MT evaluation, WMT 2015; chrF++: words helping character n-grams, WMT 2017. Snover et
al., A study of translation edit rate with targeted human annotation, AMTA 2006. Post, A call for clarity in reporting
BLEU scores, WMT 2018.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from calipers.extras import load
from calipers.lists import Floats
from calipers.text.bounded_scores import Progress
from calipers.text.registry import Context, Scorer, TextDeclaration, TextTask, declare

WHAT = "BLEU, chrF and TER"
METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "BLEU": ("BLEU", {"effective_order": True, "force": True}),  # force: no warnings about tokenized text
    "chrF": ("CHRF", {}),
    "chrF++": ("CHRF", {"word_order": 2}),
    "TER": ("TER", {}),
}


class SacreScorer(Scorer):
    """A metric of sacrebleu."""

    def __init__(self, name: str, several: str) -> None:
        self.name, self._several = name, several
        self._metrics = load("sacrebleu.metrics", extra="translation", what=WHAT)
        self.signature = ""
        self.identity = f"{name} {several} sacrebleu {load('sacrebleu', extra='translation', what=WHAT).__version__}"

    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        known = cache(self._metric)
        found = []
        for task in tasks:
            references = task.document.references
            alone = [(text,) for text in references] if self._several == "mean" else [references]
            parts = [[known(each).corpus_score([text], None).score for each in alone] for text in task.texts]
            found.append(np.mean(parts, axis=1, keepdims=True) / 100)
            if progress is not None:
                progress(1)
        return found

    def _metric(self, references: tuple[str, ...]) -> Any:
        """Return the metric with the references of one document, which it counts once."""
        kind, options = METRICS[self.name]
        made = getattr(self._metrics, kind)(references=[[text] for text in references], **options)
        signature = f"sacrebleu {made.get_signature()}"
        # The number of references is the only thing that differs between documents.
        self.signature = signature if self.signature in ("", signature) else _varied(signature)
        return made


def _varied(signature: str) -> str:
    """Return the signature for documents with different numbers of references.

    >>> _varied("sacrebleu nrefs:2|case:mixed")
    'sacrebleu nrefs:var|case:mixed'
    """
    return re.sub(r"nrefs:\d+", "nrefs:var", signature)


def unedited_share(scores: Floats) -> Floats:
    """Return the share of the reference that needs no edit, from TER."""
    return np.maximum(0.0, 1 - scores)


def _prepare(context: Context, name: str) -> Scorer:
    """Words, characters or edits in common with the references, counted by sacrebleu."""
    return SacreScorer(name, context.options.several)


for _name in ("BLEU", "chrF", "chrF++"):
    declare(TextDeclaration(_name, _prepare))
declare(TextDeclaration("TER", _prepare, lower=True, share=unedited_share))
