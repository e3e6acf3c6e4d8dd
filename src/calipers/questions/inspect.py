"""A check of data before any score: ids that do not match, duplicates, grades, ties, missing texts, odd characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.mismatch import (
    REASONS,
    MatchedQueries,
    NearMiss,
    doubts_about,
    example_of_mismatch,
    in_brackets,
    near_misses,
    some_documents,
)
from calipers.collection.runs import Run
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import SwappedFiles, notes_on_grades, notes_on_reading
from calipers.native.columns import Retrieved
from calipers.results.result import Result, Tables
from calipers.results.tables import Table
from calipers.support.plurals import counted, plural_of, verb
from calipers.texts.collection import TextCollection, TextKind

__all__ = ["InspectedRun", "InspectedTexts", "Inspection", "InspectionFinding", "TextInspection", "inspect"]

Level = Literal["error", "warning", "note"]
TOP = 10  # ranks in which judged documents are counted
NAMED = 3  # offenders that a finding names
MANY_TIES = 0.1  # share of tied documents above which there is a warning

_ODD_CHARACTERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("bytes that are not UTF-8, or were lost in an earlier conversion", re.compile("[\ufffd\udc80-\udcff]")),
    ("letters as if UTF-8 was read as Latin-1 or cp1252", re.compile("[ÃÂ][\u0080-\u00bf]|â€")),
    ("an invisible character", re.compile("[\u0000-\u001f\u007f\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff]")),
    ("a space at the start or the end", re.compile(r"\A | \Z")),
)


@dataclass(frozen=True)
class InspectionFinding:
    """Something to know about the data. An error makes scores meaningless."""

    level: Level
    about: str  # the judgments, the file, or the name of a system
    text: str


@dataclass(frozen=True)
class InspectedRun:
    """Numbers about one run."""

    system: str
    queries: int
    in_common: int  # queries that are also judged
    without_results: int  # judged queries that the run does not answer
    length: float  # median number of documents per query
    judged_share: float  # of the documents in the top 10
    tied_share: float  # of the documents


@dataclass(frozen=True)
class InspectedTexts:
    """Numbers about the texts of one system."""

    system: str
    texts: int
    missing: int
    empty: int
    words: float  # median over the texts


@dataclass(frozen=True, eq=False, repr=False)
class _Findings(Result):
    """Findings about data: what could make scores wrong, and what to know."""

    findings: tuple[InspectionFinding, ...]  # the most serious first

    @property
    def ok(self) -> bool:
        """True if nothing was found that makes scores meaningless."""
        return not self._count("error")

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        errors, warnings = self._count("error"), self._count("warning")
        if errors:
            return f"Scores would be meaningless: {next(f.text for f in self.findings if f.level == 'error')}."
        if warnings:
            return f"Nothing makes scores meaningless, but look at {counted(warnings, 'warning')} first."
        return "Nothing makes scores meaningless."

    def _count(self, level: Level) -> int:
        return sum(finding.level == level for finding in self.findings)

    def _findings_table(self) -> Table:
        rows = tuple((finding.level, finding.about, finding.text) for finding in self.findings)
        return Table(("level", "about", "finding"), rows, is_prose=True)


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(_Findings):
    """Findings about judgments and runs: what could make scores wrong, and what to know about the data."""

    runs: tuple[InspectedRun, ...]  # runs that could be read
    grades: tuple[tuple[float, int, int], ...]  # grade, documents, queries
    queries: int  # that are judged
    documents: int  # judged ones, over all queries

    @property
    def title(self) -> str:
        """Sizes of the judgments and the number of runs."""
        judged = f"{counted(self.queries, 'query')} with {counted(self.documents, 'judged document')}"
        return f"Inspection of {judged} and {counted(len(self.runs), 'run')}"

    def tables(self) -> Tables:
        """Return the tables findings, systems and grades."""
        return Tables({"findings": self._findings_table, "systems": self._systems_table, "grades": self._grades_table})

    def _systems_table(self) -> Table:
        columns = ("system", "queries", "in common", "without results", "documents", f"judged@{TOP}", "tied")
        rows = tuple(
            (
                run.system,
                run.queries,
                run.in_common,
                run.without_results,
                _whole(run.length),
                run.judged_share,
                run.tied_share,
            )
            for run in self.runs
        )
        return Table(columns, rows)

    def _grades_table(self) -> Table:
        rows = tuple((_whole(grade), *counts) for grade, *counts in self.grades)
        return Table(("grade", "documents", "queries"), rows)


@dataclass(frozen=True, eq=False, repr=False)
class TextInspection(_Findings):
    """Findings about texts: what could make scores wrong, and what to know about the data."""

    systems: tuple[InspectedTexts, ...]
    fields: tuple[tuple[str, int], ...]  # what documents and texts have, and how many have it
    size: str  # the numbers of systems and documents, in words

    @property
    def title(self) -> str:
        """The numbers of systems and documents."""
        return f"Inspection of {self.size}"

    def tables(self) -> Tables:
        """Return the tables findings, systems and fields."""
        return Tables({"findings": self._findings_table, "systems": self._systems_table, "fields": self._fields_table})

    def _systems_table(self) -> Table:
        columns = ("system", "texts", "missing", "empty", "words")
        rows = tuple((each.system, each.texts, each.missing, each.empty, _whole(each.words)) for each in self.systems)
        return Table(columns, rows)

    def _fields_table(self) -> Table:
        return Table(("field", "values"), self.fields)


def inspect(evaluation: Evaluation) -> Inspection | TextInspection:
    """Check judgments and runs, or texts, before any score is computed.

    The findings name ids that do not match (with pairs that differ only in spelling), duplicates, unusual grades, ties,
    odd characters, queries without results, and missing, empty or equal texts. An error is something that makes scores
    meaningless.

    >>> import calipers as cal
    >>> found = cal.Experiment({"q1": {"007": 1}}, {"q1": {"7": 2.5, "8": 1.5}}, "AP").inspect()
    >>> found.ok, found.findings[0].text.partition(" (")[0]
    (False, 'none of its documents is judged')
    """
    if evaluation.texts is not None:
        return _inspect_texts(evaluation.texts.collection, evaluation.texts.size)
    judgments = evaluation.judgments
    options = evaluation.options
    findings = [*_judgment_findings(judgments, options.relevant)]
    swapped = SwappedFiles(judgments.pool.grade)
    inspected: list[InspectedRun] = []
    seen: dict[tuple[bytes, ...], str] = {}
    for name, run in zip(evaluation.systems, evaluation.runs, strict=True):
        try:
            found = run.retrieved(judgments)
        except CalipersError as error:
            findings.append(InspectionFinding("error", name, str(error)))
            continue
        swapped.look([found])
        inspected.append(_numbers(name, judgments, found))
        findings += [
            InspectionFinding(level, name, text)
            for level, text in (
                *_query_findings(judgments, found),
                *_document_findings(judgments, run, found),
                *_tie_findings(judgments, found),
            )
        ]
        twin = seen.setdefault((found.query.tobytes(), found.document.tobytes(), found.score.tobytes()), name)
        if twin != name and len(found.document):
            findings.append(
                InspectionFinding(
                    "warning", name, f"retrieves the same judged documents with the same scores as {twin}"
                )
            )
    read = {run.system for run in inspected}
    opened = {name: run for name, run in zip(evaluation.systems, evaluation.runs, strict=True) if name in read}
    doubts = doubts_about(opened, judgments).items()
    findings[:0] = [InspectionFinding("warning", name, text) for text, names in doubts for name in names]
    findings += [InspectionFinding("warning", judgments.name, text) for text in _swapped_notes(swapped, evaluation)]
    on_grades = notes_on_grades(judgments, options.like.rel)
    findings += [InspectionFinding("warning", judgments.name, text) for text in on_grades]
    findings += [InspectionFinding("note", "", text) for text in notes_on_reading(judgments, evaluation.runs)]
    grade, count = np.unique(judgments.pool.grade, return_counts=True)
    queries = [len(np.unique(judgments.pool.query[judgments.pool.grade == each])) for each in grade]
    return Inspection(
        findings=_sorted(findings),
        runs=tuple(inspected),
        grades=tuple(zip(grade.tolist(), count.tolist(), queries, strict=True)),
        queries=len(judgments.queries),
        documents=len(judgments),
    )


def _swapped_notes(swapped: SwappedFiles, evaluation: Evaluation) -> list[str]:
    try:
        return swapped.notes(evaluation.judgments, evaluation.runs)
    except CalipersError as error:
        return [error.message]


def _whole(number: float) -> float:
    return int(number) if number.is_integer() else number


def _sorted(findings: Iterable[InspectionFinding]) -> tuple[InspectionFinding, ...]:
    """Return the findings, the most serious first."""
    order: tuple[Level, ...] = ("error", "warning", "note")
    return tuple(sorted(findings, key=lambda finding: order.index(finding.level)))


# --------------------------------------------------------------------------------------------------------- texts


def _inspect_texts(collection: TextCollection, size: str) -> TextInspection:
    findings = [InspectionFinding("note", collection.name, text) for text in collection.notes]
    findings += [InspectionFinding("warning", collection.name, text) for text in _document_notes(collection)]
    systems = []
    seen: dict[tuple[str | None, ...], str] = {}
    for name, texts in zip(collection.systems, collection.texts, strict=True):
        present = [text for text in texts if text is not None]
        empty = sum(not text.strip() for text in present)
        words = float(np.median([len(text.split()) for text in present])) if present else 0.0
        systems.append(InspectedTexts(name, len(present), len(texts) - len(present), empty, words))
        found = [*_text_findings(texts, collection.kind)]
        if (twin := seen.setdefault(texts, name)) != name:
            found.append(("warning", f"has the same texts as {twin}"))
        findings += [InspectionFinding(level, name, text) for level, text in found]
    return TextInspection(_sorted(findings), tuple(systems), tuple(_fields(collection)), size)


def _document_notes(collection: TextCollection) -> Iterator[str]:
    """Yield notes about references, and about the ids of relevant documents."""
    _, blank = collection.empty
    if blank:
        yield f"{counted(blank, 'reference')} {verb(blank, 'is', 'are')} empty"
    retrieved = {
        (query, document) for (query, _), each in collection.judged.items() for document in each.retrieved or ()
    }
    relevant = {(each.id, document) for each in collection.documents for document in each.relevant or ()}
    if retrieved and relevant and not retrieved & relevant:
        yield "no retrieved document is relevant: do the ids match?"


def _text_findings(texts: Sequence[str | None], kind: TextKind) -> Iterator[Found]:
    """Yield findings about the texts of one system."""
    present = [text for text in texts if text is not None]
    if not present:
        yield "error", f"every {kind.text} is missing"
        return
    blank = [text for text in present if not text.strip()]
    for count, what in ((len(texts) - len(present), "missing"), (len(blank), "empty")):
        if count:
            yield "warning", f"{counted(count, kind.text)} of {len(texts):,} {verb(count, 'is', 'are')} {what}"
    if len(present) > 1 and len({*present}) == 1:
        yield "warning", f"writes one and the same {kind.text} about every {kind.unit}"
    for what, pattern in _ODD_CHARACTERS[:2]:  # texts may have the others
        if odd := sum(pattern.search(text) is not None for text in present):
            yield "warning", f"{counted(odd, kind.text)} with {what}"


def _fields(collection: TextCollection) -> Iterator[tuple[str, int]]:
    """Yield what documents and texts have, and how many have it."""
    for name in ("question", "source", "references", "relevant"):
        yield name, sum(bool(getattr(document, name)) for document in collection.documents)
    for name in ("nuggets", "statements", "retrieved", "passages"):
        yield name, sum(getattr(each, name) is not None for each in collection.judged.values())
    for kind, scores in (("human", collection.human), ("scores", collection.other_scores)):
        for name, values in scores.items():
            yield f"{kind}.{name}", int(np.isfinite(values).sum())


# ----------------------------------------------------------------------------------------------------- judgments


def _judgment_findings(judgments: Judgments, rel: float | None) -> Iterator[InspectionFinding]:
    """Yield findings about grades, duplicates and ids of the judgments. rel: the smallest relevant grade, if given."""
    pool, name = judgments.pool, judgments.name
    is_relevant, grades = (pool.grade > 0, "above 0") if rel is None else (pool.grade >= rel, f"of {rel:g} or more")
    relevant = pool.count(is_relevant) > 0
    if not relevant.any():
        yield InspectionFinding("error", name, f"no document has a grade {grades}, so that nothing is relevant")
    elif not relevant.all():
        lacking = [judgments.queries[q] for q in np.flatnonzero(~relevant)]
        yield InspectionFinding(
            "warning",
            name,
            f"{_of(lacking, len(judgments.queries), 'query')} without a relevant document{_such_as(lacking)}",
        )
    elif (pool.grade == pool.grade[0]).all():
        yield InspectionFinding(
            "note",
            name,
            f"all judged documents have grade {pool.grade[0]:g}: every ranking of judged documents is ideal, so that "
            "V1, V2 and expected scores need another population",
        )
    if (pool.grade < 0).any():
        yield InspectionFinding(
            "note", name, f"{counted(int((pool.grade < 0).sum()), 'document')} with a grade below 0"
        )
    if judgments.repeated:
        yield InspectionFinding(
            "note", name, f"{counted(judgments.repeated, 'judgment')} given twice with the same grade; counted once"
        )
    for pair in _spelling_twins(judgments.queries):
        yield InspectionFinding(
            "warning", name, f"the queries '{pair.judged}' and '{pair.retrieved}' are both judged: {pair.reason}"
        )
        break
    for ids, kind in ((judgments.queries, "query"), (_document_names(judgments), "document")):
        for text in _odd_ids(ids, kind):
            yield InspectionFinding("warning", name, text)


def _document_names(judgments: Judgments) -> Sequence[str]:
    """Return the ids of judged documents. Labels of learning-to-rank files may have none."""
    return () if judgments.names is None else judgments.document_names


def _spelling_twins(ids: Sequence[str]) -> Iterator[NearMiss]:
    """Yield pairs of ids on one side that differ only in spelling."""
    for reason, simplified in REASONS:
        first: dict[str, str] = {}
        for each in ids:
            other = first.setdefault(simplified(each), each)
            if other != each:
                yield NearMiss(other, each, reason)


def _odd_ids(ids: Iterable[str], kind: str) -> Iterator[str]:
    """Yield a sentence for each kind of odd characters in ids."""
    distinct = [*dict.fromkeys(ids)]
    for what, pattern in _ODD_CHARACTERS:
        odd = [each for each in distinct if pattern.search(each)]
        if odd:
            shown = [each.encode("unicode_escape", "backslashreplace").decode() for each in odd[:NAMED]]
            yield f"{counted(len(odd), f'id of a {kind}', f'ids of {plural_of(kind)}')} with {what}{_such_as(shown)}"


# ---------------------------------------------------------------------------------------------------------- runs

Found = tuple[Level, str]


def _numbers(name: str, judgments: Judgments, found: Retrieved) -> InspectedRun:
    answered = int((found.length > 0).sum())
    documents = int(found.length.sum())
    shown = int(np.minimum(found.length, TOP).sum())
    return InspectedRun(
        system=name,
        queries=len(found.query) + len(found.unjudged),
        in_common=len(found.query),
        without_results=len(judgments.queries) - answered,
        length=float(np.median(found.length)) if len(found.length) else 0.0,
        judged_share=_judged_at_top(found) / shown if shown else 0.0,
        tied_share=int(found.tied.sum()) / documents if documents else 0.0,
    )


def _judged_at_top(found: Retrieved) -> float:
    """Return the number of judged documents in the top ranks, averaged over the orders of tied documents."""
    size = found.last - found.first + 1
    return float((np.clip(TOP + 1 - found.first, 0, size) / size).sum())


def _query_findings(judgments: Judgments, found: Retrieved) -> Iterator[Found]:
    """Yield findings about queries: none in common, without results, without judgments, spelled in two ways."""
    unjudged = found.unjudged.texts()
    answered = {judgments.queries[q] for q in found.query[found.length > 0].tolist()}
    lacking = [query for query in judgments.queries if query not in answered]
    pairs = near_misses(lacking, unjudged)
    if not answered:
        if not unjudged:
            yield "error", "the run has no results for any query"
        else:
            reason = f": {pairs[0].reason}" if pairs else ""
            yield (
                "error",
                f"no query in common (the judgments have {_quoted(judgments.queries)}, the run has {_quoted(unjudged)})"
                f"{reason}",
            )
        return
    if pairs:
        yield (
            "warning",
            f"{counted(len(pairs), 'judged query', 'judged queries')} may have another spelling in the run: "
            f"'{pairs[0].judged}' is judged and '{pairs[0].retrieved}' is answered ({pairs[0].reason})",
        )
    if lacking:
        yield "warning", f"{_of(lacking, len(judgments.queries), 'judged query')} without results{_such_as(lacking)}"
    if unjudged:
        yield "note", f"{counted(len(unjudged), 'query')} without judgments; ignored{_such_as(unjudged)}"
    for text in _odd_ids(unjudged, "query"):
        yield "warning", text


def _document_findings(judgments: Judgments, run: Run, found: Retrieved) -> Iterator[Found]:
    """Yield findings about documents: none judged, few judged, spelled in two ways."""
    matched = MatchedQueries.of(judgments, found)
    if judgments.names is None or not len(found.query):
        return
    if matched.none:
        example = example_of_mismatch(judgments, run, matched)
        yield "error", f"none of its documents is judged{in_brackets(example)}"
        return
    if matched.few:
        yield (
            "warning",
            f"only {matched.matched} of {counted(matched.answered, 'query')} have a judged document"
            f"{in_brackets(example_of_mismatch(judgments, run, matched))}",
        )
    elif not _judged_at_top(found):
        yield "warning", f"all documents in the top {TOP} are unjudged and count as not relevant"
    retrieved = some_documents(run)
    pairs = [] if matched.few else near_misses(judgments.document_names, retrieved)
    if pairs:
        yield (
            "warning",
            f"{counted(len(pairs), 'unjudged document')} of the first {len(retrieved):,} may be judged under another "
            f"spelling: {pairs[0]}",
        )
    for text in _odd_ids(retrieved, "document"):
        yield "warning", text


def _tie_findings(judgments: Judgments, found: Retrieved) -> Iterator[Found]:
    """Yield a finding about documents that share their scores."""
    several = found.length > 1
    if not several.any():
        return
    all_tied = several & (found.tied == found.length)
    if all_tied[several].all():
        yield "error", "all documents of each query have the same score: they have no order"
        return
    share = float(found.tied.sum() / found.length.sum())
    if all_tied.any():
        tied = sorted(judgments.queries[q] for q in found.query[all_tied].tolist())
        yield "warning", f"{counted(len(tied), 'query')} with the same score for all documents{_such_as(tied)}"
    elif share > MANY_TIES:
        yield "warning", f"{share:.0%} of the documents share their score with another document of the query"


def _of(names: Sequence[str], total: int, noun: str) -> str:
    return f"{len(names):,} of {counted(total, noun)}"


def _such_as(names: Sequence[str]) -> str:
    return f", such as {_quoted(names)}" if names else ""


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:NAMED])
