"""The scanner in plain Python, for machines without a compiler. `_scanner.pyx` is tested against it.

It defines the meaning of a line. The compiled scanner takes its error messages from here.

A line is a sequence of fields between blanks (spaces and tabs), ended by LF or CR LF. The last line may have no end.
A UTF-8 byte order mark at the very start, empty lines, and lines that start with `#` are skipped. Ids are bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.native.columns import Columns, Labels, Precision, Retrieved, TieSpans
from calipers.native.ids import Ids
from calipers.native.scan_error import BINARY, MOST_LINE, ScanError, duplicate, shown, too_long

COMPILED = False

_BOM = b"\xef\xbb\xbf"
_FIELD = re.compile(rb"[^ \t]+")
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_DOCID = re.compile(rb"[ \t]*docid[ \t]*=[ \t]*([^ \t]+)")

QRELS_FIELDS = ("query", "iteration", "document", "grade")
RUN_FIELDS = ("query", "Q0", "document", "rank", "score", "tag")
TRIPLE_FIELDS = ("query", "document", "number")


# ---------------------------------------------------------------------------------------------- one line


def number(field: bytes, what: str) -> float:
    """Return a decimal number, rounded correctly. Hex, underscores, nan, inf and overflow are errors."""
    is_number = _NUMBER.fullmatch(field)
    if is_number and math.isfinite(value := float(field)):
        return value + 0.0  # -0.0 and 0.0 are the same score
    kind = "finite number" if is_number or _NOT_FINITE.fullmatch(field) else "number"
    raise ScanError(f"{what} {shown(field)} is not a {kind}")


def fields_of(line: bytes, names: tuple[str, ...]) -> list[bytes]:
    fields = _FIELD.findall(line)
    if len(fields) != len(names):
        raise ScanError(f"expected {len(names)} fields ({' '.join(names)}), found {len(fields)}")
    return fields


Row = tuple[bytes, bytes, float, bytes]  # query, document, number, and the iteration or tag


def qrels_line(line: bytes) -> Row:
    query, iteration, document, grade = fields_of(line, QRELS_FIELDS)
    return query, document, number(grade, "grade"), iteration


def run_line(line: bytes) -> Row:
    query, _, document, _, score, tag = fields_of(line, RUN_FIELDS)
    return query, document, number(score, "score"), tag


def triples_line(line: bytes) -> Row:
    query, document, value = fields_of(line, TRIPLE_FIELDS)
    return query, document, number(value, "the number"), b""


def letor_line(line: bytes) -> tuple[bytes, bytes | None, float, None] | None:
    """Return query, the document that the comment names, and label, or None for a line with a comment only."""
    content, _, comment = line.partition(b"#")
    fields = _FIELD.findall(content)
    if not fields:
        return None
    label = number(fields[0], "label")
    if len(fields) < 2 or not fields[1].startswith(b"qid:") or fields[1] == b"qid:":
        found = shown(fields[1]) if len(fields) > 1 else "nothing"
        raise ScanError(f"expected qid:ID after the label, found {found}")
    docid = _DOCID.match(comment)
    return fields[1][4:], docid[1] if docid else None, label, None


def number_line(line: bytes) -> tuple[float]:
    fields = _FIELD.findall(line)
    if len(fields) != 1:
        raise ScanError(f"expected one score per line, found {len(fields)} fields")
    return (number(fields[0], "score"),)


_READ = {"qrels": qrels_line, "run": run_line, "triples": triples_line}


# ------------------------------------------------------------------------------------- blocks into lines


class RowScanner:
    """A reader that cuts blocks into lines. It keeps what `read` returns for each line with content, and its number."""

    def __init__(self, read: Callable[[bytes], tuple[Any, ...] | None]) -> None:
        self._read = read
        self._found: list[tuple[Any, ...]] = []
        self.lines = 0  # whole lines so far
        self.rows = 0  # lines with content so far
        self.idle = False  # the rest of the file is ignored, readable or not
        self._tail = b""
        self._closed = False

    def feed(self, block: Any) -> None:
        """Take the next block: any bytes-like object, cut anywhere."""
        self._check_open()
        try:
            *whole, self._tail = (self._tail + bytes(block)).split(b"\n")
            for line in whole:
                self._line(line)
            if not self.idle:
                self._check_text(self._tail)
        except ScanError as error:
            self._refuse(error)

    def _close(self) -> None:
        self._check_open()
        self._closed = True
        try:
            if self._tail:
                self._line(self._tail)
        except ScanError as error:
            self._refuse(error)

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("this scanner is finished, or has refused a line")

    def _refuse(self, error: ScanError) -> None:
        self._closed = True
        error.line = self.lines + 1
        raise error

    def _line(self, line: bytes) -> None:
        if self.idle:
            return
        self._check_text(line)
        if self.lines == 0:
            line = line.removeprefix(_BOM)
        line = line.removesuffix(b"\r")
        if line.strip(b" \t") and not line.startswith(b"#"):
            self.rows += self._row(line)
        self.lines += 1

    def _row(self, line: bytes) -> bool:
        """Read a line. Return False if it turns out to be empty."""
        row = self._read(line)
        if row is not None:
            self._found.append((*row, self.lines + 1))
        return row is not None

    def _check_text(self, line: bytes) -> None:
        if 0 in line[: MOST_LINE + 1]:
            raise ScanError(BINARY)
        if len(line) > MOST_LINE:
            raise ScanError(too_long(MOST_LINE))

    def finish(self) -> Any:
        """Return the rows."""
        self._close()
        return self._found

    def _columns(self) -> tuple[Ids, NDArray[np.int32], list[Any], NDArray[np.float64], list[Any], NDArray[np.int64]]:
        """Return the queries and the columns of rows of query, document, number and something else."""
        self._close()
        query, documents, value, other, line = [[*column] for column in zip(*self._found, strict=True)] or [[]] * 5
        rows = {name: row for row, name in enumerate(dict.fromkeys(query))}
        number = _int32(map(rows.__getitem__, query))
        return Ids.of(rows), number, documents, np.array(value, np.float64), other, np.array(line, np.int64)


def _int32(values: Iterable[int]) -> NDArray[np.int32]:
    return np.array([*values], np.int32)


# ------------------------------------------------------------------------------------------ whole columns


class ColumnScanner(RowScanner):
    """All lines of judgments ("qrels"), of a run ("run"), or of query, document and number ("triples"), as columns."""

    def __init__(self, kind: str, *, keep_second: bool = False) -> None:
        if kind not in _READ:
            raise ValueError(f"kind is 'qrels', 'run' or 'triples', not {kind!r}")
        super().__init__(_READ[kind])
        self._is_run = kind == "run"
        self._keep_second = keep_second and kind == "qrels"

    def finish(self) -> Columns:
        queries, query, documents, value, other, line = self._columns()
        return Columns(
            queries=queries,
            query=query,
            documents=Ids.of(documents),
            value=value,
            line=line,
            second=Ids.of(other) if self._keep_second else None,
            tag=other[0] if self._is_run and other else b"",
        )


class LetorScanner(RowScanner):
    """The labels, queries and document names of a LETOR (SVMlight) file. Features are skipped."""

    def __init__(self) -> None:
        super().__init__(letor_line)

    def finish(self) -> Labels:
        queries, query, documents, label, _, line = self._columns()
        return Labels(queries, query, label, Ids.of(documents) if documents and None not in documents else None, line)


class NumberScanner(RowScanner):
    """A file with one score per line."""

    def __init__(self) -> None:
        super().__init__(number_line)

    def finish(self) -> NDArray[np.float64]:
        self._close()
        return np.array([value for value, _ in self._found], np.float64)


# ------------------------------------------------------------------------- a run against the judgments


class JudgedIndex:
    """Finds judged queries and documents by id. Built once, read by any number of scanners and threads.

    The documents of query q are the rows offsets[q]:offsets[q + 1]; an id that occurs twice is found at its first row.
    """

    def __init__(self, queries: Ids, offsets: NDArray[np.int64], documents: Ids) -> None:
        bounds = [int(x) for x in offsets]
        covers = len(bounds) == len(queries) + 1 and bounds[0] == 0 and bounds[-1] == len(documents)
        if not covers or bounds != sorted(bounds):
            raise ValueError("offsets do not cut the documents into one part per query")
        self._queries = {query: q for q, query in enumerate(queries)}
        if len(self._queries) < len(queries):
            raise ValueError("a query occurs twice")
        query = np.repeat(np.arange(len(queries)), np.diff(bounds)).tolist()
        self._rows: dict[tuple[int, bytes], int] = {}
        for row, pair in enumerate(zip(query, documents, strict=True)):
            self._rows.setdefault(pair, row)
        self.distinct = len(self._rows) == len(documents)  # no query has a document twice

    def __len__(self) -> int:
        return len(self._queries)

    def query(self, identifier: bytes) -> int:
        """Return the row of a query, or -1 if it is not judged."""
        return self._queries.get(identifier, -1)

    def find(self, query: int, identifier: bytes) -> int:
        """Return the row of a document among all judged documents, or -1 if it is not judged for this query."""
        if not 0 <= query < len(self):
            raise IndexError(query)
        return self._rows.get((query, identifier), -1)


class RunScanner(RowScanner):
    """A scanner of runs that keeps the judged documents and their ranks.

    `depth` keeps the first `depth` documents per query in trec_eval's order; 0 keeps all. Scores are compared in
    `precision`. If the lines of a judged query are not consecutive, a scanner without `regroup` sets `scattered` and
    ignores the rest of the run. Scan again with `regroup`, which reads any order and keeps judged queries in memory.
    """

    def __init__(
        self, index: JudgedIndex, *, depth: int = 0, precision: Precision = "double", regroup: bool = False
    ) -> None:
        super().__init__(run_line)
        if depth < 0:
            raise ValueError("depth is 0 (all) or more")
        self.scattered = False
        self._index, self._depth, self._single, self._regroup = index, depth, _is_single(precision), regroup
        self._lists: dict[int, dict[bytes, float]] = {}
        self._unjudged: dict[bytes, None] = {}
        self._now = -1
        self._tag = b""

    def _row(self, line: bytes) -> bool:
        query, document, score, tag = run_line(line)
        self._tag = self._tag if self.rows else tag
        return self._take(query, document, score)

    def _take(self, query: bytes, document: bytes, score: float) -> bool:
        q = self._index.query(query)
        if q < 0:
            self._unjudged[query] = None
        elif q != self._now and q in self._lists:
            self.scattered = True
            self.idle = not self._regroup
        if q >= 0 and not self.idle:
            documents = self._lists.setdefault(q, {})
            if document in documents:
                raise ScanError(duplicate(document, query))
            documents[document] = score
        self._now = q
        return not self.idle

    def feed_rows(self, queries: Ids, query: NDArray[np.int32], documents: Ids, score: NDArray[np.float64]) -> None:
        """Read rows from columns: indexes of `queries`, documents and scores. A row counts as a line."""
        if not len(query) == len(score) == len(documents) or self._tail:
            raise ValueError("the columns do not fit together, or a line is not finished")
        self._check_open()
        names = queries.tolist()
        try:
            for code, document, value in zip(query.tolist(), documents.tolist(), score.tolist(), strict=True):
                if self.idle:
                    return
                if not 0 <= code < len(names) or math.isnan(value):
                    self._closed = True
                    raise ValueError("a query or a document that is not there, or a score that is NaN")
                taken = self._take(names[code], document, value + 0.0)
                self.lines += taken
                self.rows += taken
        except ScanError as error:
            self._refuse(error)

    def finish(self) -> Retrieved:
        self._close()
        ranked = [self._ranked(q, documents) for q, documents in self._lists.items()]
        score = np.concatenate([np.zeros(0), *(scores for scores, _ in ranked)])
        columns = np.concatenate([np.zeros((5, 0), np.int32), *(found for _, found in ranked)], axis=1)
        row, first, last, docid_rank, input_rank = columns
        length = _int32(len(scores) for scores, _ in ranked)
        of_list = np.repeat(np.arange(len(length)), length)
        judged = row >= 0
        return Retrieved(
            query=_int32(self._lists),
            length=length,
            tied=np.bincount(of_list[first < last], minlength=len(length)).astype(np.int32),
            offsets=np.searchsorted(of_list[judged], np.arange(len(length) + 1)).astype(np.int64),
            document=row[judged],
            score=score[judged],
            first=first[judged],
            last=last[judged],
            docid_rank=docid_rank[judged],
            input_rank=input_rank[judged],
            all_ties=TieSpans.of(of_list, first, last, len(length)),
            tag=self._tag,
            unjudged=Ids.of(self._unjudged),
            scattered=self.scattered,
        )

    def _ranked(self, q: int, documents: dict[bytes, float]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the scores of a list in its order, and a matrix with a column for each document.

        It has the row among the judged documents (or -1), the ranks that the tie spans, and the ranks by id and input.
        """
        names = [*documents]
        score = _rounded([*documents.values()], self._single)
        by_id = np.array(sorted(range(len(names)), key=names.__getitem__, reverse=True))
        order = by_id[np.argsort(-score[by_id], kind="stable")][: self._depth or None]
        falling = -score[order]
        ranks = np.arange(1, len(order) + 1)
        input_rank = np.empty_like(ranks)
        input_rank[np.lexsort((order, falling))] = ranks
        row = [self._index.find(q, names[place]) for place in order.tolist()]
        first, last = falling.searchsorted(falling, "left") + 1, falling.searchsorted(falling, "right")
        return score[order], np.array([row, first, last, ranks, input_rank], np.int32)


