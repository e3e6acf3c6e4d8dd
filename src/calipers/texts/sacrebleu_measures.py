"""BLEU, chrF, chrF++ and TER by sacrebleu, text by text.

    BLEU     geometric mean of the precisions of runs of 1 to 4 words, times a penalty for being short; smoothed (exp),
             and of effective order, as it is for single sentences
    chrF     F2 of runs of 1 to 6 characters; chrF++ also of runs of 1 and 2 words
    TER      edits per word of the reference: insertions, deletions, substitutions and moves of blocks of words. Less
             is better. TER is normalised as max(0, 1 - TER), the share of the reference that needs no edit.

Scores are sacrebleu's percentages divided by 100. A system's score is the mean over its texts; `corpus_scores` gives
the corpus score, which pools counts over all texts. With several references each measure has its own rule: BLEU takes
the largest count of a run of words in any reference, chrF the best reference, TER the fewest edits divided by the mean
length of the references. `mean` scores against each reference alone.

For scripts without spaces between words, BLEU uses sacrebleu's tokenizer `zh` (Chinese) or `char` (Japanese, Thai, Lao,
Khmer, Burmese), unless a tokenizer is named. TER splits Chinese and Japanese characters and refuses the other scripts.

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

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.parameters import Parameter
from calipers.results.tables import Table
from calipers.support.extras import load
from calipers.texts.bounded_scores import Progress
from calipers.texts.collection import TextCollection
from calipers.texts.options import BLEU_TOKENIZERS, TextOptions
from calipers.texts.registry import FROM_0_TO_1, REFERENCES, Context, Scorer, TextTask, declare
from calipers.texts.tokens import script_without_spaces

WHAT = "BLEU, chrF and TER"
METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "BLEU": ("BLEU", {"force": True}),  # force: no warnings about tokenized text
    "chrF": ("CHRF", {}),
    "chrF++": ("CHRF", {"word_order": 2}),
    "TER": ("TER", {}),
}
BLEU_BY_SCRIPT = {"Chinese": "zh", "Japanese": "char", "Thai": "char"}


def metric_options(name: str, collection: TextCollection, tokenizer: str | None) -> dict[str, Any]:
    """Return the options of a metric of sacrebleu that fit the script of the references."""
    options = dict(METRICS[name][1])
    script = script_without_spaces(text for document in collection.documents for text in document.references)
    if name == "BLEU" and (tokenizer or script):
        options["tokenize"] = tokenizer or BLEU_BY_SCRIPT[str(script)]
    if name == "TER" and script == "Thai":
        raise CalipersError("TER has no words in a script without spaces, such as Thai; use chrF", file=collection.name)
    if name == "TER" and script:
        options |= {"normalized": True, "asian_support": True}
    return options


def _metric(name: str, options: dict[str, Any], references: Sequence[Sequence[str | None]]) -> Any:
    metrics = load("sacrebleu.metrics", extra="translation", what=WHAT)
    try:
        return getattr(metrics, METRICS[name][0])(references=references, **options)
    except RuntimeError as error:  # the tokenizers of Japanese and Korean need a package each
        raise CalipersError(f"{name}: {' '.join(str(error).split())}") from None


class SacreScorer(Scorer):
    """A metric of sacrebleu, text by text."""

    def __init__(self, name: str, context: Context) -> None:
        self.name, self._several = name, context.options.several
        self._options = metric_options(name, context.collection, context.options.bleu_tokenizer)
        if name == "BLEU":
            self._options["effective_order"] = True
        self.signature = ""
        version = load("sacrebleu", extra="translation", what=WHAT).__version__
        self.identity = f"{name} {self._several} {self._options} sacrebleu {version}"

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
        made = _metric(self.name, self._options, [[text] for text in references])
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


def corpus_scores(collection: TextCollection, measures: str | Sequence[str], options: TextOptions) -> Table:
    """Return corpus BLEU, chrF, chrF++ and TER: one row per system, with sacrebleu's signatures as notes.

    A corpus score pools counts over all texts of a system, so that it is not the mean of its texts' scores. Texts that
    a system did not write are left out of its corpus.

    >>> from calipers.texts import as_collection
    >>> given = as_collection([{"candidate": "the cat sat on the mat", "references": "the cat sat on a mat"}])
    >>> corpus_scores(given, "BLEU", TextOptions())["BLEU"][0].__round__(4)
    0.5373
    """
    from calipers.texts.measure_names import text_measures

    asked = text_measures(measures)
    kinds = {measure.base: measure.base.partition("(")[0] for measure in asked}
    if wrong := [each.named() for each in asked if kinds[each.base] not in METRICS or each.normal]:
        raise CalipersError(f"{', '.join(wrong)} has no corpus score; BLEU, chrF, chrF++ and TER have")
    signatures: dict[str, None] = {}
    rows = []
    most = max(len(document.references) for document in collection.documents)
    for system, texts in zip(collection.systems, collection.texts, strict=True):
        present = [place for place, text in enumerate(texts) if text is not None]
        known = [collection.documents[place].references for place in present]
        references = [[each[i] if i < len(each) else None for each in known] for i in range(most)]
        cells = []
        for measure in asked:
            kind, tokenizer = kinds[measure.base], measure.scoring(options).bleu_tokenizer
            made = _metric(kind, metric_options(kind, collection, tokenizer), references)
            cells.append(made.corpus_score([texts[place] for place in present], None).score / 100)
            signatures[f"{measure.named()}: sacrebleu {made.get_signature()}"] = None
        rows.append((system, *cells))
    return Table(("system", *(each.named() for each in asked)), tuple(rows), notes=tuple(signatures))


def unedited_share(scores: Floats) -> Floats:
    """Return the share of the reference that needs no edit, from TER."""
    return np.maximum(0.0, 1 - scores)


def prepare(context: Context, name: str) -> Scorer:
    """Return the scorer of a metric of sacrebleu."""
    return SacreScorer(name, context)


TOKENS = Parameter(
    "Tokenizer of sacrebleu.", "word", choices=BLEU_TOKENIZERS, open="13a; zh or char in scripts without spaces"
)
OF_REFERENCES = {"references": REFERENCES}


declare(
    "BLEU",
    prepare,
    parameters={"tokens": TOKENS, **OF_REFERENCES},
    options={"tokens": "bleu_tokenizer", "references": "several"},
    range=FROM_0_TO_1,
    sentence="Precision of runs of 1 to 4 words, times a penalty for short texts (by sacrebleu).",
    formula="BLEU = min(1, exp(1 - reference length / length)) * (p1 * p2 * p3 * p4)^(1/4)",
    citation="Papineni et al., BLEU: a method for automatic evaluation of machine translation, ACL 2002. Post, A "
    "call for clarity in reporting BLEU scores, WMT 2018.",
)
declare(
    "chrF",
    prepare,
    parameters=OF_REFERENCES,
    options={"references": "several"},
    range=FROM_0_TO_1,
    sentence="F2 of runs of 1 to 6 characters (by sacrebleu).",
    formula="chrF = 5 P R / (4 P + R), P and R means over runs of 1 to 6 characters",
    citation="Popović, chrF: character n-gram F-score for automatic MT evaluation, WMT 2015.",
)
declare(
    "chrF++",
    prepare,
    parameters=OF_REFERENCES,
    options={"references": "several"},
    range=FROM_0_TO_1,
    sentence="F2 of runs of 1 to 6 characters and of 1 and 2 words (by sacrebleu).",
    formula="chrF++ = 5 P R / (4 P + R), P and R means over runs of 1 to 6 characters and of 1 and 2 words",
    citation="Popović, chrF++: words helping character n-grams, WMT 2017.",
)
declare(
    "TER",
    prepare,
    parameters=OF_REFERENCES,
    options={"references": "several"},
    lower=True,
    range=(0.0, None),
    share=unedited_share,
    sentence="Edits per word of the reference, where moving a block of words is one edit (by sacrebleu).",
    formula="TER = (insertions + deletions + substitutions + moves) / words of the reference",
    citation="Snover et al., A study of translation edit rate with targeted human annotation, AMTA 2006.",
)
