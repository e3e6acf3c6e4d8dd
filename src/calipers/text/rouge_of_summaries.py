"""ROUGE of many summaries, document by document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.text.bounded_scores import BoundedScores, Progress
from calipers.text.options import TextOptions
from calipers.text.random_summaries import Chances
from calipers.text.rouge_scores import PARTS, References, attainable, sentence_parts
from calipers.text.summaries import Document, Summaries
from calipers.text.tokens import Tokenizer, sentences, tokenizer_of


def rouge_of(
    summaries: Summaries,
    names: Sequence[str],
    expected: Sequence[str],
    options: TextOptions,
    progress: Progress | None = None,
) -> dict[str, BoundedScores]:
    """ROUGE measures by name; for those in `expected` also what a random summary would score."""
    words = tokenizer_of(options.tokenizer, options.stem)
    shape = (len(summaries.systems), len(summaries.documents), len(PARTS))
    parts = {name: np.full(shape, np.nan) for name in names}
    ideal = {name: np.ones(shape) for name in names}
    chance = {name: np.zeros(shape) for name in expected}
    error, exactness = dict.fromkeys(expected, 0.0), dict.fromkeys(expected, "exact")
    for d, document in enumerate(summaries.documents):
        texts = [row[d] for row in summaries.texts]
        if progress is not None:
            progress(1)
        there = [s for s, text in enumerate(texts) if text is not None]
        if not there:
            continue
        candidates = [words(text) for text in texts if text is not None]
        known = References([words(text) for text in document.references])
        lengths = _lengths(candidates, known, options)
        for name in names:
            if name == "ROUGE-Lsum":
                parts[name][there, d] = _by_sentence([texts[s] or "" for s in there], document, words, options.several)
            else:
                parts[name][there, d] = known.parts(name, candidates, options.several)
            if options.upper == "attainable":
                own = np.array([len(each) or int(lengths[i]) for i, each in enumerate(candidates)])
                totals = np.array([len(each) for each in known.words])
                ideal[name][there, d] = attainable(name, own, totals, options.several)
        if expected:
            drawn = _chances(document, known, np.unique(lengths), words, options)
            place = np.searchsorted(drawn.lengths, np.minimum(lengths, drawn.lengths.max(initial=0)))
            for name in expected:
                mean, off, how = drawn.of(name)
                chance[name][there, d] = mean[place]
                error[name] = max(error[name], float(off.max(initial=0.0)))
                exactness[name] = _worse(exactness[name], how)
    return {
        name: BoundedScores(
            name, parts[name], ideal[name], chance.get(name), exactness.get(name, "exact"), error.get(name, 0.0)
        )
        for name in names
    }


def _lengths(candidates: Sequence[Sequence[str]], references: References, options: TextOptions) -> Ints:
    """How many words the random summary has beside each candidate.

    Nothing can be drawn to the length of an empty summary: it is held against one as long as the references, so that
    it gets V2 = -1 for saying nothing rather than 0.
    """
    mean = max(1, round(float(np.mean([len(words) for words in references.words]))))
    if isinstance(options.length, int):
        return np.full(len(candidates), options.length)
    if options.length == "reference":
        return np.full(len(candidates), mean)
    return np.array([len(words) or mean for words in candidates], dtype=np.int64)


def _chances(
    document: Document, references: References, lengths: Ints, words: Tokenizer, options: TextOptions
) -> Chances:
    source = words(needed_source(document))
    if not source:
        raise CalipersError(f"the source of document '{document.id}' has no words to draw a summary from")
    if not options.replacement:
        lengths = np.unique(np.minimum(lengths, len(source)))
    return Chances(
        source, references, lengths, options.several, options.replacement, options.draws, options.seed
    )  # fmt: skip


def needed_source(document: Document) -> str:
    """The source of a document, which an expected score needs."""
    if document.source is None:
        raise CalipersError(f"document '{document.id}' has no source, which expected scores (V1, V2, E) need")
    return document.source


def _by_sentence(texts: Sequence[str], document: Document, words: Tokenizer, several: str) -> Floats:
    lines = [[[words(line) for line in sentences(text)] for text in group] for group in (texts, document.references)]
    return np.stack([sentence_parts(candidate, lines[1], several) for candidate in lines[0]])


def _worse(one: str, other: str) -> str:
    order = ("exact", "enumerated", "sampled")
    return max(one, other, key=order.index)
