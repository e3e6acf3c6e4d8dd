"""Agreement of judges on nuggets and citations with people, such as a language model that assigns support.

Everybody judges the same answers. A label is one of

    nuggets      the support of a nugget by an answer: 0, 0.5 or 1
    importance   1 for a vital nugget, 0 for an okay one
    citations    the support that a cited document gives to a statement
    statements   the support of a statement by all its citations together

Nuggets are matched by their texts, statements by their texts, and citations by statement and document. Agreement is
counted over labels that both gave, and its intervals come from resampled queries.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from calipers.collection.run_names import stem_of
from calipers.errors import CalipersError
from calipers.measures.random_rankings import SEED
from calipers.questions.judges.agreement import Confusion, percentiles
from calipers.questions.judges.effects_on_systems import Effects
from calipers.questions.judges.repaired_scores import COLUMNS, DIFFERENCE_COLUMNS, repaired, values_of
from calipers.questions.judges.score_repair import FEWEST
from calipers.results.messages import some
from calipers.results.result import Result, Tables
from calipers.results.scores import Reason, Scores
from calipers.results.tables import Cell, Table
from calipers.statistics.bounded_intervals import Range
from calipers.support.checks import check_level
from calipers.support.plurals import counted, verb
from calipers.texts.answer_judgments import AnswerJudgments
from calipers.texts.collection import TextCollection
from calipers.texts.evaluation import Evaluation
from calipers.texts.text_files import TextsLike, as_collection

KINDS = ("nuggets", "importance", "citations", "statements")
MEASURES = {"NuggetRecall": "nuggets", "CitationPrecision": "citations", "CitationRecall": "citations"}
DRAWS = 1000

Answer = tuple[str, str]  # query and system


@dataclass(frozen=True)
class Label:
    """One label that a person and a judge both gave."""

    kind: str
    query: str
    system: str
    item: str  # the nugget, the statement, or the statement and the cited document
    judge: str
    human_label: float
    judge_label: float


@dataclass(frozen=True, eq=False, repr=False)
class AnswerStudy(Result):
    """Agreement of judges of answers with people, and the scores of systems under the labels of either."""

    labels: tuple[Label, ...]
    judges: tuple[str, ...]
    scores: Mapping[str, tuple[Scores, Scores]]  # by judge: of all answers, by labels of people and of the judge
    unmatched: Mapping[str, int]  # by judge: labels that only one of the two gave
    draws: int = DRAWS
    level: float = 0.95
    seed: int = SEED

    @property
    def title(self) -> str:
        return f"{counted(len(self.judges), 'judge')} of nuggets and citations, compared with people"

    @property
    def summary(self) -> str:
        table = self.table("agreement")
        said = []
        for judge in self.judges:
            row = next(row for row in table.rows if row[0] == judge)
            _, kind, labels, agreement, kappa, low, high, bias = row
            shift = float(str(bias))
            support = "as much support as they do" if abs(shift) < 0.0005 else f"{abs(shift):.3f} "
            support += "" if abs(shift) < 0.0005 else "more support" if shift > 0 else "less support"
            said.append(
                f"{judge} agrees with people on {float(str(agreement)):.1%} of {labels:,} labels of {kind} (weighted "
                f"kappa {float(str(kappa)):.2f}, {self.level:.0%} interval {float(str(low)):.2f} to "
                f"{float(str(high)):.2f}) and gives {support} on average."
            )
        return " ".join(said[:2])

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(
            f"{counted(count, 'label')} {verb(count, 'was', 'were')} given by only one of people and {judge}; left out"
            for judge, count in self.unmatched.items()
            if count
        )

    def tables(self) -> Mapping[str, Table]:
        """Return tables: `agreement`, `ranks` (scores of systems under either's labels), `confusion` and `labels`."""
        return Tables(
            {
                "agreement": self._agreement,
                "ranks": self.ranks,
                "confusion": self._confusion,
                "labels": self._labels,
            }
        )

    @cached_property
    def confusion(self) -> dict[tuple[str, str], Confusion]:
        """Confusion matrices by judge and kind of label."""
        found = {}
        for judge in self.judges:
            for kind in KINDS:
                chosen = [each for each in self.labels if (each.judge, each.kind) == (judge, kind)]
                if chosen:
                    found[judge, kind] = _confusion(f"{judge}, {kind}", chosen)
        return found

    def _agreement(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for (judge, kind), confusion in self.confusion.items():
            value = confusion.statistics()
            drawn = confusion.resampled(self.draws, self.seed)["kappa_linear"]
            ends = percentiles(drawn, self.level)
            labels = int(confusion.counts.sum())
            rows.append((judge, kind, labels, value["agreement"], value["kappa_linear"], *ends, value["bias"]))
        columns = ("judge", "kind", "n", "agreement", "weighted kappa", "low", "high", "bias")
        return Table(columns, tuple(rows), {"draws": self.draws, "level": self.level, "seed": self.seed})

    def ranks(self) -> Table:
        """Return scores and ranks of systems under the labels of people and of each judge, on answers of both."""
        parts = [Effects(("people", judge), _on_common_answers(*both)).ranks() for judge, both in self.scores.items()]
        return Table(parts[0].columns, tuple(row for part in parts for row in part.rows))

    def correct(self, level: float = 0.95, seed: int = SEED) -> Table:
        """Return scores on all answers that a judge labelled, repaired by the answers that people labelled, too.

        One row per judge, measure and system, with the columns of `JudgeStudy.correct`. Systems of which people
        labelled fewer than four answers, or all but one, are left out.
        """
        return self._repaired(1, level, seed)

    def correct_differences(self, level: float = 0.95, seed: int = SEED) -> Table:
        """Return repaired differences of all pairs of systems, over the queries that have answers of both."""
        return self._repaired(2, level, seed)

    def _repaired(self, size: int, level: float, seed: int) -> Table:
        """Return one row per judge, measure and system (size 1) or pair of systems (size 2)."""
        check_level(level)
        rows: list[tuple[Cell, ...]] = []
        left_out: list[str] = []
        for judge, (human, judged) in self.scores.items():
            for m, measure in enumerate(human.measures):
                ours, theirs = _by_system(human, m), _by_system(judged, m)
                ends = _within(human, measure)
                within = ends if ends is None or size == 1 else (ends[0] - ends[1], ends[1] - ends[0])
                for names in combinations(judged.systems, size):
                    cells = repaired(values_of(theirs, names), values_of(ours, names), within, level, seed)
                    if cells is None:
                        left_out.append(f"{measure} of {' and '.join(names)}")
                    else:
                        rows.append((judge, measure, *names, *cells))
        few = (
            f"at least {FEWEST} queries must have labels of people and of the judge, and two more labels of the judge "
            "only"
        )
        if not rows:
            raise CalipersError(f"there is nothing to correct: {few}")
        notes = (f"not corrected: {some(left_out)}: {few}",) if left_out else ()
        columns = COLUMNS if size == 1 else DIFFERENCE_COLUMNS
        return Table(columns, tuple(rows), {"level": level, "seed": seed}, notes=notes)

    def _confusion(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for (judge, kind), confusion in self.confusion.items():
            for human, counts in zip(confusion.grades.tolist(), confusion.counts.tolist(), strict=True):
                pairs = zip(confusion.grades.tolist(), counts, strict=True)
                rows += [(judge, kind, human, label, int(count)) for label, count in pairs if count]
        return Table(("judge", "kind", "by people", "by judge", "labels"), tuple(rows))

    def _labels(self) -> Table:
        """Return one row per label. `item` is unique for each judge, so that other tools can read the rows."""
        rows: list[tuple[Cell, ...]] = [
            (
                f"{each.query}/{each.system}/{each.kind}/{each.item}",
                each.query,
                each.system,
                each.kind,
                each.judge,
                each.judge_label,
                each.human_label,
            )
            for each in self.labels
        ]
        return Table(("item", "query", "system", "kind", "judge", "label", "human"), tuple(rows))


def judge_answers(
    human: TextsLike,
    judges: Mapping[str, TextsLike] | TextsLike,
    measures: str | Sequence[str] | None = None,
    *,
    draws: int = DRAWS,
    level: float = 0.95,
    seed: int = SEED,
) -> AnswerStudy:
    """Measure how far judges of nuggets and citations agree with people.

    human: answers with the labels of people, as for `calipers.read_texts`. judges: the same answers with the labels
    of each judge, by name; one file or list of rows is one judge. measures: such as "NuggetRecall(part=vital)"; without
    it, those of nuggets and citations that fit the labels. draws: resamples of queries for the intervals of agreement.

    >>> def answer(*support):
    ...     nuggets = [{"text": text, "assignment": each} for text, each in zip("ab", support)]
    ...     return [{"id": "q1", "system": "rag", "answer": "In Ulm.", "nuggets": nuggets}]
    >>> found = judge_answers(answer("support", "not_support"), {"llm": answer("support", "support")})
    >>> found.table("confusion").to_csv().splitlines()[1:3]
    ['llm,nuggets,0.0,1.0,1', 'llm,nuggets,1.0,1.0,1']
    """
    people = as_collection(human)
    named = _named(judges)
    labels: list[Label] = []
    scores: dict[str, tuple[Scores, Scores]] = {}
    unmatched: dict[str, int] = {}
    for name, given in named.items():
        own = as_collection(given)
        found, unmatched[name] = _common_labels(name, people, own)
        if not found:
            raise CalipersError(f"'{name}' and people have no label of the same nugget or citation", file=own.name)
        labels += found
        kinds = {each.kind for each in found}
        names = measures or [measure for measure, kind in MEASURES.items() if kind in kinds]
        by_people, by_judge = (Evaluation(_without_open_citations(each), names).scores for each in (people, own))
        scores[name] = by_people, by_judge
    return AnswerStudy(tuple(labels), tuple(named), scores, unmatched, draws, level, seed)


def _named(judges: Mapping[str, TextsLike] | TextsLike) -> dict[str, TextsLike]:
    """Return judges by name. A single judge is named after its file."""
    if isinstance(judges, Mapping):
        if not judges:
            raise CalipersError("there is no judge to compare with people")
        return dict(judges)
    is_path = isinstance(judges, str | os.PathLike)
    return {stem_of(os.fspath(judges)) if is_path else "judge": judges}


def _confusion(judge: str, labels: Sequence[Label]) -> Confusion:
    """Return how often a judge gave each label where people gave each."""
    grades = sorted({label for each in labels for label in (each.human_label, each.judge_label)})
    queries = list(dict.fromkeys(each.query for each in labels))
    counts = np.zeros((len(queries), len(grades), len(grades)))
    for each in labels:
        counts[queries.index(each.query), grades.index(each.human_label), grades.index(each.judge_label)] += 1
    return Confusion(judge, np.array(grades), counts, tuple(queries))


def _common_labels(judge: str, people: TextCollection, judged: TextCollection) -> tuple[list[Label], int]:
    """Return the labels that both gave, and the number of labels that only one of the two gave."""
    known = {(answer, *item): label for answer, item, label in _labels_of(people)}
    own = {(answer, *item): label for answer, item, label in _labels_of(judged)}
    if not any(label for each in (known, own) for (_, kind, _), label in each.items() if kind == "importance"):
        # No nugget is vital: the files say nothing about importance.
        known, own = ({key: label for key, label in each.items() if key[1] != "importance"} for each in (known, own))
    found = [
        Label(kind, query, system, item, judge, known[(query, system), kind, item], own[(query, system), kind, item])
        for (query, system), kind, item in known
        if ((query, system), kind, item) in own
    ]
    return found, len(known) + len(own) - 2 * len(found)


def _labels_of(collection: TextCollection) -> Iterator[tuple[Answer, tuple[str, str], float]]:
    """Yield the labels of all answers: query and system, kind and item, label."""
    for answer, judged in collection.judged.items():
        for kind, item, label in _labels_of_answer(judged):
            yield answer, (kind, item), label


def _labels_of_answer(judged: AnswerJudgments) -> Iterator[tuple[str, str, float]]:
    for place, nugget in enumerate(judged.nuggets or ()):
        item = nugget.text or str(place + 1)
        yield "nuggets", item, nugget.support
        yield "importance", item, float(nugget.importance == "vital")
    for place, statement in enumerate(judged.statements or ()):
        item = statement.text or str(place + 1)
        if statement.support is not None:
            yield "statements", item, statement.support
        for citation in statement.citations:
            if citation.support is not None:
                yield "citations", f"{item} [{citation.document}]", citation.support


def _without_open_citations(collection: TextCollection) -> TextCollection:
    """Return the answers without the statements of those with a citation that nobody labelled: they are not judged."""

    def is_open(judged: AnswerJudgments) -> bool:
        return any(each.support is None for statement in judged.statements or () for each in statement.citations)

    judged = {
        answer: replace(each, statements=None) if is_open(each) else each for answer, each in collection.judged.items()
    }
    return replace(collection, judged=judged)


def _by_system(scores: Scores, m: int) -> dict[str, dict[str, float]]:
    """Return the defined scores under a measure by system and query."""
    return {
        system: {query: value for query, value in zip(scores.queries, row, strict=True) if value == value}
        for system, row in zip(scores.systems, scores.values[m].tolist(), strict=True)
    }


def _within(scores: Scores, measure: str) -> Range | None:
    """Return the range of a measure, or None if it has an open end."""
    low, high = scores.metadata.get("ends", {}).get(measure, (None, None))
    return None if low is None or high is None else (low, high)


def _on_common_answers(human: Scores, judged: Scores) -> tuple[Scores, Scores]:
    """Return both scores of the answers that people and the judge labelled."""
    systems = [each for each in human.systems if each in judged.systems]
    queries = [each for each in human.queries if each in judged.queries]
    one, other = (each.of_systems(systems).of_queries(queries) for each in (human, judged))
    lacking = np.isnan(one.values) | np.isnan(other.values)
    reasons = np.where(lacking, np.uint8(Reason.MISSING), one.reasons)
    values = (np.where(lacking, np.nan, each.values) for each in (one, other))
    one, other = (replace(one, values=each, reasons=reasons) for each in values)
    return one, other
