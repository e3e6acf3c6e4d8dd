"""ROUGE: words and n-grams that a summary and a reference share.

    ROUGE-n   matches = sum over n-grams of min(count in the summary, count in the reference)
    ROUGE-L   matches = length of the longest common subsequence of words
    ROUGE-Lsum  like ROUGE-L, sentence by sentence: words of the reference in a common subsequence with any sentence
    precision = matches / size of the summary,   recall = matches / size of the reference
    F1 = 2 matches / (size of the summary + size of the reference)

With several references, `max` takes the one with the best F1 and `mean` the mean over all.

Lin, ROUGE: a package for automatic evaluation of summaries, 2004.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calipers.errors import CalipersError, UnknownName
from calipers.lists import Floats, Ints
from calipers.texts.subsequences import Places, common, union_matches
from calipers.texts.tokens import sentences, tokenizer_of

PARTS = ("precision", "recall", "f1")
SEVERAL = ("max", "mean")
Gram = tuple[str, ...]
NAME = re.compile(r"ROUGE-([1-9]|L|Lsum)$", re.IGNORECASE)


class Score(NamedTuple):
    """Precision, recall and F1 of a text."""

    precision: float
    recall: float
    f1: float


def rouge(
    candidate: str,
    references: str | Sequence[str],
    tokenizer: str = "unicode",
    stem: bool = False,
    *,
    several: str = "max",
    names: Sequence[str] = ("ROUGE-1", "ROUGE-2", "ROUGE-L"),
) -> Mapping[str, Score]:
    """Score a summary against its references. Returns precision, recall and F1 by measure name.

    names: ROUGE-1 to ROUGE-9, ROUGE-L, ROUGE-Lsum (sentences are lines). tokenizer: "unicode", or "ascii" as in the
    original package. stem: use Porter's stems. several: take the reference with the best F1 ("max"), or the mean.

    >>> scores = rouge("the cat sat", ["the cat on the mat"])
    >>> scores["ROUGE-1"]
    Score(precision=0.6666666666666666, recall=0.4, f1=0.5)
    >>> scores["ROUGE-2"].recall, scores["ROUGE-L"].f1
    (0.25, 0.5)
    """
    words = tokenizer_of(tokenizer, stem)
    named = {name: rouge_name(name) for name in names}
    texts = texts_of(references)
    known = References([words(text) for text in texts])
    own_words = words(candidate)
    found = {}
    for name, canonical in named.items():
        if canonical == "ROUGE-Lsum":
            lines = [[words(line) for line in sentences(text)] for text in (candidate, *texts)]
            parts = sentence_parts(lines[0], lines[1:], several)
        else:
            parts = known.parts(canonical, [own_words], several)[0]
        found[name] = Score(*parts.tolist())
    return found


def rouge_name(name: str) -> str:
    """Return the canonical spelling of a kind of ROUGE."""
    match = NAME.match(name)
    if not match:
        raise UnknownName(f"unknown measure '{name}'; expected ROUGE-1 to ROUGE-9, ROUGE-L or ROUGE-Lsum")
    return "ROUGE-" + {"l": "L", "lsum": "Lsum"}.get(match[1].lower(), match[1])


def gram_size(name: str) -> int:
    """Return n for ROUGE-n.

    >>> gram_size("ROUGE-2")
    2
    """
    return int(name.removeprefix("ROUGE-"))


def texts_of(references: str | Sequence[str]) -> list[str]:
    """Return references as a list, and refuse an empty one."""
    found = [references] if isinstance(references, str) else list(references)
    if not found:
        raise CalipersError("there is no reference to compare with")
    return found


# -- a document's references -----------------------------------------------------------------------------


class References:
    """The references of one document, counted once for all its summaries."""

    def __init__(self, words: Sequence[Sequence[str]]) -> None:
        self.words = [list(each) for each in words]
        self._grams: dict[int, Grams] = {}

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Number of each word, from 1."""
        known: dict[str, int] = {}
        for reference in self.words:
            for word in reference:
                known.setdefault(word, len(known) + 1)
        return known

    @cached_property
    def places(self) -> Places:
        return Places([[self.ids[word] for word in each] for each in self.words], len(self.ids))

    def grams(self, n: int) -> Grams:
        if n not in self._grams:
            self._grams[n] = Grams(self.words, n)
        return self._grams[n]

    def totals(self, name: str) -> Ints:
        """Return the number of words or n-grams in each reference."""
        return size_of(name, np.array([len(each) for each in self.words]))

    def parts(self, name: str, candidates: Sequence[Sequence[str]], several: str) -> Floats:
        """Return precision, recall and F1 of each candidate: [candidate, part]."""
        lengths = np.array([len(each) for each in candidates])
        if name == "ROUGE-L":
            matched = self._subsequences(candidates, lengths)
        else:
            grams = self.grams(gram_size(name))
            matched = np.stack([grams.matched(each) for each in candidates])
        return scored(matched, size_of(name, lengths), self.totals(name), several)

    def _subsequences(self, candidates: Sequence[Sequence[str]], lengths: Ints) -> Ints:
        rows = np.zeros((len(candidates), int(lengths.max(initial=0))), dtype=np.int64)
        for row, candidate in zip(rows, candidates, strict=True):
            row[: len(candidate)] = [self.ids.get(word, 0) for word in candidate]
        # A word that no reference has changes nothing, so padding is free.
        return common(rows, self.places, np.array([rows.shape[1]]))[:, 0]


