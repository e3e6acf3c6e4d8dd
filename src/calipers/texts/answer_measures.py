"""Measures of answers: exact match and token F1, recall of nuggets, precision and recall of citations.

    EM                  1 if the answer is one of the references after SQuAD's normalisation, else 0
    F1                  2 P R / (P + R) of the words shared with the nearest reference
    NuggetRecall        the mean support of the nuggets; (part=vital) of the vital ones; (part=weighted) with weight 1
                        for vital and 1/2 for okay nuggets, or their own weights; strict counts full support only
    CitationPrecision   the mean support that citations give to their statements
    CitationRecall      the mean support of statements: by all citations of a statement together if it was judged, else
                        by its best citation; a statement without citation has support 0
    CitationF1          the harmonic mean of both

SQuAD's normalisation: lower case, no punctuation (of ASCII, Chinese and Japanese), no articles (a, an, the), single
spaces. F1 takes each letter as a word in scripts that put no space between words, such as Chinese or Thai.

An answer whose list of nuggets or statements is empty scores 0, so that a question without an answer cannot raise a
mean. The same holds for an answer that cites nothing although a statement needs a citation. An answer that was not
judged (the file has no such list) has no score.

Rajpurkar et al., SQuAD: 100,000+ questions for machine comprehension of text, EMNLP 2016. Pradeep et al., Initial
nugget evaluation results for the TREC 2024 RAG track with the AutoNuggetizer framework, 2024. Liu, Zhang & Liang,
Evaluating verifiability in generative search engines, Findings of EMNLP 2023.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.support.plurals import counted
from calipers.texts.answer_judgments import AnswerJudgments, Nugget, Statement
from calipers.texts.bounded_scores import Progress
from calipers.texts.registry import FROM_0_TO_1, PARTS, Context, Scorer, TextTask, declare, measure
from calipers.texts.tokens import spaced

VITAL_WEIGHT, OKAY_WEIGHT = 1.0, 0.5
NUGGET_PARTS = ("vital", "vital_strict", "weighted", "weighted_strict", "strict", "all")
CITATION_PARTS = ("strict", "all")
SQUAD = "Rajpurkar et al., SQuAD: 100,000+ questions for machine comprehension of text, EMNLP 2016."
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation + "。、，．！？；：「」『』（）《》〈〉【】・…")


# -- answers and references ----------------------------------------------------------------------------------


def squad_normalised(text: str) -> str:
    """Normalise a text by SQuAD's rules.

    >>> squad_normalised("The  Eiffel-Tower!")
    'eiffeltower'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


@measure(
    "EM",
    aliases=("exact_match", "ExactMatch"),
    range=FROM_0_TO_1,
    formula="EM = 1 if the normalised answer equals a normalised reference, else 0",
    citation=SQUAD,
)
def exact_match(candidate: str, references: Sequence[str], source: str | None = None) -> float:  # noqa: ARG001  measures take three arguments
    """Return 1 if an answer equals one of the references after SQuAD's normalisation, else 0.

    >>> exact_match("the Eiffel Tower.", ["Eiffel Tower"])
    1.0
    """
    own = squad_normalised(candidate)
    return float(any(own == squad_normalised(each) for each in references))


@measure(
    "F1",
    parts=PARTS,
    aliases=("token_f1", "TokenF1"),
    range=FROM_0_TO_1,
    formula="F1 = 2 P R / (P + R), P and R the shares of the answer's and of the reference's words that both have",
    citation=SQUAD,
)
def token_f1(candidate: str, references: Sequence[str], source: str | None = None) -> tuple[float, float, float]:  # noqa: ARG001  measures take three arguments
    """Return precision, recall and F1 of an answer's words against the reference with the best F1 (SQuAD's rules).

    >>> token_f1("in the old town", ["the town of Ulm"])
    (0.3333333333333333, 0.3333333333333333, 0.3333333333333333)
    """
    own, *known = (Counter(spaced(squad_normalised(each)).split()) for each in (candidate, *references))
    return max((_in_common(own, each) for each in known), key=lambda parts: parts[2])


