"""Expected ROUGE of random summaries: words drawn from the source, by how often it has them.

    p(w) = c(w) / n        a summary of L words, drawn independently

    E[matches] = sum over n-grams g of the reference, over t = 1..r(g), of Pr(the summary has g at least t times)

Precision, recall and F1 are linear in the matches (L is fixed), so their expectations follow from E[matches]. This is
exact for one reference, and for the mean over several references. The best of several references, and the longest
common subsequence, are not sums over n-grams: there all summaries are enumerated if they are few, and drawn otherwise.

Putting expected counts into min() instead would be wrong (Jensen's inequality), because min is concave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.measures.random_rankings import DRAWS, SEED
from calipers.texts.random_texts import drawn_places, source_number
from calipers.texts.rouge_scores import Gram, References, Score, gram_size, rouge_name, scored, size_of, texts_of
from calipers.texts.subsequences import common
from calipers.texts.tokens import tokenizer_of

ENUMERATED = 20_000  # at most this many summaries are enumerated; of more, some are drawn
Shape = tuple[int, ...]  # equal words of an n-gram have equal numbers: 0, 1, 0 for "a b a"
Moves = tuple[tuple[tuple[int, bool], ...], ...]  # [state][word]: the next state, and whether the n-gram is complete


class ExpectedRouge(dict[str, Score]):
    """An expected score by its name, as `rouge` returns scores, with its parts as attributes."""

    exactness: str  # exact, enumerated or sampled
    error: Score  # the standard error of each part; 0 unless sampled

    def __init__(self, name: str, score: Score, exactness: str, error: Score) -> None:
        super().__init__({name: score})
        self.exactness = exactness
        self.error = error
        self.precision, self.recall, self.f1 = score


def expected_rouge(
    source: str,
    references: str | Sequence[str],
    length: int,
    n: int | str = 1,
    *,
    tokenizer: str = "unicode",
    stem: bool = False,
    several: str = "max",
    draws: int = DRAWS,
    seed: int = SEED,
) -> ExpectedRouge:
    """Return the expected ROUGE-n (precision, recall, F1) of `length` words drawn from the source.

    The value is exact for one reference and for several="mean". For the best of several references and for n="L", it is
    enumerated if there are few summaries, and sampled (`draws`) otherwise. `exactness` says which, and `error` is the
    standard error.

    >>> found = expected_rouge("the cat sat on the mat the end", ["the cat on the mat"], length=3)
    >>> found["ROUGE-1"].f1 == 33 / 64, found.exactness
    (True, 'exact')
    >>> expected_rouge("the cat sat on the mat the end", ["the cat on the mat"], length=3, n=2).recall
    0.078125
    """
    words = tokenizer_of(tokenizer, stem)
    drawn_from = words(source)
    name = rouge_name(f"ROUGE-{n}")
    if name == "ROUGE-Lsum":
        raise CalipersError("ROUGE-Lsum has no expected value, because words drawn at random form no sentences")
    texts = texts_of(references)
    if not drawn_from:
        raise CalipersError("the source has no words to draw a summary from")
    if length < 0 or int(length) != length:
        raise CalipersError(f"length {length} is not a number of words")
    known = References([words(text) for text in texts])
    drawn = RandomSummaries(drawn_from, known, np.array([int(length)]), several, draws, seed)
    mean, error, exactness = drawn.expected(name)
    return ExpectedRouge(name, Score(*mean[0].tolist()), exactness, Score(*error[0].tolist()))


@dataclass(frozen=True, eq=False)
class RandomSummaries:
    """Random summaries of one source, scored against its references, at some lengths (ascending)."""

    source: Sequence[str]
    references: References
    lengths: Ints
    several: str = "max"
    draws: int = DRAWS
    seed: int = SEED

    def expected(self, name: str) -> tuple[Floats, Floats, str]:
        """Return expected parts and standard errors ([length, part] each), and the exactness."""
        if name != "ROUGE-L" and (self.several == "mean" or self._one_reference):
            mean = self._exact(name)
            return mean, np.zeros_like(mean), "exact"
        matched = self._subsequences() if name == "ROUGE-L" else self._grams(gram_size(name))
        of_candidate = size_of(name, self.lengths)
        parts = scored(matched, of_candidate, self.references.totals(name), self.several)
        if self._every is not None:
            mean = np.tensordot(self._every[1], parts, axes=1)
            return mean, np.zeros_like(mean), "enumerated"
        return parts.mean(axis=0), parts.std(axis=0, ddof=1) / np.sqrt(self.draws), "sampled"

    def _exact(self, name: str) -> Floats:
        grams = self.references.grams(gram_size(name))
        counts = grams.counts  # [reference, n-gram]
        chance = tails(list(grams.ids), counts.max(axis=0, initial=0), self.counts, self.lengths)
        asked = np.arange(1, chance.shape[1] + 1) <= counts[..., None]  # [reference, n-gram, t]
        matched = np.tensordot(asked.astype(np.float64), chance, axes=([1, 2], [0, 1])).T
        return scored(matched, size_of(name, self.lengths), self.references.totals(name), self.several)

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(self.source)

    @cached_property
    def _one_reference(self) -> bool:
        return len({tuple(words) for words in self.references.words}) == 1

    # -- all summaries, or a sample ------------------------------------------------------------------

    @cached_property
    def _every(self) -> tuple[Ints, Floats] | None:
        """All summaries as rows of numbered words, and their probabilities; None if there are too many.

        All words that no reference has are word 0.
        """
        ids = self.references.ids
        times: Counter[int] = Counter()
        for word, count in self.counts.items():
            times[ids.get(word, 0)] += count
        longest = int(self.lengths.max(initial=0))
        if len(times) ** longest > ENUMERATED:
            return None
        rows = np.array(list(product(sorted(times), repeat=longest)), dtype=np.int64).reshape(
            len(times) ** longest, longest
        )
        chance = np.zeros(max(times) + 1)
        chance[list(times)] = np.array(list(times.values())) / len(self.source)
        return rows, np.asarray(chance[rows].prod(axis=1))

    @cached_property
    def rows(self) -> Ints:
        """Summaries as rows of numbered words. A shorter summary is the beginning of a row."""
        if self._every is not None:
            return self._every[0]
        words = np.array([self.references.ids.get(word, 0) for word in self.source])
        random = np.random.default_rng([self.seed, source_number(self.source)])
        longest = int(self.lengths.max(initial=0))
        return np.asarray(words[drawn_places(random, len(words), self.draws, longest)])

    def _subsequences(self) -> Ints:
        return common(self.rows, self.references.places, self.lengths)

    def _grams(self, n: int) -> Floats:
        """Count the n-grams that each row shares with each reference: [row, length, reference]."""
        grams = self._numbered(n)
        counts = np.zeros((len(self.references.grams(n).ids) + 1, len(self.references)), dtype=np.int16)
        counts[1:] = self.references.grams(n).counts.T
        hit = _met_before(grams)[..., None] < counts[grams]
        within = np.arange(n, n + grams.shape[1])[:, None] <= self.lengths
        found = hit.transpose(0, 2, 1).astype(np.float32) @ within.astype(np.float32)
        return np.asarray(found.transpose(0, 2, 1), dtype=np.float64)

    def _numbered(self, n: int) -> Ints:
        """Return the number of the n-gram at each place of each row, from 1, or 0 if no reference has it."""
        ids, base = self.references.ids, len(self.references.ids) + 1
        of_references = np.array([[ids[word] for word in gram] for gram in self.references.grams(n).ids]).reshape(-1, n)
        width = max(self.rows.shape[1] - n + 1, 0)
        found, prefix = self.rows[:, :width], of_references[:, 0]
        for k in range(1, n):
            known, prefix = np.unique(prefix * base + of_references[:, k], return_inverse=True)
            prefix = prefix + 1
            found = _among(known, np.where(found > 0, found * base + self.rows[:, k : k + width], -1))
        place = np.zeros(int(prefix.max(initial=0)) + 1, dtype=np.int64)
        place[prefix] = np.arange(1, len(of_references) + 1)
        # A word's own number may exceed those of the words that start an n-gram.
        return np.asarray(np.where(found < len(place), place[np.minimum(found, len(place) - 1)], 0))


def _among(known: Ints, keys: Ints) -> Ints:
    """Return the place of each key among the known ones, from 1; 0 if it is not known."""
    if not len(known):
        return np.zeros_like(keys)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.asarray(np.where(known[at] == keys, at + 1, 0))


def _met_before(rows: Ints) -> Ints:
    """Count how often each entry occurs earlier in its row.

    >>> _met_before(np.array([[5, 7, 5, 5]])).tolist()
    [[0, 0, 1, 2]]
    """
    if not rows.size:
        return np.zeros(rows.shape, dtype=np.int16)
    narrow = rows.astype(np.int16) if rows.max() < 1 << 15 else rows  # sorted by radix
    order = np.argsort(narrow, axis=1, kind="stable")
    ordered = np.take_along_axis(narrow, order, axis=1)
    place = np.arange(rows.shape[1], dtype=np.int32)
    starts = np.ones(rows.shape, dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    found = np.empty(rows.shape, dtype=np.int32)
    np.put_along_axis(found, order, (place - first).astype(np.int32), axis=1)
    return found


# -- number of times that a random text contains an n-gram --------------------------------------------------
#
# An automaton that recognises the n-gram reads the text (Knuth, Morris & Pratt). Its state is the number of words of
# the n-gram that the text ends with. The count of n-grams so far is tracked with the state, up to the largest count
# needed. Words are drawn independently, w with probability c(w) / n. For a single word the automaton has one state, and
# the counts are binomial.


def tails(grams: Sequence[Gram], most: Ints, source: Mapping[str, int], lengths: Ints) -> Floats:
    """Return the probability that a random text holds an n-gram at least t times: [n-gram, t - 1, length].

    source: counts of the words that are drawn. most: largest t that is needed for each n-gram; beyond it, the result
    is 0.

    >>> tails([("a",)], np.array([2]), {"a": 1, "b": 1}, np.array([1, 2])).tolist()
    [[[0.5, 0.75], [0.0, 0.25]]]
    """
    found = np.zeros((len(grams), int(most.max(initial=0)), len(lengths)))
    shapes: dict[Shape, list[int]] = {}
    for g, gram in enumerate(grams):
        if all(word in source for word in gram):
            shapes.setdefault(_shape(gram), []).append(g)
    total = sum(source.values())
    for shape, members in shapes.items():
        counts = np.array([[source[word] for word in dict.fromkeys(grams[g])] for g in members])
        cap = most[members]
        found[members, : cap.max()] = _independent(shape, counts / total, int(cap.max()), lengths)
    found[np.arange(found.shape[1]) >= most[:, None]] = 0.0
    return found


def _shape(gram: Gram) -> Shape:
    first = {word: i for i, word in enumerate(dict.fromkeys(gram))}
    return tuple(first[word] for word in gram)


@cache
def _moves(shape: Shape) -> Moves:
    """Return the automaton of an n-gram. The last word of each state stands for all other words."""
    n, words = len(shape), max(shape) + 2

    def longest(text: Shape) -> int:
        return next(k for k in range(min(len(text), n - 1), -1, -1) if text[len(text) - k :] == shape[:k])

    return tuple(
        tuple((longest((*shape[:state], word)), (*shape[:state], word) == shape) for word in range(words))
        for state in range(n)
    )


def _independent(shape: Shape, chance: Floats, most: int, lengths: Ints) -> Floats:
    """Return the probabilities of all n-grams of one shape. `chance` is [n-gram, word of it]."""
    moves = _moves(shape)
    every = np.concatenate([chance, np.maximum(1 - chance.sum(axis=1, keepdims=True), 0.0)], axis=1)
    now = np.zeros((len(moves), len(chance), most + 1))
    now[0, :, 0] = 1.0
    found = np.zeros((len(chance), most, len(lengths)))
    wanted = set(lengths.tolist())
    for length in range(1, int(lengths.max(initial=0)) + 1):
        later = np.zeros_like(now)
        for state, of_state in enumerate(moves):
            for word, (target, complete) in enumerate(of_state):
                flow = now[state] * every[:, word, None]
                _arrive(later[target], flow, complete)
        now = later
        if length in wanted:
            found[:, :, lengths == length] = _at_least(now.sum(axis=0))[:, 1:, None]
    return found


def _arrive(target: Floats, flow: Floats, complete: bool) -> None:
    """Add probabilities to a state. The count (last axis) goes up by one if the n-gram is complete."""
    if complete:
        target[..., 1:] += flow[..., :-1]
        target[..., -1] += flow[..., -1]
    else:
        target += flow


def _at_least(chance: Floats) -> Floats:
    return np.asarray(chance[..., ::-1].cumsum(axis=-1)[..., ::-1])
