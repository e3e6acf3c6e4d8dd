"""What a report is made of: each result is worked out when a section first asks for it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.run_names import system_meant
from calipers.collection.runs import RememberedRun, Run
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.collection.texts import read_texts
from calipers.errors import CalipersError, CheckFailed, place_of
from calipers.evaluation.evaluation import Policies, evaluate
from calipers.evaluation.inputs import as_judgments, as_runs, facts_as_keywords, kind_read
from calipers.judging.panel import named_judgments
from calipers.measures.grammar import DEFAULT_MEASURES, parse_all
from calipers.measures.populations import DEFAULT_POPULATION
from calipers.measures.registry import Measure
from calipers.plurals import counted
from calipers.record import Record
from calipers.report.provenance import Provenance
from calipers.results.scores import Reason, Scores

if TYPE_CHECKING:
    from calipers.auditing.audit import Audit
    from calipers.axioms.verdicts import Properties
    from calipers.changes.difference import Difference
    from calipers.information.difference import InformationDifference
    from calipers.judging.judge_study import JudgeStudy
    from calipers.limits.pool_bounds import Bounds
    from calipers.limits.query_types import QueryTypes
    from calipers.metaevaluation.power import DiscriminativePower
    from calipers.planning.sample_size import SampleSizePlan
    from calipers.stats.comparison import Comparison
    from calipers.unjudged.score_ranges import Ranges

SEED = 42
MANY = 30  # systems, above which ranges are those of the first measure
QUERY_TEXT, DOCUMENT_TEXT = 300, 160  # characters of a text that are shown


class ReportOptions(Record):
    """What a report leaves to its user."""

    title: str = ""
    test: str = "t"
    correction: str = "holm"
    alpha: float = 0.05
    samples: Any = None
    seed: int = SEED
    population: str = DEFAULT_POPULATION
    top: int = 10  # documents of each ranking that are shown
    baseline: str = ""  # the system that the others are compared with; of two systems the old one
    sections: tuple[str, ...] = ()  # the only ones that are wanted, by their names; all where there are none


@dataclass(frozen=True)
class Texts:
    """Texts to show beside ids: files as `cal.read_texts` reads them, or {id: text}."""

    query_texts: str | Path | Mapping[str, str] | None = None
    document_texts: str | Path | Mapping[str, str] | None = None

    def of_queries(self, ids: Collection[str]) -> dict[str, str]:
        return _shown_texts(self.query_texts, ids, QUERY_TEXT)

    def of_documents(self, ids: Collection[str]) -> dict[str, str]:
        return _shown_texts(self.document_texts, ids, DOCUMENT_TEXT)


def _shown_texts(source: str | Path | Mapping[str, str] | None, ids: Collection[str], most: int) -> dict[str, str]:
    """The beginnings of the texts that are wanted."""
    if source is None:
        return {}
    if isinstance(source, Mapping):
        wanted = frozenset(ids)
        found = {each: str(text) for each, text in source.items() if each in wanted}
    else:
        found = read_texts(source, ids=ids)
    return {each: textwrap.shorten(text, most, placeholder=" ...") for each, text in found.items()}


class ScoredMaterial:
    """What reports on rankings and on texts share: systems, their scores, and who really differs."""

    unit: str  # what systems are scored on
    scores: Scores  # under the measures that were asked for
    choices: ReportOptions

    @property
    def name(self) -> str:
        """The file of what systems are scored on."""
        raise NotImplementedError

    @property
    def sizes(self) -> list[str]:
        """How much there is of it, in words."""
        return [counted(len(self.scores.queries), self.unit)]

    @property
    def measure(self) -> str:
        """The measure that speaks for the others: the first."""
        return self.scores.measures[0]

    @property
    def title(self) -> str:
        if self.choices.title:
            return self.choices.title
        systems = self.scores.systems
        *others, last = systems
        who = f"{', '.join(others)} and {last}" if 1 < len(systems) < 4 else last
        return f"{who if len(systems) < 4 else counted(len(systems), 'system')} on {Path(self.name).name}"

    @property
    def subtitle(self) -> str:
        """What the title does not say."""
        counts = self.sizes
        if self.choices.title:
            counts.insert(0, counted(len(self.scores.systems), "system"))
        return " · ".join([*counts, ", ".join(self.scores.measures)])

    @cached_property
    def order(self) -> list[int]:
        """The systems by the first measure, best first; those without a mean last."""
        return best_first(self.scores)

    @cached_property
    def comparison(self) -> Comparison:
        from calipers.stats.comparison import compare

        c = self.choices
        baseline = c.baseline or None
        return compare(
            self.scores,
            c.test,
            c.correction,
            alpha=c.alpha,
            samples=c.samples,
            seed=c.seed,
            baseline=baseline,
            warn=False,
        )

    @cached_property
    def power(self) -> DiscriminativePower:
        from calipers.metaevaluation.power import discriminative_power

        c = self.choices
        return discriminative_power(self.scores, c.test, c.alpha, samples=c.samples, seed=c.seed)


@dataclass(eq=False)
class Material(ScoredMaterial):
    """Judgments, runs and scores, and all that follows from them."""

    judgments: Judgments
    runs: Sequence[Run]  # each file of which is read once
    whole: Sequence[Run]  # the same, to be read with all their documents
    scores: Scores  # under the measures that were asked for
    plain: Scores  # under these, or under what they normalise
    plain_of: Mapping[str, str]  # of each measure that was asked for: its name among the plain ones
    choices: ReportOptions
    policies: Mapping[str, Any]
    provenance: Provenance
    unbounded: dict[str, str] = field(default_factory=dict)  # measures without bounds, and why
    judges: Any = None  # other judgments of the same queries, by name
    texts: Texts = field(default_factory=Texts)
    unranged: dict[str, str] = field(default_factory=dict)  # measures without ranges, and why

    unit: str = "query"  # what systems are scored on

    def sections(self) -> dict[str, Any]:
        """The sections of the page, by key: their titles, and what makes them."""
        from calipers.report.sections import sections_of

        return sections_of(self)

    def verdict(self) -> list[str]:
        """The paragraph for a reader who reads nothing else."""
        from calipers.report.verdict import verdict

        return verdict(self)

    @property
    def name(self) -> str:
        return self.judgments.name

    @property
    def sizes(self) -> list[str]:
        return [*super().sizes, counted(len(self.judgments), "judgment")]

    @cached_property
    def old_and_new(self) -> tuple[int, int]:
        """Of two systems: the baseline, or the first, and the other."""
        old = place_of("baseline", self.choices.baseline, self.scores.systems) if self.choices.baseline else 0
        return old, 1 - old

    @cached_property
    def query_texts(self) -> dict[str, str]:
        return self.texts.of_queries(self.scores.queries)

    def _facts(self, measures: Sequence[str]) -> dict[str, Any]:
        """Return the costs and groups of documents, as keywords, that one of these measures reads."""
        definitions = (self.plain.definitions[self.plain.measures.index(name)] for name in measures)
        return facts_as_keywords(self.policies, definitions)

    @cached_property
    def bounds(self) -> Bounds:
        """Of the measures that have them; of the others `unbounded` says why not."""
        from calipers.limits.pool_bounds import bounds

        def of(measures: Sequence[str]) -> Bounds:
            return bounds(
                self.judgments, measures, population=self.choices.population, runs=self.runs,
                like=self.policies.get("like"), depth=self.policies.get("depth"),
                condensed=bool(self.policies.get("condensed")), **self._facts(measures),
            )  # fmt: skip

        try:
            return of(self.plain.measures)  # all at once: they share what is sorted and shuffled
        except CalipersError:
            found = []
        for name in self.plain.measures:
            try:
                found.append(of([name]))
            except CalipersError as error:
                self.unbounded[name] = error.message
        if not found:
            raise CalipersError(f"no measure has bounds: {next(iter(self.unbounded.values()))}")
        merged: dict[str, Any] = {
            part: {name: value for each in found for name, value in getattr(each, part).items()}
            for part in ("ideal", "expected", "worst", "sd", "error", "sd_error", "exactness")
        }
        return replace(found[0], measures=tuple(each.measures[0] for each in found), **merged)

    def types(self, measure: str) -> QueryTypes:
        from calipers.limits.query_types import query_types

        return query_types(self.plain.of_measures([measure]), self.bounds)

    @cached_property
    def change(self) -> Difference:
        """Of two systems: what changed from the old one to the new one."""
        from calipers.changes.difference import difference

        old, new = ([self.whole[place]] for place in self.old_and_new)
        return difference(
            self.judgments, old, new, self.scores.measures, top=self.choices.top, warn=False, **self.policies
        )

    @cached_property
    def plan(self) -> SampleSizePlan:
        """What these queries can show."""
        from calipers.planning.sample_size import plan

        return plan(self.scores, alpha=self.choices.alpha)

    @cached_property
    def properties(self) -> dict[str, Properties | str]:
        """Of each measure, or why nothing is known of it."""
        from calipers.axioms.verdicts import properties

        found: dict[str, Properties | str] = {}
        for name, measure in zip(self.scores.measures, self.scores.definitions, strict=True):
            try:
                found[name] = properties(measure)
            except CalipersError as error:
                found[name] = error.message
        return found

    @cached_property
    def ranges(self) -> Ranges:
        """What the unjudged documents could change, of the measures that have ranges; `unranged` says why others lack
        them.
        """
        from calipers.unjudged.score_ranges import ranges

        if self.policies.get("condensed"):
            raise CalipersError(
                "lists are condensed: once judged, a document would come back into them, for which no ranges are known"
            )
        taken: dict[str, Any] = {what: self.policies.get(what) for what in ("like", "ties", "depth", "empty", "jobs")}
        first, *others = self.plain.measures
        found = None
        if others and len(self.scores.systems) > MANY:
            with suppress(CalipersError):  # the first has none: then all are tried
                found = ranges(self.judgments, self.whole, first, warn=False, **self._facts([first]), **taken)
                self.unranged |= dict.fromkeys(
                    others, f"of more than {MANY} systems only the first measure has them here"
                )
        if found is None:
            taken |= self._facts(self.plain.measures)
            found = ranges(self.judgments, self.whole, self.plain.measures, refused=self.unranged, warn=False, **taken)
        with suppress(CalipersError):  # the pairs of the first measure are wanted in any case, and kept
            found.pair_ranges()
        return found

    @cached_property
    def audit(self) -> Audit:
        from calipers.auditing.audit import audit

        if any(self._facts(self.plain.measures[:1]).values()):
            raise CalipersError(
                "tools' conventions are compared without costs and groups: name a measure first that reads none"
            )
        return audit(
            self.judgments, self.runs, self.plain.measures[0], reference=self.policies.get("like") or "calipers",
            depth=self.policies.get("depth"), alpha=self.choices.alpha, jobs=self.policies.get("jobs"),
        )  # fmt: skip

    @cached_property
    def difference(self) -> InformationDifference:
        from calipers.information.difference import information_difference

        return information_difference(
            self.judgments, self.runs, ties=self.scores.metadata["ties"],
            depth=self.policies.get("depth"), jobs=self.policies.get("jobs"), warn=False,
        )  # fmt: skip

    @cached_property
    def study(self) -> JudgeStudy:
        """The other judges beside the judgments."""
        from calipers.judging.judge_study import judges

        c = self.choices
        return judges(
            self.judgments, self.judges, self.runs, self.scores.measures,
            test=c.test, correction=c.correction, alpha=c.alpha, samples=c.samples, seed=c.seed, warn=False,
            **self.policies,
        )  # fmt: skip


def best_first(scores: Scores) -> list[int]:
    """The systems by their means under the first measure; those without a mean last."""
    mean = [scores.signs[0] * float(row[1] or 0.0) for row in scores.mean().rows]
    return sorted(range(len(mean)), key=lambda s: (mean[s] != mean[s], -mean[s]))


def gather(
    judgments: JudgmentsLike,
    runs: RunsLike,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    choices: ReportOptions | None = None,
    *,
    judges: Any = None,
    texts: Texts | None = None,
    command: str = "",
    progress: Callable[[int], None] | None = None,
    **policies: Unpack[Policies],
) -> Material:
    """Read and score some runs; the rest follows when it is asked for. Policies are those of `evaluate`."""
    asked = parse_all(measures)
    plain_of = {name: repr(base) if (base := _normalised(measure)) else name for name, measure in asked}
    every = list(dict.fromkeys([*plain_of, *plain_of.values()]))
    known = as_judgments(judgments, kind_read(measure for _, measure in asked))
    read = as_runs(runs)
    if choices and choices.baseline:
        choices = choices.changed(baseline=system_meant(choices.baseline, read))
    others = None if judges is None else named_judgments(judges)
    systems: list[Run] = [RememberedRun(run) for run in read]
    scores = evaluate(known, systems, every, progress=progress, warn=False, **policies).settled()
    if np.isnan(scores.values).all():
        reason = Reason(int(np.bincount(scores.reasons.ravel()).argmax()))
        raise CheckFailed(
            f"every score is undefined ({reason}): there is nothing to report; --empty 0 and --missing 0 count such "
            "queries as 0"
        )
    return Material(
        judgments=known,
        runs=systems,
        whole=read,
        scores=scores.of_measures(list(plain_of)),
        plain=scores.of_measures(list(dict.fromkeys(plain_of.values()))),
        plain_of=plain_of,
        choices=choices or ReportOptions(),
        policies=policies,
        provenance=Provenance.of(known, judgments, systems, command, others),
        judges=others,
        texts=texts or Texts(),
    )


def _normalised(measure: Measure) -> Measure | None:
    """What a measure normalises, or None where it is a plain one."""
    of = measure.parameters.get("of")
    return of if isinstance(of, Measure) and measure.form.traits.is_normalised else None
