"""BERTScore of many summaries: every text is encoded once, then documents are gone through."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.text.bertscore import Matcher, over_references
from calipers.text.bounded_scores import BoundedScores, Progress
from calipers.text.encoder import Encoded
from calipers.text.keywords import expected_parts, expected_texts, tokens_of_references
from calipers.text.options import TextOptions
from calipers.text.rouge_of_summaries import needed_source
from calipers.text.rouge_scores import PARTS
from calipers.text.summaries import Summaries


def texts_to_encode(summaries: Summaries, expects: bool) -> list[str]:
    """All different texts that are read as they are; expected summaries come on top."""
    texts = [text for row in summaries.texts for text in row if text is not None]
    texts += [text for document in summaries.documents for text in document.references]
    if expects:
        texts += [needed_source(document) for document in summaries.documents]
    return list(dict.fromkeys(texts))


def bertscore_of(
    summaries: Summaries, matcher: Matcher, expects: bool, options: TextOptions, progress: Progress | None = None
) -> BoundedScores:
    """BERTScore by this matcher; with `expects`, also that of the expected summaries."""
    encoded = matcher.encoder.encode(texts_to_encode(summaries, expects), progress)
    shape = (len(summaries.systems), len(summaries.documents), len(PARTS))
    parts = np.full(shape, np.nan)
    for d, document in enumerate(summaries.documents):
        there = [s for s, row in enumerate(summaries.texts) if row[d] is not None]
        candidates = [encoded[summaries.texts[s][d] or ""] for s in there]
        known = [encoded[text] for text in document.references]
        if there:
            parts[there, d] = over_references(matcher.all_parts(candidates, known), options.several)
    expected = _expected(summaries, matcher, encoded, options) if expects else None
    cut = sum(each.cut for each in encoded.values())
    return BoundedScores(matcher.name, parts, np.ones(shape), expected, "greedy", 0.0, cut)


def _expected(summaries: Summaries, matcher: Matcher, encoded: dict[str, Encoded], options: TextOptions) -> Floats:
    """[system, document, part]; the same for all systems unless the summary is as long as the candidate."""
    keywords = options.keywords
    jobs: dict[tuple[int, int], list[str]] = {}  # (document, k)
    lengths = np.zeros((len(summaries.systems), len(summaries.documents)), dtype=np.int64)
    for d, document in enumerate(summaries.documents):
        source = encoded[needed_source(document)]
        if source.empty:
            raise CalipersError(f"the source of document '{document.id}' has no tokens to make a summary from")
        mean = tokens_of_references([encoded[text] for text in document.references])
        for s, row in enumerate(summaries.texts):
            k = keywords.k if isinstance(keywords.k, int) else mean
            if keywords.k == "candidate" and row[d] is not None:
                k = int((~encoded[row[d] or ""].special).sum()) or mean
            lengths[s, d] = k
            if (d, k) not in jobs:
                jobs[d, k] = expected_texts(matcher.encoder, source, k, keywords)
    known = [[encoded[text] for text in summaries.documents[d].references] for d, _ in jobs]
    found = dict(zip(jobs, expected_parts(matcher, list(jobs.values()), known, options.several), strict=True))
    return np.array([[found[d, int(k)] for d, k in enumerate(row)] for row in lengths])


def encoded_references(summaries: Summaries, encoded: dict[str, Encoded]) -> list[Sequence[Encoded]]:
    """Of each document."""
    return [[encoded[text] for text in document.references] for document in summaries.documents]
