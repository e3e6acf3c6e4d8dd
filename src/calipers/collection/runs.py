"""Runs: one system's ranked lists, from a file, a mapping or an array of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from calipers.collection.judgments import Judgments, check_nested, finite
from calipers.collection.nested import scored_documents
from calipers.collection.reader import scan, scan_run
from calipers.collection.run_names import run_name, stem_of
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.native.columns import Precision, Retrieved, TieSpans
from calipers.native.ids import Ids, decode, encode
from calipers.native.scan_error import duplicate
from calipers.native.scanner import ColumnScanner, NumberScanner, rank_documents, rank_segments, top_segments
from calipers.support.extras import load
from calipers.support.plurals import counted

if TYPE_CHECKING:
    import pandas as pd

_NO_ROWS = (np.zeros(0, np.int64), np.zeros(0), *(np.zeros(0, np.int64) for _ in range(4)))


class Run:
    """One system's ranked lists, read when they are needed.

    Runs that were read from a file may also have a `path` and `notes` about how it was read.
    """

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        """Return the judged documents that the run retrieves, and their ranks."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return everything that the run retrieves: {query: {document: score}}."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per document, with the columns query, document and score.

        >>> DictRun({"q1": {"d1": 2.5, "d2": 1.0}}).to_pandas()
          query document  score
        0    q1       d1    2.5
        1    q1       d2    1.0
        """
        pandas = load("pandas", extra="frames", what="frames")
        rows = [(query, document, score) for query, of in self.to_dict().items() for document, score in of.items()]
        frame: pd.DataFrame = pandas.DataFrame(rows, columns=["query", "document", "score"])
        return frame

    @staticmethod
    def from_dict(run: Mapping[str, Mapping[str, float] | Sequence[Any]], name: str = "run") -> Run:
        """Return a run from {query: {document: score}}, {query: [documents]} or {query: [(document, score)]}.

        The documents of a list are in the order of their ranks, best first.

        >>> Run.from_dict({"q1": ["d2", "d1"]}).to_dict()
        {'q1': {'d2': -1.0, 'd1': -2.0}}
        """
        return DictRun(scored_documents(run, name), name)

    @staticmethod
    def from_arrays(
        ids: ArrayLike,
        scores: ArrayLike | None = None,
        *,
        queries: Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        name: str = "run",
    ) -> Run:
        """Return a run from the top documents of each query (queries x k), as a vector index returns them.

        Without scores the order of the documents counts. Negative numbers stand for no document, as in Faiss.
        queries: names of the rows; documents: names of the numbers in `ids`. Without them, numbers are names, from 0.

        >>> Run.from_arrays([[1, 0], [1, -1]], [[0.9, 0.5], [0.7, 0]], queries=["q1", "q2"]).to_dict()
        {'q1': {'1': 0.9, '0': 0.5}, 'q2': {'1': 0.7}}
        """
        from calipers.collection.matrices import rows_of_top
        from calipers.collection.table_rows import runs_of

        rows = rows_of_top(ids, scores, queries, documents)
        return runs_of((), lambda: rows, name=name)[0]

    @staticmethod
    def from_matrix(
        matrix: Any,
        *,
        queries: Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        name: str = "run",
    ) -> Run:
        """Return a run from a sparse matrix of SciPy that holds scores, queries x documents (or users x items).

        Documents whose score is not stored are not retrieved. queries, documents: names of rows and columns; without
        them, their numbers from 0.

        >>> from scipy.sparse import csr_matrix
        >>> Run.from_matrix(csr_matrix([[0, 2.5], [1.5, 0]])).to_dict()
        {'0': {'1': 2.5}, '1': {'0': 1.5}}
        """
        from calipers.collection.matrices import rows_of_matrix
        from calipers.collection.table_rows import runs_of

        rows = rows_of_matrix(matrix, queries, documents)
        return runs_of((), lambda: rows, name=name)[0]


@dataclass(eq=False)
class FileRun(Run):
    """A TREC run file."""

    path: str
    given_name: str | None = None
    max_unpacked: int | None = None
    tag: str | None = field(default=None, init=False)  # known once the file was read

    @property
    def name(self) -> str:
        if self.given_name is None and self.tag is None:
            self.tag = self._first_tag()
        return self.given_name or run_name(self.tag or "", self.path)

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        found = scan_run(
            self.path, judgments.index, depth=depth, precision=precision, jobs=jobs, max_unpacked=self.max_unpacked
        )
        self.tag = decode(found.tag)
        return found

    def to_dict(self) -> dict[str, dict[str, float]]:
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


@dataclass(eq=False)
class DictRun(Run):
    """A run as {query: {document: score}}. Only the judged documents are looked up."""

    scores: Mapping[str, Mapping[str, float]]
    name: str = "run"

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        check_nested(self.scores, self.name, "a run", "score")
        names, offsets = judgments.document_names, judgments.pool.offsets.tolist()
        judged = set(judgments.queries)
        lists: list[tuple[int, int, int]] = []
        parts: list[tuple[Ints, Floats, Ints, Ints, Ints, Ints]] = []
        ties: list[TieSpans] = []
        untied = TieSpans.none(1)
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
            spans = untied
            if tied:
                score = _rounded(np.array([*plain.values()], np.float64), precision)
                spans = _tie_spans(score)
                if (first != last).any():
                    by_id, by_input = _places(plain, score, [names[row] for row in hits.tolist()])
            lists.append((query, length, tied))
            parts.append((hits, of_hits, first, last, by_id, by_input))
            ties.append(spans)
        query_of, lengths, tied_of = np.ascontiguousarray(np.array(lists, np.int32).reshape(-1, 3).T)
        sizes = np.array([len(part[0]) for part in parts], np.int64)
        document, score, *ranks = (np.concatenate(column) for column in zip(_NO_ROWS, *parts, strict=True))
        before = np.repeat(np.cumsum(lengths, dtype=np.int64) - lengths, sizes)
        order = np.argsort(before + ranks[2])  # by list, and inside it by rank
        by_rank = [rank[order].astype(np.int32) for rank in ranks]
        return Retrieved(
            query=query_of,
            length=lengths,
            tied=tied_of,
            offsets=np.concatenate([[0], np.cumsum(sizes)]),
            document=document[order].astype(np.int32),
            score=score[order],
            first=by_rank[0],
            last=by_rank[1],
            docid_rank=by_rank[2],
            input_rank=by_rank[3],
            all_ties=TieSpans.joined(ties),
            tag=self.name.encode(),
            unjudged=Ids.of(query for query in self.scores if query not in judged),
            scattered=False,
        )

    def to_dict(self) -> dict[str, dict[str, float]]:
        return {query: dict(ranked) for query, ranked in self.scores.items()}


@dataclass(eq=False)
class ArrayRun(Run):
    """A run as one score for each judged document, in the order of the labels."""

    scores: Floats
    name: str = "run"
    reach: int | None = None  # documents whose tie starts below this rank are left out; None keeps all

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        scores = finite(self.scores, self.name, "score")
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
        if top and 2 * top * len(asked) < len(scores):  # otherwise finding the top costs more than it saves
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
            all_ties=_spans_of_rows(first, last, offsets).take(asked),
            tag=self.name.encode(),
            unjudged=Ids.of([]),
            scattered=False,
        )
        return _cut(found, depth) if depth else found

    def to_dict(self) -> dict[str, dict[str, float]]:
        raise CalipersError("a run of bare scores has no documents of its own", file=self.name)


@dataclass(eq=False)
class ScoreFile(Run):
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

    def to_dict(self) -> dict[str, dict[str, float]]:
        raise CalipersError("a file of bare scores has no documents of its own", file=self.path)


@dataclass(eq=False)
class RunView(Run):
    """A run that shows another run in a different way."""

    run: Run

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def path(self) -> str | None:
        path: str | None = getattr(self.run, "path", None)
        return path

    @property
    def given_name(self) -> str | None:
        name: str | None = getattr(self.run, "given_name", None)
        return name

    @cached_property
    def notes(self) -> tuple[str, ...]:
        notes: tuple[str, ...] = getattr(self.run, "notes", ())
        return notes

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        return self.run.retrieved(judgments, depth, precision, jobs)

    def to_dict(self) -> dict[str, dict[str, float]]:
        return self.run.to_dict()


@dataclass(eq=False)
class RenamedRun(RunView):
    """A run under another name."""

    new_name: str

    @property
    def name(self) -> str:
        return self.new_name

    @property
    def given_name(self) -> str:
        return self.new_name


@dataclass(eq=False)
class RunWithoutOwnIds(RunView):
    """A run without documents that have the id of their query."""

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        return without_query(self.run).retrieved(judgments, depth, precision, jobs)

    def to_dict(self) -> dict[str, dict[str, float]]:
        return without_query(self.run).to_dict()


@dataclass(eq=False)
class RememberedRun(RunView):
    """A run whose file is read once, for all the parts of one collection."""

    found: dict[tuple[Judgments, int, Precision], Retrieved] = field(default_factory=dict)

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        key = judgments, depth, precision
        if key not in self.found:
            self.found[key] = self.run.retrieved(judgments, depth, precision, jobs)
        return self.found[key]


def remembered(run: Run) -> Run:
    """Return a run that is read once. Arrays of scores stay as they are: they are read down to the rank that counts."""
    return run if isinstance(run, RememberedRun | ArrayRun | ScoreFile) else RememberedRun(run)


def unwrapped(run: Run) -> Run:
    """Return the run that a remembered one stands for."""
    return run.run if isinstance(run, RememberedRun) else run


def within_reach(run: Run, reach: int) -> Run:
    """Return a run that may leave out documents below a rank, where that saves sorting."""
    return replace(run, reach=reach) if isinstance(run, ArrayRun | ScoreFile) else run


def without_query(run: Run) -> Run:
    """Return the run without documents that have the id of their query. Reads the whole run."""
    if isinstance(run, ArrayRun | ScoreFile):
        return run
    kept = {
        query: {document: score for document, score in ranked.items() if document != query}
        for query, ranked in run.to_dict().items()
    }
    return DictRun(kept, run.name)


def _rounded(scores: Floats, precision: Precision) -> Floats:
    if precision == "double":
        return scores
    with np.errstate(over="ignore"):  # infinite beyond single precision, as a cast in C has it
        return scores.astype(np.float32).astype(np.float64)


def _places(ranked: Mapping[str, float], score: Floats, shown: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the ranks of some documents, with ties broken by descending id, and by the order of the input."""
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
    """Return the first `depth` documents by score, then by descending id, in the order of the input."""
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


