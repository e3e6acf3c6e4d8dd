"""Judgments by subtopic: what a document is worth to each of the things that a query may mean.

    query subtopic document grade        a line each, as ndeval reads them (the second field of plain qrels is idle)

An *intent* is a subtopic of a query. Documents are listed once for each query, as in plain judgments, so that runs are
read and ranked the same way; behind each stands what it is worth to each intent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from calipers.collection.formats.trec import read_subtopics as read_columns
from calipers.collection.id_codes import as_words, by_appearance, coded, texts_by_group
from calipers.collection.judgments import Judgments
from calipers.collection.nested import check_parts
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Pool
from calipers.native.columns import Columns
from calipers.native.ids import Ids, decode

Nested = Mapping[str, Mapping[str, Mapping[str, float]]]
Probabilities = Mapping[str, Mapping[str, float]]

LINE = "query subtopic document grade"


@dataclass(frozen=True, eq=False)
class SubtopicPool(Pool):
    """Documents by query, and what each is worth to the intents of that query.

    `grade` is the sum of a document's grades over the intents (of one that no intent grades 0 or more, the largest):
    what ties are sorted by where the best or the worst order is asked for.
    """

    kind: ClassVar[str] = "subtopics"

    intents: Pool = field(kw_only=True)  # the grades above 0, intent by intent
    document: Ints = field(kw_only=True)  # of each row of `intents`, a row of this pool
    starts: Ints = field(kw_only=True)  # query q has the intents starts[q] to starts[q + 1]
    place: Ints = field(kw_only=True)  # of each document by id, descending: what decides where all else is equal
    given: Floats | None = field(default=None, kw_only=True)  # the probability of each intent, where known

    @cached_property
    def largest_grade(self) -> float:
        return self.intents.largest_grade

    def name_queries(self, names: Sequence[str]) -> None:
        super().name_queries(names)
        self.intents.name_queries([name for name, n in zip(names, np.diff(self.starts), strict=True) for _ in range(n)])

    def answerable(self, rel: float) -> Any:
        """Return True for intents that some document answers. Other intents do not count."""
        return self.once(("answerable", rel), lambda: self.intents.relevant(rel) > 0)

    def probability(self, rel: float) -> Floats:
        """P(i) of each intent: as given, or all alike; 1 in all over the intents of a query that can be answered."""
        return self.once(("probability", rel), lambda: self._probability(rel))

    def _probability(self, rel: float) -> Floats:
        known = np.where(self.answerable(rel), 1.0 if self.given is None else self.given, 0.0)
        query = np.repeat(np.arange(self.queries), np.diff(self.starts))
        total = np.bincount(query, known, self.queries)[query]
        return np.asarray(np.where(total > 0, known / np.where(total > 0, total, 1.0), 0.0))


@dataclass(frozen=True, eq=False)
class SubtopicJudgments(Judgments):
    """Judgments by subtopic: a grade of each document for each subtopic of a query.

    >>> judgments = SubtopicJudgments.from_subtopics({"q": {"1": {"d1": 1, "d2": 1}, "2": {"d1": 1}}})
    >>> judgments.queries, judgments.subtopics, len(judgments)
    (('q',), (('1', '2'),), 2)
    """

    subtopics: tuple[tuple[str, ...], ...] = ()  # of each query

    @classmethod
    def from_subtopics(
        cls, judgments: Nested, probabilities: Probabilities | None = None, name: str = "judgments"
    ) -> SubtopicJudgments:
        """Return judgments from {query: {subtopic: {document: grade}}}. probabilities: {query: {subtopic: number}}."""
        queries, subtopics, documents, grade = flat_columns(judgments, name)
        query, first = by_appearance(queries)
        columns = Columns(
            queries=queries.take(first),
            query=query.astype(np.int32),
            documents=documents,
            value=grade,
            line=np.arange(1, len(grade) + 1),
            second=subtopics,
        )
        return cls.from_lines(columns, name, probabilities)

    @classmethod
    def from_lines(cls, columns: Columns, name: str, probabilities: Probabilities | None = None) -> SubtopicJudgments:
        """Return judgments from the lines of a file with their second field. A repeated grade counts once."""
        assert columns.second is not None
        query = columns.query.astype(np.int64)
        words = as_words(columns.documents)
        # Subtopics and documents are numbered in each query, by first appearance.
        intent, intent_line = _by_first_line(*coded(query, as_words(columns.second)), query)
        document, document_line = _by_first_line(*coded(query, words), query)
        grade = _once(columns, name, intent, document, len(document_line))
        kept = ~np.isnan(grade)
        intent, document, grade = intent[kept], document[kept], grade[kept]
        queries = tuple(decode(each) for each in columns.queries)
        starts = np.searchsorted(query[intent_line], np.arange(len(queries) + 1))
        offsets = np.searchsorted(query[document_line], np.arange(len(queries) + 1))
        subtopics = texts_by_group(columns.second.take(intent_line), starts)
        place = np.empty(len(document_line), np.int64)
        place[np.lexsort(words[document_line].T[::-1])] = np.arange(len(place))[::-1]
        above = np.flatnonzero(grade > 0)
        above = above[np.lexsort((document[above], intent[above]))]
        pool = SubtopicPool(
            offsets,
            whole_grades(document, grade, len(place)),
            intents=Pool(np.searchsorted(intent[above], np.arange(len(intent_line) + 1)), grade[above]),
            document=document[above],
            starts=starts,
            place=place,
        )
        documents = columns.documents.take(document_line)
        judgments = cls(name, queries, pool, lambda: documents, subtopics=subtopics)
        return judgments if probabilities is None else judgments.with_probabilities(probabilities)

    def with_probabilities(self, probabilities: Probabilities) -> SubtopicJudgments:
        """Return the judgments with probabilities of intents: {query: {subtopic: probability}}."""
        pool = self.pool
        assert isinstance(pool, SubtopicPool)
        given = np.zeros(pool.intents.queries)
        row = 0
        for query, subtopics in zip(self.queries, self.subtopics, strict=True):
            known = probabilities.get(query)
            if known is None:
                raise CalipersError(f"query '{query}' has no probabilities of its subtopics", file=self.name)
            for subtopic in subtopics:
                chance = known.get(subtopic, 0.0)
                if not 0 <= chance <= 1:
                    raise CalipersError(
                        f"{chance} of subtopic '{subtopic}' of query '{query}' is not a probability", file=self.name
                    )
                given[row] = chance
                row += 1
        return replace(self, pool=replace(pool, given=given, memo={}))

    def collapsed(self) -> Judgments:
        """Return plain judgments with the largest grade of each document, for measures without subtopics."""
        pool = self.pool
        assert isinstance(pool, SubtopicPool)
        grade = np.minimum(pool.grade, 0.0)
        np.maximum.at(grade, pool.document, pool.intents.grade)
        return Judgments(self.name, self.queries, Pool(pool.offsets, grade), lambda: self.documents)


def flat_columns(judgments: Nested, name: str) -> tuple[Ids, Ids, Ids, Floats]:
    """Return the columns of {query: {part: {document: grade}}}, where a part is a subtopic or a stratum."""
    check_parts(judgments, name)
    rows = [
        (query, part, document, grade)
        for query, parts in judgments.items()
        for part, graded in parts.items()
        for document, grade in graded.items()
    ]
    if not rows:
        raise CalipersError("there are no judgments", file=name)
    *texts, values = zip(*rows, strict=True)
    try:
        queries, second, documents = (Ids.of(column) for column in texts)
        grade = np.array([float(value) for value in values])
    except (TypeError, ValueError, AttributeError) as error:
        raise CalipersError(f"ids are not text, or a grade is not a number ({error})", file=name) from None
    if not np.isfinite(grade).all():
        raise CalipersError("a grade is not a finite number", file=name)
    return queries, second, documents, grade


def read_subtopics(
    source: str | Path, *, max_unpacked: int | None = None, probabilities: Probabilities | str | Path | None = None
) -> SubtopicJudgments:
    """Judgments by subtopic from a file of lines `query subtopic document grade`, as ndeval reads them.

    probabilities: {query: {subtopic: probability}}, or a file of lines `query subtopic probability`.
    """
    name = str(source)
    columns = read_columns(name, max_unpacked=max_unpacked)
    assert columns.second is not None
    if len(second := set(columns.second.tolist())) == 1:
        only = decode(second.pop())
        raise CalipersError(
            f"expected judgments by subtopic ({LINE}), but this looks like plain qrels: the second field is "
            f"'{only}' throughout",
            file=name,
        )
    if isinstance(probabilities, str | Path):
        probabilities = read_probabilities(probabilities)
    return SubtopicJudgments.from_lines(columns, name, probabilities)


def read_probabilities(source: str | Path) -> dict[str, dict[str, float]]:
    """Return {query: {subtopic: probability}} from lines `query subtopic probability`."""
    found: dict[str, dict[str, float]] = {}
    try:
        text = Path(source).read_text(encoding="utf-8-sig", errors="surrogateescape")
    except OSError as error:
        raise CalipersError(f"cannot be read: {error.strerror}", file=str(source)) from None
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        if len(fields) != 3:
            raise CalipersError(
                f"expected 3 fields (query subtopic probability), found {len(fields)}", file=str(source), line=number
            )
        try:
            found.setdefault(fields[0], {})[fields[1]] = float(fields[2])
        except ValueError:
            raise CalipersError(f"'{fields[2]}' is not a number", file=str(source), line=number) from None
    if not found:
        raise CalipersError("there are no probabilities", file=str(source))
    return found


def refuse_subtopics(path: str, columns: Columns, max_unpacked: int | None = None) -> None:
    """Refuse a file that was read as plain qrels, and has lines for several subtopics of one document.

    Called where a document was met twice; reads the file again, as the second field was not kept.
    """
    second = read_columns(path, max_unpacked=max_unpacked).second
    assert second is not None
    code, one = coded(columns.query.astype(np.int64), as_words(columns.documents))
    words = as_words(second)
    other = np.flatnonzero((words != words[one[code]]).any(axis=1))
    if len(other):
        row = int(other[0])
        first = int(one[code[row]])
        fields = " and ".join(f"'{second.text(each)}'" for each in sorted((first, row)))
        raise CalipersError(
            f"expected plain qrels, but this looks like judgments by subtopic ({LINE}): document "
            f"'{columns.documents.text(row)}' of query '{columns.queries.text(int(columns.query[row]))}' is judged "
            f"for {fields}; they are for ERR-IA, alpha-nDCG, D#-nDCG and the like",
            file=path,
            line=int(columns.line[max(first, row)]),
        )


# -- pieces ------------------------------------------------------------------------------------------


def _by_first_line(code: Ints, one: Ints, query: Ints) -> tuple[Ints, Ints]:
    """Codes renumbered by query, then by the line on which each comes first; and that line of each."""
    first = np.full(len(one), len(code))
    np.minimum.at(first, code, np.arange(len(code)))
    order = np.lexsort((first, query[first]))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[code], first[order]


def _once(columns: Columns, name: str, intent: Ints, document: Ints, documents: int) -> Floats:
    """Return the grade of each line, or NaN for lines that repeat an earlier one."""
    grade = columns.value.copy()
    key = intent.astype(np.int64) * documents + document
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(key[order[1:]] == key[order[:-1]]) + 1
    if len(again):
        other = again[grade[order[again]] != grade[order[again - 1]]]
        if len(other):
            row = int(order[other].min())
            earlier = int(order[np.searchsorted(key[order], key[row])])
            assert columns.second is not None
            raise CalipersError(
                f"document '{columns.documents.text(row)}' of query "
                f"'{columns.queries.text(int(columns.query[row]))}', subtopic '{columns.second.text(row)}', is judged "
                f"{grade[row]:g} here and {grade[earlier]:g} before",
                file=name,
                line=int(columns.line[row]),
            )
        grade[order[again]] = np.nan
    return grade


def whole_grades(document: Ints, grade: Floats, documents: int) -> Floats:
    """Return the sum of each document's grades above 0, or the largest grade if all are below 0."""
    largest = np.full(documents, -np.inf)
    np.maximum.at(largest, document, grade)
    total = np.bincount(document, np.maximum(grade, 0.0), documents)
    return np.asarray(np.where(largest < 0, largest, total))
