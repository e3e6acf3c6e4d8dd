"""Judgments and runs from any shape that users have, and notes about how they were read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from calipers.collection.column_names import ORDER
from calipers.collection.formats import sniff
from calipers.collection.frames import is_frame
from calipers.collection.judgments import Judgments
from calipers.collection.matrices import is_sparse
from calipers.collection.nested import holds_queries
from calipers.collection.records import holds_records, without_iterators
from calipers.collection.runs import ArrayRun, RenamedRun, Run
from calipers.collection.sources import ColumnNames, JudgmentsLike, RunsLike, read_judgments, read_run, read_runs
from calipers.collection.whole_runs import in_order
from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.registry import Measure
from calipers.native.columns import Precision, Retrieved
from calipers.results.messages import some
from calipers.support.batching import batches
from calipers.support.checks import described

ROWS_AT_ONCE = 500_000  # judged documents whose lists are scored in one go
NEEDS = {
    "grades": "one grade per document",
    "subtopics": "judgments by subtopic",
    "samples": "judgments of a sample",
}


def as_judgments(judgments: JudgmentsLike, kind: str = "grades", columns: ColumnNames | None = None) -> Judgments:
    """Return judgments from any shape that `evaluate` accepts.

    kind: the kind of judgments (one of `NEEDS`) where a file or a dictionary could hold several kinds.

    >>> as_judgments({"q1": ["d1"], "q2": {"d2": 2}}).to_dict()
    {'q1': {'d1': 1.0}, 'q2': {'d2': 2.0}}
    """
    return _as_judgments(judgments, kind, columns)


def _as_judgments(judgments: Any, kind: str, columns: ColumnNames | None) -> Judgments:
    judgments = without_iterators(judgments)
    if isinstance(judgments, Judgments):
        return judgments
    if isinstance(judgments, Mapping):
        return _of_three(judgments, kind) if _three_deep(judgments) else Judgments.from_dict(judgments)
    if isinstance(judgments, str | os.PathLike):
        return read_judgments(judgments, format=None if kind == "grades" else kind, columns=columns)
    if is_frame(judgments) or holds_records(judgments):
        return read_judgments(judgments, columns=columns)
    if is_sparse(judgments):
        return Judgments.from_matrix(judgments)
    nearest = "{query: {document: grade}}"
    if isinstance(judgments, np.ndarray):
        nearest = "Judgments.from_arrays (one label per document) or Judgments.from_matrix (a sparse matrix)"
    elif isinstance(judgments, Sequence):
        nearest = "{query: [relevant documents]}, or rows with query, document and grade"
    raise CalipersError(
        f"judgments cannot be {described(judgments)}; the nearest accepted shape is {nearest}. Judgments may also be a "
        "path, a frame or a sparse matrix"
    )


def _of_three(judgments: Mapping[Any, Any], kind: str) -> Judgments:
    """Return judgments of some kind from {query: {subtopic or stratum: {document: grade}}}."""
    if kind == "samples":
        from calipers.collection.samples import SampledJudgments

        return SampledJudgments.from_strata(judgments)
    from calipers.collection.subtopics import SubtopicJudgments

    return SubtopicJudgments.from_subtopics(judgments)


def _three_deep(judgments: Mapping[Any, Any]) -> bool:
    """Return True for {query: {subtopic: {document: grade}}}, by the first query that has judgments."""
    inner = (value for graded in judgments.values() if isinstance(graded, Mapping) for value in graded.values())
    return isinstance(next(inner, None), Mapping)


def as_runs(runs: RunsLike, *, columns: ColumnNames | None = None) -> list[Run]:
    """Return runs from any shape that `evaluate` accepts.

    >>> [run.to_dict() for run in as_runs({"a": {"q1": ["d2", "d1"]}, "b": {"q1": {"d1": 0.5}}})]
    [{'q1': {'d2': -1.0, 'd1': -2.0}}, {'q1': {'d1': 0.5}}]
    """
    return _as_runs(runs, columns)


def _as_runs(runs: Any, columns: ColumnNames | None) -> list[Run]:
    runs = without_iterators(runs)
    if isinstance(runs, Mapping):
        if not runs:
            raise CalipersError("the run is empty")
        if holds_queries(runs):
            return [Run.from_dict(runs)]
        return [_named(str(name), run, columns) for name, run in runs.items()]
    if isinstance(runs, Iterable) and not _is_one_run(runs):
        found = [run for each in runs for run in _as_runs(each, columns)]
        if not found:
            raise CalipersError("there is no run to evaluate")
        return found
    if isinstance(runs, str | os.PathLike) or is_frame(runs) or holds_records(runs):
        return read_runs(runs, columns=columns)
    return [_one_run(runs, "run")]


def _named(name: str, run: Any, columns: ColumnNames | None) -> Run:
    run = without_iterators(run)
    if isinstance(run, Run):
        return RenamedRun(run, name)
    if isinstance(run, str | os.PathLike) or is_frame(run) or holds_records(run):
        return read_run(run, name=name, columns=columns)
    if isinstance(run, Mapping):
        return Run.from_dict(run, name)
    return _one_run(run, name)


def _is_one_run(value: Any) -> bool:
    """Return True for a value that is one run, and not several in a list."""
    return (
        isinstance(value, str | os.PathLike | Run | np.ndarray)
        or is_frame(value)
        or holds_records(value)
        or is_sparse(value)
        or _is_top(value)
    )


def _is_top(value: Any) -> bool:
    """Return True for two arrays: the ids of the top documents and their scores (queries x k)."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(array, np.ndarray) and array.ndim == 2 for array in value)
        and value[1].dtype.kind == "f"
    )