def _in_common(own: Counter[str], wanted: Counter[str]) -> tuple[float, float, float]:
    if not own or not wanted:  # no answer, which may be the right one
        alike = float(own == wanted)
        return alike, alike, alike
    common = (own & wanted).total()
    precision, recall = common / own.total(), common / wanted.total()
    return precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0


# -- nuggets -------------------------------------------------------------------------------------------------


def nugget_recall(nuggets: Sequence[Nugget]) -> dict[str, float]:
    """Return the mean support of nuggets: of all, of the vital ones, weighted; strict counts full support only.

    An empty list scores 0. A part without nuggets (for example, no vital one) is NaN.

    >>> found = nugget_recall([Nugget("a", 1.0, "vital"), Nugget("b", 0.5, "vital"), Nugget("c", 0.5), Nugget("d", 0)])
    >>> found["all"], found["vital"], found["strict"], round(found["weighted"], 4)
    (0.5, 0.75, 0.25, 0.5833)
    """
    if not nuggets:
        return dict.fromkeys(("all", "strict", "vital", "vital_strict", "weighted", "weighted_strict"), 0.0)
    support = np.array([each.support for each in nuggets])
    full = (support >= 1).astype(np.float64)
    vital = np.array([each.importance == "vital" for each in nuggets], dtype=bool)
    usual = np.where(vital, VITAL_WEIGHT, OKAY_WEIGHT)
    weight = np.array([u if each.weight is None else each.weight for each, u in zip(nuggets, usual, strict=True)])
    return {
        "all": _mean(support),
        "strict": _mean(full),
        "vital": _mean(support[vital]),
        "vital_strict": _mean(full[vital]),
        "weighted": _mean(support, weight),
        "weighted_strict": _mean(full, weight),
    }


def _mean(values: Floats, weight: Floats | None = None) -> float:
    total = len(values) if weight is None else weight.sum()
    if not total:
        return np.nan
    return float(values.mean() if weight is None else values @ weight / total)


# -- citations -----------------------------------------------------------------------------------------------


def cites_nothing(statements: Sequence[Statement]) -> bool:
    """Return True if a statement needs a citation and no statement has one."""
    return any(each.needs_citation for each in statements) and not any(each.citations for each in statements)


def citation_support(statements: Sequence[Statement], strict: bool = False) -> tuple[float, float, float]:
    """Return precision, recall and F1 of citations.

    An answer without statements scores 0, and so does the precision of an answer that cites nothing although a
    statement needs a citation. Recall is NaN if no statement needs a citation.

    >>> from calipers.texts import Citation
    >>> cited = Statement("s", (Citation("d1", 1.0), Citation("d2", 0.0)))
    >>> citation_support([cited, Statement("not cited")])
    (0.5, 0.5, 0.5)
    """
    if not statements:
        return 0.0, 0.0, 0.0
    every = [citation for each in statements for citation in each.citations]
    if unknown := next((each for each in every if each.support is None), None):
        raise CalipersError(f"it is not known whether the cited document '{unknown.document}' supports its statement")
    value = (lambda support: float(support >= 1)) if strict else float
    own = [
        value(max((c.support or 0.0 for c in each.citations), default=0.0) if each.support is None else each.support)
        for each in statements
        if each.needs_citation
    ]
    cited = [value(each.support or 0.0) for each in every]
    precision = 0.0 if cites_nothing(statements) else _mean(np.array(cited))
    recall = _mean(np.array(own))
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both > 0 else both  # 0, or undefined


# -- declarations --------------------------------------------------------------------------------------------


