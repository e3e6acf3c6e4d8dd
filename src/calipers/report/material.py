"""An experiment and the choices for its report. Each result is computed when a section first asks for it."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from calipers.collection.run_names import system_meant
from calipers.collection.runs import Run, unwrapped
from calipers.collection.texts import read_titles
from calipers.errors import CalipersError, CheckFailed, place_of
from calipers.evaluation.inputs import as_judgments, notes_on_grades
from calipers.measures.populations import DEFAULT_POPULATION
from calipers.measures.registry import Measure
from calipers.report.provenance import Provenance
from calipers.results.messages import notes_on_lacking, seen_in, with_incomplete_runs, without_ambiguous_names
from calipers.results.scores import Reason, Scores
from calipers.support.choices import Correction, TestName
from calipers.support.plurals import counted, plural_of
from calipers.support.record import Record

if TYPE_CHECKING:
    from calipers.collection.judgments import Judgments
    from calipers.experiment import Experiment
    from calipers.questions.audit.tool_audit import Audit
    from calipers.questions.bounds import Bounds
    from calipers.questions.compare.comparison import Comparison
    from calipers.questions.diff.difference import Difference
    from calipers.questions.information.information_difference import InformationDifference
    from calipers.questions.judges.judge_study import JudgeStudy
    from calipers.questions.metaeval.power import DiscriminativePower
    from calipers.questions.plan.sample_size import SampleSizePlan
    from calipers.questions.properties.verdicts import Properties
    from calipers.questions.queries import QueryTypes
    from calipers.questions.ranges.score_ranges import Ranges
    from calipers.results.averages import ScoresByGroup
    from calipers.texts.evaluation import Evaluation as TextEvaluation

SEED = 42
MANY_SYSTEMS = 30  # with more systems, ranges are computed for the first measure only
QUERY_TEXT, DOCUMENT_TEXT = 300, 160  # number of characters of a text that the page shows


class ReportOptions(Record):
    """The choices for a report."""

    title: str = ""
    test: TestName = "t"
    correction: Correction = "holm"
    alpha: float = 0.05
    samples: Any = None
    seed: int = SEED
    population: str = DEFAULT_POPULATION
    top: int = 10  # number of documents of each ranking that the page shows
    baseline: str | None = None  # the system that all others are compared with; of two systems, the old one
    sections: tuple[str, ...] = ()  # names of the wanted sections; empty for all that apply
    query_groups: Any = None  # {query: group}, or a file of queries and groups


@dataclass(frozen=True)
class Texts:
    """Texts to show with ids: files that `cal.read_titles` reads, or {id: text}."""

    query_texts: str | Path | Mapping[str, str] | None = None
    document_texts: str | Path | Mapping[str, str] | None = None

    def check(self) -> None:
        """Refuse files that do not exist, before any work is done."""
        for source in (self.query_texts, self.document_texts):
            if isinstance(source, str | Path) and not Path(source).exists():
                raise CalipersError("there is no such file", file=str(source))

    def of_queries(self, ids: Collection[str]) -> dict[str, str]:
        """Return the beginnings of the texts of these queries, by id."""
        return _shown_texts(self.query_texts, ids, QUERY_TEXT)

    def of_documents(self, ids: Collection[str]) -> dict[str, str]:
        """Return the beginnings of the texts of these documents, by id."""
        return _shown_texts(self.document_texts, ids, DOCUMENT_TEXT)


def _shown_texts(source: str | Path | Mapping[str, str] | None, ids: Collection[str], most: int) -> dict[str, str]:
    if source is None:
        return {}
    if isinstance(source, Mapping):
        wanted = frozenset(ids)
        found = {each: str(text) for each, text in source.items() if each in wanted}
    else:
        found = read_titles(source, ids=ids)
    return {each: textwrap.shorten(text, most, placeholder=" ...") for each, text in found.items()}


@dataclass(eq=False)
class Material:
    """An experiment and the choices for its report."""

    experiment: Experiment
    choices: ReportOptions = field(default_factory=ReportOptions)
    judges: Any = None  # other judgments of the same queries, by name
    texts: Texts = field(default_factory=Texts)
    command: str = ""  # to repeat the report
    without_bounds: dict[str, str] = field(default_factory=dict)  # reasons by measure
    without_ranges: dict[str, str] = field(default_factory=dict)  # reasons by measure

    def __post_init__(self) -> None:
        if given := self.choices.baseline:
            if self.written is None:
                self.choices = self.choices.changed(baseline=system_meant(given, self.whole_runs))
            else:
                place_of("baseline", given, self.written.systems)
        if np.isnan(self.scores.values).all():
            reason = Reason(int(np.bincount(self.scores.reasons.ravel()).argmax()))
            raise CheckFailed(
                f"every score is undefined ({reason}), so there is nothing to report. Such queries count as 0 if "
                "`empty` and `missing` are 0."
            )

    # -- what was scored ---------------------------------------------------------------------------

    @property
    def written(self) -> TextEvaluation | None:
        """The texts under their measures; None for rankings."""
        return cast("TextEvaluation | None", self.experiment.texts)

    @cached_property
    def scores(self) -> Scores:
        """Scores under the measures that the user named."""
        return with_incomplete_runs(without_ambiguous_names(self.experiment.scores))

    @property
    def unit(self) -> str:
        """Singular noun for what systems are scored on, such as "query"."""
        return self.scores.unit

    @property
    def units(self) -> str:
        """Its plural."""
        return plural_of(self.unit)

    @property
    def name(self) -> str:
        """Name of the file of judgments or texts."""
        return self.judgments.name if self.written is None else self.written.collection.name

    @property
    def sizes(self) -> list[str]:
        """Sizes of the data in words, such as "50 queries"."""
        judged = [counted(len(self.judgments), "judgment")] if self.written is None else []
        return [counted(len(self.scores.queries), self.unit), *judged]

    @property
    def warnings(self) -> list[str]:
        """Warnings to show before the verdict."""
        coverage, queries = self.scores.coverage, self.scores.queries
        if coverage is None or self.written is not None:
            return []
        lacking = notes_on_lacking(seen_in(coverage, self.experiment.runs, queries=queries), len(queries))
        return [
            *(lacking if coverage.lacks_most.any() else ()),
            *notes_on_grades(self.judgments, self.rel, self.experiment.measures.values()),
        ]

    @cached_property
    def provenance(self) -> Provenance:
        """The command, the versions and the files."""
        if self.written is None:
            files = [("judgments", self.name)]
            files += [("judge", each.name) for each in (self.judges or {}).values()]
            files += [("run", str(getattr(run, "path", None) or run.name)) for run in self.whole_runs]
        else:
            known = self.written.judgments
            files = [("texts", name) for name in self.written.collection.sources or (self.name,)]
            files += [] if known is None else [("judgments", as_judgments(known).name)]
        return Provenance.of(files, self.command)

    @property
    def measure(self) -> str:
        """The first measure. Sections that can show only one measure show this one."""
        return self.scores.measures[0]

    @property
    def title(self) -> str:
        """Title of the page: the user's, or names of the systems and the file."""
        if self.choices.title:
            return self.choices.title
        systems = self.scores.systems
        *others, last = systems
        who = f"{', '.join(others)} and {last}" if 1 < len(systems) < 4 else last
        return f"{who if len(systems) < 4 else counted(len(systems), 'system')} on {Path(self.name).name}"

    @property
    def subtitle(self) -> str:
        """Sizes and measures, as far as the title does not name them."""
        counts = self.sizes
        if self.choices.title:
            counts.insert(0, counted(len(self.scores.systems), "system"))
        return " · ".join([*counts, ", ".join(self.scores.measures)])

    @cached_property
    def order(self) -> list[int]:
        """Places of the systems, the best under the first measure first. Systems without a mean are last."""
        return self.order_by(self.measure)

    def order_by(self, measure: str) -> list[int]:
        """Return the places of the systems, the best under a measure first. Systems without a mean are last."""
        sign = -1.0 if measure in self.scores.lower else 1.0
        mean = [sign * float(value or 0.0) for value in self.scores.mean()[measure]]
        return sorted(range(len(mean)), key=lambda s: (mean[s] != mean[s], -mean[s]))

    @cached_property
    def old_and_new(self) -> tuple[int, int]:
        """Places of the old and the new one of two systems. The baseline is old; without a baseline, the first is."""
        old = place_of("baseline", self.choices.baseline, self.scores.systems) if self.choices.baseline else 0
        return old, 1 - old

    @cached_property
    def comparison(self) -> Comparison:
        """Tests of all pairs of systems."""
        from calipers.questions.compare.comparison import compare

        c = self.choices
        return compare(
            self.scores,
            baseline=c.baseline or None,
            test=c.test,
            correction=c.correction,
            alpha=c.alpha,
            samples=c.samples,
            seed=c.seed,
            query_groups=c.query_groups,
            warn=False,
        )

    @cached_property
    def groups(self) -> ScoresByGroup:
        """Scores by groups of queries."""
        return self.scores.by(self.choices.query_groups)

    @cached_property
    def power(self) -> DiscriminativePower:
        """Share of the pairs of systems that each measure tells apart."""
        from calipers.questions.metaeval.power import discriminative_power

        c = self.choices
        return discriminative_power(self.scores, c.test, c.alpha, samples=c.samples, seed=c.seed)

    @cached_property
    def plan(self) -> SampleSizePlan:
        """The differences that these queries can detect."""
        return self.experiment.plan(alpha=self.choices.alpha)

    # -- of rankings -------------------------------------------------------------------------------

    @property
    def judgments(self) -> Judgments:
        """The judgments of the experiment."""
        return self.experiment.judgments

    @property
    def rel(self) -> float:
        """The smallest relevant grade where the name of a measure says nothing else."""
        return self.experiment.options.like.rel

    @cached_property
    def plain_of(self) -> dict[str, str]:
        """Name of the measure that each measure normalises; a measure that normalises no other stands for itself."""
        return {
            name: repr(base) if (base := _normalised(measure)) else name
            for name, measure in self.experiment.measures.items()
        }

    @cached_property
    def plain_experiment(self) -> Experiment:
        """The experiment with normalised measures such as V2(AP) replaced by the measures that they normalise."""
        names = [*dict.fromkeys(self.plain_of.values())]
        if names == [*self.experiment.measures]:
            return self.experiment
        return self.experiment.with_(measures=names, progress=None, warn=False)

    @cached_property
    def plain(self) -> Scores:
        """Scores under the measures of `plain_experiment`."""
        return with_incomplete_runs(without_ambiguous_names(self.plain_experiment.scores))

    @cached_property
    def whole_runs(self) -> list[Run]:
        """The runs with all their documents, also unjudged ones."""
        return [unwrapped(run) for run in self.experiment.runs]

    @cached_property
    def query_texts(self) -> dict[str, str]:
        """Texts of the queries by id."""
        return self.texts.of_queries(self.scores.queries)

    @cached_property
    def bounds(self) -> Bounds:
        """Bounds of all measures that have bounds. `without_bounds` has the reasons for the others."""
        from calipers.questions.bounds import bounds_of

        asked, population = self.plain_experiment, self.choices.population
        try:
            return asked.bounds(population=population)  # for all measures at once, because they share work
        except CalipersError:
            found = []
        for name in asked.measures:
            try:
                found.append(bounds_of(asked.of_measures([name]), population=population))
            except CalipersError as error:
                self.without_bounds[name] = error.message
        if not found:
            raise CalipersError(f"no measure has bounds: {next(iter(self.without_bounds.values()))}")
        merged: dict[str, Any] = {
            part: {name: value for each in found for name, value in getattr(each, part).items()}
            for part in ("ideal", "expected", "worst", "sd", "error", "sd_error", "exactness")
        }
        return replace(found[0], measures=tuple(each.measures[0] for each in found), **merged)

    def types(self, measure: str) -> QueryTypes:
        """Return the types of the queries under one measure."""
        from calipers.questions.queries import query_types

        return query_types(self.plain.of_measures([measure]), self.bounds)

    @cached_property
    def change(self) -> Difference:
        """Changes from the old to the new one of two systems."""
        old, new = (self.experiment.systems[place] for place in self.old_and_new)
        return self.experiment.diff(old, new, top=self.choices.top)

    @cached_property
    def properties(self) -> dict[str, Properties | str]:
        """Properties of each measure, or the reason why they are unknown."""
        from calipers.questions.properties.verdicts import properties

        found: dict[str, Properties | str] = {}
        for name, measure in self.experiment.measures.items():
            try:
                found[name] = properties(measure)
            except CalipersError as error:
                found[name] = error.message
        return found

    @cached_property
    def ranges(self) -> Ranges:
        """Ranges of all measures that have ranges. `without_ranges` has the reasons for the others."""
        from calipers.questions.ranges.score_ranges import ranges, ranges_where_known

        asked = self.plain_experiment.changed(progress=None, warn=False)
        first, *others = asked.measures.values()
        found = None
        if others and len(self.scores.systems) > MANY_SYSTEMS:
            with suppress(CalipersError):  # the first measure has no ranges, so all are tried below
                found = ranges(asked.of_measures(first))
                reason = f"with more than {MANY_SYSTEMS} systems, the report has ranges of the first measure only"
                self.without_ranges |= dict.fromkeys([*asked.measures][1:], reason)
        if found is None:
            found, refused = ranges_where_known(asked)
            self.without_ranges |= refused
        with suppress(CalipersError):  # verdict and section need the pairs of the first measure; they are kept
            found.pair_ranges()
        return found

    @cached_property
    def ranged(self) -> tuple[str, ...]:
        """Measures for which the page has ranges of pairs: all, or only the first if there are many systems."""
        measures = [m for m, plain in self.plain_of.items() if plain in self.ranges.measures and m == plain]
        return tuple(measures if len(self.scores.systems) <= MANY_SYSTEMS else measures[:1])

    @cached_property
    def audit(self) -> Audit:
        """Scores under the conventions of other tools."""
        from calipers.evaluation.options import ScoringOptions
        from calipers.questions.audit.tool_audit import audit

        given = self.plain_experiment.of_measures([self.plain.measures[0]])
        if given.costs is not None:
            raise CalipersError(
                "the conventions of tools are compared without costs of documents. Name a measure first that reads none"
            )
        options = ScoringOptions(like=given.options.like, relevant=given.options.relevant, depth=given.options.depth)
        return audit(given.changed(options=options, unmatched="warn", warn=False), alpha=self.choices.alpha)

    @cached_property
    def difference(self) -> InformationDifference:
        """Information differences between all pairs of systems."""
        from calipers.questions.information.information_difference import difference

        return difference(self.experiment.changed(progress=None, warn=False), rel=self.rel)

    @cached_property
    def study(self) -> JudgeStudy:
        """Comparison of the other judges with the judgments."""
        from calipers.questions.judges.judge_study import judges

        c = self.choices
        asked = self.experiment.changed(progress=None, warn=False)
        return judges(
            asked, self.judges, test=c.test, correction=c.correction, alpha=c.alpha, samples=c.samples, seed=c.seed
        )


def _normalised(measure: Measure) -> Measure | None:
    """Return the measure that a normalised measure such as V2(AP) is made of, or None."""
    of = measure.parameters.get("of")
    return of if isinstance(of, Measure) and measure.form.traits.is_normalised else None
