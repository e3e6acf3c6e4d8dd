"""Judgments: the grades of the judged documents of each query."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from calipers.collection.nested import graded_documents
from calipers.errors import CalipersError, ConflictingGrades
from calipers.lists import SAID_OF, Floats, Ints, Pool
from calipers.native.columns import Columns, Labels
from calipers.native.ids import Ids, decode
from calipers.native.scanner import JudgedIndex
from calipers.support.checks import check_number, check_type
from calipers.support.plurals import counted
from calipers.support.record import Record

DIGEST = 16  # hexadecimal digits of a digest


class JudgmentsDigest:
    """Digest of judgments, computed when it is first asked for. It is pickled as text."""

    def __init__(self, judgments: Judgments) -> None:
        self._judgments = judgments

    @property
    def text(self) -> str | None:
        return self._judgments.digest

    def __reduce__(self) -> Any:
        return _unpickled, (self.text,)


def _unpickled(text: str | None) -> str | None:
    return text


def digest_text(found: JudgmentsDigest | str | None) -> str | None:
    """Return the text of a digest that was read from a file, or is still to be computed."""
    return found.text if isinstance(found, JudgmentsDigest) else found


@dataclass(frozen=True, eq=False)
class Judgments:
    """Judgments: a grade for each judged document of each query.

    >>> judgments = Judgments.from_dict({"q1": {"d1": 0, "d2": 2}, "q2": {"d1": 1}})
    >>> judgments.queries, len(judgments), judgments.pool.largest_grade
    (('q1', 'q2'), 3, 2.0)
    """

    name: str
    queries: tuple[str, ...]
    pool: Pool
    names: Callable[[], Ids] | None = field(repr=False)  # of the documents, or None where they have none
    texts: Callable[[], list[str]] | None = field(default=None, repr=False)  # the names as text, where they came so
    row: Ints | None = None  # of the input, for each row of the pool; None where they are the same
    repeated: int = 0  # labels that were given twice, and count once
    notes: tuple[str, ...] = ()  # on how they were read

    def __post_init__(self) -> None:
        self.pool.name_queries(self.queries)

    @classmethod
    def from_dict(
        cls, judgments: Mapping[str, Mapping[str, float] | Collection[str]], name: str = "judgments"
    ) -> Judgments:
        """Return the judgments of {query: {document: grade}}. Lists and sets of documents have grade 1.

        >>> Judgments.from_dict({"q1": ["d1", "d2"]}).to_dict()
        {'q1': {'d1': 1.0, 'd2': 1.0}}
        """
        judgments = graded_documents(judgments, name)
        if not judgments:
            raise CalipersError("there are no judgments", file=name)
        check_nested(judgments, name, "judgments", "grade")
        offsets = np.cumsum([0, *(len(graded) for graded in judgments.values())])
        grades = chain.from_iterable(graded.values() for graded in judgments.values())
        grade = _grades(grades, int(offsets[-1]), name)
        return cls(
            name=name,
            queries=tuple(judgments),
            pool=Pool(offsets, grade),
            names=lambda: Ids.of(chain.from_iterable(judgments.values())),
            texts=lambda: list(chain.from_iterable(judgments.values())),
        )

    @classmethod
    def from_arrays(
        cls,
        labels: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        name: str = "judgments",
    ) -> Judgments:
        """Return judgments from one label per document, with the query of each document or the size of each query.

        The arrays are all that is known of a query. So the ideal ranking holds only documents that are in them: a
        recommender whose arrays hold recommended items only is compared with the best order of those items, and the
        positives that it missed do not count. To count all positives, give them by id (`Judgments.from_dict`,
        `Judgments.from_matrix`) and the recommendations as ranked lists.

        >>> Judgments.from_arrays([0, 2, 1], group=[2, 1]).queries
        ('1', '2')
        """
        grade = finite(labels, name, "label")
        if (qid is None) == (group is None):
            raise CalipersError("give either qid, a query id for each label, or group, the size of each query")
        if group is not None:
            size = np.asarray(group)
            if size.ndim != 1 or not np.issubdtype(size.dtype, np.integer) or (size < 0).any():
                raise CalipersError("group is not a list of sizes")
            if size.sum() != len(grade):
                raise CalipersError(
                    f"group adds up to {counted(size.sum(), 'document')}, but there are {counted(len(grade), 'label')}"
                )
            queries = tuple(str(i) for i in range(1, len(size) + 1))
            return cls(name, queries, Pool(np.concatenate([[0], np.cumsum(size)]), grade), names=None)
        ids = np.asarray(qid)
        if ids.shape != grade.shape:
            raise CalipersError(f"there are {counted(ids.size, 'query id')} for {counted(len(grade), 'label')}")
        distinct, start, query = np.unique(ids, return_index=True, return_inverse=True)
        by_appearance = np.argsort(start)
        place = np.empty_like(by_appearance)
        place[by_appearance] = np.arange(len(distinct))
        queries = tuple(str(distinct[i]) for i in by_appearance)
        return cls._grouped(name, queries, place[query], grade, None)

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        *,
        queries: Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        name: str = "judgments",
    ) -> Judgments:
        """Return the judgments of a sparse matrix of SciPy, queries x documents (or users x items).

        A stored entry is a grade, also if it is 0. Entries that are not stored are not judged, and rows without an
        entry are left out. queries, documents: names of rows and columns; without them, their numbers from 0.

        >>> from scipy.sparse import csr_matrix
        >>> Judgments.from_matrix(csr_matrix([[0, 2], [1, 0]]), queries=["q1", "q2"]).to_dict()
        {'q1': {'1': 2.0}, 'q2': {'0': 1.0}}
        """
        from calipers.collection.matrices import rows_of_matrix

        return rows_of_matrix(matrix, queries, documents).judgments(name)

    def with_notes(self, notes: Sequence[str]) -> Self:
        """Return the judgments with further notes on how they were read."""
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    def with_grades(self, grades: Mapping[float, float]) -> Self:
        """Return the judgments with other grades, such as stars from 1 to 5 as gains from 0 to 4.

        >>> stars = Judgments.from_dict({"q1": {"d1": 5, "d2": 1}})
        >>> stars.with_grades({1: 0, 2: 1, 3: 2, 4: 3, 5: 4}).to_dict()
        {'q1': {'d1': 4.0, 'd2': 0.0}}
        """
        check_type("grades", grades, Mapping, "a table of a new grade for each grade, such as {1: 0, 2: 1, 3: 2}")
        if self.pool.kind != "grades":
            raise CalipersError(
                f"grades are renamed in judgments with one grade per document, not in {SAID_OF[self.pool.kind]}",
                file=self.name,
            )
        table = {check_number("grade", old): check_number("grade", new) for old, new in grades.items()}
        found = self.pool.grade.tolist()
        if lacking := sorted({*found} - {*table}):
            raise CalipersError(
                f"grade {lacking[0]:g} has no new grade: name every grade of the judgments, also if it stays "
                f"({lacking[0]:g}:{lacking[0]:g})",
                file=self.name,
            )
        return replace(self, pool=Pool(self.pool.offsets, np.array([table[grade] for grade in found]) + 0.0))

    @classmethod
    def from_columns(cls, columns: Columns, name: str, combine: str | None = None) -> Judgments:
        """Return judgments from the columns of a qrels file. A repeated judgment counts once.

        combine: how several grades of a document become one; without it, different ones are refused.
        """
        if combine is not None:
            from calipers.collection.repeated import combined

            columns, notes = combined(columns, combine, name)
            return cls.from_columns(columns, name).with_notes(notes)
        grouped, conflicts = cls.as_read(columns, name)
        for error in conflicts.values():
            raise error
        return grouped

    @classmethod
    def as_read(cls, columns: Columns, name: str) -> tuple[Judgments, dict[int, CalipersError]]:
        """Return judgments from the columns of a qrels file, and the errors of some queries.

        In such a query, a document has several grades, and the first one is used.
        """
        queries = tuple(columns.queries.texts())
        grouped = cls._grouped(name, queries, columns.query, columns.value, columns.documents)
        conflicts: dict[int, CalipersError] = {}
        if grouped.index.distinct:
            return grouped, conflicts
        documents = grouped.documents.tolist()
        offsets = grouped.pool.offsets.tolist()
        repeated = []
        for query, (start, end) in enumerate(pairwise(offsets)):
            if len(set(documents[start:end])) == end - start:
                continue
            first: dict[bytes, int] = {}
            for row in range(start, end):
                earlier = first.setdefault(documents[row], row)
                if earlier == row:
                    continue
                if grouped.pool.grade[earlier] == grouped.pool.grade[row]:
                    repeated.append(row)
                elif query not in conflicts:
                    source = row if grouped.row is None else int(grouped.row[row])
                    conflicts[query] = ConflictingGrades(
                        f"document '{decode(documents[row])}' of query '{queries[query]}' is judged "
                        f"{grouped.pool.grade[row]:g} here and {grouped.pool.grade[earlier]:g} before",
                        file=name,
                        line=int(columns.line[source]),
                    )
        return (grouped._without(np.array(repeated)) if repeated else grouped), conflicts

    @classmethod
    def from_labels(cls, labels: Labels, name: str) -> Judgments:
        """Return judgments from the labels of a LETOR file."""
        queries = tuple(labels.queries.texts())
        return cls._grouped(name, queries, labels.query, labels.label, labels.documents)

    @classmethod
    def _grouped(
        cls, name: str, queries: tuple[str, ...], query: Ints, grade: Floats, documents: Ids | None
    ) -> Judgments:
        """Return judgments with the rows of each query together, in the order of the input."""
        grade = grade + 0.0  # -0.0 and 0.0 are the same grade
        offsets = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=len(queries)))])
        if (query[1:] >= query[:-1]).all():
            return cls(name, queries, Pool(offsets, grade), None if documents is None else lambda: documents)
        row = np.argsort(query, kind="stable")
        taken = None if documents is None else documents.take(row)
        return cls(name, queries, Pool(offsets, grade[row]), None if taken is None else lambda: taken, row=row)

    def _without(self, dropped: Ints) -> Judgments:
        kept = np.ones(len(self), bool)
        kept[dropped] = False
        documents = self.documents.take(np.flatnonzero(kept))
        offsets = np.concatenate([[0], np.cumsum(self.pool.count(kept))])
        row = np.arange(len(self)) if self.row is None else self.row
        pool = Pool(offsets, self.pool.grade[kept])
        return Judgments(self.name, self.queries, pool, lambda: documents, row=row[kept], repeated=len(dropped))

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: ids instead of the functions that find them, and no index."""
        state = {name: value for name, value in self.__dict__.items() if name != "index"}
        return state | {"names": None if self.names is None else _Held(self.documents), "texts": None}

    def __len__(self) -> int:
        return len(self.pool.grade)

    @cached_property
    def documents(self) -> Ids:
        """The ids of the judged documents, in the pool's order."""
        if self.names is None:
            raise CalipersError("these documents have no ids: they came as arrays", file=self.name)
        return self.names()

    @cached_property
    def index(self) -> JudgedIndex:
        """Finds a judged document by its query's and its own id."""
        return JudgedIndex(Ids.of(self.queries), self.pool.offsets, self.documents)

    @cached_property
    def document_names(self) -> list[str]:
        return self.documents.texts() if self.texts is None else self.texts()

    @cached_property
    def digest(self) -> str | None:
        """Digest of the sorted (query, document, grade) triples: the same for every format and order of the input.

        None for judgments that are no grades (by subtopic, preferences, samples).

        >>> Judgments.from_dict({"q": {"a": 1, "b": 0}}).digest == Judgments.from_dict({"q": {"b": 0, "a": 1}}).digest
        True
        """
        if self.pool.kind != "grades":
            return None
        names = self.pool.place.tolist() if self.names is None else self.document_names
        queries = [self.queries[q] for q in self.pool.query.tolist()]
        triples = sorted(zip(queries, map(str, names), (self.pool.grade + 0.0).tolist(), strict=True))
        text = "".join(f"{query}\0{document}\0{grade!r}\n" for query, document, grade in triples)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]

    @cached_property
    def rows_by_name(self) -> Ints:
        """The rows of the pool in the order of the names of their queries and documents.

        What is sampled is drawn over this order, so that no result depends on the order of lines. Documents without
        ids keep their order.
        """
        queries = sorted(range(len(self.queries)), key=self.queries.__getitem__)
        return np.concatenate([np.zeros(0, np.int64), *map(self.rows_of, queries)])

    def by_name(self) -> Judgments:
        """Return the same judgments with queries and documents in the order of their names."""
        rows = self.rows_by_name
        queries = sorted(range(len(self.queries)), key=self.queries.__getitem__)
        offsets = np.concatenate([[0], np.cumsum(self.pool.size[queries])])
        row = rows if self.row is None else self.row[rows]
        names = None if self.names is None else lambda: self.documents.take(rows)
        pool = Pool(offsets, self.pool.grade[rows])
        ordered = tuple(self.queries[q] for q in queries)
        return replace(self, queries=ordered, pool=pool, names=names, texts=None, row=row)

    def rows_of(self, query: int) -> Ints:
        """Return the rows of one query, given by its place, in the order of the names of its documents."""
        rows = range(*self.pool.offsets[query : query + 2].tolist())
        if self.names is None and self.texts is None:
            return np.array(rows, np.int64)
        return np.array(sorted(rows, key=self.document_names.__getitem__), np.int64)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return {query: {document: grade}}."""
        offsets, grade = self.pool.offsets.tolist(), self.pool.grade.tolist()
        return {
            query: dict(zip(self.document_names[start:end], grade[start:end], strict=True))
            for query, (start, end) in zip(self.queries, pairwise(offsets), strict=True)
        }


class _Held(Record):
    """A function that returns what it holds, and that can be pickled."""

    ids: Ids

    def __call__(self) -> Ids:
        return self.ids


def check_nested(outer: Mapping[str, Any], name: str, what: str, number: str) -> None:
    for query, inner in outer.items():
        if not isinstance(query, str) or not isinstance(inner, Mapping):
            raise CalipersError(
                f"{what} must be {{query: {{document: {number}}}}} with strings as ids, "
                f"not {{{query!r}: {inner!r:.40}}}",
                file=name,
            )
        for document in inner:
            if not isinstance(document, str):
                raise CalipersError(f"document id {document!r} of query '{query}' is not a string", file=name)
            break  # the others fail at look-up; checking every id would cost more than the evaluation


def _grades(values: Iterable[Any], count: int, name: str) -> Floats:
    try:
        numbers = np.fromiter(values, np.float64, count)
    except (TypeError, ValueError) as error:
        raise CalipersError(f"a grade is not a number ({error})", file=name) from None
    return finite(numbers, name, "grade")


def finite(values: ArrayLike, name: str, what: str) -> Floats:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise CalipersError(f"a {what} is not a number ({error})", file=name) from None
    if numbers.ndim != 1:
        raise CalipersError(f"expected one {what} a document, found an array of shape {numbers.shape}", file=name)
    if not np.isfinite(numbers).all():
        position = int(np.argmin(np.isfinite(numbers)))
        raise CalipersError(f"a {what} is not a finite number (position {position})", file=name)
    return numbers
