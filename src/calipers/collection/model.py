"""Judgments and runs, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from calipers.collection.reader import scan, scan_run
from calipers.collection.run_names import run_name, stem_of
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Pool
from calipers.native.columns import Columns, Labels, Precision, Retrieved
from calipers.native.ids import Ids, decode, encode
from calipers.native.scan_error import duplicate
from calipers.native.scanner import (
    ColumnScanner,
    JudgedIndex,
    NumberScanner,
    rank_documents,
    rank_segments,
    top_segments,
)
from calipers.plurals import counted


@dataclass(frozen=True, eq=False)
class Judgments:
    """What is known of each query's documents: a grade each.

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
    def from_dict(cls, judgments: Mapping[str, Mapping[str, float]], name: str = "judgments") -> Judgments:
        """From {query: {document: grade}}."""
        if not judgments:
            raise CalipersError("there are no judgments", file=name)
        _check_nested(judgments, name, "judgments", "grade")
        offsets = np.cumsum([0, *(len(graded) for graded in judgments.values())])
        grades = chain.from_iterable(graded.values() for graded in judgments.values())
        grade = _numbers(grades, int(offsets[-1]), name, "grade")
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
        """From one label per document, with one query id per document or the number of documents of each query.

        >>> Judgments.from_arrays([0, 2, 1], group=[2, 1]).queries
        ('1', '2')
        """
        grade = _finite(labels, name, "label")
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

    def with_notes(self, notes: Sequence[str]) -> Judgments:
        """The same, with more to be said of how they were read."""
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    @classmethod
    def from_columns(cls, columns: Columns, name: str, combine: str | None = None) -> Judgments:
        """From the columns of a qrels file. A document judged twice with one grade counts once.

        combine: how several grades of a document become one; without it, different ones are refused.
        """
        if combine is not None:
            from calipers.collection.repeated import combined

            columns, notes = combined(columns, combine, name)
            return cls.from_columns(columns, name).with_notes(notes)
        queries = tuple(columns.queries.texts())
        grouped = cls._grouped(name, queries, columns.query, columns.value, columns.documents)
        if grouped.index.distinct:
            return grouped
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
                if grouped.pool.grade[earlier] != grouped.pool.grade[row]:
                    source = row if grouped.row is None else int(grouped.row[row])
                    raise CalipersError(
                        f"document '{decode(documents[row])}' of query '{queries[query]}' is judged "
                        f"{grouped.pool.grade[row]:g} here and {grouped.pool.grade[earlier]:g} before; "
                        "combine (--combine) makes one grade of them",
                        file=name,
                        line=int(columns.line[source]),
                    )
                repeated.append(row)
        return grouped._without(np.array(repeated)) if repeated else grouped

    @classmethod
    def from_labels(cls, labels: Labels, name: str) -> Judgments:
        """From the labels of a LETOR file."""
        queries = tuple(labels.queries.texts())
        return cls._grouped(name, queries, labels.query, labels.label, labels.documents)

    @classmethod
    def _grouped(
        cls, name: str, queries: tuple[str, ...], query: Ints, grade: Floats, documents: Ids | None
    ) -> Judgments:
        """With the rows of each query brought together, in the order of the input."""
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

    def not_answered(self, query: bytes | None) -> CalipersError:
        """The error where runs answer none of these queries, with one query of each side."""
        other = "the runs are empty" if query is None else f"the runs have '{decode(query)}'"
        return CalipersError(
            f"no query in common: none of the runs answers a query of {self.name} "
            f"(the judgments have '{self.queries[0]}', {other})"
        )

    def to_dict(self) -> dict[str, dict[str, float]]:
        """As {query: {document: grade}}."""
        offsets, grade = self.pool.offsets.tolist(), self.pool.grade.tolist()
        return {
            query: dict(zip(self.document_names[start:end], grade[start:end], strict=True))
            for query, (start, end) in zip(self.queries, pairwise(offsets), strict=True)
        }


