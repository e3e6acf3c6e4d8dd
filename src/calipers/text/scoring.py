"""Score summaries under measures, with expected scores and upper bounds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.errors import CalipersError, place_of, warn_user
from calipers.lists import Floats
from calipers.plurals import counted
from calipers.results.scores import Reason, Scores
from calipers.text.bertscore import Matcher
from calipers.text.bertscore_measure import texts_to_encode
from calipers.text.bounded_scores import BoundedScores, Progress
from calipers.text.caches import ScoreCache
from calipers.text.measure_names import TextMeasure, text_measures
from calipers.text.options import TextOptions
from calipers.text.random_texts import DrawnTexts, RandomTexts, lengths_beside
from calipers.text.registry import Context, Expectation, Scorer, TextDeclaration, TextTask
from calipers.text.summaries import Summaries
from calipers.text.tokens import tokenizer_of


@dataclass(frozen=True, eq=False)
class TextScores:
    """Scores of summaries with their bounds. The queries of `scores` are documents."""

    scores: Scores
    asked: tuple[TextMeasure, ...]
    measured: dict[str, BoundedScores]  # by ROUGE-1, ..., BERTScore
    options: TextOptions
    missing: int
    empty_summaries: int
    empty_references: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the texts: missing, empty or cut texts, and answers without judgments."""
        counts = (
            (self.missing, "summary is missing; left out", "summaries are missing; left out"),
            (self.empty_summaries, "summary is empty; it scores 0", "summaries are empty; they score 0"),
            (
                self.empty_references,
                "reference is empty; it matches nothing",
                "references are empty; they match nothing",
            ),
        )
        found = [f"{count} {one if count == 1 else more}" for count, one, more in counts if count]
        return tuple(dict.fromkeys([*found, *(note for each in self.measured.values() for note in each.notes)]))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences about how the scores were made: libraries, sampled scores with their errors, upper bounds."""
        found = []
        for base, measured in self.measured.items():
            own = [(name, each) for name, each in zip(self.scores.measures, self.asked, strict=True)
                   if each.base == base and measured.is_sampled(each)]  # fmt: skip
            if measured.signature:
                found.append(f"{measured.name}: {measured.signature}")
            if own:
                largest = max(self.scores.errors[name] for name, _ in own)
                of_mean = max(float(measured.mean_error(each).max()) for _, each in own)
                found.append(
                    f"{', '.join(name for name, _ in own)} (random texts: {measured.chance}): sampled, "
                    f"{measured.draws:,} per summary, seed {self.options.seed}, standard error at most {largest:.4f} "
                    f"for a summary, {of_mean:.4f} for the mean of a system"
                )
            if measured.unknown_upper:
                found.append(f"upper bound of {measured.name}: 1, because no attainable bound is known for it")
            if measured.clamped:
                summaries = counted(measured.clamped, "summary", "summaries")
                found.append(f"expected {measured.name}: above the upper bound of {summaries}; lowered to it")
        return tuple(found)

    @property
    def cannot_reorder(self) -> tuple[str, ...]:
        """Measures whose V1 and V2 keep the order of a document's summaries."""
        wanted = {measure.base for measure in self.asked if measure.normal in ("V1", "V2")}
        return tuple(self.measured[base].name for base in self.measured
                     if base in wanted and self.measured[base].same_within_documents)  # fmt: skip

    def base_of(self, measure: str) -> str | None:
        """Return the name of the measure that was normalised, or None if it was not asked for."""
        place = place_of("measure", measure, self.scores.measures)
        asked = self.asked[place]
        plain = replace(asked, normal="")
        if asked.normal not in ("V1", "V2") or plain not in self.asked:
            return None
        return self.scores.measures[self.asked.index(plain)]