class JudgedScorer(Scorer):
    """A measure of an answer's nuggets or statements."""

    def __init__(
        self, name: str, context: Context, field: str, values: Callable[[AnswerJudgments], Sequence[float]], parts: int
    ) -> None:
        self.name, self._judged, self._field, self._values, self._parts = (
            name,
            context.collection.judged,
            field,
            values,
            parts,
        )
        self._empty: set[tuple[str, str]] = set()  # answers whose list is empty
        self._uncited: set[tuple[str, str]] = set()
        if all(getattr(each, field) is None for each in self._judged.values()):
            raise CalipersError(f"{name} needs the field '{field}', which no answer has", file=context.collection.name)

    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        found = []
        for task in tasks:
            rows = np.full((len(task.texts), self._parts), np.nan)  # NaN for an answer that was not judged
            for place, system in enumerate(task.systems):
                judged = self._judged.get((task.document.id, system))
                if judged is not None and getattr(judged, self._field) is not None:
                    self._count(judged, (task.document.id, system))
                    try:
                        rows[place] = self._values(judged)
                    except CalipersError as error:
                        where = f"{task.document}, system '{system}'"
                        raise CalipersError(f"{where}: {error.message}, which {self.name} needs") from None
            found.append(rows)
            if progress is not None:
                progress(1)
        return found

    def _count(self, judged: AnswerJudgments, answer: tuple[str, str]) -> None:
        """Remember answers that score 0 because there is nothing to judge."""
        if not getattr(judged, self._field):
            self._empty.add(answer)
        elif self._field == "statements" and judged.statements and cites_nothing(judged.statements):
            self._uncited.add(answer)

    @property
    def notes(self) -> tuple[str, ...]:
        empty, uncited = len(self._empty), len(self._uncited)
        found = []
        if empty:
            verbs = ("has", "scores") if empty == 1 else ("have", "score")
            found.append(f"{counted(empty, 'answer')} {verbs[0]} no {self._field} and {verbs[1]} 0")
        if uncited:
            verbs = ("cites", "its") if uncited == 1 else ("cite", "their")
            found.append(f"{counted(uncited, 'answer')} {verbs[0]} nothing; {verbs[1]} citation scores are 0")
        return tuple(found)


def nuggets_scorer(context: Context, name: str) -> Scorer:
    """Return the scorer of nuggets."""

    def values(judged: AnswerJudgments) -> list[float]:
        found = nugget_recall(judged.nuggets or ())
        return [found[part] for part in NUGGET_PARTS]

    return JudgedScorer(name, context, "nuggets", values, len(NUGGET_PARTS))


def citations_scorer(context: Context, name: str) -> Scorer:
    """Return the scorer of one measure of citations."""
    place = ("CitationPrecision", "CitationRecall", "CitationF1").index(name)

    def values(judged: AnswerJudgments) -> list[float]:
        return [citation_support(judged.statements or (), part == "strict")[place] for part in CITATION_PARTS]

    return JudgedScorer(name, context, "statements", values, len(CITATION_PARTS))


declare(
    "NuggetRecall",
    nuggets_scorer,
    NUGGET_PARTS,
    chance=None,
    needs="judgments",
    range=FROM_0_TO_1,
    sentence="Mean support of the nuggets (facts that a good answer states) by an answer.",
    formula="NuggetRecall = sum of support (0, 0.5 or 1) / number of nuggets",
    citation="Pradeep et al., Initial nugget evaluation results for the TREC 2024 RAG track with the "
    "AutoNuggetizer framework, 2024.",
)
_CITATIONS = {
    "CitationPrecision": (
        "Mean support that the cited documents give to the statements of an answer.",
        "CitationPrecision = sum of support over citations / number of citations",
    ),
    "CitationRecall": (
        "Mean support of the statements of an answer by their citations.",
        "CitationRecall = sum of support over statements that need a citation / number of such statements",
    ),
    "CitationF1": (
        "Harmonic mean of citation precision and citation recall.",
        "CitationF1 = 2 P R / (P + R)",
    ),
}
for _name, (_sentence, _formula) in _CITATIONS.items():
    declare(
        _name,
        citations_scorer,
        CITATION_PARTS,
        chance=None,
        needs="judgments",
        range=FROM_0_TO_1,
        sentence=_sentence,
        formula=_formula,
        citation="Liu, Zhang & Liang, Evaluating verifiability in generative search engines, Findings of EMNLP 2023.",
    )