class Run(Protocol):
    """One system's ranked lists, read when they are needed."""

    @property
    def name(self) -> str: ...

    # Those that were read from a file may have `path`, and `notes` on how it was read.

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        """The judged documents that it retrieves, and where they rank."""
        ...

    def documents(self) -> dict[str, dict[str, float]]:
        """Everything that it retrieves: {query: {document: score}}."""
        ...


@dataclass(eq=False)
class FileRun:
    """A TREC run file."""

    path: str
    given_name: str | None = None
    max_unpacked: int | None = None
    memory: int | None = None  # bytes to hold of a run whose queries are in no order; more goes to disk
    tag: str | None = field(default=None, init=False)  # known once the file was read
    kept: Columns | None = field(default=None, init=False, repr=False)  # all its lines, where they are wanted again

    @property
    def name(self) -> str:
        if self.given_name is None and self.tag is None:
            self.tag = self._first_tag()
        return self.given_name or run_name(self.tag or "", self.path)

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        found = scan_run(
            self.path, judgments.index, depth=depth, precision=precision, jobs=jobs, max_unpacked=self.max_unpacked,
            memory=self.memory,
        )  # fmt: skip
        self.tag = decode(found.tag)
        return found

    def documents(self) -> dict[str, dict[str, float]]:
        columns = scan(self.path, lambda: ColumnScanner("run"), max_unpacked=self.max_unpacked)
        found: dict[str, dict[str, float]] = {query: {} for query in columns.queries.texts()}
        lists = list(found.values())
        rows = zip(columns.query.tolist(), columns.documents.texts(), columns.value.tolist(), strict=True)
        for row, (query, document, score) in enumerate(rows):
            if document in lists[query]:
                raise CalipersError(
                    duplicate(encode(document), columns.queries[query]),
                    file=self.path,
                    line=int(columns.line[row]),
                )
            lists[query][document] = score
        return found

    def _first_tag(self) -> str:
        from calipers.collection.formats import first_line

        fields = first_line(self.path).split()
        return decode(fields[5]) if len(fields) > 5 else ""


_NO_ROWS = (np.zeros(0, np.int64), np.zeros(0), *(np.zeros(0, np.int64) for _ in range(4)))


@dataclass(eq=False)
class DictRun:
    """A run as {query: {document: score}}. Only the judged documents are looked up."""

    scores: Mapping[str, Mapping[str, float]]
    name: str = "run"

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        _check_nested(self.scores, self.name, "a run", "score")
        names, offsets = judgments.document_names, judgments.pool.offsets.tolist()
        judged = set(judgments.queries)
        lists: list[tuple[int, int, int]] = []
        parts: list[tuple[Ints, Floats, Ints, Ints, Ints, Ints]] = []
        for query, name in enumerate(judgments.queries):
            ranked = self.scores.get(name)
            if not ranked:
                continue
            if depth and len(ranked) > depth:
                ranked = _deepest(ranked, depth)
            plain = ranked if type(ranked) is dict else dict(ranked)
            try:
                length, tied, hits, of_hits, first, last = rank_documents(
                    plain, names, offsets[query], offsets[query + 1], precision
                )
            except (TypeError, ValueError) as error:
                raise CalipersError(f"a score for query '{name}' is not a number ({error})", file=self.name) from None
            by_id: Ints = first
            by_input: Ints = first
            if (first != last).any():
                score = _rounded(np.array(list(plain.values()), float), precision)
                by_id, by_input = _places(plain, score, [names[row] for row in hits.tolist()])
            lists.append((query, length, tied))
            parts.append((hits, of_hits, first, last, by_id, by_input))
        query_of, lengths, ties = np.ascontiguousarray(np.array(lists, np.int32).reshape(-1, 3).T)
        sizes = np.array([len(part[0]) for part in parts], np.int64)
        document, score, *ranks = (np.concatenate(column) for column in zip(_NO_ROWS, *parts, strict=True))
        before = np.repeat(np.cumsum(lengths, dtype=np.int64) - lengths, sizes)
        order = np.argsort(before + ranks[2])  # by list, and inside it by rank
        spans = [rank[order].astype(np.int32) for rank in ranks]
        return Retrieved(
            query=query_of,
            length=lengths,
            tied=ties,
            offsets=np.concatenate([[0], np.cumsum(sizes)]),
            document=document[order].astype(np.int32),
            score=score[order],
            first=spans[0],
            last=spans[1],
            docid_rank=spans[2],
            input_rank=spans[3],
            tag=self.name.encode(),
            unjudged=Ids.of(query for query in self.scores if query not in judged),
            scattered=False,
        )

    def documents(self) -> dict[str, dict[str, float]]:
        return {query: dict(ranked) for query, ranked in self.scores.items()}