def evaluate_summaries(
    summaries: Summaries,
    measures: str | Sequence[str],
    options: TextOptions | None = None,
    matcher: Matcher | None = None,
    progress: Progress | None = None,
    *,
    cache: str | os.PathLike[str] | None = None,
    warn: bool = True,
) -> TextScores:
    """Score the summaries of all systems on all documents.

    A `matcher` is needed for BERTScore: `calipers.text.matcher(calipers.text.Encoder("roberta-large"))`. cache: a
    folder that keeps the scores of random texts. warn: give the notes as one CalipersWarning.

    >>> from calipers.text import Document, Summaries
    >>> given = Summaries.of([Document("d1", ("the cat on the mat",), "the cat sat on the mat the end")],
    ...                      {("d1", "s1"): "the cat sat"}, {})
    >>> print(evaluate_summaries(given, "ROUGE-1 V2(ROUGE-1)").scores.mean())
    system  ROUGE-1  V2(ROUGE-1)
    ------  -------  -----------
    s1       0.5000      -0.0303
    <BLANKLINE>
    """
    asked = tuple(text_measures(measures if isinstance(measures, str) else list(measures)))
    kept = None if cache is None else ScoreCache(cache)
    context = Context(summaries, options or TextOptions(), matcher, kept)
    _check(asked, context)
    bases = {measure.base: measure.declaration for measure in asked}
    scorers = {base: declaration.prepare(context, base) for base, declaration in bases.items()}
    expects = {measure.base for measure in asked if measure.expects}
    upper = {measure.base for measure in asked if measure.normal in ("U", "V1", "V2")}
    texts = RandomTexts(summaries, context.options)
    measured = {
        base: bounded(context, bases[base], scorer, texts, base in expects, base in upper, progress)
        for base, scorer in scorers.items()
    }
    names = tuple(measure.named(measured[measure.base].name) for measure in asked)
    values = np.stack([measured[measure.base].value(measure) for measure in asked])
    absent = np.array([[text is None for text in row] for row in summaries.texts])
    reasons = np.where(absent, Reason.MISSING, np.where(np.isnan(values), Reason.DEGENERATE, 0)).astype(np.uint8)
    scores = Scores(names, summaries.systems, summaries.ids, values, reasons, metadata=_about(names, asked, measured))
    found = TextScores(scores, asked, measured, context.options, summaries.missing, *summaries.empty)
    warn_user(found.notes, warn)
    return found


def _about(names: Sequence[str], asked: Sequence[TextMeasure], measured: Mapping[str, BoundedScores]) -> dict[str, Any]:
    """Return what the scores say about each measure: lower is better, sampled, largest standard error."""
    each = list(zip(names, asked, strict=True))
    sampled = {name: measure for name, measure in each if measured[measure.base].is_sampled(measure)}
    largest = {name: float(np.nanmax(measured[measure.base].error(measure))) for name, measure in sampled.items()}
    about = {
        "lower": [name for name, measure in each if measure.lower],
        "exactness": dict.fromkeys(sampled, "sampled"),
        "standard_error": largest,
    }
    return {key: value for key, value in about.items() if value}


def steps(summaries: Summaries, measures: str | Sequence[str]) -> int:
    """Return the total that `progress` reaches: documents, and texts for BERTScore."""
    asked = text_measures(measures if isinstance(measures, str) else list(measures))
    bases = dict.fromkeys(measure.base for measure in asked)
    count = len(summaries.documents) * sum(base != "BERTScore" for base in bases)
    return count + (len(texts_to_encode(summaries)) if "BERTScore" in bases else 0)


def _check(asked: Sequence[TextMeasure], context: Context) -> None:
    bare = next((each.id for each in context.summaries.documents if not each.references), None)
    for measure in asked:
        if bare is not None and measure.declaration.needs in ("", "references"):
            raise CalipersError(f"document '{bare}' has no reference, which {measure.named()} needs")
        if measure.expects and measure.base == "ROUGE-Lsum" and context.options.chance in (None, "words"):
            raise CalipersError(f"{measure.named()}: words drawn at random form no sentences; normalise ROUGE-L")
        if measure.base != "BERTScore":
            continue
        if context.matcher is None:
            raise CalipersError(f"{measure.named()} needs an encoder: the name of a model, or its folder")
        if measure.normal in ("V1", "V2") and context.matcher.baseline is not None:
            raise CalipersError(
                f"{measure.named()} of rescaled scores means nothing, as they can be negative; leave the baseline out"
            )


# -- one measure, with its bounds --------------------------------------------------------------------------


def bounded(
    context: Context,
    declaration: TextDeclaration,
    scorer: Scorer,
    drawn: RandomTexts,
    expects: bool,
    upper: bool,
    progress: Progress | None = None,
) -> BoundedScores:
    """Score all texts under one measure, with expected scores if `expects` and upper bounds if `upper`."""
    summaries, options = context.summaries, context.options
    shape = (len(summaries.systems), len(summaries.documents), len(declaration.parts))
    share = declaration.share or _itself
    parts, ideal = np.full(shape, np.nan), np.ones(shape)
    tasks, rows = _tasks(summaries)
    for (there, d), found in zip(rows, scorer.scores(tasks, progress), strict=True):
        parts[there, d] = found
    unknown = upper and options.upper == "attainable" and not _attainable(scorer, tasks, rows, options, ideal)
    if upper and options.upper == "human":
        for (there, d), most in zip(rows, human_ceiling(scorer, tasks, share), strict=True):
            ideal[there, d] = most
    bounds: dict[str, Any] = {}
    if expects:
        chance = options.chance or declaration.chance or ""
        given = (
            scorer.expected(tasks) if scorer.knows(chance) else _scored(context, scorer, tasks, chance, drawn, share)
        )
        bounds = _gathered(shape, rows, given, declaration.share) | {"chance": chance}
    shares = None if declaration.share is None else share(parts)
    return BoundedScores(
        scorer.name, parts, ideal, notes=scorer.notes, names=declaration.parts, shares=shares,
        signature=scorer.signature, unknown_upper=unknown, **bounds,
    )  # fmt: skip