def _rounded(scores: Sequence[float] | NDArray[np.float64], single: bool) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # infinite beyond single precision, as a cast in C has it
        return np.array(scores, np.float32 if single else np.float64).astype(np.float64) + 0.0


# -------------------------------------------------------------------------------------------- arrays


def rank_segments(
    score: NDArray[np.float64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Sort the rows of each segment by descending score, ties in input order. Return order and ranks of ties."""
    score = np.ascontiguousarray(score, np.float64)
    offsets = np.ascontiguousarray(offsets, np.int64)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(score) or (np.diff(offsets) < 0).any():
        raise ValueError("offsets do not cut the scores into segments")
    if np.isnan(score).any():
        raise ValueError("a score is NaN")
    order = np.empty(len(score), np.int64)
    first, last = np.empty(len(score), np.int32), np.empty(len(score), np.int32)
    for start, end in pairwise(offsets.tolist()):
        falling = -score[start:end]
        order[start:end] = start + np.argsort(falling, kind="stable")
        falling.sort()
        first[start:end] = falling.searchsorted(falling, "left") + 1
        last[start:end] = falling.searchsorted(falling, "right")
    return order, first, last


def top_segments(
    score: NDArray[np.float64], offsets: NDArray[np.int64], depth: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Return the rows of `rank_segments` with a tie that starts at rank `depth` or above, as order, first and last.

    Also return the offset of each segment, and the number of rows per segment that share their score with another row.
    """
    if depth < 1:
        raise ValueError("depth is at least 1")
    order, first, last = rank_segments(score, offsets)
    offsets = np.ascontiguousarray(offsets, np.int64)
    before = np.concatenate([[0], np.cumsum(first != last)])
    kept = np.flatnonzero(first <= depth)
    tied = np.diff(before[offsets]).astype(np.int32)
    return order[kept], first[kept], last[kept], np.searchsorted(kept, offsets).astype(np.int64), tied


def number_distinct(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give 64-bit keys numbers in order of first appearance. Return all numbers, and the first position of each."""
    numbers: dict[int, int] = {}
    found = np.array([numbers.setdefault(key, len(numbers)) for key in keys.tolist()], np.int64)
    return found, np.unique(found, return_index=True)[1].astype(np.int64)


class PairNumbers:
    """Numbers for pairs of a group and an id, in order of first appearance."""

    def __init__(self) -> None:
        self._number: dict[tuple[int, bytes], int] = {}

    def number(self, group: NDArray[np.integer[Any]], ids: Ids) -> tuple[NDArray[np.int32], int | None]:
        """Return the number of the pair of each row, and the first row that repeats a pair of this call, if any."""
        if len(group) != len(ids):
            raise ValueError("the ids are damaged, or not one per group")
        pairs = zip(group.tolist(), ids, strict=True)
        numbers = _int32(self._number.setdefault(pair, len(self._number)) for pair in pairs)
        earlier = np.delete(np.arange(len(numbers)), np.unique(numbers, return_index=True)[1])
        return numbers, int(earlier[0]) if len(earlier) else None

    def pairs_so_far(self) -> tuple[NDArray[np.int32], Ids]:
        """Return the group and the id of each number."""
        return _int32(group for group, _ in self._number), Ids.of(identifier for _, identifier in self._number)


def symmetric_means(
    size: NDArray[np.integer],
    start: NDArray[np.integer],
    members: NDArray[np.integer],
    stop: NDArray[np.float64],
    depth: int,
) -> NDArray[np.float64]:
    """Return for each group q_j for j = 0 to depth: the mean product of (1 - stop) over j of its documents.

    A group has `size` documents. `members` of them, from row `start` on, have a stop probability; the others have 0.
    """
    column = np.arange(depth + 1)
    found = np.zeros((len(size), depth + 1))
    for through, plain, begin, count in zip(
        found, (size - members).tolist(), start.tolist(), members.tolist(), strict=True
    ):
        through[: plain + 1] = 1.0
        for documents, stops in enumerate(stop[begin : begin + count].tolist(), plain + 1):
            share = column / documents
            before = through.copy()
            through *= np.maximum(1.0 - share, 0.0)
            through[1:] += share[1:] * (1.0 - stops) * before[:-1]
    return found


def shared_bits(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of bits that two rows have in common, [row of one, row of other]. Rows are 64-bit words.

    >>> shared_bits(np.array([[7], [1]], np.uint64), np.array([[5], [2], [8]], np.uint64)).tolist()
    [[2, 1, 0], [1, 0, 0]]
    """
    if one.ndim != 2 or other.ndim != 2 or one.shape[1] != other.shape[1]:
        raise ValueError("expected two matrices with rows of one length")
    left, right = (np.unpackbits(np.ascontiguousarray(each).view(np.uint8), axis=1) for each in (one, other))
    return (left.astype(np.float64) @ right.T.astype(np.float64)).astype(np.int64)


def count_patterns(better: NDArray[np.int16], worse: NDArray[np.int16], counts: NDArray[np.int32 | np.int64]) -> None:
    """Count the patterns of signs over all pairs of a better and a worse document, given as [list, document] numbers.

    The sign of a list is 1 if the better document has the smaller number, -1 if it has the larger one, and 0 if both
    are the same. The count of the pattern s is in `counts`, an array of 3^lists integers, at its middle plus the sum of
    s_i 3^i. Numbers are not negative.
    """
    if len(better) != len(worse) or len(better) > 10 or len(counts) != 3 ** len(better):
        raise ValueError("expected at most ten lists, and a place for each of their patterns")
    code = np.full((better.shape[1], worse.shape[1]), len(counts) // 2)
    for i, (above, below) in enumerate(zip(better, worse, strict=True)):
        code += 3**i * np.sign(below.astype(np.int64) - above[:, None])
    counts += np.bincount(code.reshape(-1), minlength=len(counts)).astype(counts.dtype)


def pattern_bits(counts: NDArray[np.int32 | np.int64]) -> float:
    """Return the information of counted patterns: the sum over s of c(s) lg(2 c(s) / (c(s) + c(-s))).

    c(0) is in the middle of the array.

    >>> round(pattern_bits(np.array([0, 1, 5, 1, 4])), 6)
    4.0
    """
    if len(counts) % 2 == 0:
        raise ValueError("expected a count for each pattern and for its opposite")
    opposite = counts[::-1]
    both = (counts > 0) & (opposite > 0)  # if only one of the two occurs, it gives full information
    one, other = counts[both].astype(np.float64), opposite[both]
    return float(counts.sum() - one.sum() + (one * np.log2(2 * one / (one + other))).sum())


def order_bits(
    better: NDArray[np.int16], worse: NDArray[np.int16], missing: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the pairs of a better and a worse document that each list has in the right order, and the tied pairs.

    better, worse: [list, document] numbers of 16 bits. A smaller number ranks higher. A document that is not in the
    list has the largest number, `missing`. The result is two arrays of 64-bit words, [list, word], with one bit for
    each pair at the same position in both.
    """
    _check_sides(better, worse)
    one, other = better[:, :, None], worse[:, None, :]
    return _packed(one < other), _packed((one == other) & (one != missing))


def _packed(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the bits of each list as 64-bit words, with zeros at the end of each row."""
    whole = np.pad(bits, ((0, 0), (0, 0), (0, -bits.shape[2] % 64)))
    return np.packbits(whole, axis=2).reshape(len(bits), -1).view(np.uint64)


def one_sided_pairs(better: NDArray[np.int16], worse: NDArray[np.int16], missing: int) -> NDArray[np.float64]:
    """Count the pairs that a list has in the right order and the other list does not contain: [list, other list].

    A pair that the list ties counts half. A pair counts only if the other list has neither document. Numbers are those
    of `order_bits`.

    >>> better, worse = np.array([[1], [9]], np.int16), np.array([[1, 2, 9], [9, 9, 3]], np.int16)
    >>> one_sided_pairs(better, worse, 9).tolist()
    [[0.0, 1.5], [0.0, 0.0]]
    """
    _check_sides(better, worse)
    lacks_better, lacks_worse = (better == missing).astype(np.float64), (worse == missing).astype(np.float64)
    found = np.empty((len(better), len(better)))
    for s, (one, other) in enumerate(zip(better[:, :, None], worse, strict=True)):
        order = (one < other) + ((one == other) & (one != missing)) / 2
        found[s] = ((lacks_better @ order) * lacks_worse).sum(axis=1)
    return found


def _check_sides(better: NDArray[np.int16], worse: NDArray[np.int16]) -> None:
    if better.ndim != 2 or worse.ndim != 2 or len(better) != len(worse):
        raise ValueError("expected the numbers of as many lists")
    if better.dtype != np.int16 or worse.dtype != np.int16:
        raise ValueError("expected numbers of 16 bits")


def bits_of_groups(
    sides: Sequence[tuple[NDArray[np.int16], NDArray[np.int16]]],
    groups: NDArray[np.integer],
    missing: int,  # noqa: ARG001  the compiled function leaves these out
) -> NDArray[np.float64]:
    """Return the information of the patterns of each group of at most ten lists, in bits: [group].

    sides: pairs of [list, document] numbers of 16 bits, for better documents and for worse ones, as in
        `count_patterns`. A document that is not in a list has the number `missing`.
    groups: indexes of lists, [group, member].

    >>> better, worse = np.array([[1], [3]], np.int16), np.array([[2, 9], [1, 9]], np.int16)
    >>> bits_of_groups([(better, worse)], np.array([[0], [1]]), 9).tolist()
    [2.0, 0.0]
    """
    found = np.empty(len(groups))
    for g, group in enumerate(groups):
        counts = np.zeros(3 ** len(group), np.int64)
        for better, worse in sides:
            count_patterns(better[group], worse[group], counts)
        found[g] = pattern_bits(counts)
    return found


def sort_by_votes(
    start: NDArray[np.integer],
    offsets: NDArray[np.integer],
    rank: NDArray[np.unsignedinteger[Any]],
    weight: NDArray[np.float64],
    needed: float,
    grade: NDArray[np.float64] | None = None,
    share: bool = False,
    half_stays: bool = False,
) -> NDArray[np.int64]:
    """Sort the rows of each segment, given in the order `start`, by a stable merge sort that compares by votes.

    rank: [row, run] numbers of 16 or 32 bits, smaller is better.
    Without grades, the second of two rows goes first if the runs that prefer it have a weight that is more than
    `needed` above the weight of the other runs. With grades, it goes first if runs with a weight of at least `needed`
    prefer it and runs with the opposite preference weigh less. If both or neither reach `needed`, the grade decides.
    share: `needed` is a share of the weight of the runs that have a preference between the two rows.
    half_stays: if both reach `needed`, the first row stays first.

    >>> rank = np.array([[1, 2, 3], [2, 1, 1], [3, 3, 2]], np.uint16)
    >>> sort_by_votes(np.arange(3), np.array([0, 3]), rank, np.ones(3), 0.0).tolist()
    [1, 0, 2]
    >>> sort_by_votes(np.arange(3), np.array([0, 3]), rank, np.ones(3), 3.0, np.array([0.0, 0.0, 1.0])).tolist()
    [2, 0, 1]
    """
    order = np.array(start, np.int64)
    offsets = np.asarray(offsets, np.int64)
    if (
        rank.ndim != 2
        or not len(rank) == len(order) == (len(order) if grade is None else len(grade))
        or rank.shape[1] != len(weight)
        or not len(offsets)
        or (offsets[0], offsets[-1]) != (0, len(order))
        or (offsets[1:] < offsets[:-1]).any()
        or (order < 0).any()
        or (order >= len(order)).any()
    ):
        raise ValueError("rows, segments, ranks, weights and grades do not fit each other")

    def second_first(one: int, other: int) -> bool:
        above, below = (rank[one] < rank[other]) @ weight, (rank[other] < rank[one]) @ weight
        if grade is None:
            return bool(below - above > needed)
        least = needed * (above + below) if share else needed
        stays, goes = above >= least, below >= least
        if stays == goes:
            return not (stays and half_stays) and bool(grade[other] > grade[one])
        return bool(goes)

    sorted_rows: list[int] = []
    for begin, end in pairwise(offsets.tolist()):
        parts = [[row] for row in order[begin:end].tolist()]
        while len(parts) > 1:
            parts = [_merged(second_first, *parts[i : i + 2]) for i in range(0, len(parts), 2)]
        sorted_rows += chain.from_iterable(parts)
    return np.array(sorted_rows, np.int64)


def _merged(second_first: Callable[[int, int], bool], one: list[int], other: Sequence[int] = ()) -> list[int]:
    """Merge two sorted lists."""
    merged: list[int] = []
    for row in other:
        while one and not second_first(one[0], row):
            merged.append(one.pop(0))
        merged.append(row)
    return merged + one


def _is_single(precision: Precision) -> bool:
    if precision not in ("double", "single"):
        raise ValueError(f"precision is 'double' or 'single', not {precision!r}")
    return precision == "single"


def rank_documents(
    scores: dict[str, float], names: list[str], start: int, end: int, precision: Precision
) -> tuple[int, int, NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Rank the documents of one query, given as {document: score}.

    Return the number of documents and the number of tied documents. For the documents of names[start:end] that are
    ranked, also return their positions in names, their scores, and the ranks that their ties span.
    """
    ranked = np.fromiter(list(scores.values()), np.float64, len(scores))  # a __float__ may change the dict
    if not np.isfinite(ranked).all():
        raise ValueError("not finite")
    score = np.fromiter(map(scores.get, names[start:end], repeat(np.nan)), np.float64, end - start)
    place = np.flatnonzero(~np.isnan(score))
    single = _is_single(precision)
    ranked, score = np.sort(_rounded(ranked, single)), _rounded(score[place], single)
    same = np.append(False, ranked[1:] == ranked[:-1])
    tied = int((same | np.append(same[1:], False)).sum()) if len(ranked) else 0
    first = len(ranked) - ranked.searchsorted(score, "right") + 1
    last = len(ranked) - ranked.searchsorted(score, "left")
    return len(ranked), tied, place + start, score, first, last