class Grams:
    """N-grams of some references: a number for each, and its count in each reference."""

    def __init__(self, references: Sequence[Sequence[str]], n: int) -> None:
        self.n = n
        counts = [Counter(grams_of(each, n)) for each in references]
        self.ids: dict[Gram, int] = {}
        for count in counts:
            for gram in count:
                self.ids.setdefault(gram, len(self.ids))
        self.counts = np.zeros((len(references), len(self.ids)), dtype=np.int64)
        for j, count in enumerate(counts):
            for gram, times in count.items():
                self.counts[j, self.ids[gram]] = times

    def matched(self, words: Sequence[str]) -> Ints:
        """Count the n-grams that a text shares with each reference."""
        shared = [self.ids[gram] for gram in grams_of(words, self.n) if gram in self.ids]
        times = np.bincount(shared, minlength=len(self.ids)) if shared else np.zeros(len(self.ids), dtype=np.int64)
        return np.asarray(np.minimum(self.counts, times).sum(axis=1))


def grams_of(words: Sequence[str], n: int) -> list[Gram]:
    """Return all runs of n words.

    >>> grams_of(["a", "b", "c"], 2)
    [('a', 'b'), ('b', 'c')]
    """
    return list(zip(*(words[i:] for i in range(n)), strict=False))


def sentence_parts(
    candidate: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]], several: str
) -> Floats:
    """Return precision, recall and F1 of ROUGE-Lsum for texts given as sentences."""
    matched = np.array([union_matches(each, candidate) for each in references])
    return scored(matched, np.array(_words(candidate)), np.array([_words(each) for each in references]), several)


def _words(lines: Sequence[Sequence[str]]) -> int:
    return sum(len(line) for line in lines)


# -- from matches to scores --------------------------------------------------------------------------------


def size_of(name: str, words: Ints) -> Ints:
    """Return the number of words or n-grams in texts of the given lengths.

    >>> size_of("ROUGE-2", np.array([0, 1, 2, 3])).tolist()
    [0, 0, 1, 2]
    """
    return words if name in ("ROUGE-L", "ROUGE-Lsum") else np.maximum(words - gram_size(name) + 1, 0)


def parts_of(matched: Floats | Ints, of_candidate: Ints, of_reference: Ints) -> Floats:
    """Return precision, recall and F1 along a new last axis.

    All are linear in the matches, so that expected matches give expected scores.

    >>> parts_of(np.array(2), np.array(3), np.array(5)).tolist()
    [0.6666666666666666, 0.4, 0.5]
    """
    sizes = (np.maximum(of_candidate, 1), np.maximum(of_reference, 1), np.maximum(of_candidate + of_reference, 1))
    times = (1, 1, 2)
    return np.stack(np.broadcast_arrays(*(t * matched / size for t, size in zip(times, sizes, strict=True))), axis=-1)


def scored(matched: Floats | Ints, of_candidate: Ints, of_reference: Ints, several: str) -> Floats:
    """Combine precision, recall and F1 over the references (the last axis): [..., part].

    `max` takes those of the reference with the best F1, the first of equals; `mean` their means.

    >>> scored(np.array([2, 3]), np.array(3), np.array([5, 9]), "max").tolist()
    [0.6666666666666666, 0.4, 0.5]
    """
    if several not in SEVERAL:
        raise CalipersError(f"unknown way '{several}' to combine references; there are {', '.join(SEVERAL)}")
    if several == "mean":
        weight = parts_of(np.array(1), of_candidate[..., None], of_reference) / len(of_reference)
        return np.asarray((matched[..., None, :] @ weight)[..., 0, :])
    best = (2 * matched / np.maximum(of_candidate[..., None] + of_reference, 1)).argmax(axis=-1)
    of_best = np.take_along_axis(np.asarray(matched, dtype=np.float64), best[..., None], axis=-1)[..., 0]
    return parts_of(of_best, of_candidate, of_reference[best])


def attainable(name: str, words: Ints, of_references: Ints, several: str) -> Floats:
    """Return the highest score of a summary with this many words.

    >>> attainable("ROUGE-1", np.array([3]), np.array([5]), "max").tolist()
    [[1.0, 0.6, 0.75]]
    """
    sizes = size_of(name, words), size_of(name, of_references)
    return scored(np.minimum(sizes[0][..., None], sizes[1]), *sizes, several)
