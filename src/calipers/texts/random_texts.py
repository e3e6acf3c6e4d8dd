"""Random texts, whose mean score is the expected score of a measure.

    words            words of the source, drawn independently (the model of Feng (2023))
    sentences        whole sentences of the source, drawn at random as long as they fit, in the source's order
    lead             the beginning of the source
    shuffled         the words of the text itself in random order: a score that does not depend on the order of words
    other-document   a reference of another document: good writing about another topic

Words, sentences and the lead have the length of the text that they are compared with, or `TextOptions.length` words.
All measures score the same random texts. If there are no more than the requested number of random texts, all of them
are scored (enumerated).

Sentences are added in the order in which they are drawn, as long as they fit. If none fits, the first one is cut.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product
from zlib import crc32

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.texts.collection import Document, TextCollection
from calipers.texts.options import CHANCES, TextOptions
from calipers.texts.tokens import Tokenizer, cut_to, source_sentences, tokenizer_of, written_words


@dataclass(frozen=True, eq=False)
class DrawnTexts:
    """Groups of random texts for the summaries of one document, and the group of each summary."""

    groups: tuple[tuple[str, ...], ...]
    place: Ints
    weights: tuple[Floats | None, ...]  # the probability of each text of a group; None for drawn texts
    exactness: str


class RandomTexts:
    """Random texts for a set of summaries, drawn once."""

    def __init__(self, collection: TextCollection, options: TextOptions) -> None:
        self._collection, self._options = collection, options
        self._words = tokenizer_of(options.tokenizer, options.stem)
        self._known: dict[tuple[str, str, tuple[str, ...]], DrawnTexts] = {}

    def drawn_for(self, chance: str, document: Document, texts: tuple[str, ...]) -> DrawnTexts:
        """Return random texts of one kind for these texts about a document."""
        if chance not in CHANCES:
            raise CalipersError(f"unknown chance '{chance}'; there are {', '.join(CHANCES)}")
        key = chance, document.id, texts
        if key not in self._known:
            self._known[key] = self._drawn(chance, document, texts)
        return self._known[key]

    def _drawn(self, chance: str, document: Document, texts: tuple[str, ...]) -> DrawnTexts:
        if chance == "shuffled":
            return _grouped([self._shuffled(text) for text in texts], range(len(texts)))
        if chance == "other-document":
            return _grouped([self._others(document)], [0] * len(texts))
        source = needed_source(document)
        lengths = random_text_lengths(texts, document, self._words, self._options)
        if not self._words(source):
            raise CalipersError(f"the source of {document} has no words to draw a text from")
        several, place = np.unique(lengths, return_inverse=True)
        if chance == "lead":
            return _grouped([([cut_to(source, int(n), self._words)], "exact") for n in several], place)
        if chance == "sentences":
            return _grouped([self._sentences(source, int(n)) for n in several], place)
        return _grouped(self._source_words(source, several), place)

    # -- kinds -----------------------------------------------------------------------------------------------

    def _source_words(self, source: str, lengths: Ints) -> list[Group]:
        written, words = written_words(source, self._options.tokenizer), self._words(source)
        times = Counter(written)
        longest = int(lengths.max())
        if len(times) ** longest <= self._options.texts:
            return [_every_text(times, int(n)) for n in lengths]
        random = np.random.default_rng([self._options.seed, source_number(words)])
        rows = drawn_places(random, len(words), self._options.texts, longest)
        return [([" ".join(written[i] for i in row[:n]) for row in rows.tolist()], "sampled") for n in lengths.tolist()]

    def _sentences(self, source: str, length: int) -> Group:
        every = source_sentences(source)
        sizes = [len(self._words(sentence)) for sentence in every]
        every = [sentence for sentence, size in zip(every, sizes, strict=True) if size]
        sizes = [size for size in sizes if size]
        orders, exactness = self._orders(len(every), source)
        between = "\n" if "\n" in source else " "
        found = []
        for order in orders:
            taken, words_left = [], length
            for i in order:
                if sizes[i] <= words_left:
                    taken.append(i)
                    words_left -= sizes[i]
            if taken:
                found.append(between.join(every[i] for i in sorted(taken)))
            else:
                found.append(cut_to(every[order[0]], length, self._words))
        return found, exactness

    def _shuffled(self, text: str) -> Group:
        pieces = text.split()
        if len(self._words(text)) > 2 * len(pieces):  # a script without blanks
            pieces = written_words(text, self._options.tokenizer)
        orders, exactness = self._orders(len(pieces), text)
        return [" ".join(pieces[i] for i in order) for order in orders], exactness

    def _others(self, document: Document) -> Group:
        others = [each for each in self._collection.documents if each.id != document.id]
        if not others:
            raise CalipersError("there is no other document whose reference could be taken (chance other-document)")
        every = [text for each in others for text in each.references]
        if len(every) <= self._options.texts:
            return every, "enumerated"
        own = " ".join([document.source or "", *document.references])
        random = np.random.default_rng([self._options.seed, text_number(own)])
        if len(others) < self._options.texts:
            return [every[i] for i in random.choice(len(every), self._options.texts, replace=False)], "sampled"
        chosen = random.choice(len(others), self._options.texts, replace=False)
        return [others[d].references[random.integers(len(others[d].references))] for d in chosen], "sampled"

    def _orders(self, size: int, text: str) -> tuple[list[Sequence[int]], str]:
        """Return all orders of `size` things, or random ones if there are too many."""
        if size <= 12 and math.factorial(size) <= self._options.texts:
            return list(permutations(range(size))), "enumerated"
        random = np.random.default_rng([self._options.seed, text_number(text)])
        return [random.permutation(size).tolist() for _ in range(self._options.texts)], "sampled"


Group = tuple[Sequence[str], str] | tuple[Sequence[str], str, Floats]


def _grouped(groups: Sequence[Group], place: Sequence[int] | Ints) -> DrawnTexts:
    texts = tuple(tuple(group[0]) for group in groups)
    exactness = "sampled" if any(group[1] == "sampled" for group in groups) else groups[0][1] if groups else "exact"
    weights = tuple(
        g[2] if len(g) == 3 else None if g[1] == "sampled" else np.full(len(g[0]), 1 / len(g[0])) for g in groups
    )
    return DrawnTexts(texts, np.asarray(place, dtype=np.int64), weights, exactness)


def _every_text(times: Counter[str], length: int) -> Group:
    """Return all texts of `length` words and their probabilities."""
    total = sum(times.values())
    rows = list(product(times, repeat=length))
    chance = np.array([math.prod(times[word] / total for word in row) for row in rows])
    return [" ".join(row) for row in rows], "enumerated", chance


# -- shared with the expectations of ROUGE -----------------------------------------------------------------------


def drawn_places(random: np.random.Generator, size: int, draws: int, longest: int) -> Ints:
    """Draw the places of the source's words in random texts, one row per text.

    A shorter text is the beginning of a row. The first rows are the same for any number of draws.
    """
    return np.asarray(random.integers(size, size=(draws, longest)))


def source_number(words: Sequence[str]) -> int:
    """Return the number that, with the seed, determines the draws from a source."""
    return text_number(" ".join(words))


def text_number(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def random_text_lengths(texts: Sequence[str], document: Document, words: Tokenizer, options: TextOptions) -> Ints:
    """Return the number of words of the random text for each text.

    An empty text is compared with a random text as long as the references, so that it gets V2 = -1, not 0.
    """
    mean = max(1, round(float(np.mean([len(words(text)) for text in document.references]))))
    if isinstance(options.length, int):
        return np.full(len(texts), options.length)
    if options.length == "reference":
        return np.full(len(texts), mean)
    return np.array([len(words(text)) or mean for text in texts], dtype=np.int64)


def needed_source(document: Document, need: str = "expected scores (V1, V2, E) need") -> str:
    """Return the source of a document, or raise an error that says what needs it."""
    if document.source is None:
        raise CalipersError(f"{document} has no source, which {need}")
    return document.source
