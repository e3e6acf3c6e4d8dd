"""What changed between two systems: every query from the largest gain to the largest loss, and its documents.

The mean difference has Student's interval, over the queries on which both systems have a score. A query is better or
worse where the scores differ by more than rounding. A document *entered* or *left* the first k of a list, or *moved*
inside them; documents of equal score rank by id, descending, as in trec_eval.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, Unpack

import numpy as np

from calipers.changes.first_documents import ShownRankings, first_documents
from calipers.checks import check_level, check_whole
from calipers.collection.judgments import Judgments
from calipers.collection.preferences import Preferences
from calipers.collection.runs import RenamedRun, Run
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.collection.subtopics import SubtopicJudgments
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import Measures, Policies, evaluate
from calipers.evaluation.inputs import as_judgments, as_runs, kind_read
from calipers.lists import Floats
from calipers.measures.grammar import DEFAULT_MEASURES, parse_all
from calipers.results.averages import mean as mean_of
from calipers.results.messages import some
from calipers.results.scores import Scores
from calipers.results.tables import Cell, PValue, Table, four_digits, markdown_text
from calipers.stats.differences import Differences
from calipers.stats.significance import USUAL, student

CHANGES = ("entered", "left", "moved")
TOP = 10  # documents of each list that are compared where the measure has no cutoff
SHOWN = 10  # queries with the largest gain, and with the largest loss, that a reader is shown
LISTED = 3  # documents that entered, left or moved which stand in one cell
MEANS = ("measure", "old", "new", "difference", "low", "high", "p", "wins", "losses", "ties", "queries")
DOCUMENTS = ("query", "document", "grade", "change", "old_rank", "new_rank")
PARTS = ("means", "queries", "documents")


@dataclass(frozen=True)
class DocumentChange:
    """A document that entered or left the first k of a list, or moved inside them."""

    document: str
    grade: float | None  # None where nobody judged it
    old_rank: int | None  # None where it is not among the first k
    new_rank: int | None

    @property
    def change(self) -> str:
        """`entered`, `left` or `moved`."""
        return "entered" if self.old_rank is None else "left" if self.new_rank is None else "moved"

    def __str__(self) -> str:
        grade = "?" if self.grade is None else f"{self.grade:g}"
        where = f"at {self.new_rank}" if self.old_rank is None else f"from {self.old_rank}"
        where += f" to {self.new_rank}" if self.change == "moved" else ""
        return f"{self.document} ({grade}) {where}"


@dataclass(frozen=True)
class QueryChange:
    """One query: its scores under each measure before and after, and its documents that changed."""

    query: str
    old: tuple[float, ...]  # NaN where undefined
    new: tuple[float, ...]
    difference: tuple[float, ...]  # new - old, without what is only rounding; NaN where either is undefined
    documents: tuple[DocumentChange, ...] = ()

    def changed(self, change: str) -> tuple[DocumentChange, ...]:
        """The documents that `entered`, `left` or `moved`."""
        return tuple(document for document in self.documents if document.change == change)


@dataclass(frozen=True)
class MeanChange:
    """One measure, over the queries on which both systems have a score."""

    measure: str
    old: float
    new: float
    difference: float
    low: float
    high: float
    p: float  # of the paired t test
    wins: int  # queries on which the new system is better
    losses: int
    ties: int
    queries: int

    def __str__(self) -> str:
        interval = "" if math.isnan(self.low) else f" [{_signed(self.low)}, {_signed(self.high)}]"
        return (
            f"{self.measure} {_signed(self.difference)}{interval}, {self.wins} better, {self.losses} worse, "
            f"{self.ties} the same of {self.queries} {'query' if self.queries == 1 else 'queries'}"
        )


@dataclass(frozen=True, eq=False)
class Difference:
    """What changed from an old system to a new one. The queries are sorted by the first measure, largest gain first."""

    old: str
    new: str
    measures: tuple[str, ...]
    means: tuple[MeanChange, ...]  # one per measure
    queries: tuple[QueryChange, ...]
    top: int  # the k of the first k documents
    level: float  # of the intervals
    scores: Scores = field(repr=False)  # of the two systems
    notes: tuple[str, ...] = ()

    @cached_property
    def gains(self) -> tuple[QueryChange, ...]:
        """The queries that gained under the first measure, largest gain first."""
        return tuple(each for each in self.queries if each.difference[0] > 0)

    @cached_property
    def losses(self) -> tuple[QueryChange, ...]:
        """The queries that lost under the first measure, largest loss first."""
        return tuple(each for each in reversed(self.queries) if each.difference[0] < 0)

    def sentence(self) -> str:
        """What happened to the mean of the first measure."""
        return f"{self.new} against {self.old}: {self.means[0]}"

    # -- tables ------------------------------------------------------------------------------------

    def table(self) -> Table:
        """measure, old, new, difference, low, high, p, wins, losses, ties, queries: one row per measure."""
        rows = tuple(tuple(getattr(each, name) for name in MEANS) for each in self.means)
        return Table(MEANS, rows, self.scores.metadata)

    def query_table(self, queries: Sequence[QueryChange] | None = None) -> Table:
        """One row per query: its scores and their difference under each measure, and how many documents changed."""
        counts = [
            (*self._scores(each), *(len(each.changed(change)) for change in CHANGES)) for each in self._some(queries)
        ]
        return Table((*self._columns(), *CHANGES), tuple(counts), self.scores.metadata)

    def readable_table(self, queries: Sequence[QueryChange] | None = None) -> Table:
        """The same for people: the documents themselves, the highest grades first, as document (grade) and its ranks.

        Of the measures after the first only the difference.
        """
        kept = [0, 1, 2, 3, *range(6, 3 * len(self.measures) + 1, 3)]
        rows = [
            (*(self._scores(each)[column] for column in kept), *(_listed(each.changed(change)) for change in CHANGES))
            for each in self._some(queries)
        ]
        columns = (*(self._columns()[column] for column in kept), *CHANGES)
        return Table(columns, tuple(rows), self.scores.metadata)

    def document_table(self, queries: Sequence[QueryChange] | None = None) -> Table:
        """query, document, grade, change, old_rank, new_rank: one row per document that entered, left or moved."""
        rows: list[tuple[Cell, ...]] = [
            (each.query, d.document, d.grade, d.change, d.old_rank, d.new_rank)
            for each in self._some(queries)
            for d in each.documents
        ]
        return Table(DOCUMENTS, tuple(rows), self.scores.metadata)

    def _some(self, queries: Sequence[QueryChange] | None) -> Sequence[QueryChange]:
        return self.queries if queries is None else queries

    def _columns(self) -> tuple[str, ...]:
        return ("query", *(f"{name} {what}" for name in self.measures for what in ("old", "new", "difference")))

    def _scores(self, each: QueryChange) -> tuple[Cell, ...]:
        triples = zip(each.old, each.new, each.difference, strict=True)
        return (each.query, *(cell for triple in triples for cell in triple))

    def sections(self, shown: int = SHOWN) -> Iterator[tuple[str, str, Table]]:
        """Largest gains, then largest losses: the name, the title and the readable table of each that is not empty."""
        for one, several, found in (("gain", "gains", self.gains), ("loss", "losses", self.losses)):
            if part := found[:shown]:
                many = f"the {len(part)} largest {several}" if len(part) > 1 else f"the largest {one}"
                of = f" of {len(found)}" if len(part) < len(found) else ""
                title = f"{many}{of}, {self.measures[0]}; documents of the top {self.top} (their grade, ? unjudged)"
                yield several, title, self.readable_table(part)

    # -- for other programs, and for pull requests ---------------------------------------------------

    def to_markdown(self, shown: int = SHOWN) -> str:
        """For a pull request: a sentence, the means, and the largest gains and losses behind a fold each."""
        parts = [f"**{markdown_text(self.new)}** against **{markdown_text(self.old)}**: ", ""]
        parts[0] += markdown_text(str(self.means[0])) + f" ({self.level:.4g} interval)\n"
        parts[1] = self.table().to_markdown()
        for _, title, table in self.sections(shown):
            parts.append(f"<details><summary>{markdown_text(title)}</summary>\n\n{table.to_markdown()}\n</details>\n")
        parts += [f"{markdown_text(note)}\n" for note in self.notes]
        return "\n".join(parts)

    def to_json(self) -> str:
        """One object: old, new, measures, top, level, means, queries with their documents, and notes."""
        about = self.scores.metadata
        made = {
            "old": self.old,
            "new": self.new,
            **({"like": about["like"]} if about.get("like") else {}),
            "measures": list(self.measures),
            "top": self.top,
            "level": self.level,
            "means": [{name: _number(getattr(each, name)) for name in MEANS} for each in self.means],
            "queries": [
                {
                    "query": each.query,
                    "scores": {
                        name: dict(zip(("old", "new", "difference"), map(_number, three), strict=True))
                        for name, *three in zip(self.measures, each.old, each.new, each.difference, strict=True)
                    },
                    "documents": [
                        dict(zip(DOCUMENTS[1:], (d.document, d.grade, d.change, d.old_rank, d.new_rank), strict=True))
                        for d in each.documents
                    ],
                }
                for each in self.queries
            ],
            "notes": list(self.notes),
        }
        return json.dumps(made, ensure_ascii=False, indent=1) + "\n"

    def __repr__(self) -> str:
        return f"<Difference: {self.sentence()}>\n{self.table()}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_() + "".join(table._repr_html_() for _, _, table in self.sections())


def difference(
    judgments: JudgmentsLike,
    old: RunsLike,
    new: RunsLike,
    measures: Measures = DEFAULT_MEASURES,
    *,
    top: int | None = None,
    level: float = 0.95,
    warn: bool = True,
    **policies: Unpack[Policies],
) -> Difference:
    """What changed between two systems, query by query and document by document.

    judgments, measures, policies: as for `evaluate`. The first measure sorts the queries.
    old, new: a run each, as for `evaluate`.
    top: how many documents of each list are compared; where not given, the cutoff of the first measure, or 10, and no
        more than `depth`.
    level: of the confidence intervals of the mean differences.

    >>> qrels = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}
    >>> old = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}}
    >>> new = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0, "d": 0.5}}
    >>> found = difference(qrels, old, new, "RR")
    >>> found.means[0].difference, found.means[0].wins, found.means[0].ties
    (0.25, 1, 1)
    >>> [str(document) for document in found.gains[0].documents]
    ['a (2) from 2 to 1', 'b (0) from 1 to 2']
    """
    named = parse_all(measures)
    if top is None:
        cut = [cut for cut in (named[0][1].cutoff or TOP, policies.get("depth")) if cut]
        top = min(cut)
    check_whole("top", top, 0)
    check_level(level)
    known = as_judgments(judgments, kind_read(measure for _, measure in named))
    runs = two_runs(old, new)
    scores = evaluate(known, runs, measures, warn=warn, **policies)
    return difference_of_scores(scores, level=level, top=top, documents=_documents(known, runs, top))


def difference_of_scores(
    scores: Scores,
    *,
    level: float = 0.95,
    top: int = 0,
    documents: Sequence[tuple[DocumentChange, ...]] | None = None,
) -> Difference:
    """Return what changed from the first to the second of two scored systems, without reading their rankings.

    documents: the documents that changed, per query. Scores of texts have none.

    >>> from calipers import as_scores
    >>> found = difference_of_scores(as_scores([[0.5, 0.25], [0.75, 0.25]], ["old", "new"], measure="ROUGE-1"))
    >>> found.means[0].difference, found.means[0].wins
    (0.125, 1)
    """
    if len(scores.systems) != 2:
        raise CalipersError(f"a difference is between two systems, and there are {len(scores.systems)}")
    check_level(level)
    first, second = scores.systems
    values = [Differences.of(each, np.array([1]), np.array([0])) for each in scores.values]
    gained = np.array([np.where(each.shared[0], beyond_rounding(each), np.nan) for each in values])
    means = tuple(
        _mean(name, of, each, level) for name, of, each in zip(scores.measures, scores.values, values, strict=True)
    )
    changes = [()] * len(scores.queries) if documents is None else documents
    by_gain = np.argsort(-np.nan_to_num(gained[0], nan=-np.inf), kind="stable").tolist()
    olds, news, gains = scores.values[:, 0].T.tolist(), scores.values[:, 1].T.tolist(), gained.T.tolist()
    queries = tuple(
        QueryChange(scores.queries[q], tuple(olds[q]), tuple(news[q]), tuple(gains[q]), changes[q]) for q in by_gain
    )
    return Difference(first, second, scores.measures, means, queries, top, level, scores, tuple(scores.notes))


def beyond_rounding(differences: Differences) -> Floats:
    """Of one pair, query by query: 0 where the scores differ by rounding alone."""
    return np.where(differences.rounded[0] == 0, 0.0, differences.value[0])


def two_runs(old: RunsLike, new: RunsLike) -> list[Run]:
    """One run each. Two that came without names are called old and new."""
    runs = [_one(given, what) for given, what in ((old, "old"), (new, "new"))]
    if runs[0].name == runs[1].name and not all(getattr(run, "path", None) for run in runs):
        return [RenamedRun(run, what) for run, what in zip(runs, ("old", "new"), strict=True)]
    return runs


def _one(given: Any, what: str) -> Run:
    runs = as_runs(given)
    if len(runs) != 1:
        names = some([run.name for run in runs])
        raise CalipersError(f"the {what} system is {len(runs)} runs ({names}): expected one")
    return runs[0]


def _mean(name: str, values: Floats, differences: Differences, level: float) -> MeanChange:
    both = differences.shared[0]
    old, new = (mean_of(row[both].tolist()) if both.any() else math.nan for row in values)
    rounded = differences.rounded[0][both]
    wins, losses = int((rounded > 0).sum()), int((rounded < 0).sum())
    found = student(values, np.array([1]), np.array([0]), replace(USUAL, level=level))
    low, high, p = float(found.low[0]), float(found.high[0]), PValue(found.p[0])
    mean = float(differences.mean[0])
    count = int(both.sum())
    return MeanChange(name, old, new, mean, low, high, p, wins, losses, count - wins - losses, count)


# -- documents ---------------------------------------------------------------------------------------


def _documents(known: Judgments, runs: Sequence[Run], top: int) -> list[tuple[DocumentChange, ...]]:
    if isinstance(known, SubtopicJudgments):
        known = known.collapsed()
    elif isinstance(known, Preferences):
        known = known.judgments
    return [tuple(_changes(each)) for each in first_documents(known, runs, top)]


def _changes(lists: ShownRankings) -> Iterator[DocumentChange]:
    """Those that entered by their new ranks, those that left by their old ones, those that moved by their new ones."""
    old, new = ({place if place >= 0 else ~place: rank for rank, place in enumerate(each, 1)} for each in lists.lists)
    for document in (place for place in new if place not in old):
        yield _change(lists, document, old, new)
    for document in (place for place in old if place not in new):
        yield _change(lists, document, old, new)
    for document in (place for place, rank in new.items() if place in old and old[place] != rank):
        yield _change(lists, document, old, new)


def _change(lists: ShownRankings, place: int, old: Mapping[int, int], new: Mapping[int, int]) -> DocumentChange:
    return DocumentChange(lists.documents[place], lists.grades[place], old.get(place), new.get(place))


def _listed(changes: Sequence[DocumentChange]) -> str:
    """The most telling ones: the highest grades first."""
    best = sorted(changes, key=lambda each: -math.inf if each.grade is None else each.grade, reverse=True)
    more = f" and {len(best) - LISTED} more" if len(best) > LISTED else ""
    return ", ".join(str(each) for each in islice(best, LISTED)) + more


def _signed(value: float) -> str:
    return four_digits(value, "+.4f")


def _number(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
