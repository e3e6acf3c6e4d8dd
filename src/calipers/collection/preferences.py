"""Judgments of which document is the better one, instead of a grade for each.

    query document document                  the better document first
    query group subgroup document level      trec_eval's `prefs`: in one subgroup the larger level is preferred
    query group document level               trec_eval's `qrels_prefs`: the same with one subgroup for each group

A group is one judge, a person with one need; a subgroup is what they ordered at one time. Levels of different subgroups
are not compared. Measures take what one judge prefers for transitive, and refuse a judge who contradicts themselves;
judges may contradict each other. A document of level 0 is not relevant to that judge. A pair is a subgroup of two
documents, of a judge by the name of `pairs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from calipers.checks import check_type
from calipers.collection.formats.trec import read_subtopics as read_qrels_lines
from calipers.collection.id_codes import by_appearance, numbered, texts_by_group
from calipers.collection.judgments import Judgments
from calipers.collection.nested import check_parts
from calipers.collection.reader import scan
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Pool
from calipers.native.columns import Columns
from calipers.native.ids import Ids, encode
from calipers.native.plain import LineScanner, number
from calipers.native.scan_error import ScanError, shown

PAIR = ("query", "document", "document")
PREFS = ("query", "group", "subgroup", "document", "level")
FORMATS = ("pairs", "prefs", "qrels_prefs")
JUDGE = "pairs"  # whose pairs are where none is named
BETTER, WORSE = 2.0, 1.0  # the levels of a pair: 0 would say that the second document is not relevant
MOST_PAIRS = 300_000_000  # that are held at once, 8 bytes each

Bools = NDArray[np.bool_]
Pair = tuple[str, str, str, str]  # query, judge, the preferred document, the other one
Row = tuple[bytes | str, bytes | str, bytes | str, bytes | str, float]  # query, judge, subgroup, document, level


@dataclass(frozen=True, eq=False)
class PreferencePool(Pool):
    """Documents by query, in the order of their ids, and who prefers which of them to which.

    `grade` is how many preferences a document wins less those that it loses, from 0 on in each query: what ties are
    sorted by where the best or the worst order is asked for.
    """

    kind: ClassVar[str] = "preferences"

    starts: Ints = field(kw_only=True)  # query q has the judges starts[q] to starts[q + 1]
    levels: Pool = field(kw_only=True)  # of what each judge saw, judge by judge
    document: Ints = field(kw_only=True)  # of each row of `levels`, a row of this pool
    complete: Ints = field(kw_only=True)  # 1 for a judge who put all that they saw in one order, with ties; else 0
    pair_offsets: Ints = field(kw_only=True)  # judge j has the pairs pair_offsets[j] to pair_offsets[j + 1]
    above: Ints = field(kw_only=True)  # of each pair, the row of the preferred document
    below: Ints = field(kw_only=True)  # and that of the other one
    contradictions: Mapping[int, CalipersError] = field(default_factory=dict, kw_only=True)
    """What is wrong with a query: a judge contradicts themselves."""

    def of_whole_grades(self) -> Pool:
        return self  # trec_eval reads levels with their fractions

    @cached_property
    def judges(self) -> Ints:
        """Number of judges per query."""
        return np.diff(self.starts)

    @cached_property
    def judge(self) -> Ints:
        """The judge of each pair."""
        return np.repeat(np.arange(len(self.pair_offsets) - 1), np.diff(self.pair_offsets))


@dataclass(frozen=True, eq=False, repr=False)
class Preferences(Judgments):
    """Preferences between the documents of each query.

    >>> found = Preferences.from_pairs([("q", "a", "b"), ("q", "b", "c")])
    >>> found
    <Preferences preferences: 1 query, 2 ordered pairs>
    >>> found.closed_pairs()
    [('q', 'pairs', 'a', 'b'), ('q', 'pairs', 'a', 'c'), ('q', 'pairs', 'b', 'c')]
    >>> found.judgments.to_dict()
    {'q': {'a': 1.0, 'b': 1.0, 'c': 0.0}}
    """

    judges: tuple[tuple[str, ...], ...] = ()  # of each query
    pairs: tuple[Ints, Ints] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    """The better and the worse document of each pair that was judged, as rows of the pool, query by query; what is
    judged twice is there twice, what only follows is not."""

    @classmethod
    def from_pairs(cls, pairs: Iterable[Pair | tuple[str, str, str]], name: str = "preferences") -> Preferences:
        """Return preferences from (query, better, worse) or (query, judge, better, worse), with ids of documents."""
        check_type("pairs", pairs, Iterable, "a list of (query, better document, worse document)")
        rows: list[Row] = []
        for place, pair in enumerate(pairs):
            if len(pair) not in (3, 4):
                raise CalipersError(f"{pair!r:.60} is not (query, better document, worse document)", file=name)
            query, *judge, better, worse = pair
            if better == worse:
                raise CalipersError(f"document {shown(encode(better))} is preferred to itself", file=name)
            who = judge[0] if judge else JUDGE
            rows += [(query, who, f"{place}", better, BETTER), (query, who, f"{place}", worse, WORSE)]
        return cls.from_rows(rows, name)

    @classmethod
    def from_levels(
        cls, levels: Mapping[str, Mapping[str, Mapping[str, float]]], name: str = "preferences"
    ) -> Preferences:
        """Return preferences from {query: {judge: {document: level}}}: each judge ordered all documents that they saw.

        >>> Preferences.from_levels({"q": {"ann": {"a": 2, "b": 1, "c": 0}, "bob": {"b": 1, "c": 0}}}).judges
        (('ann', 'bob'),)
        """
        check_parts(levels, name)
        rows: list[Row] = [
            (query, judge, "0", document, level)
            for query, judges in levels.items()
            for judge, graded in judges.items()
            for document, level in graded.items()
        ]
        return cls.from_rows(rows, name)

    @classmethod
    def from_judgments(cls, judgments: Judgments) -> Preferences:
        """Return preferences from grades: a document is preferred to all documents of a lower grade."""
        check_type("judgments", judgments, Judgments, "Judgments, as `read_judgments` returns them")
        query = np.repeat(np.arange(len(judgments.queries)), judgments.pool.size)
        names = Ids.of(judgments.queries).take(query)
        zero = Ids.of(["0"]).take(np.zeros(len(query), np.int64))
        return cls.from_lines([names, zero, zero, judgments.documents], judgments.pool.grade, name=judgments.name)

    @classmethod
    def from_second_field(cls, columns: Columns, name: str) -> Preferences:
        """Return preferences from the lines `query group document level` of a file."""
        assert columns.second is not None
        queries = columns.queries.take(columns.query)
        zero = Ids.of(["0"]).take(np.zeros(len(columns.query), np.int64))
        texts = [queries, columns.second, zero, columns.documents]
        return cls.from_lines(texts, columns.value, line=columns.line, name=name)

    @classmethod
    def from_rows(cls, rows: Sequence[Row], name: str, line: Ints | None = None) -> Preferences:
        """Return preferences from (query, judge, subgroup, document, level)."""
        if not rows:
            raise CalipersError("there are no preferences", file=name)
        *texts, values = zip(*rows, strict=True)
        try:
            ids = [Ids.of(column) for column in texts]
            level = np.array(values, np.float64)
        except (TypeError, ValueError, AttributeError) as error:
            raise CalipersError(f"ids are not text, or a level is not a number ({error})", file=name) from None
        if not np.isfinite(level).all():
            raise CalipersError("a level is not a finite number", file=name)
        return cls.from_lines(ids, level, line=line, name=name)

    @classmethod
    def from_lines(
        cls, texts: Sequence[Ids], level: Floats, *, line: Ints | None = None, name: str = "preferences"
    ) -> Preferences:
        """Return preferences from columns (query, judge, subgroup, document) and levels. Repetitions count once."""
        query_ids, judge_ids, group_ids, document_ids = texts
        query, query_row = by_appearance(query_ids)
        judge, judge_row = numbered(query, judge_ids)
        group, _ = numbered(judge, group_ids)
        document, document_row = numbered(query, document_ids)
        lines = _Lines(query_ids, judge_ids, document_ids, level, line, name)
        order = np.lexsort((document, -level, group))  # subgroups one after the other, best documents first
        twice, at_two_levels = lines.repeated(group, document)
        if len(at_two_levels):
            cls._refuse(lines.two_levels(*at_two_levels[0]))
        order = order[~twice[order]]
        of_judge = judge[order]
        above, below = _pairs_in_groups(group[order], level[order])
        of_pair = of_judge[above]
        above, below = document[order][above], document[order][below]
        if len(at_two_levels):
            above, below, of_pair = (column[above != below] for column in (above, below, of_pair))
        by_document = np.lexsort((below, above))
        pairs = above[by_document], below[by_document]
        several = _several_groups(of_judge, group[order], len(judge_row))
        place, wrong = _last_levels(order, judge, document, group, level)
        what = "puts it at level 0, not relevant, and above that in another subgroup"
        contradictions = {int(query[row]): lines.refusal(what, row) for row in reversed(wrong)}
        if several.any():
            above, below, of_pair, round_in_circles = _together(above, below, of_pair, several)
            what = "contradicts themselves: some document is preferred to itself"
            rows = [int(judge_row[who]) for who in reversed(round_in_circles)]
            contradictions |= {int(query[row]): lines.refusal(what, row) for row in rows}
        for row, before in reversed(at_two_levels.tolist()):
            if not several[judge[row]]:  # of others the pairs of both levels count, as far as they agree
                contradictions[int(query[row])] = lines.two_levels(row, before)
        offsets = np.searchsorted(query[document_row], np.arange(len(query_row) + 1))
        starts = np.searchsorted(query[judge_row], np.arange(len(query_row) + 1))
        pool = PreferencePool(
            offsets,
            _net_wins(above, below, offsets),
            starts=starts,
            levels=Pool(np.searchsorted(judge[place], np.arange(len(judge_row) + 1)), level[place]),
            document=document[place],
            complete=(~several).astype(np.int64),
            pair_offsets=np.searchsorted(of_pair, np.arange(len(judge_row) + 1)),
            above=above,
            below=below,
            contradictions=contradictions,
        )
        documents = document_ids.take(document_row)
        return cls(
            name,
            tuple(query_ids.take(query_row).texts()),
            pool,
            lambda: documents,
            repeated=int(twice.sum()),
            judges=texts_by_group(judge_ids.take(judge_row), starts),
            pairs=pairs,
        )

    @classmethod
    def _refuse(cls, error: CalipersError) -> None:
        """Raise the error about a document at two levels of one subgroup."""
        raise error

    @cached_property
    def judgments(self) -> Judgments:
        """The documents of each query: 1 for those that are preferred to some other one, else 0."""
        grade = np.zeros(len(self))
        grade[self.pairs[0]] = 1.0
        return Judgments(self.name, self.queries, Pool(self.pool.offsets, grade), lambda: self.documents)

    def pairs_of(self, query: int) -> tuple[Ints, Ints]:
        """Return the judged pairs of one query, with its documents counted from 0."""
        better, worse = self.pairs
        start, end = (int(self.pool.offsets[query + i]) for i in (0, 1))
        low, high = np.searchsorted(better, [start, end])
        return better[low:high] - start, worse[low:high] - start

    def closed_pairs(self) -> list[Pair]:
        """Yield every preference and those that follow, once, as (query, judge, preferred document, other document)."""
        pool = preferences_of(self.pool)
        judges = [(query, judge) for query, named in zip(self.queries, self.judges, strict=True) for judge in named]
        names = self.document_names
        rows = zip(pool.judge.tolist(), pool.above.tolist(), pool.below.tolist(), strict=True)
        return [(*judges[judge], names[above], names[below]) for judge, above, below in rows]

    def __repr__(self) -> str:
        queries = "1 query" if len(self.queries) == 1 else f"{len(self.queries)} queries"
        return f"<Preferences {self.name}: {queries}, {len(self.pairs[0])} ordered pairs>"


def preferences_of(pool: Pool) -> PreferencePool:
    """Return the pool of preferences. Judges who contradict themselves are refused."""
    if not isinstance(pool, PreferencePool):
        raise CalipersError("this measure needs preferences (query group subgroup document level)")
    if pool.contradictions:
        raise pool.contradictions[min(pool.contradictions)]
    return pool


def read_preferences(source: str | Path, *, format: str | None = None, max_unpacked: int | None = None) -> Preferences:
    """Preferences from a file of lines `query document document`, the better one first, or of trec_eval's prefs.

    How many fields the first line has says which of the two it is. format: `qrels_prefs` for qrels that are taken for
    preferences, lines of `query group document level`; `pairs` or `prefs` for one of the others.
    """
    name = str(source)
    if format in (None, "pairs", "prefs"):
        rows, line = scan(name, lambda: PreferenceScanner(format), max_unpacked=max_unpacked)
        return Preferences.from_rows(rows, name, line)
    if format != "qrels_prefs":
        raise CalipersError(f"'{format}' is no format of preferences; expected one of {', '.join(FORMATS)}")
    return Preferences.from_second_field(read_qrels_lines(name, max_unpacked=max_unpacked), name)


class PreferenceScanner(LineScanner):
    """Reads lines of three fields (pairs) or of five (prefs); the first line decides, unless it was said before."""

    def __init__(self, format: str | None = None) -> None:
        super().__init__()
        self._fields = {"pairs": PAIR, "prefs": PREFS}[format] if format else None
        self._rows: list[Row] = []
        self._number: list[int] = []

    def _row(self, line: bytes) -> bool:
        fields = [each for each in line.replace(b"\t", b" ").split(b" ") if each]
        if self._fields is None:
            self._fields = PREFS if len(fields) == len(PREFS) else PAIR
            if len(fields) not in (len(PREFS), len(PAIR)):
                raise ScanError(
                    f"expected preferences ({' '.join(PAIR)}, the better one first, or {' '.join(PREFS)}), found "
                    f"{len(fields)} fields"
                )
        if len(fields) != len(self._fields):
            raise ScanError(f"expected {len(self._fields)} fields ({' '.join(self._fields)}), found {len(fields)}")
        here = self.lines + 1
        if self._fields is PAIR:
            query, better, worse = fields
            if better == worse:
                raise ScanError(f"document {shown(better)} is preferred to itself")
            pair = ((better, BETTER), (worse, WORSE))
            self._rows += [(query, JUDGE, f"{here}", document, level) for document, level in pair]
            self._number += [here, here]
        else:
            query, group, subgroup, document, level = fields
            self._rows.append((query, group, subgroup, document, number(level, "level")))
            self._number.append(here)
        return True

    def finish(self) -> tuple[list[Row], Ints]:
        """Return the rows of a file and the line of each row."""
        self._close()
        return self._rows, np.array(self._number, np.int64)


# -- pieces ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Lines:
    """Columns and line numbers of a file, for errors."""

    queries: Ids
    judges: Ids
    documents: Ids
    level: Floats
    line: Ints | None
    name: str

    def refusal(self, what: str, row: int) -> CalipersError:
        where = f"document '{self.documents.text(row)}' of query '{self.queries.text(row)}'"
        return CalipersError(
            f"{where}: judge '{self.judges.text(row)}' {what}",
            file=self.name,
            line=None if self.line is None else int(self.line[row]),
        )

    def two_levels(self, row: int, before: int) -> CalipersError:
        levels = f"at level {self.level[row]:g} here and {self.level[before]:g} before"
        return CalipersError(
            f"document '{self.documents.text(row)}' appears twice in one subgroup of query "
            f"'{self.queries.text(row)}', {levels}",
            file=self.name,
            line=None if self.line is None else int(self.line[row]),
        )

    def repeated(self, group: Ints, document: Ints) -> tuple[Bools, Ints]:
        """Return lines that repeat an earlier line, and [line, earlier line] where they contradict it."""
        order = np.lexsort((np.arange(len(group)), self.level, document, group))
        same = (group[order[1:]] == group[order[:-1]]) & (document[order[1:]] == document[order[:-1]])
        pairs = np.stack([order[1:][same], order[:-1][same]], axis=1)
        again = self.level[pairs[:, 0]] == self.level[pairs[:, 1]]
        twice = np.zeros(len(group), bool)
        twice[pairs[again, 0]] = True
        others = np.sort(pairs[~again], axis=1)[:, ::-1]
        return twice, others[np.argsort(others[:, 0], kind="stable")]


def _pairs_in_groups(group: Ints, level: Floats) -> tuple[Ints, Ints]:
    """Return pairs of places with a higher level first. Places are sorted by group, then by descending level."""
    places = np.arange(len(group))
    group_end = np.searchsorted(group, group, side="right")
    changes = np.ones(len(group), bool)
    changes[1:] = (group[1:] != group[:-1]) | (level[1:] != level[:-1])
    bounds = np.append(np.flatnonzero(changes), len(group))
    lower = bounds[np.cumsum(changes)]  # the first place after those of the same level
    count = np.maximum(group_end - lower, 0)
    total = int(count.sum())
    if total > MOST_PAIRS:
        raise CalipersError(f"these judgments hold {total:,} preferences; at most {MOST_PAIRS:,} are read")
    above = np.repeat(places, count)
    inside = np.arange(total) - np.repeat(np.cumsum(count) - count, count)
    return above, lower[above] + inside


def _several_groups(judge: Ints, group: Ints, judges: int) -> Bools:
    """Return True for judges who compared documents in more than one subgroup."""
    changes = np.flatnonzero(np.diff(group, prepend=-1))
    return np.asarray(np.bincount(judge[changes], minlength=judges) > 1)


def _together(above: Ints, below: Ints, judge: Ints, several: Bools) -> tuple[Ints, Ints, Ints, list[int]]:
    """Return the pairs, each once, with those that follow from them for judges of several subgroups. Also return judges
    who prefer some document to itself, whose pairs stay as they are.
    """
    in_circles = []
    parts = [(above[~several[judge]], below[~several[judge]], judge[~several[judge]])]
    ends = np.searchsorted(judge, np.arange(len(several) + 1))
    for who in np.flatnonzero(several).tolist():
        rows = slice(int(ends[who]), int(ends[who + 1]))
        better, worse = _closed(above[rows], below[rows])
        if better is None or worse is None:
            in_circles.append(who)
            better, worse = above[rows], below[rows]
        parts.append((better, worse, np.full(len(better), who)))
    above, below, judge = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((below, above, judge))
    return above[order], below[order], judge[order], in_circles


def _closed(above: Ints, below: Ints) -> tuple[Ints, Ints] | tuple[None, None]:
    """Return each pair once, and those that follow, or None if a document would be preferred to itself."""
    documents = np.unique(np.concatenate([above, below]))
    n = len(documents)
    better, worse = np.searchsorted(documents, above), np.searchsorted(documents, below)
    code = np.unique(better * n + worse)
    better, worse = code // n, code % n
    waiting = np.bincount(worse, minlength=n)
    starts = np.searchsorted(better, np.arange(n + 1)).tolist()
    after = [worse[a:b].tolist() for a, b in pairwise(starts)]
    ready = np.flatnonzero(waiting == 0).tolist()
    for document in ready:  # which grows
        for other in after[document]:
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    if len(ready) < n:
        return None, None
    reach = [0] * n  # the documents below each, a bit for each
    for document in reversed(ready):
        found = 0
        for other in after[document]:
            found |= reach[other] | 1 << other
        reach[document] = found
    width = -(-n // 8)
    bits = np.frombuffer(b"".join(found.to_bytes(width, "little") for found in reach), np.uint8).reshape(n, width)
    better, worse = np.nonzero(np.unpackbits(bits, axis=1, count=n, bitorder="little"))
    return documents[better], documents[worse]


def _last_levels(order: Ints, judge: Ints, document: Ints, group: Ints, level: Floats) -> tuple[Ints, list[int]]:
    """Return the line of the last subgroup with each judge and document, by judge and document, and the lines of
    documents that are at level 0 in one subgroup and above that in another.
    """
    rows = order[np.lexsort((group[order], document[order], judge[order]))]
    same = (judge[rows[1:]] == judge[rows[:-1]]) & (document[rows[1:]] == document[rows[:-1]])
    now, before = level[rows[1:]], level[rows[:-1]]
    wrong = np.flatnonzero(same & (((now == 0) & (before > 0)) | ((now > 0) & (before == 0))))
    return rows[np.append(~same, True)], rows[wrong + 1].tolist()


def _net_wins(above: Ints, below: Ints, offsets: Ints) -> Floats:
    """Return the preferences that each document wins minus those that it loses, shifted to start at 0 in each query."""
    size = int(offsets[-1])
    net = (np.bincount(above, minlength=size) - np.bincount(below, minlength=size)).astype(np.float64)
    least = np.minimum.reduceat(net, offsets[:-1]) if size else net
    return np.asarray(net - np.repeat(least, np.diff(offsets)))
