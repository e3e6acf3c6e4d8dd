"""The same lists under any convention: read once, scored as often as is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.auditing.terms import order_reach
from calipers.collection.judgments import Judgments
from calipers.collection.mismatch import no_query_in_common
from calipers.collection.run_names import distinct_names
from calipers.collection.runs import Run
from calipers.conventions import PLAIN, Convention
from calipers.conventions.profile import Policy
from calipers.evaluation.inputs import in_batches
from calipers.evaluation.options import ScoringOptions
from calipers.evaluation.scoring import score_lists
from calipers.lists import Floats, Lists, Pool
from calipers.measures.grammar import parse_all
from calipers.measures.registry import Measure
from calipers.native.columns import Precision, Retrieved
from calipers.results.scores import Scores

Read = tuple[bool, float | None]  # whether grades lose their fraction, and what lower ones are raised to
_OTHER: dict[Precision, Precision] = {"double": "single", "single": "double"}
Setting = tuple[str, str, Precision, bool, Read, Policy, Policy]  # all that a score depends on


@dataclass(eq=False)
class Rescorer:
    """Judgments, and what some systems retrieved."""

    judgments: Judgments
    runs: Sequence[Run]
    depth: int | None = None
    jobs: int | None = None
    progress: Callable[[int], None] | None = None
    _read: dict[tuple[Precision, bool], list[Retrieved]] = field(default_factory=dict)
    _lists: dict[tuple[Precision, bool, Read, str, int | None], Lists] = field(default_factory=dict)
    _scored: dict[Setting, Scores] = field(default_factory=dict)
    _means: dict[Setting, Floats] = field(default_factory=dict)
    _tied: dict[tuple[Precision, bool], NDArray[np.bool_]] = field(default_factory=dict)
    _measures: dict[tuple[str, Convention], Measure] = field(default_factory=dict)
    _known: dict[Read, Judgments] = field(default_factory=dict)

    def __post_init__(self) -> None:
        first = self.retrieved(PLAIN)
        if all(not len(run.query) for run in first):
            raise no_query_in_common(self.judgments, (run.unjudged for run in first))

    @cached_property
    def systems(self) -> tuple[str, ...]:
        return tuple(name for name, _ in distinct_names(self.runs))

    @property
    def queries(self) -> tuple[str, ...]:
        return self.judgments.queries

    def retrieved(self, convention: Convention) -> list[Retrieved]:
        """What each system retrieved, as the convention reads it: its scores in single precision or as they are."""
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
        """The lists, in the order that the convention gives to ties; reach: of ties that start so far up only."""
        key = (convention.precision, convention.drops_query, self._read_as(convention), convention.ties, reach)
        if key not in self._lists:
            plain = replace(convention, ties="average")
            if convention.ties != "average":
                self._lists[key] = self.lists(plain, reach).under(convention.ties)
            elif reach is not None:
                whole = self.lists(plain)
                self._lists[key] = whole.top(reach).sorted_with(whole)
            else:
                found = Lists.of(self.known(convention).pool, self.retrieved(convention))
                twin = self._lists.get((_OTHER[convention.precision], *key[1:]))
                # A depth may cut ties of single precision elsewhere.
                self._lists[key] = found if twin is None or self.depth else found.sorted_with(twin)
        return self._lists[key]

    def _read_as(self, convention: Convention) -> Read:
        """What a convention does to these grades: nothing where they are whole, and none is too low for it."""
        grade, lowest = self.judgments.pool.grade, convention.labels.lowest
        whole = convention.whole_grades and bool((grade != np.trunc(grade)).any())
        return whole, lowest if lowest is not None and bool((grade < lowest).any()) else None

    def known(self, convention: Convention) -> Judgments:
        """The judgments as the convention reads them: grades that are too low for it are the lowest that it has."""
        key = _, lowest = self._read_as(convention)
        if key not in self._known:
            known = convention.judgments(self.judgments)
            if lowest is not None:
                known = replace(known, pool=Pool(known.pool.offsets, np.maximum(known.pool.grade, lowest)))
            self._known[key] = known
        return self._known[key]

    def raised(self, convention: Convention) -> int:
        """How many grades are too low for a convention, and count as the lowest that it has."""
        lowest = self._read_as(convention)[1]
        return 0 if lowest is None else int((self.judgments.pool.grade < lowest).sum())

    def tied(self, *conventions: Convention) -> NDArray[np.bool_]:
        """[system, query]: whether documents share a score, in the precision of one of the conventions."""
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
        """[system, query]: documents retrieved."""
        length = np.zeros((len(self.runs), len(self.queries)), np.int64)
        for row, run in enumerate(self.retrieved(PLAIN)):
            length[row, run.query] = run.length
        return length

    def measure(self, name: str, convention: Convention) -> Measure:
        """What a name means under a convention."""
        if (name, convention) not in self._measures:
            [(_, measure)] = parse_all([name], convention.defaults)
            self._measures[name, convention] = measure.bind(self.known(convention).pool)
        return self._measures[name, convention]

    def setting(self, name: str, convention: Convention) -> Setting:
        """All that the scores under a convention depend on."""
        return (
            repr(self.measure(name, convention)),
            convention.ties,
            convention.precision,
            convention.drops_query,
            self._read_as(convention),
            convention.empty,
            convention.missing,
        )

    def scores(self, name: str, convention: Convention) -> Scores:
        """The scores of all systems under one measure, as the convention has it."""
        key = self.setting(name, convention)
        if key not in self._scored:
            self._scored[key] = self._score(name, convention)
        return self._scored[key]

    def means(self, name: str, convention: Convention) -> Floats:
        """What stands for all queries, of each system."""
        key = self.setting(name, convention)
        if key not in self._means:
            self._means[key] = np.array(self.scores(name, convention).mean()[name], np.float64)
        return self._means[key]

    def _score(self, name: str, convention: Convention) -> Scores:
        measure = self.measure(name, convention)
        shape = (len(self.runs), len(self.queries))
        lists = self.lists(convention, order_reach(measure.form))  # with ties broken
        found = score_lists(lists, [measure], ScoringOptions(like=convention, ties="average"))
        values, reasons = found.values.reshape(1, *shape), found.reasons.reshape(1, *shape)
        return Scores((name,), self.systems, self.queries, values, reasons, (measure,))