def _itself(scores: Floats) -> Floats:
    return scores


def _tasks(summaries: Summaries) -> tuple[list[TextTask], list[tuple[list[int], int]]]:
    """Return the texts about each document, and the systems that wrote them."""
    tasks, rows = [], []
    for d, document in enumerate(summaries.documents):
        there = [s for s, row in enumerate(summaries.texts) if row[d] is not None]
        if there:
            texts = tuple(summaries.texts[s][d] or "" for s in there)
            tasks.append(TextTask(document, texts, tuple(summaries.systems[s] for s in there)))
            rows.append((there, d))
    return tasks, rows


def _attainable(
    scorer: Scorer,
    tasks: Sequence[TextTask],
    rows: Sequence[tuple[list[int], int]],
    options: TextOptions,
    ideal: Floats,
) -> bool:
    """Fill in attainable upper bounds. Returns False if they are not known."""
    words = tokenizer_of(options.tokenizer, options.stem)
    for task, (there, d) in zip(tasks, rows, strict=True):
        lengths = lengths_beside(task.texts, task.document, words, options)
        own = np.array([len(words(text)) or int(n) for text, n in zip(task.texts, lengths, strict=True)])
        if (most := scorer.attainable(task, own)) is None:
            return False
        ideal[there, d] = most
    return True


def human_ceiling(
    scorer: Scorer, tasks: Sequence[TextTask], share: Callable[[Floats], Floats] = _itself
) -> list[Floats]:
    """Return the mean score of each reference against the others: [part] for each task."""
    held_out = []
    for task in tasks:
        known = task.document.references
        if len(known) < 2:
            raise CalipersError(
                f"document '{task.document.id}' has one reference; the human ceiling takes each against the others"
            )
        held_out += [
            TextTask(replace(task.document, references=known[:i] + known[i + 1 :]), (text,))
            for i, text in enumerate(known)
        ]
    scores = iter(scorer.scores(held_out))
    return [np.mean([share(next(scores)[0]) for _ in task.document.references], axis=0) for task in tasks]


def _scored(
    context: Context,
    scorer: Scorer,
    tasks: Sequence[TextTask],
    chance: str,
    drawn: RandomTexts,
    share: Callable[[Floats], Floats],
) -> list[Expectation]:
    """Score random texts one by one, each different text of a document once."""
    drawn_texts = [drawn.beside(chance, task.document, task.texts) for task in tasks]
    known = [
        {text: i for i, text in enumerate(dict.fromkeys(t for g in each.groups for t in g))} for each in drawn_texts
    ]
    random = [TextTask(task.document, tuple(texts)) for task, texts in zip(tasks, known, strict=True)]
    scores = scorer.scores(random) if context.kept is None else context.kept.scores(scorer, random)
    found = []
    for each, place, values in zip(drawn_texts, known, scores, strict=True):
        groups_of = [values[[place[text] for text in texts]] for texts in each.groups]
        mean, error = _weighted_means(groups_of, each)
        shares, share_error = _weighted_means([share(own) for own in groups_of], each)
        found.append(Expectation(mean, error, each.exactness, context.options.texts, shares, share_error))
    return found


def _weighted_means(groups: Sequence[Floats], drawn: DrawnTexts) -> tuple[Floats, Floats]:
    """Return the mean score of the random texts for each summary, and its standard error: [summary, part] each."""
    means, errors = [], []
    for own, chances in zip(groups, drawn.weights, strict=True):
        if chances is None:
            means.append(own.mean(axis=0))
            errors.append(own.std(axis=0, ddof=1) / np.sqrt(len(own)))
        else:
            means.append(chances @ own)
            errors.append(np.zeros(own.shape[1]))
    return np.array(means)[drawn.place], np.array(errors)[drawn.place]


def _gathered(
    shape: tuple[int, ...], rows: Sequence[tuple[list[int], int]], found: Sequence[Expectation], share: object
) -> dict[str, Any]:
    expected, error, shares, share_error = (np.zeros(shape) for _ in range(4))
    for (systems, d), each in zip(rows, found, strict=True):
        expected[systems, d], error[systems, d] = each.mean, each.error
        shares[systems, d] = each.mean if each.share is None else each.share
        share_error[systems, d] = each.error if each.share_error is None else each.share_error
    order = ("exact", "enumerated", "sampled")
    return {
        "expected": expected,
        "expected_error": error,
        "exactness": max((each.exactness for each in found), key=order.index, default="exact"),
        "draws": max((each.draws for each in found), default=0),
        "expected_shares": None if share is None else shares,
        "expected_share_error": None if share is None else share_error,
    }
