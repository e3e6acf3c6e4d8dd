"""Summaries under measures: a table of systems x measures, or document by document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calipers.errors import CalipersError, place_of, warn_user
from calipers.results.scores import Reason, Scores
from calipers.text.bertscore import Matcher
from calipers.text.bertscore_of_summaries import bertscore_of, texts_to_encode
from calipers.text.bounded_scores import BoundedScores, Progress
from calipers.text.measure_names import TextMeasure, text_measures
from calipers.text.options import TextOptions
from calipers.text.rouge_of_summaries import rouge_of
from calipers.text.summaries import Summaries


@dataclass(frozen=True, eq=False)
class TextScores:
    """The scores of summaries, and what they are made of. `scores` has systems x documents, its `queries`."""

    scores: Scores
    asked: tuple[TextMeasure, ...]
    measured: dict[str, BoundedScores]  # by ROUGE-1, ..., BERTScore
    options: TextOptions
    missing: int
    empty_summaries: int
    empty_references: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What `calipers text` warns of: texts that are missing, empty or cut."""
        counts = (
            (self.missing, "summary is missing; left out", "summaries are missing; left out"),
            (self.empty_summaries, "summary is empty; it scores 0", "summaries are empty; they score 0"),
            (
                self.empty_references,
                "reference is empty; it matches nothing",
                "references are empty; they match nothing",
            ),
            *(
                (each.cut, f"text is {longer}", f"texts are {longer}")
                for each in self.measured.values()
                for longer in [f"longer than the model of {each.name} reads; cut"]
            ),
        )
        return tuple(f"{count} {one if count == 1 else more}" for count, one, more in counts if count)

    @property
    def cannot_reorder(self) -> tuple[str, ...]:
        """The measures whose V1 and V2 order the summaries of each document as the measure itself does."""
        wanted = {measure.base for measure in self.asked if measure.normal in ("V1", "V2")}
        return tuple(self.measured[base].name for base in self.measured
                     if base in wanted and self.measured[base].same_within_documents)  # fmt: skip

    def base_of(self, measure: str) -> str | None:
        """The name of the measure that a normalised one is made of, where that was asked for too."""
        place = place_of("measure", measure, self.scores.measures)
        asked = self.asked[place]
        plain = TextMeasure(asked.base, asked.part)
        if asked.normal not in ("V1", "V2") or plain not in self.asked:
            return None
        return self.scores.measures[self.asked.index(plain)]


def evaluate_summaries(
    summaries: Summaries,
    measures: str | Sequence[str],
    options: TextOptions | None = None,
    matcher: Matcher | None = None,
    progress: Progress | None = None,
    warn: bool = True,
) -> TextScores:
    """Score the summaries of all systems on all documents.

    A `matcher` is needed for BERTScore: `calipers.text.matcher(calipers.text.Encoder("roberta-large"))`. warn: give the
    notes as one CalipersWarning.

    >>> from calipers.text import Document, Summaries
    >>> given = Summaries.of([Document("d1", ("the cat on the mat",), "the cat sat on the mat the end")],
    ...                      {("d1", "s1"): "the cat sat"}, {})
    >>> print(evaluate_summaries(given, "ROUGE-1 V2(ROUGE-1)").scores.mean())
    system  ROUGE-1  V2(ROUGE-1)
    ------  -------  -----------
    s1       0.5000      -0.0303
    <BLANKLINE>
    """
    chosen = options or TextOptions()
    asked = tuple(text_measures(measures if isinstance(measures, str) else list(measures)))
    _check(asked, matcher)
    measured = _measured(summaries, asked, chosen, matcher, progress)
    names = tuple(measure.named(measured[measure.base].name) for measure in asked)
    values = np.stack([measured[measure.base].value(measure) for measure in asked])
    absent = np.array([[text is None for text in row] for row in summaries.texts])
    reasons = np.where(absent, Reason.MISSING, np.where(np.isnan(values), Reason.DEGENERATE, 0)).astype(np.uint8)
    scores = Scores(names, summaries.systems, summaries.ids, values, reasons)
    found = TextScores(scores, asked, measured, chosen, summaries.missing, *summaries.empty)
    warn_user(found.notes, warn)
    return found


def steps(summaries: Summaries, measures: str | Sequence[str]) -> int:
    """How far `progress` will go."""
    asked = text_measures(measures if isinstance(measures, str) else list(measures))
    bert = [measure for measure in asked if measure.base == "BERTScore"]
    count = len(summaries.documents) if len(bert) < len(asked) else 0
    return count + (len(texts_to_encode(summaries, any(m.expects for m in bert))) if bert else 0)


def _check(asked: Sequence[TextMeasure], matcher: Matcher | None) -> None:
    for measure in asked:
        if measure.base != "BERTScore":
            continue
        if matcher is None:
            raise CalipersError(f"{measure.named()} needs an encoder: the name of a model, or its folder")
        if measure.normal in ("V1", "V2") and matcher.baseline is not None:
            raise CalipersError(
                f"{measure.named()} of rescaled scores means nothing, as they can be negative; leave the baseline out"
            )


def _measured(
    summaries: Summaries,
    asked: Sequence[TextMeasure],
    options: TextOptions,
    matcher: Matcher | None,
    progress: Progress | None,
) -> dict[str, BoundedScores]:
    bases = list(dict.fromkeys(measure.base for measure in asked))
    expects = [base for base in bases if any(m.expects for m in asked if m.base == base)]
    rouges = [base for base in bases if base != "BERTScore"]
    found: dict[str, BoundedScores] = {}
    if rouges:
        found |= rouge_of(summaries, rouges, [base for base in expects if base in rouges], options, progress)
    if "BERTScore" in bases and matcher is not None:
        found["BERTScore"] = bertscore_of(summaries, matcher, "BERTScore" in expects, options, progress)
    return found
