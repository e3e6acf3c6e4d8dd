"""Labels of several judges: one row per document that at least one of them labelled."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.frames import is_frame
from calipers.collection.judgments import Judgments
from calipers.collection.run_names import files_of
from calipers.collection.runs import Run
from calipers.errors import CalipersError
from calipers.evaluation.inputs import as_judgments
from calipers.lists import SAID_OF, Floats, Ints, Pool
from calipers.native.columns import Precision, Retrieved
from calipers.native.ids import Ids
from calipers.questions.judges.grade_scales import (
    MOST_GRADES,
    SAME,
    Map,
    Scale,
    changed,
    changes,
    concerned,
    on_one_scale,
)
from calipers.questions.metaeval.query_sets import HalfOfDocuments, HalfRun

HUMAN = "human"
FIRST = "the human"  # its name where a judge goes by that one
_PACKED = re.compile(r"\.(gz|bz2|xz|zst|lz4)$", re.IGNORECASE)
_ENDING = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]*$")


@dataclass(frozen=True, eq=False)
class JudgeTable:
    """Labels of several judges. The first judge is the human; the others are compared with the human."""

    names: tuple[str, ...]
    whole: Judgments  # every document that any of them labelled; its grades mean nothing
    grade: Floats  # [judge, row of the pool]; NaN where a judge gave none
    same: frozenset[int] = frozenset()  # judges whose grades are on the scale of the first, as the user says
    repeated: tuple[int, ...] = ()  # labels of each that were given twice

    @classmethod
    def of(cls, human: Any, judges: Any, map: Map | None = None) -> JudgeTable:
        """Read the judgments of all judges into one table."""
        reference = as_judgments(human)
        others = named_judgments(judges)
        names = (FIRST if HUMAN in others else HUMAN, *others)
        every = [reference, *others.values()]
        for known in every:
            if known.pool.kind != "grades":
                said = SAID_OF[known.pool.kind]
                raise CalipersError(f"judges are compared on one grade per document, not on {said}", file=known.name)
        for name, known in others.items():
            _refuse_strangers(reference, name, known)
        whole, grade = _side_by_side(every)
        same = set()
        for who, change in changes(map):
            for place in concerned(who, names):
                grade[place] = changed(grade[place], change, names[place])
                if change == SAME:
                    same |= set(range(len(names))) if place == 0 else {place}
        found = cls(names, whole, grade, frozenset(same), tuple(known.repeated for known in every))
        for place, name in enumerate(names[1:], 1):
            if not found.common(place).any():
                raise CalipersError(
                    f"{name} and the human judged no document in common, although they share "
                    f"{_queries(len(set(reference.queries) & set(others[name].queries)))}"
                )
        return found

    def place(self, judge: str | int) -> int:
        """Return the row of a judge, given by name or by number."""
        if isinstance(judge, int):
            return judge
        if judge not in self.names:
            raise CalipersError(f"there is no judge '{judge}'; there are {', '.join(self.names[1:])}")
        return self.names.index(judge)

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of all judges but the first."""
        return self.names[1:]

    @property
    def queries(self) -> tuple[str, ...]:
        return self.whole.queries

    @cached_property
    def given(self) -> NDArray[np.bool_]:
        """True for each label that a judge gave, as [judge, row]."""
        return ~np.isnan(self.grade)

    def common(self, judge: str | int) -> NDArray[np.bool_]:
        """Return True for the rows that both this judge and the first have labelled."""
        return np.asarray(self.given[0] & self.given[self.place(judge)])

    def missing(self, judge: str | int) -> int:
        """Return the number of labels of the first judge that this judge lacks."""
        return int((self.given[0] & ~self.given[self.place(judge)]).sum())

    def extra(self, judge: str | int) -> int:
        """Return the number of documents that this judge has labelled and the first has not."""
        return int((~self.given[0] & self.given[self.place(judge)]).sum())

    def labels(self, judge: str | int) -> Floats:
        """Return the labels that this judge gave, without missing ones."""
        place = self.place(judge)
        return np.asarray(self.grade[place][self.given[place]])

    def scale(self, judge: str | int) -> Scale:
        return Scale.of(self.grade[self.place(judge)])

    def mismatch(self, judge: str | int) -> str | None:
        """Return why this judge's grades cannot be compared with those of the first, or None if they can."""
        place = self.place(judge)
        ours, theirs = self.scale(0), self.scale(place)
        shown = f"the grades of {self.names[place]} are {theirs}, those of the human {ours}"
        if place not in self.same and not on_one_scale(self.labels(0), self.labels(place)):
            return f"{shown}: these are different scales"
        if len(set(ours.grades) | set(theirs.grades)) > MOST_GRADES:
            return f"{shown}: these are too many grades to compare"
        return None

    def judgments(self, judge: str | int) -> Judgments:
        """Return the labels of one judge as judgments."""
        return self.view(judge).judgments

    def view(self, judge: str | int) -> OneJudge:
        """Return the labels of one judge. Its `run` shows runs as this judge sees them."""
        place = self.place(judge)
        return OneJudge(self.whole, self.given[place], self.names[place], self.grade[place])

    def with_labels(self, name: str, grade: Floats) -> JudgeTable:
        """Return the table with one more judge."""
        if name in self.names:
            raise CalipersError(f"there is a judge called '{name}' already")
        return replace(self, names=(*self.names, name), grade=np.vstack([self.grade, grade]))