def _one_run(run: Any, name: str) -> Run:
    """Return a run from a Run, a sparse matrix or arrays."""
    if isinstance(run, Run):
        return run
    if is_sparse(run):
        return Run.from_matrix(run, name=name)
    if _is_top(run):
        return Run.from_arrays(*run, name=name)
    if isinstance(run, np.ndarray) and run.ndim == 2:
        return Run.from_arrays(run, name=name)
    if isinstance(run, np.ndarray | list | tuple):
        return ArrayRun(cast("Floats", run), name)
    raise CalipersError(
        f"a run cannot be {described(run)}; the nearest accepted shape is {{query: {{document: score}}}}. A run may "
        "also be {query: [documents, best first]}, a path, a frame, a sparse matrix, an array of document ids "
        "(queries x k), or one score per label",
        file=None if name == "run" else name,
    )


def kind_read(measures: Iterable[Measure]) -> str:
    """Return the kind of judgments that measures read. Measures of different kinds are refused."""
    reads = {measure.reads: measure for measure in measures}
    if "texts" in reads:
        hint = "; F1@10, with a cutoff, scores rankings" if "F1" in repr(reads["texts"]) else ""
        raise CalipersError(
            f"{reads['texts']!r} scores texts, not rankings: give an experiment what calipers.read_texts returns{hint}"
        )
    if len(reads) > 1:
        one, other = sorted(reads, key=[*NEEDS].index, reverse=True)[:2]
        raise CalipersError(
            f"{reads[one]!r} needs {NEEDS[one]} and {reads[other]!r} {NEEDS[other]}: "
            "ask for them apart, each with its own judgments"
        )
    return next(iter(reads), "grades")


def reads_subtopics(measures: Iterable[Measure]) -> bool:
    """Return True if the measures read judgments by subtopic. All of them do, or none."""
    return kind_read(measures) == "subtopics"


def depending_on_costs(named: Mapping[str, Measure]) -> dict[str, Measure]:
    """Return the measures that read costs of documents. Raise an error if no measure reads them."""
    costly = {name: measure for name, measure in named.items() if measure.form.traits.reads_costs}
    if not costly:
        raise CalipersError(
            f"no measure depends on costs: {', '.join(named)}; TBG, U-measure, BPM, EC(...) and others do"
        )
    return costly


def in_batches(
    systems: Sequence[Run],
    judgments: Judgments,
    depth: int = 0,
    precision: Precision = "double",
    jobs: int | None = None,
) -> Iterator[list[Retrieved]]:
    """Yield what systems retrieved, in batches of systems that are scored together."""
    found = _retrieved(systems, judgments, depth, precision, jobs)
    return batches(found, lambda run: len(run.document), ROWS_AT_ONCE)


def _retrieved(
    systems: Sequence[Run], judgments: Judgments, depth: int, precision: Precision, jobs: int | None
) -> Iterator[Retrieved]:
    """Yield what each system retrieved. Threads read several files at once, or several parts of one file."""
    workers = jobs or os.cpu_count() or 1
    if len(systems) == 1 or workers == 1:
        for system in systems:
            yield system.retrieved(judgments, depth, precision, workers)
        return
    judgments.index if any(hasattr(system, "path") for system in systems) and judgments.names else None  # built once
    yield from in_order(lambda system: system.retrieved(judgments, depth, precision), systems, workers)


def notes_on_reading(judgments: Judgments | None, runs: Iterable[Run]) -> list[str]:
    """Return notes about how judgments and runs were read."""
    return [*(() if judgments is None else judgments.notes), *notes_of_runs(runs)]


