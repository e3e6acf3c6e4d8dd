"""Judgments and runs from whatever a user may have, and what is to be known of how they were read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.batching import batches
from calipers.collection.column_names import ORDER
from calipers.collection.document_facts import DocumentFacts
from calipers.collection.formats import sniff
from calipers.collection.frames import is_frame
from calipers.collection.judgments import Judgments
from calipers.collection.read_ahead import in_order
from calipers.collection.records import holds_records, plain_nested, taken
from calipers.collection.runs import ArrayRun, DictRun, Run
from calipers.collection.sources import ColumnNames, JudgmentsLike, RunsLike, read_judgments, read_run, read_runs
from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.registry import Measure
from calipers.native.columns import Precision, Retrieved
from calipers.results.messages import some

ROWS_AT_ONCE = 500_000  # judged documents whose lists are scored in one go
NEEDS = {
    "grades": "one grade per document",
    "subtopics": "judgments by subtopic",
    "preferences": "preferences",
    "judges": "judgments of several judges",
    "samples": "judgments of a sample",
}


def as_judgments(judgments: JudgmentsLike, kind: str = "grades", columns: ColumnNames | None = None) -> Judgments:
    """Judgments from whatever a user may have; kind: of what sort they are where a file or a mapping cannot tell."""
    return _as_judgments(judgments, kind, columns)


def _as_judgments(judgments: Any, kind: str, columns: ColumnNames | None) -> Judgments:
    judgments = taken(judgments)
    if isinstance(judgments, Judgments):
        return judgments
    if isinstance(judgments, Mapping):
        if _three_deep(judgments):
            return _of_three(judgments, kind)
        return Judgments.from_dict(plain_nested(judgments) if judgments else judgments)
    if isinstance(judgments, str | os.PathLike):
        return read_judgments(judgments, format=None if kind == "grades" else kind, columns=columns)
    if is_frame(judgments) or holds_records(judgments):
        return read_judgments(judgments, columns=columns)
    raise CalipersError(
        f"judgments cannot be of type {type(judgments).__name__}; expected Judgments, a path, a frame, named tuples, "
        "or {query: {document: grade}}; arrays go through Judgments.from_arrays"
    )


def _of_three(judgments: Mapping[Any, Any], kind: str) -> Judgments:
    """{query: {judge or subtopic: {document: grade}}}, as judgments of a kind."""
    if kind == "preferences":
        from calipers.collection.preferences import Preferences

        return Preferences.from_levels(judgments)
    if kind == "judges":
        from calipers.collection.several_judges import SeveralJudges

        return SeveralJudges.from_judges(judgments)
    if kind == "samples":
        from calipers.collection.samples import SampledJudgments

        return SampledJudgments.from_strata(judgments)
    from calipers.collection.subtopics import SubtopicJudgments

    return SubtopicJudgments.from_subtopics(judgments)


def _three_deep(judgments: Mapping[Any, Any]) -> bool:
    """Whether they are {query: {subtopic: {document: grade}}}, by the first that there is."""
    inner = (value for graded in judgments.values() if isinstance(graded, Mapping) for value in graded.values())
    return isinstance(next(inner, None), Mapping)


def as_runs(runs: RunsLike, *, columns: ColumnNames | None = None) -> list[Run]:
    """A list of runs from whatever a user may have."""
    return _as_runs(runs, columns)


def _as_runs(runs: Any, columns: ColumnNames | None) -> list[Run]:
    runs = taken(runs)
    if isinstance(runs, str | os.PathLike) or is_frame(runs) or holds_records(runs):
        return read_runs(runs, columns=columns)
    if isinstance(runs, Mapping):
        if not runs:
            raise CalipersError("the run is empty")
        inner = next(iter(runs.values()))
        if isinstance(inner, Mapping) and not any(isinstance(value, Mapping) for value in inner.values()):
            return [DictRun(plain_nested(runs))]
        return [_named(str(name), run, columns) for name, run in runs.items()]
    if isinstance(runs, np.ndarray):
        return [ArrayRun(runs)]
    if hasattr(runs, "retrieved"):
        return [runs]
    if not isinstance(runs, Iterable):
        raise CalipersError(
            f"runs cannot be of type {type(runs).__name__}; expected what read_runs gives, paths, frames, "
            "{query: {document: score}}, {name: run}, or an array of one score per label"
        )
    found: list[Run] = []
    for run in runs:
        found.extend(_as_runs(run, columns))
    if not found:
        raise CalipersError("there is no run to evaluate")
    return found


def _named(name: str, run: Any, columns: ColumnNames | None) -> Run:
    run = taken(run)
    if isinstance(run, Mapping):
        return DictRun(plain_nested(run) if run else run, name)
    if isinstance(run, str | os.PathLike) or is_frame(run) or holds_records(run):
        return read_run(run, name=name, columns=columns)
    return ArrayRun(run, name)


def kind_read(measures: Iterable[Measure]) -> str:
    """What kind of judgments some measures read, which is one for all of them."""
    reads = {measure.judgments: measure for measure in measures}
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


def depending_on(facts: DocumentFacts, named: Mapping[str, Measure]) -> dict[str, Measure]:
    """Return the measures that read costs or groups of documents. Facts that no measure reads are refused."""
    costly = [name for name, measure in named.items() if facts.costs is not None and measure.form.traits.reads_costs]
    grouped = [name for name, measure in named.items() if facts.groups is not None and measure.form.traits.reads_groups]
    if facts.costs is not None and not costly:
        raise CalipersError(
            f"no measure depends on costs: {', '.join(named)}; TBG, U-measure, BPM, EC(...) and others do"
        )
    if facts.groups is not None and not grouped:
        raise CalipersError(f"no measure depends on groups of documents: {', '.join(named)}; AWRF and ExposureRatio do")
    return {name: measure for name, measure in named.items() if name in costly or name in grouped}


def facts_where_read(given: Mapping[str, Any], measures: Iterable[Measure]) -> dict[str, Any]:
    """Return the keywords `costs` and `document_groups`, each None if no measure reads it."""
    forms = [measure.form for measure in measures]
    return {
        "costs": given.get("costs") if any(form.traits.reads_costs for form in forms) else None,
        "document_groups": given.get("document_groups") if any(form.traits.reads_groups for form in forms) else None,
    }


def in_batches(
    systems: Sequence[Run],
    judgments: Judgments,
    depth: int = 0,
    precision: Precision = "double",
    jobs: int | None = None,
) -> Iterator[list[Retrieved]]:
    """What each system retrieved, as many systems at a time as are scored in one go."""
    found = _retrieved(systems, judgments, depth, precision, jobs)
    return batches(found, lambda run: len(run.document), ROWS_AT_ONCE)


def _retrieved(
    systems: Sequence[Run], judgments: Judgments, depth: int, precision: Precision, jobs: int | None
) -> Iterator[Retrieved]:
    """What each system retrieved, read side by side: over files, or over the parts of one."""
    workers = jobs or os.cpu_count() or 1
    if len(systems) == 1 or workers == 1:
        for system in systems:
            yield system.retrieved(judgments, depth, precision, workers)
        return
    judgments.index if any(hasattr(system, "path") for system in systems) and judgments.names else None  # built once
    yield from in_order(lambda system: system.retrieved(judgments, depth, precision), systems, workers)


def notes_on_reading(judgments: Judgments | None, runs: Iterable[Run]) -> list[str]:
    """What is to be known of how judgments and runs were read."""
    return [*(() if judgments is None else judgments.notes), *how_read(runs)]


def path_of(run: Run) -> str | None:
    """Return the file of a run, or None if it has none."""
    path: str | None = getattr(run, "path", None)
    return path


def how_read(runs: Iterable[Run]) -> list[str]:
    """What is to be known of how runs were read: each note once, with the files that it is about."""
    files: dict[str, list[str]] = {}
    for run in runs:
        path = path_of(run) or run.name
        for note in getattr(run, "notes", ()):
            about = [path] if note.startswith(f"{path}: ") else []
            files.setdefault(note.removeprefix(f"{path}: "), []).extend(about)
    return [f"{some(paths)}: {text}" if paths else text for text, paths in files.items()]


class SwappedFiles:
    """Test for judgments and runs in each other's place: grades that are fractions, and scores that are whole numbers.

    Formats with a field of their own for a grade or a score tell; JSON and dictionaries do not.
    """

    LARGEST = 10  # that grades usually are
    MOST_GRADES = 10  # different values that the grades of a scale have at most

    def __init__(self, grade: Floats) -> None:
        fractional = grade[grade != np.rint(grade)]
        self._grade = float(fractional[0]) if len(fractional) and 2 * len(fractional) >= len(grade) else None
        self._is_scale = self._grade is None or len(np.unique(grade)) <= self.MOST_GRADES
        self._low, self._high = np.inf, -np.inf
        self._whole = True

    @property
    def looking(self) -> bool:
        """Whether the scores matter: if not, the grades are as grades are."""
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
        if self._grade is None or not self._whole or not -self.LARGEST <= self._low < self._high <= self.LARGEST:
            return []
        text = (
            f"the judgments look like scores (grade {self._grade:g}) and the scores like grades (whole numbers "
            f"from {self._low:g} to {self._high:g}): {ORDER}"
        )
        if (
            self._high > 0
            and not self._is_scale
            and _is_json_file(judgments.name)
            and any(_is_json_file(path_of(run)) for run in runs)
        ):
            raise CalipersError(
                f"{text}. If they are right, name grades and scores, as columns of CSV do", file=judgments.name
            )
        return [text]


def _is_json_file(path: str | None) -> bool:
    return path is not None and os.path.isfile(path) and sniff(path) == "json"