@dataclass(frozen=True, eq=False)
class OneJudge(HalfOfDocuments):
    """Labels of one judge, among all documents that any judge labelled. Runs are read once for all judges."""

    name: str
    grade: Floats  # of every row; only those of the chosen rows count

    @cached_property
    def asked(self) -> Ints:
        """Positions of the queries with labels."""
        return np.flatnonzero(self.whole.pool.count(self.chosen))

    @cached_property
    def judgments(self) -> Judgments:
        """Labels of the queries with labels, as judgments."""
        rows, size = np.flatnonzero(self.chosen), self.whole.pool.count(self.chosen)[self.asked]
        return Judgments(
            name=self.name,
            queries=tuple(self.whole.queries[q] for q in self.asked.tolist()),
            pool=Pool(np.concatenate([[0], np.cumsum(size)]), self.grade[rows]),
            names=lambda: self.whole.documents.take(rows),
        )

    def run(self, run: Run) -> Run:
        return RunForJudge(run, self)


@dataclass(eq=False)
class RunForJudge(HalfRun):
    """Run as one judge sees it: documents and queries without labels of this judge are not judged."""

    half: OneJudge

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        found = super().retrieved(judgments, depth, precision, jobs)
        place = np.full(len(self.half.whole.queries), -1)
        place[self.half.asked] = np.arange(len(self.half.asked))
        kept = place[found.query] >= 0
        if kept.all() and len(self.half.asked) == len(place):
            return found
        dropped = [self.half.whole.queries[q] for q in found.query[~kept].tolist()]
        return replace(
            found,
            query=place[found.query[kept]].astype(np.int32),
            length=found.length[kept],
            tied=found.tied[kept],
            all_ties=found.all_ties.take(np.flatnonzero(kept)),
            offsets=np.append(found.offsets[:-1][kept], found.offsets[-1]),  # of what goes, no row was left
            unjudged=Ids.of([*found.unjudged, *dropped]),
        )


# -- reading -----------------------------------------------------------------------------------------


def named_judgments(judges: Any) -> dict[str, Judgments]:
    """Return judgments by name of the judge, from judgments as for `evaluate`, several, or {name: judgments}."""
    if isinstance(judges, Mapping) and not _is_one(judges):
        return {str(name): as_judgments(each) for name, each in judges.items()}
    single = isinstance(judges, str | Path | Judgments | Mapping) or is_frame(judges)
    sources: Iterable[Any] = [judges] if single else judges
    files: list[Any] = []
    for source in sources:
        path = isinstance(source, str | Path) and not str(source).startswith("irds:")
        files += files_of(str(source)) if path else [source]
    if not files:
        raise CalipersError("expected at least one judge to compare with the human")
    known = [as_judgments(file) for file in files]
    return dict(zip(judge_names([each.name for each in known]), known, strict=True))


def _is_one(judges: Mapping[Any, Any]) -> bool:
    """Return True for {query: {document: grade}}, False for {name: judgments}."""
    first = next(iter(judges.values()), None)
    return isinstance(first, Mapping) and not any(isinstance(value, Mapping) for value in first.values())


def judge_names(files: Sequence[str]) -> list[str]:
    """Return file names without folder and ending, or with them if two judges would have the same name.

    >>> judge_names(["x/llm-a.qrels", "x/llama3.2.txt.gz", "gpt-4.1"])
    ['llm-a', 'llama3.2', 'gpt-4.1']
    >>> judge_names(["a/llm.qrels", "a/llm.txt"])
    ['llm.qrels', 'llm.txt']
    """
    plain = [os.path.basename(file) for file in files]
    for names in ([_ENDING.sub("", _PACKED.sub("", name)) for name in plain], plain, list(files)):
        if len(set(names)) == len(names):
            return names
    twice = next(file for file in files if files.count(file) > 1)
    raise CalipersError("is named twice among the judges", file=twice)


def _refuse_strangers(human: Judgments, name: str, judge: Judgments) -> None:
    if not set(human.queries) & set(judge.queries):
        raise CalipersError(
            f"{name} and the human have no query in common: its queries are like '{judge.queries[0]}', "
            f"the human's like '{human.queries[0]}'"
        )


def _side_by_side(every: Sequence[Judgments]) -> tuple[Judgments, Floats]:
    """Return all documents of all judges by query, in order of appearance, and the grades, [judge, document]."""
    place_of: dict[str, dict[bytes, int]] = {}
    places: list[list[int]] = []
    for known in every:
        documents, here = known.documents.tolist(), []
        for query, (start, end) in zip(known.queries, pairwise(known.pool.offsets.tolist()), strict=True):
            table = place_of.setdefault(query, {})
            here += [table.setdefault(document, len(table)) for document in documents[start:end]]
        places.append(here)
    queries = tuple(place_of)
    first: Ints = np.concatenate([[0], np.cumsum([len(table) for table in place_of.values()])])
    start_of = dict(zip(queries, first.tolist(), strict=False))
    grade = np.full((len(every), int(first[-1])), np.nan)
    for judge, (known, here) in enumerate(zip(every, places, strict=True)):
        starts = np.array([start_of[query] for query in known.queries], np.int64)
        grade[judge, np.repeat(starts, known.pool.size) + np.array(here, np.int64)] = known.pool.grade
    ids = Ids.of(document for table in place_of.values() for document in table)
    whole = Judgments(every[0].name, queries, Pool(first, np.zeros(grade.shape[1])), lambda: ids)
    return whole, grade


def _queries(count: int) -> str:
    return f"{count} {'query' if count == 1 else 'queries'}"
