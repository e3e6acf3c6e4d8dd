"""Judgments of several judges, each with grades of their own: trec_eval's format `qrels_jg`.

query judge document grade        a line each (the second field of plain qrels is idle)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from calipers.collection.formats.trec import read_subtopics as read_columns
from calipers.collection.id_codes import by_appearance, numbered, texts_by_group
from calipers.collection.judgments import Judgments
from calipers.collection.subtopics import flat_columns, whole_grades
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Pool
from calipers.native.columns import Columns
from calipers.native.ids import Ids


@dataclass(frozen=True, eq=False)
class JudgesPool(Pool):
    """Documents by query, and the grades of each judge.

    `grade` is the sum of a document's grades over the judges: what ties are sorted by where the best or the worst order
    is asked for.
    """

    kind: ClassVar[str] = "judges"

    graded: Pool = field(kw_only=True)  # the grades, judge by judge
    document: Ints = field(kw_only=True)  # of each row of `graded`, a row of this pool
    starts: Ints = field(kw_only=True)  # query q has the judges starts[q] to starts[q + 1]

    def of_whole_grades(self) -> Pool:
        graded = self.graded.of_whole_grades()
        if graded is self.graded:
            return self
        return replace(self, grade=whole_grades(self.document, graded.grade, len(self.grade)), graded=graded, memo={})

    @property
    def inner(self) -> Pool:
        return self.graded

    @cached_property
    def largest_grade(self) -> float:
        return self.graded.largest_grade


@dataclass(frozen=True, eq=False)
class SeveralJudges(Judgments):
    """Judgments of several judges: a grade of each judge for documents of each query.

    >>> judged = SeveralJudges.from_judges({"q": {"ann": {"a": 1, "b": 0}, "bob": {"a": 0, "b": 1}}})
    >>> judged.queries, judged.judges, len(judged)
    (('q',), (('ann', 'bob'),), 2)
    """

    judges: tuple[tuple[str, ...], ...] = ()  # of each query

    @classmethod
    def from_judges(
        cls, judgments: Mapping[str, Mapping[str, Mapping[str, float]]], name: str = "judgments"
    ) -> SeveralJudges:
        """Return judgments from {query: {judge: {document: grade}}}."""
        queries, judges, documents, grade = flat_columns(judgments, name)
        return cls.from_lines(queries, judges, documents, grade, name=name)

    @classmethod
    def from_second_field(cls, columns: Columns, name: str) -> SeveralJudges:
        """Return judgments from the lines `query judge document grade` of a file."""
        assert columns.second is not None
        queries = columns.queries.take(columns.query)
        return cls.from_lines(queries, columns.second, columns.documents, columns.value, line=columns.line, name=name)

    @classmethod
    def from_lines(
        cls, query_ids: Ids, judge_ids: Ids, document_ids: Ids, grade: Floats, *, line: Ints | None = None, name: str
    ) -> SeveralJudges:
        """Return judgments from columns. A grade that a judge repeats counts once."""
        query, query_row = by_appearance(query_ids)
        judge, judge_row = numbered(query, judge_ids)
        document, document_row = numbered(query, document_ids)
        order = np.lexsort((np.arange(len(grade)), document, judge))
        same = (judge[order[1:]] == judge[order[:-1]]) & (document[order[1:]] == document[order[:-1]])
        other = np.flatnonzero(same & (grade[order[1:]] != grade[order[:-1]]))
        if len(other):
            row, before = int(order[other[0] + 1]), int(order[other[0]])
            raise CalipersError(
                f"document '{document_ids.text(row)}' of query '{query_ids.text(row)}' is judged {grade[row]:g} here "
                f"and {grade[before]:g} before by judge '{judge_ids.text(row)}'",
                file=name,
                line=None if line is None else int(line[row]),
            )
        rows = order[np.append(True, ~same)]
        starts = np.searchsorted(query[judge_row], np.arange(len(query_row) + 1))
        pool = JudgesPool(
            np.searchsorted(query[document_row], np.arange(len(query_row) + 1)),
            whole_grades(document[rows], grade[rows], len(document_row)),
            graded=Pool(np.searchsorted(judge[rows], np.arange(len(judge_row) + 1)), grade[rows]),
            document=document[rows],
            starts=starts,
        )
        documents = document_ids.take(document_row)
        return cls(
            name,
            tuple(query_ids.take(query_row).texts()),
            pool,
            lambda: documents,
            repeated=int(same.sum()),
            judges=texts_by_group(judge_ids.take(judge_row), starts),
        )


def read_several_judges(source: str | Path, *, max_unpacked: int | None = None) -> SeveralJudges:
    """Judgments of several judges from a file of lines `query judge document grade`."""
    return SeveralJudges.from_second_field(read_columns(source, max_unpacked=max_unpacked), str(source))