def _tie_spans(score: Floats) -> TieSpans:
    """Return the ties of one list."""
    ascending = np.sort(score)
    same = np.zeros(len(score) + 1, bool)  # as the score before
    np.equal(ascending[1:], ascending[:-1], out=same[1:-1])
    ends = np.flatnonzero(same[1:] != same[:-1])[::-1]  # of each tie its last place and the one before its first
    return TieSpans(np.array([0, len(ends) // 2]), len(score) - ends[::2], len(score) - ends[1::2])


def _spans_of_rows(first: Ints, last: Ints, offsets: Ints) -> TieSpans:
    """Return the ties of lists in which every document is judged."""
    lists = len(offsets) - 1
    if not (first < last).any():
        return TieSpans.none(lists)
    return TieSpans.of(np.repeat(np.arange(lists), np.diff(offsets)), first, last, lists)


def _cut(found: Retrieved, depth: int) -> Retrieved:
    """Return the first documents of lists in which every document is judged."""
    order = found.input_rank if found.docid_rank is None else found.docid_rank
    kept = np.flatnonzero(order <= depth)
    lists = np.repeat(np.arange(len(found.query)), np.diff(found.offsets))[kept]
    last = np.minimum(found.last[kept], depth)
    first = found.first[kept]
    by_input = found.input_rank[kept]
    fresh = np.empty_like(by_input)
    fresh[np.lexsort((by_input, lists))] = np.arange(len(kept)) - np.searchsorted(lists, lists) + 1
    offsets = np.searchsorted(lists, np.arange(len(found.query) + 1))
    return Retrieved(
        query=found.query,
        length=np.minimum(found.length, depth),
        tied=np.bincount(lists, weights=first != last, minlength=len(found.query)).astype(np.int32),
        offsets=offsets,
        document=found.document[kept],
        first=first,
        last=last,
        score=found.score[kept],
        docid_rank=None if found.docid_rank is None else found.docid_rank[kept],
        input_rank=fresh,
        all_ties=_spans_of_rows(first, last, offsets),
        tag=found.tag,
        unjudged=found.unjudged,
        scattered=False,
    )