@dataclass(eq=False)
class ArrayRun:
    """A run as one score for each judged document, in the order of the labels."""

    scores: Floats
    name: str = "run"
    reach: int | None = None  # documents whose tie starts below this rank are left out; None keeps all

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        scores = _finite(self.scores, self.name, "score")
        expected = len(judgments) if judgments.row is None else len(judgments.row)
        if len(scores) != expected:
            raise CalipersError(f"{counted(len(scores), 'score')} for {counted(expected, 'label')}", file=self.name)
        if judgments.row is not None:
            scores = scores[judgments.row]
        scores = _rounded(scores, precision)
        pool = judgments.pool
        scores = np.ascontiguousarray(scores)
        asked = np.flatnonzero(pool.size > 0)
        top = depth or self.reach or 0
        offsets: Ints
        by_input: Ints
        if top and 2 * top * len(asked) < len(scores):  # else what is left out would not pay for finding it
            row, first, last, offsets, tied = top_segments(scores, pool.offsets, top)
            by_input = (np.arange(1, len(row) + 1) - np.repeat(offsets[:-1], np.diff(offsets))).astype(np.int32)
        else:
            row, first, last = rank_segments(scores, pool.offsets)
            offsets = pool.offsets
            tied = np.bincount(pool.query, weights=first != last, minlength=pool.queries).astype(np.int32)
            by_input = pool.place  # rows come by score, and inside ties in the order of the input
        by_id = _by_id(judgments, row, first, last, by_input)
        found = Retrieved(
            query=asked.astype(np.int32),
            length=pool.size[asked].astype(np.int32),
            tied=tied[asked],
            offsets=offsets[np.append(asked, pool.queries)],
            document=row,
            first=first,
            last=last,
            score=scores[row],
            docid_rank=by_id,
            input_rank=by_input,
            tag=self.name.encode(),
            unjudged=Ids.of([]),
            scattered=False,
        )
        return _cut(found, depth) if depth else found

    def documents(self) -> dict[str, dict[str, float]]:
        raise CalipersError("a run of bare scores has no documents of its own", file=self.name)


@dataclass(eq=False)
class ScoreFile:
    """A file with one score per line, in the order of the labels of a LETOR file."""

    path: str
    given_name: str | None = None
    max_unpacked: int | None = None
    reach: int | None = None  # as of ArrayRun

    @property
    def name(self) -> str:
        return self.given_name or stem_of(self.path)

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        scores = scan(self.path, NumberScanner, max_unpacked=self.max_unpacked)
        return ArrayRun(scores, self.path, self.reach).retrieved(judgments, depth, precision)

    def documents(self) -> dict[str, dict[str, float]]:
        raise CalipersError("a file of bare scores has no documents of its own", file=self.path)


def within_reach(run: Run, reach: int) -> Run:
    """The same run for those who read no deeper than this rank: where it saves sorting, it leaves out the rest."""
    return replace(run, reach=reach) if isinstance(run, ArrayRun | ScoreFile) else run


def without_query(run: Run) -> Run:
    """The same run without documents that have the id of their query, which is read whole for that."""
    if isinstance(run, ArrayRun | ScoreFile):
        return run
    kept = {
        query: {document: score for document, score in ranked.items() if document != query}
        for query, ranked in run.documents().items()
    }
    return DictRun(kept, run.name)


