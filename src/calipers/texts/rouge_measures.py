"""ROUGE as a measure of many texts. Words and references are counted once for all kinds of ROUGE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.measures.parameters import Parameter
from calipers.texts.bounded_scores import Progress
from calipers.texts.options import TextOptions
from calipers.texts.random_summaries import RandomSummaries
from calipers.texts.random_texts import needed_source, random_text_lengths
from calipers.texts.registry import FROM_0_TO_1, PARTS, REFERENCES, Context, Expectation, Scorer, TextTask, declare
from calipers.texts.rouge_scores import References, attainable, sentence_parts
from calipers.texts.tokens import TOKENIZERS, sentences, tokenizer_of

WORDS_KEPT = 100_000  # texts whose words are cached


class RougeTexts:
    """Words of texts and counted references, shared by all kinds of ROUGE."""

    def __init__(self, options: TextOptions) -> None:
        self.options = options
        self.words = lru_cache(WORDS_KEPT)(tokenizer_of(options.tokenizer, options.stem))
        self.references = lru_cache(1000)(self._references)
        self._drawn: dict[tuple[str, tuple[int, ...], int, int], RandomSummaries] = {}

    @classmethod
    def of(cls, context: Context) -> RougeTexts:
        options = context.options
        key = "rouge", options.tokenizer, options.stem, options.several
        made = context.shared.get(key) or context.shared.setdefault(key, cls(options))
        assert isinstance(made, cls)
        return made

    def _references(self, texts: tuple[str, ...]) -> References:
        return References([self.words(text) for text in texts])

    def random_summaries(self, task: TextTask, lengths: Ints, options: TextOptions) -> RandomSummaries:
        """Return the random summaries of these lengths (ascending)."""
        source = self.words(needed_source(task.document))
        if not source:
            raise CalipersError(f"the source of {task.document} has no words to draw a text from")
        key = task.document.id, tuple(lengths.tolist()), options.draws, options.seed
        if key not in self._drawn:
            several, known = self.options.several, self.references(task.document.references)
            self._drawn[key] = RandomSummaries(source, known, lengths, several, options.draws, options.seed)
        return self._drawn[key]


class RougeScorer(Scorer):
    """One kind of ROUGE."""

    def __init__(self, name: str, texts: RougeTexts) -> None:
        self.name, self._texts = name, texts
        options = texts.options
        self.identity = f"{name} {options.tokenizer} {options.stem} {options.several}"

    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        found = []
        for task in tasks:
            found.append(self._by_sentence(task) if self.name == "ROUGE-Lsum" else self._parts(task))
            if progress is not None:
                progress(1)
        return found

    def _parts(self, task: TextTask) -> Floats:
        known = self._texts.references(task.document.references)
        return known.parts(self.name, [self._texts.words(text) for text in task.texts], self._texts.options.several)

    def _by_sentence(self, task: TextTask) -> Floats:
        words = self._texts.words
        lines = [
            [[words(line) for line in sentences(text)] for text in group]
            for group in (task.texts, task.document.references)
        ]
        return np.stack([sentence_parts(each, lines[1], self._texts.options.several) for each in lines[0]])

    def attainable(self, task: TextTask, words: Ints) -> Floats:
        totals = np.array([len(each) for each in self._texts.references(task.document.references).words])
        return attainable(self.name, words, totals, self._texts.options.several)

    def knows(self, chance: str) -> bool:
        return chance == "words" and self.name != "ROUGE-Lsum"

    def expected(self, tasks: Sequence[TextTask], options: TextOptions) -> list[Expectation]:
        found = []
        for task in tasks:
            lengths = random_text_lengths(task.texts, task.document, self._texts.words, options)
            drawn = self._texts.random_summaries(task, np.unique(lengths), options)
            place = np.searchsorted(drawn.lengths, lengths)
            mean, error, exactness = drawn.expected(self.name)
            found.append(Expectation(mean[place], error[place], exactness, options.draws))
        return found


def prepare(context: Context, name: str) -> Scorer:
    """Return the scorer of one kind of ROUGE."""
    return RougeScorer(name, RougeTexts.of(context))


KINDS = (*map(str, range(1, 10)), "L", "Lsum")
PARAMETERS = {
    "stem": Parameter("Cut words to their stems (Porter, English).", "flag", False),
    "tokens": Parameter("Words of any script, or those of the original ROUGE.", "word", "unicode", tuple(TOKENIZERS)),
    "references": REFERENCES,
}
OPTIONS = {"stem": "stem", "tokens": "tokenizer", "references": "several"}
for _kind in KINDS:
    declare(
        f"ROUGE-{_kind}",
        prepare,
        PARTS,
        range=FROM_0_TO_1,
        parameters=PARAMETERS,
        options=OPTIONS,
        example=f"ROUGE-{_kind}" if _kind.startswith("L") else "ROUGE-1",
        sentence="Share of n-grams (or of the longest common subsequence of words) that a text and a reference share.",
        formula="F1 of P = matches / n-grams of the text and R = matches / n-grams of the reference",
        citation="Lin, ROUGE: a package for automatic evaluation of summaries, 2004.",
    )
