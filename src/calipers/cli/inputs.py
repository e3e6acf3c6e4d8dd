"""Inputs of commands: judgments, systems, measures and files of scores, and options for reading them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import click

from calipers.cli.option_groups import Command, option_group
from calipers.cli.options import (
    FILE,
    data_argument,
    how_to_read,
    judgments_argument,
    measures_option,
    note,
    progress,
    warn,
)
from calipers.collection.run_names import named_files, stem_of
from calipers.errors import CalipersError, ConflictingGrades, WrongFormat, place_of

if TYPE_CHECKING:
    from calipers.cli.policies import ListPolicies
    from calipers.collection.judgments import Judgments
    from calipers.collection.runs import Run
    from calipers.experiment import Experiment
    from calipers.measures.registry import Measure
    from calipers.results.scores import Scores
    from calipers.texts.collection import TextCollection


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options for reading files: formats, columns, encoding, and limits in bytes."""

    judgments_as: str | None = None
    systems_as: str | None = None
    columns: Mapping[str, str] | None = None
    judgments_columns: Mapping[str, str] | None = None
    systems_columns: Mapping[str, str] | None = None
    combine_grades: str | None = None
    rename_grades: Mapping[float, float] | None = None
    rollup: str | None = None
    rollup_by: str | None = None
    drop_own_ids: bool = False
    query_ids: str | None = None
    encoding: str | None = None
    max_unpacked: int | None = None

    combine_option: ClassVar[str] = "--combine"  # combines several grades of a document

    @property
    def reading(self) -> dict[str, object]:
        """The reading options by name."""
        return {each.name: getattr(self, each.name) for each in fields(Reading)}

    def read_judgments(self, source: str, measures: Iterable[Measure] = ()) -> Judgments:
        """Read judgments of the kind that the measures need. Prints notes about how they were read."""
        from calipers.collection.sources import read_judgments
        from calipers.texts.recognition import refuse_texts

        if self.judgments_as is None:
            refuse_texts(source)
        try:
            known = read_judgments(
                source,
                format=self.judgments_format(measures),
                columns=_columns_of_one_side(self.columns, self.judgments_columns),
                combine=self.combine_grades,
                grades=self.rename_grades,
                encoding=self.encoding,
                max_unpacked=self.max_unpacked,
            )
        except ConflictingGrades as error:
            error.advice = f"{self.combine_option} makes one grade of them"
            raise
        for text in known.notes:
            note(text)
        return replace(known, notes=())

    def judgments_format(self, measures: Iterable[Measure]) -> str | None:
        """Return the given format, or the format that the measures need if a TREC file could have several."""
        from calipers.evaluation.inputs import kind_read

        kind = kind_read(measures)
        return self.judgments_as or (None if kind == "grades" else kind)

    def read_judges(self, sources: Sequence[str]) -> dict[str, Judgments]:
        """Read the judgments of several judges. Their names are file names without the ending."""
        from calipers.collection.run_names import files_of
        from calipers.questions.judges.judge_table import judge_names

        irds = [judge for judge in sources if judge.startswith("irds:")]
        files = [file for judge in sources if judge not in irds for file in files_of(judge)] + irds
        return {name: self._read_judge(file) for name, file in zip(judge_names(files), files, strict=True)}

    def _read_judge(self, file: str) -> Judgments:
        try:
            return self.read_judgments(file)
        except WrongFormat as error:
            if error.found != "run":
                raise
            raise CalipersError(
                "expected judgments, but this looks like a run; runs follow --systems, after the judges",
                file=error.file,
            ) from None

    def read_systems(self, sources: Sequence[str]) -> list[Run]:
        from calipers.collection.sources import read_runs
        from calipers.texts.recognition import refuse_texts

        for path in map(_file_of, sources if self.systems_as is None else ()):
            refuse_texts(path or "")
        if self.rollup_by is not None and self.rollup is None:
            raise CalipersError("--rollup-by says whose the passages are: --rollup max, sum or first says what is done")
        runs = read_runs(
            sources,
            format=self.systems_as,
            columns=_columns_of_one_side(self.columns, self.systems_columns),
            rollup=self._rollup(),
            query_ids=self.query_ids,
            encoding=self.encoding,
            max_unpacked=self.max_unpacked,
            drop_own_ids=self.drop_own_ids,
        )
        from calipers.evaluation.inputs import notes_of_runs

        for text in notes_of_runs(runs):
            note(text)
        for run in runs:
            if getattr(run, "notes", ()):
                run.notes = ()  # type: ignore[attr-defined]  # they have been said
        return runs

    def _rollup(self) -> Any:
        if self.rollup is None:
            return None
        from calipers.collection.repeated import SEPARATOR, Rollup

        return Rollup(self.rollup, SEPARATOR if self.rollup_by is None else self.rollup_by)


