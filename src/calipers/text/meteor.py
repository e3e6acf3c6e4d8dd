"""METEOR by exact words and stems: a mean of precision and recall that is mostly recall, less for broken order.

    P = m / words of the text      R = m / words of the reference      m words matched: as they are, then by stem
    F = P R / (0.9 P + 0.1 R)      METEOR = F (1 - 0.5 (chunks / m)^3)   chunks: runs of matched words in both texts

Words are matched from the end of the text, each with the last word of the reference that is left for it, as NLTK does
it. There are no synonyms: those take WordNet, which has to be downloaded. Stems are Porter's (English, and other
languages only where words are equal). Of several references `max` takes the best and `mean` the mean.

Banerjee & Lavie, METEOR: an automatic metric for MT evaluation with improved correlation with human judgments, ACL
workshop 2005; the parameters are those of Lavie & Agarwal, METEOR: an automatic metric for MT evaluation with high
levels of correlation with human judgments, WMT 2007, as NLTK has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from calipers.lists import Floats
from calipers.text.bounded_scores import Progress
from calipers.text.porter import stem_of
from calipers.text.registry import Context, Scorer, TextDeclaration, TextTask, declare
from calipers.text.tokens import Tokenizer, tokenizer_of

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5
Places = dict[str, list[int]]


def meteor(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """METEOR of one text against one reference, both as words.

    All three words match in one chunk: (3/4 / (0.9 + 0.1 * 3/4)) * (1 - 0.5 / 3^3).

    >>> round(meteor(["the", "cats", "sat"], ["the", "cat", "sat", "down"]), 12)
    0.754985754986
    """
    return _of(candidate, *_indexed(tuple(reference)), len(reference))


def _of(words: Sequence[str], exact: Places, stems: Sequence[str], size: int) -> float:
    pairs = aligned(words, exact, stems)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(words), len(pairs) / size
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    chunks = 1 + sum(b != (a[0] + 1, a[1] + 1) for a, b in pairwise(pairs))
    return float(mean * (1 - GAMMA * (chunks / len(pairs)) ** BETA))


def aligned(words: Sequence[str], exact: Places, stems: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places, of the text and of the reference, in the order of the text."""
    left = {word: len(places) for word, places in exact.items()}
    pairs, rest, taken = [], [], set()
    for i in range(len(words) - 1, -1, -1):
        word = words[i]
        if left.get(word, 0):
            left[word] -= 1
            j = exact[word][left[word]]
            pairs.append((i, j))
            taken.add(j)
        else:
            rest.append(i)
    if rest and len(taken) < len(stems):
        free: Places = {}
        for j, stem in enumerate(stems):
            if j not in taken:
                free.setdefault(stem, []).append(j)
        pairs += [(i, free[stem].pop()) for i in rest if free.get(stem := stem_kept(words[i]))]
    return sorted(pairs)


@lru_cache(100_000)
def stem_kept(word: str) -> str:
    return stem_of(word) if word.isascii() else word


@lru_cache(10_000)
def _indexed(reference: tuple[str, ...]) -> tuple[Places, list[str]]:
    exact: Places = {}
    for j, word in enumerate(reference):
        exact.setdefault(word, []).append(j)
    return exact, [stem_kept(word) for word in reference]


class MeteorScorer(Scorer):
    """METEOR of texts."""

    name = "METEOR"

    def __init__(self, words: Tokenizer, several: str) -> None:
        self._words, self._several = words, several

    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        found = []
        for task in tasks:
            known = [tuple(self._words(text)) for text in task.document.references]
            ready = [(*_indexed(each), len(each)) for each in known]
            each_text = [self._words(text) for text in task.texts]
            parts = np.array([[_of(words, *each) for each in ready] for words in each_text])
            found.append(parts.max(axis=1, keepdims=True) if self._several == "max" else parts.mean(1, keepdims=True))
            if progress is not None:
                progress(1)
        return found


def _prepare(context: Context, _: str) -> Scorer:
    """Words matched as they are or by their stems; recall counts most, and broken order costs."""
    scorer = MeteorScorer(tokenizer_of(context.options.tokenizer), context.options.several)
    scorer.identity = f"METEOR {context.options.tokenizer} {context.options.several}"
    return scorer


declare(TextDeclaration("METEOR", _prepare))
