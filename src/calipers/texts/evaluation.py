"""Texts, measures and options as one request."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from calipers.collection.sources import JudgmentsLike
from calipers.errors import CalipersError, UnknownName
from calipers.lists import Floats
from calipers.measures.grammar import MeasuresLike
from calipers.measures.random_rankings import DRAWS, SEED
from calipers.results.scores import Reason, Scores
from calipers.support.plurals import counted, plural_of, verb
from calipers.texts.answer_retrieval import scores_and_remarks, side_by_side
from calipers.texts.bertscore import Matcher, matcher
from calipers.texts.bertscore_measure import CACHE, ENCODER, texts_to_encode
from calipers.texts.bounded_scores import BoundedScores, Progress
from calipers.texts.caches import ScoreCache
from calipers.texts.collection import ANSWERS, TextCollection
from calipers.texts.encoder import Encoder
from calipers.texts.measure_names import asked_measures
from calipers.texts.options import TEXTS, TextOptions
from calipers.texts.random_texts import RandomTexts
from calipers.texts.registry import Context, Scorer
from calipers.texts.scoring import bounded
from calipers.texts.text_files import TextsLike, as_collection, scores_by_text

ROUGE = "ROUGE-1 ROUGE-2 ROUGE-L"
EncoderLike = str | Encoder | Matcher | Callable[[], Matcher]
RETRIEVAL = "ContextPrecision ContextRecall nDCG@10"


class Evaluation:
    """Texts under measures. Scores are computed when they are first asked for, and kept.

    data: what `read_texts` takes.
    measures: names such as "ROUGE-1 V2(ROUGE-1) BLEU", ranking measures of retrieved documents, and names of scores
        that the data bring along. Without it, measures that fit the data.
    judgments: relevant documents of questions, for ranking measures, if the data do not name them.
    scores: scores of other tools, a table of id, system and one column per measure. lower: those for which smaller
        values are better.
    tokenizer: words of any script ("unicode"), or those of the original ROUGE ("ascii"). stem: use Porter's stems.
    bleu_tokenizer: tokenizer of sacrebleu; by default 13a, or a fitting one for scripts without spaces.
    several: of several references, the best ("max") or the mean.
    chance: random texts behind E, V1 and V2 (words, sentences, lead, shuffled, other-document). length: their words.
    texts, draws: how many are scored, or drawn. seed: of these draws.
    upper: upper bound: "1", "attainable" (by a text of this length), or "human" (each reference against the others).
    encoder: model of BERTScore: its name, an `Encoder`, or a `Matcher`. tokens, k: tokens of its expected text.
    cache: folder for vectors, and scores of random texts. progress: is called with the number of finished texts.

    >>> rows = [{"id": "d1", "system": "a", "summary": "the cat", "references": ["a cat"]},
    ...         {"id": "d1", "system": "b", "summary": "a cat", "references": ["a cat"]}]
    >>> Evaluation(rows, "ROUGE-1").scores["ROUGE-1"].tolist()
    [[0.5], [1.0]]
    """

    def __init__(
        self,
        data: TextsLike,
        measures: MeasuresLike | None = None,
        *,
        judgments: JudgmentsLike | None = None,
        scores: TextsLike | None = None,
        lower: str | Sequence[str] = (),
        tokenizer: str = "unicode",
        stem: bool = False,
        bleu_tokenizer: str | None = None,
        several: str = "max",
        length: int | str = "candidate",
        upper: str = "1",
        chance: str | None = None,
        texts: int = TEXTS,
        draws: int = DRAWS,
        seed: int = SEED,
        tokens: str = "most",
        k: int | str = "reference",
        encoder: EncoderLike | None = None,
        cache: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
        scoring: Mapping[str, Any] | None = None,
    ) -> None:
        self.options = TextOptions(
            tokenizer, stem, bleu_tokenizer, several, length, upper, chance, texts, draws, seed, tokens, k
        )
        self.collection = collection = read_texts(data, scores=scores)
        self.judgments = judgments
        self._scoring = scoring or {}
        self.lower = (lower,) if isinstance(lower, str) else tuple(lower)
        self.progress = progress
        self._cache = cache or os.environ.get(CACHE) or None
        self._encoder = encoder
        if measures is None or (isinstance(measures, list | tuple) and not measures):
            has_encoder = encoder is not None or bool(os.environ.get(ENCODER))
            measures = default_measures(collection, has_encoder, judgments is not None)
        asked = asked_measures(measures, collection.other_scores)
        self.measures, self.rankings, self.other_scores = asked.texts, asked.rankings, asked.others
        self._order = asked.order
        self.lower = tuple(dict.fromkeys((*self.lower, *asked.lower)))
        for name in self.lower:
            if name not in collection.other_scores:
                raise UnknownName.among("score of another tool", name, collection.other_scores)
        self._check()

    @property
    def needs_encoder(self) -> bool:
        """True if a measure is BERTScore and does not name its model."""
        forms = (measure.form.prepare.keywords for measure in self.measures if measure.base.startswith("BERTScore"))
        return any(given["model"] is None for given in forms)

    @cached_property
    def matcher(self) -> Matcher | None:
        """The model of BERTScore, fitted to the references; None if no measure needs it, or names its own."""
        given = self._encoder
        if given is None or not self.needs_encoder:
            return None
        if isinstance(given, Matcher) or callable(given):
            return given if isinstance(given, Matcher) else given()
        made = given if isinstance(given, Encoder) else Encoder(given, cache=self._cache)
        return matcher(made, [text for document in self.collection.documents for text in document.references])

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems that wrote the texts."""
        return self.collection.systems

    @property
    def measure_names(self) -> tuple[str, ...]:
        """The measures, as they were asked for."""
        return (*(measure.named() for measure in self.measures), *self.rankings, *self.other_scores)

    @property
    def size(self) -> str:
        """The numbers of systems and of questions or documents, in words."""
        units = counted(len(self.collection.documents), self.collection.kind.unit)
        return f"{counted(len(self.systems), 'system')}, {units}"

    def in_order(self, scores: Scores) -> Scores:
        """Return the scores with the measures in the order in which they were named."""
        if len(scores.measures) < len(self._order):  # two names became one, as AP and AP(rel=4) for relevant=4
            return scores
        return scores.of_measures([scores.measures[place] for place in self._order])

    @property
    def steps(self) -> int:
        """The total that `progress` reaches: documents, and texts for BERTScore."""
        bases = dict.fromkeys(measure.base for measure in self.measures)
        encoded = [base for base in bases if base.startswith("BERTScore")]
        count = len(self.collection.documents) * (len(bases) - len(encoded))
        return count + len(encoded) * len(texts_to_encode(self.collection))

    # -- scores ------------------------------------------------------------------------------------

    @cached_property
    def bounded(self) -> dict[str, BoundedScores]:
        """Scores, expected scores and upper bounds by measure (ROUGE-1, BERTScore)."""
        kept = None if self._cache is None else ScoreCache(self._cache)
        context = Context(self.collection, self.options, self.matcher, kept)
        scorers: dict[str, Scorer] = {}
        for measure in self.measures:
            if measure.base not in scorers:
                scorers[measure.base] = measure.form.prepare(replace(context, options=measure.scoring(self.options)))
            if scorers[measure.base].can_be_negative and measure.normal in ("V1", "V2"):
                raise CalipersError(
                    f"{measure.named()} needs scores of at least 0, and rescaled scores can be negative; do not rescale"
                )
        found: dict[str, BoundedScores] = {}
        scored: dict[str, Floats] = {}
        random: dict[TextOptions, RandomTexts] = {}
        for measure in self.measures:
            if measure.key in found:
                continue
            same = [each for each in self.measures if each.key == measure.key]
            options = measure.bounds(self.options)
            drawn = random.setdefault(options, RandomTexts(self.collection, options))
            found[measure.key] = bounded(
                replace(context, options=options),
                measure.form,
                scorers[measure.base],
                drawn,
                any(each.expects for each in same),
                any(each.normal in ("U", "V1", "V2") for each in same),
                self.progress,
                scored.get(measure.base),
            )
            scored[measure.base] = found[measure.key].parts
        return found

    @cached_property
    def scores(self) -> Scores:
        """Scores of all systems under all measures: of texts, of retrieved documents, and of other tools."""
        rankings, remarks = self._of_rankings
        found = reduce(side_by_side, filter(None, (self._of_texts(), rankings, self._of_other_tools())))
        notes = (*dict.fromkeys(self._text_notes(found)), *found.notes, *remarks, *self.collection.notes)
        return replace(found, notes=notes, metadata={**found.metadata, "unit": self.collection.kind.unit})

    def _of_texts(self) -> Scores | None:
        if not self.measures:
            return None
        names = [measure.named(self.bounded[measure.key].name) for measure in self.measures]
        values = np.stack([self.bounded[measure.key].value(measure) for measure in self.measures])
        each = list(zip(names, self.measures, strict=True))
        sampled = {name: measure for name, measure in each if self.bounded[measure.key].is_sampled(measure)}
        errors = {n: float(np.nanmax(self.bounded[measure.key].error(measure))) for n, measure in sampled.items()}
        about = {
            "lower": [name for name, measure in each if measure.lower],
            "exactness": dict.fromkeys(sampled, "sampled"),
            "standard_error": errors,
            "ends": {name: measure.ends for name, measure in each},
        }
        return self._made(names, values, {key: value for key, value in about.items() if value})

    @cached_property
    def _of_rankings(self) -> tuple[Scores | None, tuple[str, ...]]:
        """Scores of retrieved documents, if they are asked for, and remarks on them."""
        return (
            scores_and_remarks(self.collection, list(self.rankings.values()), self.judgments, self._scoring)
            if self.rankings
            else (None, ())
        )

    def _of_other_tools(self) -> Scores | None:
        if not self.other_scores:
            return None
        values = np.stack([self.collection.other_scores[name] for name in self.other_scores])
        return self._made(
            self.other_scores, values, {"lower": [name for name in self.other_scores if name in self.lower]}
        )

    def _made(self, names: Sequence[str], values: Floats, about: dict[str, Any]) -> Scores:
        reasons = np.where(self.collection.has_text, np.where(np.isnan(values), Reason.DEGENERATE, 0), Reason.MISSING)
        systems, ids = self.collection.systems, self.collection.ids
        return Scores(tuple(names), systems, ids, values, reasons.astype(np.uint8), metadata=about)

    def _check(self) -> None:
        bare = next((each.id for each in self.collection.documents if not each.references), None)
        for measure in self.measures:
            if bare is not None and measure.form.needs in ("", "references"):
                raise CalipersError(
                    f"{self.collection.kind.unit} '{bare}' has no reference, which {measure.named()} needs"
                )
            if (
                measure.expects
                and measure.base.startswith("ROUGE-Lsum")
                and measure.bounds(self.options).chance in (None, "words")
            ):
                raise CalipersError(f"{measure.named()}: words drawn at random form no sentences; normalise ROUGE-L")

    # -- notes ---------------------------------------------------------------------------------------

    def _text_notes(self, scores: Scores) -> Iterator[str]:
        """Yield notes about missing, empty and cut texts, and about undefined scores."""
        text, present = self.collection.kind.text, self.collection.has_text
        if missing := int((~present).sum()):
            yield f"{counted(missing, text)} {verb(missing, 'is', 'are')} missing and left out"
        empty, blank = self.collection.empty
        if empty:
            yield f"{counted(empty, text)} {verb(empty, 'is', 'are')} empty and scored like any other"
        if blank and self.measures:
            yield f"{counted(blank, 'reference')} {verb(blank, 'is', 'are')} empty"
        for each in self.bounded.values() if self.measures else ():
            yield from each.notes
        for name, values in zip(scores.measures, scores.values, strict=True):
            if lacking := int((np.isnan(values) & present).sum()):
                of = counted(int(present.sum()), text)
                yield f"{name} is undefined for {lacking:,} of {of}, which {verb(lacking, 'is', 'are')} left out"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about missing, empty, cut and unjudged texts, and about retrieved documents."""
        return self.scores.notes

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes about texts and retrieved documents, without remarks on how they were read and on undefined scores."""
        _, remarks = self._of_rankings
        return self.scores.notes[: len(self.scores.notes) - len(remarks) - len(self.collection.notes)]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences about how the scores were made: libraries, sampled scores with their errors, upper bounds."""
        if not self.measures:
            return ()
        text = self.collection.kind.text
        found = []
        for key, measured in self.bounded.items():
            own = [
                (name, each)
                for name, each in zip(self.scores.measures, self.measures, strict=False)
                if each.key == key and measured.is_sampled(each)
            ]
            if measured.signature:
                found.append(f"{measured.name}: {measured.signature}")
            if own:
                largest = max(self.scores.errors[name] for name, _ in own)
                of_mean = max(float(measured.mean_error(each).max()) for _, each in own)
                seed = own[0][1].bounds(self.options).seed
                found.append(
                    f"{', '.join(name for name, _ in own)} (random texts: {measured.chance}): sampled, "
                    f"{measured.draws:,} per {text}, seed {seed}, standard error at most {largest:.4f} "
                    f"for one {text}, {of_mean:.4f} for the mean of a system"
                )
            if measured.unknown_upper:
                found.append(f"upper bound of {measured.name}: 1, because no attainable bound is known for it")
            if measured.clamped:
                of = counted(measured.clamped, text)
                found.append(f"expected {measured.name}: above the upper bound of {of}; lowered to it")
        for name in self.cannot_reorder:
            unit, texts = self.collection.kind.unit, plural_of(text)
            found.append(
                f"V1 and V2 of {name} cannot change the order of two {texts} of one {unit}: all {texts} of a {unit} "
                "have the same expected score and upper bound"
            )
        return tuple(found)

    @property
    def cannot_reorder(self) -> tuple[str, ...]:
        """Measures whose V1 and V2 keep the order of the texts about a document."""
        wanted = dict.fromkeys(measure.key for measure in self.measures if measure.normal in ("V1", "V2"))
        return tuple(self.bounded[key].name for key in wanted if self.bounded[key].same_within_documents)


def read_texts(
    source: TextsLike,
    *,
    columns: Mapping[str, str] | None = None,
    scores: TextsLike | None = None,
    max_unpacked: int | None = None,
) -> TextCollection:
    """Return texts to be scored: summaries, translations or answers of systems, with their references.

    source: a path, a frame (pandas, polars, Arrow) or a list of dicts, one row per document and system with `id`,
        `system`, `summary` (or `answer`, ...) and `references`. `docs/text.md` lists all fields. {system: source} for
        one source per system.
    columns: names of fields that have other names than usual, for example {"text": "final", "references": "gold"}.
    scores: scores of other tools, a table of id, system and one column per measure.

    >>> read_texts([{"id": "q1", "system": "rag", "answer": "in Ulm", "references": ["Ulm"]}]).systems
    ('rag',)
    """
    collection = as_collection(source, columns=columns, max_unpacked=max_unpacked)
    return collection if scores is None else collection.with_scores(scores_by_text(scores, collection.systems))


def default_measures(collection: TextCollection, has_encoder: bool = False, has_judgments: bool = False) -> list[str]:
    """Return the measures that are scored if none is named: those for which the texts have all that is needed.

    >>> default_measures(as_collection([{"summary": "a cat", "references": ["the cat"]}]))
    ['ROUGE-1 ROUGE-2 ROUGE-L']
    """
    documents, judged = collection.documents, collection.judged.values()
    found = []
    if all(document.references for document in documents):
        found.append("EM F1" if collection.kind == ANSWERS else ROUGE)
        sources = all(document.source is not None for document in documents)
        if sources and collection.kind != ANSWERS:
            found.append("V1(ROUGE-1) V2(ROUGE-1)")
        if has_encoder:
            found.append("BERTScore V1(BERTScore) V2(BERTScore)" if sources else "BERTScore")
    if any(each.nuggets is not None for each in judged):
        found.append("NuggetRecall")
    if any(citation.support is not None for each in judged for s in each.statements or () for citation in s.citations):
        found.append("CitationPrecision CitationRecall")
    ranked = any(each.retrieved is not None for each in judged)
    if ranked and (has_judgments or any(document.relevant for document in documents)):
        found.append(RETRIEVAL)
    words = " ".join(found).split()
    others = [name for name in collection.other_scores if name not in {*words, *collection.unnamed_scores}]
    return [*found, *(f'"{name}"' for name in others)] or [ROUGE]