def notes_on_grades(judgments: Judgments, rel: float, measures: Iterable[Measure] = ()) -> list[str]:
    """Return a note if all judged documents count as relevant although there are several grades, as with stars.

    rel: the smallest relevant grade. Measures may have another one.
    """
    grades = np.unique(judgments.pool.grade).tolist() if judgments.pool.kind == "grades" else []
    if len(grades) < 3 or grades[0] < min([_relevant_from(measure, rel) for measure in measures] or [rel]):
        return []
    lowest = grades[0]
    renamed = [f"{grade:g}:{grade - lowest:g}" for grade in grades]
    example = " ".join(renamed if len(renamed) <= 6 else [*renamed[:2], "..."])
    star = f"{grades[-2]:g}"
    return [
        f"all judged documents are relevant: their grades are {lowest:g} to {grades[-1]:g}. If these are stars, say "
        f"which are relevant: relevant={star} (--relevant {star}), or AP(rel={star}) in the name of a measure. For "
        f'nDCG, read them with other grades, too: grades= of read_judgments (--rename-grades "{example}"); the '
        f"smallest relevant grade is then {grades[-2] - lowest:g}"
    ]


def _relevant_from(measure: Measure, rel: float) -> float:
    """Return the smallest relevant grade of a measure, or `rel` if it has no such parameter."""
    if isinstance(of := measure.parameters.get("of"), Measure):
        return _relevant_from(of, rel)
    has_table = any(isinstance(value, Mapping) for value in measure.parameters.values())
    return np.inf if has_table else float(measure.parameters.get("rel", rel))


def path_of(run: Run) -> str | None:
    """Return the file of a run, or None if it has none."""
    path: str | None = getattr(run, "path", None)
    return path


def notes_of_runs(runs: Iterable[Run]) -> list[str]:
    """Return notes about how runs were read. Each note appears once, with the files that it is about."""
    files: dict[str, list[str]] = {}
    for run in runs:
        path = path_of(run) or run.name
        for note in getattr(run, "notes", ()):
            about = [path] if note.startswith(f"{path}: ") else []
            files.setdefault(note.removeprefix(f"{path}: "), []).extend(about)
    return [f"{some(paths)}: {text}" if paths else text for text, paths in files.items()]


class SwappedFiles:
    """Test for judgments and runs that were exchanged: grades are then fractions, and scores are whole numbers.

    The test is for JSON and dictionaries. Other formats show what they hold. Fractions that are the grades of a scale
    are no scores: quarters, as 0.5 and 0.25, and at most ten values that come back.
    """

    LARGEST = 10  # largest grade of usual scales
    MOST_GRADES = 10  # number of grades of usual scales

    def __init__(self, grade: Floats) -> None:
        fractional = grade[grade != np.rint(grade)]
        self._grade: float | None = None
        self._few_grades = True
        if len(fractional) and 2 * len(fractional) >= len(grade):
            distinct = np.unique(grade)
            self._few_grades = len(distinct) <= self.MOST_GRADES
            quarters = (4 * distinct == np.rint(4 * distinct)) & (abs(distinct) <= self.LARGEST)
            is_scale = quarters.all() or (self._few_grades and 2 * len(distinct) <= len(grade))
            self._grade = None if is_scale else float(fractional[0])
        self._low, self._high = np.inf, -np.inf
        self._whole = True

    @property
    def looking(self) -> bool:
        """True if the grades look like scores, so that the scores must be looked at."""
        return self._grade is not None and self._whole

    def look(self, batch: Sequence[Retrieved]) -> None:
        if not self.looking:
            return
        for run in batch:
            self._whole = self._whole and bool((run.score == np.rint(run.score)).all())
            self._low = min(self._low, float(run.score.min(initial=np.inf)))
            self._high = max(self._high, float(run.score.max(initial=-np.inf)))

    def notes(self, judgments: Judgments, runs: Iterable[Run]) -> list[str]:
        """Return a warning if judgments and runs seem to be exchanged.

        JSON files are refused if the grades also have more values than those of a scale.
        """
        like_grades = self._whole and -self.LARGEST <= self._low < self._high <= self.LARGEST and self._high > 0
        if self._grade is None or not like_grades:
            return []
        text = (
            f"the judgments look like scores (grade {self._grade:g}) and the scores like grades (whole numbers "
            f"from {self._low:g} to {self._high:g}): {ORDER}"
        )
        if not self._few_grades and _is_json_file(judgments.name) and any(_is_json_file(path_of(run)) for run in runs):
            raise CalipersError(
                f"{text}. If they are right, name grades and scores, as columns of CSV do", file=judgments.name
            )
        return [text]


def _is_json_file(path: str | None) -> bool:
    return path is not None and os.path.isfile(path) and sniff(path) == "json"
