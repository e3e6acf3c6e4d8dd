"""Scores of the same lists under several conventions. The runs are read once per way of reading them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.judgments import Judgments
from calipers.collection.mismatch import MatchedQueries, no_query_in_common, uncut, unmatched_notes
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import Run
from calipers.conventions import PLAIN, Convention, convention
from calipers.conventions.profile import Policy
from calipers.errors import CalipersError
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import in_batches, notes_on_reading
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import score_lists
from calipers.lists import Floats, Lists, Pool
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure
from calipers.native.columns import Precision, Retrieved
from calipers.questions.audit.terms import order_reach
from calipers.results.scores import Scores
from calipers.support import checks

GradeReading = tuple[bool, float | None]  # fractions are cut off; lower grades are raised to this grade
Setting = tuple[str, str, Precision, bool, GradeReading, Policy, Policy]  # everything that a score depends on
_OTHER: dict[Precision, Precision] = {"double": "single", "single": "double"}


@dataclass(eq=False)
class Rescorer:
    """Judgments and runs that are scored under several conventions. Everything that was computed is kept."""

    judgments: Judgments
    runs: Sequence[Run]
    measures: Mapping[str, Measure] = field(default_factory=dict)  # objects that no name stands for
    depth: int | None = None
    degenerate: checks.Policy | None = None
    relevant: float | None = None  # the smallest relevant grade for all conventions; None: that of each convention
    jobs: int | None = None
    progress: Callable[[int], None] | None = None
    _read: dict[tuple[Precision, bool], list[Retrieved]] = field(default_factory=dict)
    _lists: dict[tuple[Precision, bool, GradeReading, str, int | None], Lists] = field(default_factory=dict)
    _scored: dict[Setting, Scores] = field(default_factory=dict)
    _means: dict[Setting, Floats] = field(default_factory=dict)
    _tied: dict[tuple[Precision, bool], NDArray[np.bool_]] = field(default_factory=dict)
    _measures: dict[tuple[str, Convention], Measure] = field(default_factory=dict)
    _known: dict[GradeReading, Judgments] = field(default_factory=dict)

    @staticmethod
    def of(evaluation: Evaluation) -> Rescorer:
        """Return the rescorer of a request. Its conventions replace the scoring options, except `depth`."""
        if not evaluation.runs:
            raise CalipersError("there is no run to audit")
        if evaluation.options.condensed:
            raise CalipersError("conventions of other tools cannot be compared on condensed lists")
        costly = any(measure.form.traits.reads_costs for measure in evaluation.measures.values())
        if costly and evaluation.costs is not None:
            raise CalipersError("conventions of other tools cannot be compared with costs of documents")
        return Rescorer(
            evaluation.judgments,
            evaluation.runs,
            evaluation.measures,
            evaluation.options.depth,
            evaluation.options.degenerate,
            evaluation.options.relevant,
            evaluation.jobs,
            evaluation.progress,
        )

    def __post_init__(self) -> None:
        first = self.retrieved(PLAIN)
        if all(not len(run.query) for run in first):
            raise no_query_in_common(self.judgments, (run.unjudged for run in first))

    def convention(self, like: str | Convention | None) -> Convention:
        """Return a convention with the smallest relevant grade of the request."""
        return convention(like).with_relevant(self.relevant)

    def notes(self, evaluation: Evaluation) -> list[str]:
        """Return notes about how files were read, and about runs that have hardly any judged document.

        Such runs are refused unless the evaluation's `unmatched` is `warn`.
        """
        named = dict(zip(self.systems, self.runs, strict=True))
        matched = [MatchedQueries.of(self.judgments, run) for run in self.retrieved(PLAIN)]
        seen = uncut(self.judgments, self.runs, matched) if self.depth else matched
        return [
            *notes_on_reading(self.judgments, self.runs),
            *unmatched_notes(self.judgments, named, seen, evaluation.unmatched),
        ]

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """Names of the runs."""
        return tuple(name for name, _ in distinct_names(self.runs))

    @property
    def queries(self) -> tuple[str, ...]:
        """Ids of the judged queries."""
        return self.judgments.queries

    def retrieved(self, convention: Convention) -> list[Retrieved]:
        """Return the judged documents in each run, as the convention reads the run."""
        key = convention.precision, convention.drops_query
        if key not in self._read:
            found: list[Retrieved] = []
            runs = convention.runs(self.runs)
            for batch in in_batches(runs, self.judgments, self.depth or 0, convention.precision, self.jobs):
                found.extend(batch)
                if self.progress:
                    self.progress(len(batch))
            self._read[key] = found
        return self._read[key]

    def lists(self, convention: Convention, reach: int | None = None) -> Lists:
        """Return the lists, with ties in the order of the convention.

        reach: only ties that start at this rank or above are put in order.
        """
        key = (convention.precision, convention.drops_query, self._grade_reading(convention), convention.ties, reach)
        if key not in self._lists:
            plain = replace(convention, ties="average")
            if convention.ties != "average":
                broken = self.lists(plain, reach).under(convention.ties)
                self._lists[key] = broken.sorted_with(self.lists(plain))  # the ideal of a list reads all of it
            elif reach is not None:
                whole = self.lists(plain)
                self._lists[key] = whole.top(reach).sorted_with(whole)
            else:
                found = Lists.of(self.known(convention).pool, self.retrieved(convention))
                twin = self._lists.get((_OTHER[convention.precision], *key[1:]))
                # A depth may cut ties of single precision elsewhere.
                self._lists[key] = found if twin is None or self.depth else found.sorted_with(twin)
        return self._lists[key]

    def _grade_reading(self, convention: Convention) -> GradeReading:
        """Return the changes that a convention makes to these grades. Conventions that change nothing agree."""
        grade, lowest = self.judgments.pool.grade, convention.labels.lowest
        whole = convention.whole_grades and bool((grade != np.trunc(grade)).any())
        return whole, lowest if lowest is not None and bool((grade < lowest).any()) else None

    def known(self, convention: Convention) -> Judgments:
        """Return the judgments as the convention reads them. Grades below its lowest become its lowest grade."""
        key = _, lowest = self._grade_reading(convention)
        if key not in self._known:
            known = convention.judgments(self.judgments)
            if lowest is not None:
                known = replace(known, pool=Pool(known.pool.offsets, np.maximum(known.pool.grade, lowest)))
            self._known[key] = known
        return self._known[key]

    def raised(self, convention: Convention) -> int:
        """Return the number of grades that are below the lowest grade of a convention."""
        lowest = self._grade_reading(convention)[1]
        return 0 if lowest is None else int((self.judgments.pool.grade < lowest).sum())

    def tied(self, *conventions: Convention) -> NDArray[np.bool_]:
        """Return True for lists with tied documents, in the precision of any of the conventions: [system, query]."""
        return np.asarray(np.any([self._tied_in(convention) for convention in conventions], axis=0))

    def _tied_in(self, convention: Convention) -> NDArray[np.bool_]:
        key = convention.precision, convention.drops_query
        if key not in self._tied:
            tied = self._tied[key] = np.zeros((len(self.runs), len(self.queries)), bool)
            for row, run in enumerate(self.retrieved(convention)):
                tied[row, run.query] = run.tied > 0
        return self._tied[key]

    @cached_property
    def length(self) -> NDArray[Any]:
        """Number of retrieved documents: [system, query]."""
        length = np.zeros((len(self.runs), len(self.queries)), np.int64)
        for row, run in enumerate(self.retrieved(PLAIN)):
            length[row, run.query] = run.length
        return length

    def measure(self, name: str, convention: Convention) -> Measure:
        """Return the measure that a name stands for under a convention. A measure given as an object stays as it is."""
        if (name, convention) not in self._measures:
            if name in self.measures and not _is_name(name):
                measure = self.measures[name]
            else:
                [(_, measure)] = parse_all([name], convention.defaults)
            self._measures[name, convention] = measure.bind(self.known(convention).pool)
        return self._measures[name, convention]

    def refusal(self, name: str, convention: Convention) -> str | None:
        """Return the reason why a tool has no figure for a measure on these data, or None if it has one."""
        try:
            measure = self.measure(name, convention)
            if not convention.offers(measure):
                return f"{convention.name} has no {measure!r}"
            if reason := convention.refusal(self.known(convention), [measure]):
                return reason
            self.scores(name, convention)
        except CalipersError as error:
            return error.message
        return None

    def setting(self, name: str, convention: Convention) -> Setting:
        """Return everything that the scores under a convention depend on."""
        return (
            repr(self.measure(name, convention)),
            convention.ties,
            convention.precision,
            convention.drops_query,
            self._grade_reading(convention),
            convention.empty,
            convention.missing,
        )

    def scores(self, name: str, convention: Convention) -> Scores:
        """Return the scores of all systems under one measure and a convention."""
        key = self.setting(name, convention)
        if key not in self._scored:
            self._scored[key] = self._score(name, convention)
        return self._scored[key]

    def means(self, name: str, convention: Convention) -> Floats:
        """Return the mean score of each system under one measure and a convention."""
        key = self.setting(name, convention)
        if key not in self._means:
            self._means[key] = np.array(self.scores(name, convention).mean()[name], np.float64)
        return self._means[key]

    def _score(self, name: str, convention: Convention) -> Scores:
        measure = self.measure(name, convention)
        shape = (len(self.runs), len(self.queries))
        lists = self.lists(convention, order_reach(measure.form))  # their ties are broken
        options = ScoringOptions(like=convention, ties="average", degenerate=self.degenerate)
        found = score_lists(lists, [measure], options)
        values, reasons = found.values.reshape(1, *shape), found.reasons.reshape(1, *shape)
        return Scores((name,), self.systems, self.queries, values, reasons, (measure,))


def _is_name(text: str) -> bool:
    """Return True if a text is the name of a measure."""
    try:
        parse_all([text])
    except CalipersError:
        return False
    return True
