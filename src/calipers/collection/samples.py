"""Judgments of a sample of the pool: the qrels of TREC's sample_eval, and the prels of its Million Query track.

    query 0 document stratum grade              qrels: a line for each document of the pool; a grade below 0: not drawn
    query document grade method probability     prels: a line for each document that is judged, and how likely it was

What share of each stratum of a query was judged, the lines of qrels themselves say. Documents that were not drawn are
not in prels, nor are strata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from calipers.collection.files import start_of
from calipers.collection.first_line import first_fields
from calipers.collection.id_codes import by_appearance, numbered
from calipers.collection.judgments import Judgments
from calipers.collection.reader import scan
from calipers.collection.subtopics import flat_columns
from calipers.errors import CalipersError, UnknownName
from calipers.lists import Floats, Ints, Pool
from calipers.native.ids import Ids
from calipers.native.plain import RowScanner, fields_of, number
from calipers.native.scan_error import ScanError
from calipers.support.plurals import counted

FIELDS = ("query", "0", "document", "stratum", "grade")
PRELS = ("query", "document", "grade", "method", "probability")
NOT_SAMPLED = -999  # a grade of prels, and those below
CHOSEN, DRAWN = (0, 2), (1, 2, 4)  # methods of prels: a document that was judged in any case; one that was drawn


@dataclass(frozen=True, eq=False)
class SampledPool(Pool):
    """The pool of each query, in strata of which a part was judged: documents that were not have a grade below 0."""

    kind: ClassVar[str] = "samples"

    stratum: Ints = field(kw_only=True)  # of each row, numbered over all queries
    chance: Floats | None = field(default=None, kw_only=True)  # of each row to be judged, where that is known instead

    @property
    def whole(self) -> bool:
        return self.chance is None

    @cached_property
    def sizes(self) -> tuple[Ints, Ints]:
        """Number of documents and of judged documents per stratum."""
        strata = int(self.stratum.max(initial=-1)) + 1
        judged = np.bincount(self.stratum[self.grade >= 0], minlength=strata)
        return np.bincount(self.stratum, minlength=strata), judged

    @cached_property
    def weight(self) -> Floats:
        """Number of documents that each judged document stands for: 1 over the judged share of its stratum, or over the
        chance that it had.
        """
        if self.chance is not None:
            return np.where(self.grade >= 0, 1.0 / self.chance, 0.0)
        size, judged = self.sizes
        return np.where(self.grade >= 0, (size / np.maximum(judged, 1))[self.stratum], 0.0)


@dataclass(frozen=True, eq=False)
class SampledJudgments(Judgments):
    """Grades of a sample of each query's pool, and the stratum of every document of it.

    >>> found = SampledJudgments.from_strata({"q": {"top": {"a": 1, "b": 0}, "deep": {"c": 1, "d": -1, "e": -1}}})
    >>> found.queries, len(found), found.pool.weight.tolist()
    (('q',), 5, [1.0, 1.0, 3.0, 0.0, 0.0])
    """

    @classmethod
    def from_strata(
        cls, judgments: Mapping[str, Mapping[str, Mapping[str, float]]], name: str = "judgments"
    ) -> SampledJudgments:
        """Return judgments from {query: {stratum: {document: grade}}}. Grades below 0 mean "not sampled"."""
        queries, strata, documents, grade = flat_columns(judgments, name)
        return cls.from_lines(queries, strata, documents, grade, name=name)

    @classmethod
    def from_lines(
        cls,
        query_ids: Ids,
        stratum_ids: Ids,
        document_ids: Ids,
        grade: Floats,
        *,
        chance: Floats | None = None,
        line: Ints | None = None,
        name: str,
    ) -> SampledJudgments:
        """Return judgments from columns. A document has one stratum and one grade. chance: of being judged."""
        query, query_row = by_appearance(query_ids)
        stratum, _ = numbered(query, stratum_ids)
        document, document_row = numbered(query, document_ids)
        if len(document_row) < len(grade):
            seen = np.zeros(len(grade), bool)
            seen[document_row] = True
            row = int(np.flatnonzero(~seen)[0])
            raise CalipersError(
                f"document '{document_ids.text(row)}' of query '{query_ids.text(row)}' is there twice",
                file=name,
                line=None if line is None else int(line[row]),
            )
        order = np.argsort(document, kind="stable")
        pool = SampledPool(
            np.searchsorted(query[document_row], np.arange(len(query_row) + 1)),
            grade[order],
            stratum=stratum[order],
            chance=None if chance is None else chance[order],
        )
        documents = document_ids.take(document_row)
        return cls(name, tuple(query_ids.take(query_row).texts()), pool, lambda: documents)


def _sample(line: bytes) -> tuple[bytes, bytes, bytes, float]:
    query, _, document, stratum, grade = fields_of(line, FIELDS)
    return query, document, stratum, number(grade, "grade")


def _prel(line: bytes) -> tuple[bytes, bytes, float, float, float]:
    query, document, grade, method, chance = fields_of(line, PRELS)
    numbers = number(grade, "grade"), number(method, "method")
    return query, document, *numbers, np.nan if chance == b"NA" else number(chance, "probability")


def read_samples(source: str | Path, *, format: str | None = None, max_unpacked: int | None = None) -> SampledJudgments:
    """Read judgments of a sample, from lines `query 0 document stratum grade`, as in TREC's sample_eval, or from
    prels, `query document grade method probability`.

    format: `samples` or `prels`; without it prels are recognised by a number in the third field and none in the second.
    """
    name = str(source)
    if format not in (None, "samples", "prels"):
        raise UnknownName.among("format", str(format), ("samples", "prels"))
    if format == "prels" or (format is None and _like_prels(name, max_unpacked)):
        return _read_prels(name, max_unpacked)
    rows = scan(name, lambda: RowScanner(_sample), max_unpacked=max_unpacked)
    *texts, grade, line = zip(*rows, strict=True)
    queries, documents, strata = map(Ids.of, texts)
    return SampledJudgments.from_lines(queries, strata, documents, np.array(grade), line=np.array(line), name=name)


def _like_prels(name: str, max_unpacked: int | None) -> bool:
    fields = first_fields(start_of(name, max_unpacked=max_unpacked))
    return len(fields) == len(PRELS) and not _is_number(fields[1]) and _is_number(fields[2])


def _is_number(text: bytes) -> bool:
    try:
        number(text, "")
    except ScanError:
        return False
    return True


def _read_prels(name: str, max_unpacked: int | None) -> SampledJudgments:
    """Read prels as the script of the track does. Documents that were chosen and not drawn have chance 1; those that
    were not sampled, or whose chance is not known, are left out, and so are queries of which nothing was drawn.
    """
    lines = scan(name, lambda: RowScanner(_prel), max_unpacked=max_unpacked)
    query, document, *numbers = zip(*lines, strict=True)
    grade, how, chance, line = map(np.array, numbers)
    known = (chance >= 0) & (chance <= 1)
    chance = np.where(known & np.isin(how, CHOSEN), 1.0, chance)
    known &= chance > 0
    sampled = grade > NOT_SAMPLED
    drawn_from = {each for each, drawn in zip(query, known & sampled & np.isin(how, DRAWN), strict=True) if drawn}
    kept = known & sampled & np.array([each in drawn_from for each in query])
    if not kept.any():
        raise CalipersError("no document was drawn with a known probability", file=name)
    rows = np.flatnonzero(kept).tolist()
    queries, documents = (Ids.of([column[row] for row in rows]) for column in (query, document))
    found = SampledJudgments.from_lines(
        queries, queries, documents, grade[kept], chance=chance[kept], line=line[kept], name=name
    )
    unknown, undrawn = int((sampled & ~known).sum()), len({*query} - drawn_from)
    return found.with_notes(
        [
            f"{counted(count, what)} left out: {why}"
            for count, what, why in (
                (unknown, "document", "how likely they were to be judged is not known"),
                (undrawn, "query", "none of their documents was drawn"),
            )
            if count
        ]
    )
