"""The result of evaluating measures: power to tell systems apart, stable order, and agreement with people.

Numbers in the docstrings of tables refer to the tables of the paper.

Karmaker & Feng, Joint upper and lower bound normalization for IR evaluation, 2022 (tables 2 to 21).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.populations import DEFAULT_POPULATION
from calipers.questions.compare.comparison import Comparison, compare
from calipers.questions.metaeval.consistency import (
    DENOMINATORS,
    Stability,
    percentage_absolute_difference,
    split_half_swap_rate,
    stability,
    swap_rate,
)
from calipers.questions.metaeval.human_agreement import HumanCorrelation
from calipers.questions.metaeval.people import People
from calipers.questions.metaeval.power import (
    Conflicts,
    DiscriminativePower,
    Family,
    conflicts,
    confronted,
    place_in,
    power_of,
)
from calipers.results.messages import with_incomplete_runs
from calipers.results.result import Result, Tables
from calipers.results.scores import Scores, means
from calipers.results.tables import Cell, Table, four_digits
from calipers.statistics.correlation import correlation_name, rank_correlation
from calipers.statistics.significance import SEED, Samples
from calipers.support.checks import check_alpha, check_choice, check_seed
from calipers.support.choices import Correction, PadDenominator, RankCorrelation, TestName
from calipers.support.plurals import counted

OF_PEOPLE = {
    "agreement": "agreement with people",
    "tests": "which measure agrees better with people",
    "wide": "agreement with people, by what they judged",
    "preferences": "which measure prefers the texts that people prefer",
}
TABLES = {
    "scores": "mean scores of the systems",
    "tau": "rank correlation between the orderings of the systems",
    "conflicts": "tests that are significant under one of two measures only; opposite directions apart",
    "power": "discriminative power: significant tests over pairs of systems and cutoffs",
    "pad": "percentage absolute difference between systems (PAD)",
    "swaps": "swap rates between the orderings on two sets",
    "split-half": "swaps between random halves of the queries",
    "stability": "the ranking over bootstrap samples of the queries",
}


@dataclass(frozen=True)
class MetaEvaluationOptions:
    """The options of `metaeval`, apart from the sets of queries."""

    test: TestName = "t"
    correction: Correction | None = None
    alpha: float = 0.05
    samples: Samples | None = None
    seed: int = SEED
    correlation: RankCorrelation = "tau-b"
    pad: PadDenominator = "absolute"  # the denominator of PAD
    set_size: float = 0.25  # of the uninformative and ideal sets: a number or a share of the queries
    absolute: bool = False  # leave out the sign of the difference when choosing these sets
    population: str = DEFAULT_POPULATION  # documents that random rankings shuffle, when choosing these sets

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        check_seed(self.seed)
        correlation_name(self.correlation)
        check_choice("pad", self.pad, DENOMINATORS)


@dataclass(frozen=True, eq=False, repr=False)
class MetaEvaluation(Result):
    """An evaluation of measures on sets of queries.

    Measures that differ in the cutoff only are one family. A set may hold different queries for each family, because
    the base measure of the family decides which queries are in it.
    """

    views: dict[str, tuple[Scores, ...]]  # by set: the scores of each family, in the order of `families`
    families: tuple[Family, ...]
    method: MetaEvaluationOptions
    scores: Scores  # all scores, on all queries
    people: People | None = None  # what people said

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.scores.systems) < 2:
            names = ", ".join(self.scores.systems)
            raise CalipersError(f"there is only one system ({names}): measures are judged by how they order systems")
        if len(self.scores.queries) < 2:
            raise CalipersError("there are fewer than two queries: measures cannot be evaluated")

    @property
    def title(self) -> str:
        """The number of measures and systems, and the test."""
        measures, systems = counted(len(self.families), "measure"), counted(len(self.systems), "system")
        how = f"{self.method.test} test at alpha {self.method.alpha:g}, seed {self.method.seed}"
        return f"{measures}, {systems}; {how}"

    @property
    def summary(self) -> str:
        """The measure that tells most systems apart, and the measure that orders them most stably."""
        return " ".join(f"{sentence}." for sentence in self.conclusions()) or "There are too few queries for a test."

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the scores, the members of each family, and the size of each set."""
        queries = counted(len(self.scores.queries), "query")
        together = [
            f"{family.name}: {', '.join(self.scores.measures[m] for m in family.members)} together"
            for family in self.families
            if len(family.members) > 1
        ]
        sizes = [f"set {name}: {sizes} of {queries}" for name, sizes in self.set_sizes()]
        said = self.people.notes if self.people is not None else ()
        return (*self.scores.notes, *said, *together, *(sizes if len(self.sets) > 1 else ()))

    def tables(self) -> Tables:
        """Return the tables that these measures and sets allow.

        Agreement needs scores of people, and comparisons of measures two measures. Swap rates need two sets. Each set
        that has enough queries for a test has a curve of achieved significance levels.
        """
        makers = self._tables_of_people() | {"power": self._power_table, "scores": self._scores_table}
        if len(self.families) > 1:
            makers |= {"tau": self._tau_table, "conflicts": self._conflicts_table}
        makers["pad"] = self._pad_table
        if len(self.sets) > 1:
            makers["swaps"] = self._swaps_table
        makers |= {"split-half": self._split_half_table, "stability": self._stability_table}
        tested = [name for name in self.sets if self.compared[name] is not None]
        makers |= {f"curve-{name}": partial(self._curve, name) for name in tested}
        return Tables(makers)

    def _tables_of_people(self) -> dict[str, Callable[[], Table]]:
        makers: dict[str, Callable[[], Table]] = {}
        people = self.people
        if people is not None and people.scores:
            makers["agreement"] = self._agreement_table
            if len(self.scores.measures) > 1:
                makers["tests"] = lambda: people.tests(self.scores, self.queries())
            makers |= {f"wide-{level}": partial(self._wide, level) for level in people.levels}
        if people is not None and people.preferences:
            makers["preferences"] = lambda: people.wins(self.scores)
        return makers

    def _wide(self, level: str) -> Table:
        assert self.people is not None
        return self.agreement[self.main_set].matrix(level, self.people.coefficient)

    def _curve(self, name: str) -> Table:
        return self.power(name).curve()

    # -- what the tables are made from -------------------------------------------------------------

    @property
    def sets(self) -> tuple[str, ...]:
        """Names of the sets of queries."""
        return tuple(self.views)

    @property
    def main_set(self) -> str:
        """The set that the summary is about: all queries, or the first set if `all` is not among the sets."""
        return "all" if "all" in self.views else self.sets[0]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return next(iter(self.views.values()))[0].systems

    def queries(self, name: str | None = None) -> tuple[str, ...]:
        """Return the queries of a set, or of the main set. They may be those of the first family of measures only."""
        return self.views[name or self.main_set][0].queries

    @cached_property
    def agreement(self) -> dict[str, HumanCorrelation]:
        """Correlations of the measures with people, by set."""
        people = self.people
        if people is None or not people.scores:
            return {}
        return {name: people.agreement(self.scores, self.queries(name)) for name in self.sets}

    def set_sizes(self) -> list[tuple[str, str]]:
        """Return the size of each set, or its range if it depends on the measure."""
        found = []
        for name, parts in self.views.items():
            sizes = [len(view.queries) for view in parts]
            found.append((name, str(min(sizes)) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"))
        return found

    @cached_property
    def averages(self) -> dict[str, Floats]:
        """Means over cutoffs and queries, by set: arrays of family x system."""
        return {
            name: np.array([means(view.values).mean(axis=0) for view in parts]) for name, parts in self.views.items()
        }

    @cached_property
    def compared(self) -> dict[str, Comparison | None]:
        """Comparisons of all pairs of systems under all measures, by set. None for a set with too few queries."""
        return {name: self._compare(parts) for name, parts in self.views.items()}

    def _compare(self, parts: tuple[Scores, ...]) -> Comparison | None:
        if min(len(view.queries) for view in parts) < 2:
            return None
        how = self.method
        each = [
            compare(
                with_incomplete_runs(view),
                test=how.test,
                correction=how.correction,
                alpha=how.alpha,
                samples=how.samples,
                seed=how.seed,
                warn=False,
            )
            for view in parts
        ]
        return replace(
            each[0],
            measures=tuple(name for part in each for name in part.measures),
            outcomes=tuple(outcome for part in each for outcome in part.outcomes),
            p_adjusted=np.concatenate([part.p_adjusted for part in each]),
            means=np.concatenate([part.means for part in each]),
            scores=None,
        )

    @cached_property
    def placed(self) -> tuple[Family, ...]:
        """The families with the places of their members in `compared`, where families follow one another."""
        start, found = 0, []
        for family in self.families:
            found.append(replace(family, members=tuple(range(start, start + len(family.members)))))
            start += len(family.members)
        return tuple(found)

    def power(self, name: str | None = None) -> DiscriminativePower:
        """Return the discriminative power of each family on a set, or on the main set.

        It comes with its curve of achieved significance levels.
        """
        name = name or self.main_set
        compared = self.compared[name]
        if compared is None:
            raise CalipersError(f"the set '{name}' has too few queries for a test")
        return power_of(compared, self.placed)

    def stability(self, family: str, name: str | None = None, samples: int = 1000) -> Stability:
        """Rank systems by a family over bootstrap samples of the queries of a set, or of the main set.

        Scores are averaged over the cutoffs of the family.
        """
        view = self.views[name or self.main_set][place_in(self.families, family)]
        view = view.by_name()
        return stability(view.values.mean(axis=0), view.systems, samples, seed=self.method.seed)

    def conclusions(self, samples: int = 1000) -> list[str]:
        """Return which measure tells most systems apart, and which orders them most stably, on the main set.

        If people judged, the first sentence is about the measure that agrees best with them.
        """
        said = [found.summary.rstrip(".") for found in self.agreement.values()][:1]
        if self.compared[self.main_set] is None:
            return said
        on = "" if self.main_set == "all" else f" on the set {self.main_set}"
        power = self.power()
        shares = {family.name: power[family.name] for family in self.families}
        taus = {family.name: self.stability(family.name, samples=samples).tau for family in self.families}
        return [
            *said,
            _best(shares, _APART, "of the pairs differ significantly", ".1%")
            + f"{on} ({self.method.test} test at {self.method.alpha:g})",
            _best(taus, "orders the systems most stably", "is the mean tau with the order over all queries", ".3f")
            + f"{on} (over {samples} bootstrap samples of the queries, seed {self.method.seed})",
        ]

    # -- the tables --------------------------------------------------------------------------------

    def _agreement_table(self) -> Table:
        """Return correlations with people by measure, aspect and level, for each set."""
        tables = {name: found.table() for name, found in self.agreement.items()}
        if len(tables) == 1:
            return next(iter(tables.values()))
        columns = ("set", *tables[self.main_set].columns)
        return Table(columns, tuple((name, *row) for name, table in tables.items() for row in table.rows))

    def _scores_table(self) -> Table:
        """Return the mean scores by set and system (tables 2 to 5, 12 to 15)."""
        columns = [name for view in self.views[self.sets[0]] for name in view.measures]
        rows: list[tuple[Cell, ...]] = []
        for name, parts in self.views.items():
            of_systems = np.concatenate([means(view.values) for view in parts])
            rows += [(name, system, *of_systems[:, s].tolist()) for s, system in enumerate(self.systems)]
        return Table(("set", "system", *columns), tuple(rows), self._about())

    def _tau_table(self) -> Table:
        """Return the rank correlation between the orderings by two families (tables 6, 16)."""
        kind = self.method.correlation

        def cell(one: int, other: int, name: str) -> float:
            averages = self.averages[name]
            return rank_correlation(averages[one], averages[other], kind)

        return self._of_confronted(cell, {"correlation": correlation_name(kind)})

    def _conflicts_table(self) -> Table:
        """Count tests that are significant under exactly one of two families, or in opposite directions (7, 17)."""
        rows: list[tuple[Cell, ...]] = []
        for one, other in self._confronted():
            counts: list[Cell] = []
            opposite: list[Cell] = []
            for name in self.sets:
                compared = self.compared[name]
                found = None if compared is None else self._conflicts(compared, one, other)
                counts.append(math.nan if found is None else found.count)
                opposite.append(math.nan if found is None else found.opposite)
            rows.append((self.families[one].name, self.families[other].name, *counts, *opposite))
        columns = ("measure", "against", *self.sets, *(f"{name} opposite" for name in self.sets))
        return Table(columns, tuple(rows), self._about())

    def _conflicts(self, compared: Comparison, one: int, other: int) -> Conflicts | None:
        """Return the conflicts of two families, or None if they share no cutoff (AP, and nDCG at two cutoffs)."""
        try:
            return conflicts(compared, self.placed[one], self.placed[other])
        except CalipersError:
            return None

    def _power_table(self) -> Table:
        """Return the number of significant tests, and their share of all tests (8, 18)."""
        powers = {name: None if self.compared[name] is None else self.power(name) for name in self.sets}
        rows: list[tuple[Cell, ...]] = []
        for f, family in enumerate(self.families):
            counts: list[Cell] = []
            shares: list[Cell] = []
            tests = 0
            for power in powers.values():
                if power is None:
                    counts.append(math.nan)
                    shares.append(math.nan)
                    continue
                levels = power.levels[f]
                tests = max(tests, len(levels))
                counts.append(int((levels < power.alpha).sum()))
                shares.append(power[family.name])
            rows.append((family.name, tests, *counts, *shares))
        columns = ("measure", "tests", *self.sets, *(f"{name} share" for name in self.sets))
        return Table(columns, tuple(rows), self._about())

    def _pad_table(self) -> Table:
        """Return the percentage absolute difference (9, 19)."""
        rows: list[tuple[Cell, ...]] = [
            (
                family.name,
                *(percentage_absolute_difference(self.averages[name][f], self.method.pad) for name in self.sets),
            )
            for f, family in enumerate(self.families)
        ]
        return Table(("measure", *self.sets), tuple(rows), {**self._about(), "denominator": self.method.pad})

    def _swaps_table(self) -> Table:
        """Return the swap rates between each two sets (11, 21; 6.11, 6.12, 7.11, 7.12)."""
        pairs = list(combinations(self.sets, 2))
        rows: list[tuple[Cell, ...]] = [
            (family.name, *(swap_rate(self.averages[x][f], self.averages[y][f]) for x, y in pairs))
            for f, family in enumerate(self.families)
        ]
        return Table(("measure", *(f"{x} / {y}" for x, y in pairs)), tuple(rows), self._about())

    def _split_half_table(self) -> Table:
        """Return the swap rate between random halves of the queries, and the difference needed for 5% swaps."""
        rows: list[tuple[Cell, ...]] = []
        for name, parts in self.views.items():
            for family, view in zip(self.families, parts, strict=True):
                if len(view.queries) < 2:
                    continue
                found = split_half_swap_rate(view.by_name().values.mean(axis=0), seed=self.method.seed)
                rows.append((name, family.name, found.size, found.rate, found.needed()))
        return Table(("set", "measure", "queries", "swap rate", "difference at 5%"), tuple(rows), self._about())

    def _stability_table(self) -> Table:
        """Return the agreement of rankings over bootstrap samples with the ranking over all queries."""
        rows: list[tuple[Cell, ...]] = []
        for name, parts in self.views.items():
            for family, view in zip(self.families, parts, strict=True):
                if len(view.queries) < 2:
                    continue
                found = self.stability(family.name, name)
                width = float(np.mean(found.high - found.low))
                best = int(np.argmin(found.rank))
                rows.append(
                    (name, family.name, found.tau, found.swaps, width, found.systems[best], float(found.first[best]))
                )
        columns = ("set", "measure", "tau", "swap rate", "rank interval", "best", "best in")
        return Table(columns, tuple(rows), self._about())

    def across(self, other: MetaEvaluation) -> Table:
        """Return the swap rates between two collections on each set that both have (10, 20)."""
        shared = [name for name in self.systems if name in other.systems]
        if len(shared) < 2:
            raise CalipersError("the collections have fewer than two systems in common: name them alike")
        mine = [self.systems.index(name) for name in shared]
        theirs = [other.systems.index(name) for name in shared]
        sets = [name for name in self.sets if name in other.sets]
        by_name = {family.name: f for f, family in enumerate(other.families)}
        rows: list[tuple[Cell, ...]] = [
            (
                family.name,
                *(
                    swap_rate(self.averages[name][f][mine], other.averages[name][by_name[family.name]][theirs])
                    for name in sets
                ),
            )
            for f, family in enumerate(self.families)
            if family.name in by_name
        ]
        return Table(("measure", *sets), tuple(rows), {**self._about(), "systems": len(shared)})

    # -- pieces ------------------------------------------------------------------------------------

    def _about(self) -> dict[str, Any]:
        how = self.method
        size = {"queries": len(self.scores.queries), "systems": len(self.systems)}
        return {**size, "test": how.test, "alpha": how.alpha, "seed": how.seed}

    def _confronted(self) -> list[tuple[int, int]]:
        return [
            (place_in(self.families, one.name), place_in(self.families, other.name))
            for one, other in confronted(self.families)
        ]

    def _of_confronted(self, cell: Callable[[int, int, str], float], about: Mapping[str, Any]) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (self.families[one].name, self.families[other].name, *(cell(one, other, name) for name in self.sets))
            for one, other in self._confronted()
        ]
        return Table(("measure", "against", *self.sets), tuple(rows), {**self._about(), **about})


def _best(values: Mapping[str, float], what: str, of: str, format: str) -> str:
    """Return a sentence about the measure, or measures, with the largest value, and about the next one."""
    known = {name: value for name, value in values.items() if value == value}
    if not known:
        return f"no measure {what}"
    order = sorted(known, key=lambda name: -known[name])
    best = [name for name in order if four_digits(known[name], format) == four_digits(known[order[0]], format)]
    first = f"{four_digits(known[best[0]], format)} {of}"
    if len(known) == 1:
        return f"{best[0]} is the only measure: {first}"
    if what == _APART and not any(known.values()):
        return f"no measure tells any two systems apart: {first}"
    if len(best) > 1:
        return f"{', '.join(best[:-1])} and {best[-1]} {_PLURAL[what]} alike: {first}"
    return f"{best[0]} {what}: {first}; next is {order[1]} with {four_digits(known[order[1]], format)}"


_APART = "tells most systems apart"
_PLURAL = {
    _APART: "tell most systems apart,",
    "orders the systems most stably": "order the systems most stably,",
}