# -- pieces ------------------------------------------------------------------------------------------


def _check_nested(outer: Mapping[str, Any], name: str, what: str, number: str) -> None:
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


def _numbers(values: Iterable[Any], count: int, name: str, what: str) -> Floats:
    try:
        numbers = np.fromiter(values, np.float64, count)
    except (TypeError, ValueError) as error:
        raise CalipersError(f"a {what} is not a number ({error})", file=name) from None
    return _finite(numbers, name, what)


def _finite(values: ArrayLike, name: str, what: str) -> Floats:
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


def _rounded(scores: Floats, precision: Precision) -> Floats:
    if precision == "double":
        return scores
    with np.errstate(over="ignore"):  # infinite beyond single precision, as a cast in C has it
        return scores.astype(np.float32).astype(np.float64)


def _places(ranked: Mapping[str, float], score: Floats, shown: Sequence[str]) -> tuple[Ints, Ints]:
    """The ranks of some documents, ties broken by id descending, and by the order of the input."""
    documents = list(ranked)
    # Strings sort as their bytes do, but for ids that are no UTF-8.
    plain = "".join(documents).isascii()
    ids: Sequence[str | bytes] = documents if plain else [encode(document) for document in documents]
    descending = np.array(sorted(range(len(ids)), key=ids.__getitem__, reverse=True))
    place = dict(zip(documents, range(len(documents)), strict=True))
    rows = np.fromiter(map(place.__getitem__, shown), np.int64, len(shown))
    by_id = descending[np.argsort(-score[descending], kind="stable")]
    by_input = np.argsort(-score, kind="stable")
    rank = np.empty((2, len(documents)), np.int64)
    rank[0, by_id] = rank[1, by_input] = np.arange(1, len(documents) + 1)
    return rank[0, rows], rank[1, rows]


def _deepest(ranked: Mapping[str, float], depth: int) -> dict[str, float]:
    """The first documents by score, then by id descending, in the order of the input."""
    order = sorted(ranked, key=lambda d: (ranked[d], encode(d)), reverse=True)
    kept = set(order[:depth])
    return {document: score for document, score in ranked.items() if document in kept}


def _by_id(judgments: Judgments, row: Ints, first: Ints, last: Ints, by_input: Ints) -> Ints | None:
    """Ranks with ties broken by document id, descending; None where documents have no ids."""
    if judgments.names is None:
        return None
    rank = by_input.copy()
    tied = first != last
    for start in np.flatnonzero(tied & (by_input == first)).tolist():
        members = np.arange(start, start + int(last[start] - first[start]) + 1)
        ids = [judgments.documents[int(row[member])] for member in members]
        for place, member in enumerate(sorted(range(len(ids)), key=ids.__getitem__, reverse=True)):
            rank[members[member]] = first[start] + place
    return rank


def _cut(found: Retrieved, depth: int) -> Retrieved:
    """The first documents of lists in which every document is judged."""
    order = found.input_rank if found.docid_rank is None else found.docid_rank
    kept = np.flatnonzero(order <= depth)
    lists = np.repeat(np.arange(len(found.query)), np.diff(found.offsets))[kept]
    last = np.minimum(found.last[kept], depth)
    first = found.first[kept]
    by_input = found.input_rank[kept]
    fresh = np.empty_like(by_input)
    fresh[np.lexsort((by_input, lists))] = np.arange(len(kept)) - np.searchsorted(lists, lists) + 1
    return Retrieved(
        query=found.query,
        length=np.minimum(found.length, depth),
        tied=np.bincount(lists, weights=first != last, minlength=len(found.query)).astype(np.int32),
        offsets=np.searchsorted(lists, np.arange(len(found.query) + 1)),
        document=found.document[kept],
        first=first,
        last=last,
        score=found.score[kept],
        docid_rank=None if found.docid_rank is None else found.docid_rank[kept],
        input_rank=fresh,
        tag=found.tag,
        unjudged=found.unjudged,
        scattered=False,
    )