def _columns_of_one_side(columns: Mapping[str, str] | None, own: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the columns of --columns and of the option for one side. The latter come first."""
    return {**(columns or {}), **(own or {})} or None


@dataclass(frozen=True, kw_only=True)
class Runs(Reading):
    """Systems and measures as a user names them."""

    systems: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()

    def runs(self) -> list[Run]:
        return [*self._runs]

    @cached_property
    def _runs(self) -> list[Run]:
        return self.read_systems(self.systems)

    def name_of(self, system: str) -> str:
        """Return the name of the system that a name, path, file, stem or tag stands for.

        Reads only the first lines of files, so that a wrong name is refused early.
        """
        from calipers.collection.run_names import system_meant

        return system_meant(system, self._runs)

    def wanted(self, *default: str) -> dict[str, Measure]:
        """Return the measures by their names. Call this first, so that a wrong name is refused early."""
        from calipers.measures.grammar import parse_all

        return dict(parse_all(self._typed(default)))

    def typed(self, *default: str) -> list[str]:
        """Return the names of measures as they were typed: a name of one's own alone says no measure."""
        self.wanted(*default)
        return list(self._typed(default))

    def _typed(self, default: tuple[str, ...]) -> Sequence[str]:
        from calipers.measures.grammar import DEFAULT_MEASURES

        return self.measures or default or DEFAULT_MEASURES


@dataclass(frozen=True, kw_only=True)
class Inputs(Runs):
    """Judgments and systems, or texts, and measures as a user names them."""

    judgments: str
    relevant_documents: str | None = None  # judgments of the documents that answers were made from

    @cached_property
    def are_texts(self) -> bool:
        """True if the inputs are texts instead of judgments and runs."""
        from calipers.texts.recognition import holds_texts

        if self.judgments_as or self.systems_as or not holds_texts(self._data, self.columns):
            return False
        files = [path for each in self.systems if (path := _file_of(each)) is not None]
        # A dataset of RAGAS may be given as judgments, with itself or another file as the run.
        return self._data not in files and all(holds_texts(file, self.columns) for file in files)

    @property
    def _data(self) -> str:
        return _file_of(self.judgments) or self.judgments

    @cached_property
    def texts(self) -> TextCollection:
        """The texts of the systems that are named, or of all."""
        from calipers.texts.text_files import texts_of_sources

        files = [each for each in self.systems if _file_of(each) is not None]
        sources = [file for each in (self.judgments, *files) for file in named_files(each)]
        found = texts_of_sources(sources, columns=self.columns, max_unpacked=self.max_unpacked)
        chosen = [each for each in self.systems if each not in files]
        for each in chosen:
            place_of("system", each, found.systems)
        return found if files or not chosen else found.of_systems(chosen)

    def runs(self) -> list[Run]:
        """Return the systems. If there are texts instead of judgments, they are refused."""
        from calipers.texts.recognition import refuse_texts

        if self.judgments_as is None:
            refuse_texts(self.judgments)
        return super().runs()

    def open(self, measures: Iterable[Measure] = ()) -> tuple[Judgments, list[Run]]:
        """Return the judgments, of the kind that the measures need, and the systems."""
        if [self.judgments, *self.systems].count("-") > 1:
            raise CalipersError("only one of the inputs can be - (standard input)")
        return self.read_judgments(self.judgments, measures), self.runs()

    def baselines(self, named: Sequence[str]) -> tuple[str, ...]:
        """Return the names of baselines. Names in files of scores are checked when the files are read."""
        if named and self.are_texts:
            for each in named:
                place_of("system", each, self.texts.systems)
        if not named or self.are_texts or self.are_scores:
            return tuple(named)
        return tuple(self.name_of(each) for each in named)

    @property
    def are_scores(self) -> bool:
        """True if the inputs are files of scores instead of judgments and runs."""
        from calipers.results.score_files import is_score_table

        said = self.judgments_as or self.columns or self.judgments_columns
        if self.judgments != "-" and not said and is_score_table(self.judgments):
            return True
        if not self.systems:
            raise CalipersError(
                "expected judgments and at least one system, texts, or a CSV file of scores", file=self.judgments
            )
        return False

    def score_files(self, strict: bool) -> ScoreFiles:
        files = (self.judgments, *self.systems)
        return ScoreFiles(files=files, measures=self.measures, max_unpacked=self.max_unpacked, strict=strict)

    def experiment(self, *default: str, **options: Any) -> Experiment:
        """Return the experiment that a command asks.

        default: the measures if the user names none. options: keywords of `Experiment`, such as `ties`.
        """
        from calipers.experiment import Experiment

        if self.are_texts:
            documents = None if self.relevant_documents is None else self.read_judgments(self.relevant_documents)
            return Experiment(self.texts, None, self.measures or None, judgments=documents, warn=False, **options)
        wanted = self.wanted(*default)
        known, runs = self.open(wanted.values())
        return Experiment(known, runs or None, self.typed(*default), warn=False, **options)

    def scores(self, lists: ListPolicies) -> Scores:
        """Return the scores of systems under measures, or from files of scores. Prints the notes about them."""
        if not self.are_texts and self.are_scores:
            return self.score_files(lists.strict).open()
        with self.scored(lists) as experiment:
            scores = experiment.scores
        say_scores(experiment, lists.strict)
        return scores

    @contextmanager
    def scored(self, lists: ListPolicies, sections: int = 0) -> Iterator[Experiment]:
        """Yield the experiment. A bar shows the progress of scoring, and of the sections of a report."""
        if not self.are_texts:
            with progress(len(self.runs()) + sections, "runs") as advance:
                yield self.experiment(jobs=lists.jobs, progress=advance, **lists.policies)
            return
        experiment = self.experiment(jobs=lists.jobs, **lists.policies)
        assert experiment.texts is not None
        with progress(experiment.texts.steps + sections, "texts") as advance:
            experiment.texts.progress = advance
            yield experiment


def say_scores(experiment: Experiment, strict: bool) -> None:
    """Print warnings and remarks about scores."""
    texts, scores = experiment.texts, experiment.scores
    warnings = scores.notes if texts is None else texts.warnings
    warn(warnings, strict)
    remarks = scores.remarks if texts is None else (*scores.notes[len(warnings) :], *texts.remarks)
    for sentence in remarks:
        note(sentence)


def system_of(given: str) -> str:
    """Return the name of a system that is given by its name, NAME=FILE, or a file named like it."""
    if _file_of(given) is None:
        return given
    (name, path), *_ = named_files(given)
    return name or stem_of(path)


def _file_of(given: str) -> str | None:
    """Return the file of FILE or NAME=FILE, or None if there is no such file."""
    name, equals, path = given.partition("=")
    return next((each for each in (given, path if name and equals else "") if os.path.exists(each)), None)


@dataclass(frozen=True, kw_only=True)
class ScoreFiles:
    """Files of scores, and the names of the measures in them where the files do not tell."""

    files: tuple[str, ...]
    measures: tuple[str, ...] = ()
    max_unpacked: int | None = None
    strict: bool = False

    def open(self) -> Scores:
        """Read the scores. Systems and queries that are not in all files are left out and counted."""
        from calipers.results.score_files import read_scores

        names = [name for each in self.measures for name in each.split()]
        scores = read_scores(
            self.files, max_unpacked=self.max_unpacked, measures=names or None, strict=self.strict, warn=False
        )
        warn(scores.notes, self.strict)
        return scores


relevant_documents_option = click.option(
    "--judgments",
    "relevant_documents",
    metavar="FILE",
    type=FILE,
    help="For answers: judgments of the documents that they were made from, if DATA does not name the relevant ones.",
)


def inputs(*, measures: bool = True, optional: bool = False, texts: bool = False) -> Callable[[Command], Command]:
    """JUDGMENTS SYSTEM... and how to read them, as `inputs`. Optional are the systems; measures are -m.

    texts: the command also takes texts, and the first argument is DATA.
    """
    metavar = "[SYSTEM...]" if optional or texts else "SYSTEM..."
    systems = click.argument("systems", nargs=-1, required=not (optional or texts), metavar=metavar, type=FILE)
    under = [measures_option] if measures else []
    data = [data_argument, systems, relevant_documents_option] if texts else [judgments_argument, systems]
    return option_group("inputs", Inputs, *data, how_to_read, *under)


# SCORES..., as `scores`; the names of measures and how to read are options of the command.
score_files = option_group(
    "scores", ScoreFiles, click.argument("files", nargs=-1, required=True, metavar="SCORES...", type=FILE)
)
