"""Changes between two systems: each query from the largest loss to the largest gain, and its documents.

The mean difference has Student's interval, over the queries on which both systems have a score. A query is better or
worse if its scores differ by more than rounding. A document *entered* or *left* the first k of a list, or *moved*
inside them. Documents of equal score rank by id, descending, as in trec_eval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.query_facts import QueryGroups
from calipers.collection.runs import Run
from calipers.collection.subtopics import SubtopicJudgments
from calipers.errors import CalipersError, UnknownName, place_of
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats
from calipers.questions.diff.first_documents import ShownRankings, first_documents
from calipers.results.averages import ScoresByGroup, mean as mean_of
from calipers.results.messages import some
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores
from calipers.results.tables import Cell, PValue, Statistic, Table, four_digits, markdown_text
from calipers.statistics.correction import CORRECTIONS
from calipers.statistics.differences import Differences
from calipers.statistics.significance import USUAL, equal_differences, student
from calipers.support.checks import check_level, check_whole
from calipers.support.plurals import counted

CHANGES = ("entered", "left", "moved")
TOP = 10  # documents per list that are compared if the first measure has no cutoff
SHOWN = 10  # queries with the largest loss, and with the largest gain, that are shown
LISTED = 3  # documents in one cell
MEANS = ("measure", "old", "new", "difference", "low", "high", "p", "wins", "losses", "ties", "queries")
GROUPS = ("group", *MEANS[:7], "p_adjusted", *MEANS[7:])
DOCUMENTS = ("query", "document", "grade", "change", "old_rank", "new_rank")
PARTS = ("means", "groups", "queries", "documents")


@dataclass(frozen=True)
class DocumentChange:
    """A document among the first k of the old or the new list."""

    document: str
    grade: float | None  # None if nobody judged it
    old_rank: int | None  # None if it is not among the first k
    new_rank: int | None

    @property
    def change(self) -> str:
        """One of `entered`, `left`, `moved` and `stayed`."""
        if self.old_rank is None:
            return "entered"
        if self.new_rank is None:
            return "left"
        return "stayed" if self.old_rank == self.new_rank else "moved"

    def __str__(self) -> str:
        grade = "?" if self.grade is None else f"{self.grade:g}"
        where = f"at {self.new_rank}" if self.old_rank is None else f"from {self.old_rank}"
        where += f" to {self.new_rank}" if self.change == "moved" else ""
        return f"{self.document} ({grade}) {where}"


@dataclass(frozen=True)
class QueryChange:
    """One query: its scores under each measure before and after, and its documents."""

    query: str
    old: tuple[float, ...]  # NaN if undefined
    new: tuple[float, ...]
    difference: tuple[float, ...]  # new - old; 0 if only rounding differs, NaN if either is undefined
    documents: tuple[DocumentChange, ...] = ()  # that entered, left or moved
    stayed: tuple[DocumentChange, ...] = ()  # that kept their rank

    def changed(self, change: str) -> tuple[DocumentChange, ...]:
        """Return the documents that `entered`, `left` or `moved`."""
        return tuple(document for document in self.documents if document.change == change)


@dataclass(frozen=True)
class MeanChange:
    """Means under one measure, over the queries on which both systems have a score."""

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
    unit: str = "query"  # document, for summaries

    def __str__(self) -> str:
        interval = "" if math.isnan(self.low) else f" [{_signed(self.low)}, {_signed(self.high)}]"
        return (
            f"{self.measure} {_signed(self.difference)}{interval}, {self.wins} better, {self.losses} worse, "
            f"{self.ties} the same of {counted(self.queries, self.unit)}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Result):
    """Changes from an old system to a new one. Queries are sorted by the first measure, largest loss first."""

    old: str
    new: str
    measures: tuple[str, ...]
    means: tuple[MeanChange, ...]  # one per measure
    queries: tuple[QueryChange, ...]
    top: int  # documents of each list that were compared
    level: float  # of the intervals
    scores: Scores = field(repr=False)  # of the two systems
    notes: tuple[str, ...] = ()
    groups: Mapping[str, tuple[MeanChange, ...]] = field(default_factory=dict)  # means of each group of queries
    p_adjusted: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of each group, over all groups

    @cached_property
    def losses(self) -> tuple[QueryChange, ...]:
        """The queries that lost under the first measure, largest loss first."""
        return tuple(each for each in self.queries if each.difference[0] < 0)

    @cached_property
    def gains(self) -> tuple[QueryChange, ...]:
        """The queries that gained under the first measure, largest gain first."""
        return tuple(each for each in reversed(self.queries) if each.difference[0] > 0)

    @property
    def title(self) -> str:
        """The two systems, and how many queries were compared."""
        return f"{self.new} against {self.old} on {counted(len(self.queries), self.scores.unit)}"

    @property
    def summary(self) -> str:
        """The change of the mean under the first measure."""
        return f"{self.new} against {self.old}: {self.means[0]} (Student's {self.level:.4g} interval)."

    # -- tables ------------------------------------------------------------------------------------

    def plot(self, measure: str | None = None) -> Any:
        """Draw the difference on each query. See `calipers.plot.gains_and_losses`."""
        from calipers.plot import gains_and_losses

        return gains_and_losses(self, measure)

    def tables(self) -> Tables:
        """Return means, queries and documents; also means of groups, if queries were grouped."""
        makers = {"means": self._means}
        makers |= {"groups": self._groups} if self.groups else {}
        makers |= {"queries": self.query_table}
        makers |= {"documents": self.document_table} if self.top else {}
        return Tables(makers)

    def _means(self) -> Table:
        rows = tuple(tuple(getattr(each, name) for name in MEANS) for each in self.means)
        return Table(MEANS, rows, self.scores.metadata)

    def _groups(self) -> Table:
        rows = []
        for group, means in self.groups.items():
            for each, p in zip(means, self.p_adjusted[group], strict=True):
                cells = {**vars(each), "group": group, "p_adjusted": PValue(p)}
                rows.append(tuple(cells[name] for name in GROUPS))
        return Table(GROUPS, tuple(rows), self.scores.metadata)

    def query_table(self, queries: Sequence[QueryChange] | None = None) -> Table:
        """Return one row per query: scores and differences under each measure, and how many documents changed."""
        changes = CHANGES if self.top else ()
        counts = [
            (*self._scores(each), *(len(each.changed(change)) for change in changes)) for each in self._some(queries)
        ]
        return Table((*self._columns(), *changes), tuple(counts), self.scores.metadata)

    def readable_table(self, queries: Sequence[QueryChange] | None = None, *, width: int | None = None) -> Table:
        """Return the queries for readers: with the documents that changed, the highest grades first.

        `old`, `new` and `difference` are scores under the first measure. The other measures have a difference each.
        width: the most characters of a line. Lists of documents are cut to fit.
        """
        kept = [0, 1, 2, 3, *range(6, 3 * len(self.measures) + 1, 3)]
        changes = CHANGES if self.top else ()
        rows = [
            (*(self._scores(each)[column] for column in kept), *(_listed(each.changed(change)) for change in changes))
            for each in self._some(queries)
        ]
        others = (f"{name} difference" for name in self.measures[1:])
        columns = ("query", "old", "new", "difference", *others, *changes)
        table = Table(columns, tuple(rows), self.scores.metadata)
        return table if width is None else fitted(table, width, changes)

    def document_table(self, queries: Sequence[QueryChange] | None = None) -> Table:
        """Return one row per document that entered, left or moved."""
        rows: list[tuple[Cell, ...]] = [
            (each.query, d.document, d.grade, d.change, d.old_rank, d.new_rank)
            for each in self._some(queries)
            for d in each.documents
        ]
        return Table(DOCUMENTS, tuple(rows), self.scores.metadata)

    def side_by_side(self, query: str) -> Table:
        """Return the old and the new ranking of one query next to each other.

        query: an id, or a part of one that only one query has. `was` is the old rank of a document in the new list,
        `now` is the new rank of a document in the old list; both are empty outside the first k.

        >>> import calipers as cal
        >>> exp = cal.Experiment({"q": {"a": 1}}, {"x": {"q": ["b", "a"]}, "y": {"q": ["a", "c"]}}, "RR")
        >>> print(exp.diff("x", "y").side_by_side("q"), end="")
        rank  old  old_grade  now  new  new_grade  was
        ----  ---  ---------  ---  ---  ---------  ---
           1  b                    a       1.0000    2
           2  a       1.0000    1  c
        """
        each = self.query(query)
        every = (*each.documents, *each.stayed)
        old = {d.old_rank: d for d in every if d.old_rank is not None}
        new = {d.new_rank: d for d in every if d.new_rank is not None}
        rows: list[tuple[Cell, ...]] = []
        for rank in range(1, max([*old, *new], default=0) + 1):
            before, after = old.get(rank), new.get(rank)
            left = ("", None, None) if before is None else (before.document, before.grade, before.new_rank)
            right = ("", None, None) if after is None else (after.document, after.grade, after.old_rank)
            rows.append((rank, *left, *right))
        return Table(("rank", "old", "old_grade", "now", "new", "new_grade", "was"), tuple(rows))

    def query(self, text: str) -> QueryChange:
        """Return the query with this id, or the only query whose id contains the text."""
        names = [each.query for each in self.queries]
        if text in names:
            return self.queries[names.index(text)]
        found = [place for place, name in enumerate(names) if text and text.casefold() in name.casefold()]
        if len(found) > 1:
            several = some([names[place] for place in found])
            raise CalipersError(f"'{text}' is part of {counted(len(found), 'query')}: {several}")
        if not found:
            raise UnknownName.among("query", text, names)
        return self.queries[found[0]]

    def _some(self, queries: Sequence[QueryChange] | None) -> Sequence[QueryChange]:
        return self.queries if queries is None else queries

    def _columns(self) -> tuple[str, ...]:
        return ("query", *(f"{name} {what}" for name in self.measures for what in ("old", "new", "difference")))

    def _scores(self, each: QueryChange) -> tuple[Cell, ...]:
        triples = zip(each.old, each.new, each.difference, strict=True)
        return (each.query, *(cell for triple in triples for cell in triple))

    def sections(self, limit: int = SHOWN, *, width: int | None = None) -> Iterator[tuple[str, str, Table]]:
        """Yield name, title and table of the largest losses, then of the largest gains. Empty ones are left out."""
        for one, several, found in (("loss", "losses", self.losses), ("gain", "gains", self.gains)):
            if part := found[:limit]:
                many = f"the {len(part)} largest {several}" if len(part) > 1 else f"the largest {one}"
                of = f" of {len(found)}" if len(part) < len(found) else ""
                documents = f"; documents of the top {self.top} (their grade, ? unjudged)" if self.top else ""
                title = f"{many}{of}, {self.measures[0]}{documents}"
                yield several, title, self.readable_table(part, width=width)

    # -- for other programs, and for pull requests ---------------------------------------------------

    def for_pull_request(self, limit: int = SHOWN) -> str:
        """Return Markdown for a comment: a sentence, the means, and losses and gains that fold."""
        first = f"**{markdown_text(self.new)}** against **{markdown_text(self.old)}**: "
        parts = [first + markdown_text(str(self.means[0])) + f" (Student's {self.level:.4g} interval)\n"]
        parts.append(self.table().to_markdown())
        if self.groups:
            parts.append(f"Groups of queries:\n\n{self.table('groups').to_markdown()}")
        for _, title, table in self.sections(limit):
            parts.append(f"<details><summary>{markdown_text(title)}</summary>\n\n{table.to_markdown()}\n</details>\n")
        parts += [f"{markdown_text(note)}\n" for note in self.notes]
        return "\n".join(parts)

    def _json(self) -> dict[str, Any]:
        """Return the systems and settings as well as the summary."""
        like = self.scores.metadata.get("like")
        about = {"old": self.old, "new": self.new, **({"like": like} if like else {}), "top": self.top}
        return {**about, "level": self.level, **super()._json()}


def diff(
    evaluation: Evaluation,
    old: str,
    new: str,
    *,
    top: int | None = None,
    level: float = 0.95,
    query_groups: QueryGroups | None = None,
) -> Difference:
    """Return what changed between two systems, query by query and document by document.

    old, new: names of runs. The first measure sorts the queries, largest loss first.
    top: how many documents of each list are compared. The default is the cutoff of the first measure, or 10 if it has
        none, and never more than `depth`.
    level: of the confidence intervals of the mean differences.
    query_groups: {query: group} or a file. The means of each group are compared as well; their p values are corrected
        over all groups by Holm's method.

    Texts have no documents to compare. Errors such as TER are negated.

    >>> import calipers as cal
    >>> qrels = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}
    >>> runs = {"old": {"q1": ["b", "a"], "q2": ["c"]}, "new": {"q1": ["a", "b"], "q2": ["c", "d"]}}
    >>> found = cal.Experiment(qrels, runs, "RR").diff("old", "new")
    >>> found.means[0].difference, found.means[0].wins, found.means[0].ties
    (0.25, 1, 1)
    >>> [str(document) for document in found.gains[0].documents]
    ['a (2) from 2 to 1', 'b (0) from 1 to 2']
    """
    if evaluation.texts is not None:
        return diff_of_scores(
            evaluation.scores.larger_is_better.of_systems([old, new]), level=level, query_groups=query_groups
        )
    if top is None:
        first = next(iter(evaluation.measures.values()))
        top = min(cut for cut in (first.cutoff or TOP, evaluation.options.depth) if cut)
    top = check_whole("top", top, 0)
    level = check_level(level)
    places = [place_of("system", name, evaluation.systems) for name in (old, new)]
    if old == new:
        raise CalipersError(f"the old and the new system are the same, {old}")
    runs = tuple(evaluation.runs[place] for place in places)
    pair = evaluation if places == [0, 1] and len(evaluation.runs) == 2 else evaluation.changed(runs=runs)
    scores = replace(pair.scores, systems=(old, new))
    documents = _documents(evaluation.judgments, runs, top)
    return diff_of_scores(scores, level=level, top=top, documents=documents, query_groups=query_groups)


def diff_of_scores(
    scores: Scores,
    *,
    level: float = 0.95,
    top: int = 0,
    documents: Sequence[tuple[DocumentChange, ...]] | None = None,
    query_groups: QueryGroups | None = None,
) -> Difference:
    """Return what changed from the first to the second of two scored systems, without reading their rankings.

    documents: for each query, the first documents of both lists. Scores of texts have none.

    >>> from calipers import as_scores
    >>> found = diff_of_scores(as_scores([[0.5, 0.25], [0.75, 0.25]], ["old", "new"], measure="ROUGE-1"))
    >>> found.means[0].difference, found.means[0].wins
    (0.125, 1)
    """
    if len(scores.systems) != 2:
        raise CalipersError(f"a difference is between two systems, not {len(scores.systems)}")
    check_level(level)
    old, new = scores.systems
    values = [Differences.of(each, np.array([1]), np.array([0])) for each in scores.values]
    gained = np.array([np.where(each.shared[0], each.value[0], np.nan) for each in values])
    first = [()] * len(scores.queries) if documents is None else documents
    worst_first = np.argsort(gained[0], kind="stable").tolist()  # NaN last
    olds, news, gains = scores.values[:, 0].T.tolist(), scores.values[:, 1].T.tolist(), gained.T.tolist()
    queries = tuple(
        QueryChange(
            scores.queries[q],
            tuple(olds[q]),
            tuple(news[q]),
            tuple(gains[q]),
            tuple(each for each in first[q] if each.change != "stayed"),
            tuple(each for each in first[q] if each.change == "stayed"),
        )
        for q in worst_first
    )
    by_group = None if query_groups is None else scores.by(query_groups)
    means = _means(scores, level)
    return Difference(
        old,
        new,
        scores.measures,
        means,
        queries,
        top,
        level,
        scores,
        notes=(*scores.notes, *(() if by_group is None else by_group.notes), *_undefined(means, scores.unit)),
        **({} if by_group is None else _of_groups(by_group, level)),
    )


def _undefined(means: Sequence[MeanChange], unit: str) -> list[str]:
    """Return a note about measures under which all differences are equal and not 0."""
    found = [each for each in means if each.queries > 1 and math.isnan(each.p)]
    if not found:
        return []
    return [
        equal_differences(", ".join(each.measure for each in found), "t", max(each.queries for each in found), unit)
    ]


def _of_groups(scores: ScoresByGroup, level: float) -> dict[str, Any]:
    """Return the means of each group, and their p values corrected over all groups."""
    groups = {group: _means(part, level) for group, part in scores.items()}
    p = np.array([[each.p for each in means] for means in groups.values()])
    adjusted = CORRECTIONS["holm"](p.T).T.tolist()
    return {"groups": groups, "p_adjusted": dict(zip(groups, map(tuple, adjusted), strict=True))}


def _means(scores: Scores, level: float) -> tuple[MeanChange, ...]:
    both = zip(scores.measures, scores.values, strict=True)
    return tuple(_mean(name, values, level, scores.unit) for name, values in both)


def _mean(name: str, values: Floats, level: float, unit: str) -> MeanChange:
    differences = Differences.of(values, np.array([1]), np.array([0]))
    both = differences.shared[0]
    old, new = (mean_of(row[both].tolist()) if both.any() else math.nan for row in values)
    wins, losses = int((differences.value[0] > 0).sum()), int((differences.value[0] < 0).sum())
    found = student(values, np.array([1]), np.array([0]), replace(USUAL, level=level))
    low, high, p = Statistic(found.low[0]), Statistic(found.high[0]), PValue(found.p[0])
    mean = float(differences.mean[0])
    count = int(both.sum())
    return MeanChange(name, old, new, mean, low, high, p, wins, losses, count - wins - losses, count, unit)


# -- documents ---------------------------------------------------------------------------------------


def _documents(known: Judgments, runs: Sequence[Run], top: int) -> list[tuple[DocumentChange, ...]]:
    if isinstance(known, SubtopicJudgments):
        known = known.collapsed()
    return [tuple(_changes(each)) for each in first_documents(known, runs, top)]


def _changes(lists: ShownRankings) -> Iterator[DocumentChange]:
    """Yield documents that entered, by new rank; that left, by old rank; that moved or stayed, by new rank."""
    old, new = ({place if place >= 0 else ~place: rank for rank, place in enumerate(each, 1)} for each in lists.lists)
    entered = [place for place in new if place not in old]
    left = [place for place in old if place not in new]
    for place in (*entered, *left, *(place for place in new if place in old)):
        yield DocumentChange(lists.documents[place], lists.grades[place], old.get(place), new.get(place))


def _listed(changes: Sequence[DocumentChange]) -> str:
    """Return the first few documents, the highest grades first, and how many more changed."""
    best = sorted(changes, key=lambda each: -math.inf if each.grade is None else each.grade, reverse=True)
    more = f" and {len(best) - LISTED} more" if len(best) > LISTED else ""
    return ", ".join(str(each) for each in islice(best, LISTED)) + more


# -- tables that fit a terminal -------------------------------------------------------------------------


def fitted(table: Table, width: int, flexible: Sequence[str]) -> Table:
    """Return the table with the texts in some columns cut, so that its lines have at most `width` characters.

    Cut texts end in an ellipsis. Columns that would become too narrow to read are left out, the last one first.

    >>> wide = Table(("query", "entered", "left"), (("q1", "doc-1 (2) at 1, doc-2 (0) at 4", "doc-3 (1) from 2"),))
    >>> print(fitted(wide, 30, ("entered", "left")), end="")
    query  entered      left
    -----  -----------  ----------
    q1     doc-1 (2) …  doc-3 (1)…
    """
    names = [name for name in table.columns if name in flexible]
    while names and max(map(len, table.to_text().splitlines())) > width:
        rigid = table.changed(rows=tuple(_blanked(table, row, names) for row in table.rows))
        room = width - max(map(len, rigid.to_text().splitlines())) + sum(map(len, names))
        share = room // len(names)
        if share < SHORTEST:
            table = _without(table, names.pop())
            continue
        extra = room - share * len(names)
        limits = {name: share + (place < extra) for place, name in enumerate(names)}
        rows = tuple(
            tuple(
                _cut(cell, limits[name]) if name in limits else cell
                for name, cell in zip(table.columns, row, strict=True)
            )
            for row in table.rows
        )
        return table.changed(rows=rows)
    return table


def narrowed(table: Table, width: int, optional: Sequence[str]) -> Table:
    """Return the table without some of the optional columns, the last ones first, if it is wider than `width`.

    >>> wide = Table(("measure", "mean", "ties", "queries"), (("AP", 0.5, 1, 12),))
    >>> print(narrowed(wide, 22, ("ties", "queries")), end="")
    measure    mean  ties
    -------  ------  ----
    AP       0.5000     1
    """
    for name in reversed(optional):
        if name in table.columns and max(map(len, table.to_text().splitlines())) > width:
            table = _without(table, name)
    return table


SHORTEST = 8  # characters of a text that are worth showing


def _blanked(table: Table, row: tuple[Cell, ...], names: Sequence[str]) -> tuple[Cell, ...]:
    return tuple("" if name in names else cell for name, cell in zip(table.columns, row, strict=True))


def _without(table: Table, column: str) -> Table:
    place = table.columns.index(column)
    rows = tuple((*row[:place], *row[place + 1 :]) for row in table.rows)
    return table.changed(columns=(*table.columns[:place], *table.columns[place + 1 :]), rows=rows)


def _cut(cell: Cell, most: int) -> Cell:
    text = str(cell)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _signed(value: float) -> str:
    return four_digits(value, "+.4f")
