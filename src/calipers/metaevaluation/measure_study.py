"""The meta-evaluation of measures, in the tables of the papers: all that can be said of them from some systems.

Karmaker & Feng, Joint upper and lower bound normalization for IR evaluation, 2022 (tables 2 to 21).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from calipers.checks import check_choice, check_type
from calipers.collection.runs import RememberedRun, Run
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError, UnknownName
from calipers.evaluation.evaluation import Measures, Policies, evaluate
from calipers.evaluation.inputs import as_judgments, as_runs, facts_as_keywords
from calipers.limits.pool_bounds import bounds
from calipers.limits.query_types import QueryTypes, query_types
from calipers.lists import Floats, Ints
from calipers.measures.grammar import DEFAULT_MEASURES, parse_all
from calipers.measures.populations import DEFAULT_POPULATION
from calipers.metaevaluation.consistency import Stability, split_half_swap_rate, stability, swap_rate
from calipers.metaevaluation.distance import percentage_absolute_difference
from calipers.metaevaluation.families import Family, base_measure, confronted, families, place_in
from calipers.metaevaluation.power import Conflicts, DiscriminativePower, conflicts, power_of
from calipers.metaevaluation.query_sets import (
    BY_DIFFERENCE,
    BY_GRADES,
    HALVES,
    SETS,
    broad_and_focused,
    by_difference,
    document_halves,
)
from calipers.plurals import counted
from calipers.results.scores import Scores, means
from calipers.results.tables import Cell, Table, four_digits
from calipers.stats.comparison import Comparison, compare
from calipers.stats.correlation import correlation_name, rank_correlation
from calipers.stats.significance import SEED, Samples

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
class Choices:
    """What the papers leave open, or do in their own way."""

    test: str = "t"
    correction: str | None = None
    alpha: float = 0.05
    samples: Samples | None = None
    seed: int = SEED
    correlation: str = "tau-b"
    denominator: str = "absolute"  # of PAD
    size: float = 0.25  # of the uninformative and ideal sets: a number or a share of the queries
    absolute: bool = False  # leave out the sign of the difference when choosing these sets
    population: str = DEFAULT_POPULATION  # documents that random rankings shuffle, when choosing these sets


@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """Measures judged on sets of queries. A set may hold other queries for each family, as its base decides."""

    views: dict[str, tuple[Scores, ...]]  # of each set: the scores of each family, in the order of `families`
    families: tuple[Family, ...]
    choices: Choices
    sizes: dict[str, tuple[int, ...]]  # of each set: the queries of each family
    scores: Scores  # all of them, on all queries
    metadata: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_scores(
        cls, scores: Scores, sets: Mapping[str, Sequence[str]] | None = None, choices: Choices | None = None
    ) -> MetaEvaluation:
        """Of scores that are there already, on all their queries and on sets that are given as {name: queries}."""
        place = {query: i for i, query in enumerate(scores.queries)}
        found = families(scores)
        chosen: dict[str, list[int]] = {"all": list(range(len(scores.queries)))}
        for name, queries in (sets or {}).items():
            if unknown := [query for query in queries if query not in place]:
                raise UnknownName(f"the set '{name}' has the query '{unknown[0]}', which has no scores")
            chosen[name] = [place[query] for query in queries]
        views = {
            name: tuple(_view(scores, family, np.array(places, dtype=np.int64)) for family in found)
            for name, places in chosen.items()
        }
        return cls._of(views, found, choices or Choices(), scores)

    @classmethod
    def _of(
        cls, views: dict[str, tuple[Scores, ...]], of: tuple[Family, ...], choices: Choices, scores: Scores
    ) -> MetaEvaluation:
        if len(scores.systems) < 2:
            raise CalipersError(
                f"there is only one system ({', '.join(scores.systems)}): measures are judged by how they order systems"
            )
        if len(scores.queries) < 2:
            raise CalipersError("there are fewer than two queries: nothing can be said of the measures")
        correlation_name(choices.correlation)
        sizes = {name: tuple(len(view.queries) for view in parts) for name, parts in views.items()}
        return cls(views, of, choices, sizes, scores, {"queries": len(scores.queries), "systems": len(scores.systems)})

    # -- what the tables are made from -------------------------------------------------------------

    @property
    def sets(self) -> tuple[str, ...]:
        return tuple(self.views)

    @property
    def main_set(self) -> str:
        """The set that the answers are about: all queries, or the first set where these are not asked for."""
        return "all" if "all" in self.views else self.sets[0]

    @property
    def systems(self) -> tuple[str, ...]:
        return next(iter(self.views.values()))[0].systems

    def sets_of_queries(self) -> list[tuple[str, str]]:
        """The size of each set, or its range where it depends on the measure."""
        return [
            (name, str(min(sizes)) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}")
            for name, sizes in self.sizes.items()
        ]

    @cached_property
    def averages(self) -> dict[str, Floats]:
        """Of each set: the mean over cutoffs of the mean over queries, [family, system]."""
        return {
            name: np.array([means(view.values).mean(axis=0) for view in parts]) for name, parts in self.views.items()
        }

    @cached_property
    def compared(self) -> dict[str, Comparison | None]:
        """Of each set: all pairs of systems under all measures; None where a set has too few queries."""
        return {name: self._compare(parts) for name, parts in self.views.items()}

    def _compare(self, parts: tuple[Scores, ...]) -> Comparison | None:
        if min(len(view.queries) for view in parts) < 2:
            return None
        choices = self.choices
        how = (choices.test, choices.correction)
        each = [
            compare(view, *how, alpha=choices.alpha, samples=choices.samples, seed=choices.seed, warn=False)
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
        return stability(view.values.mean(axis=0), view.systems, samples, seed=self.choices.seed)

    def answers(self, samples: int = 1000) -> list[str]:
        """Say which measure tells most systems apart, and which orders them most stably, on the main set."""
        if self.compared[self.main_set] is None:
            return []
        on = "" if self.main_set == "all" else f" on the set {self.main_set}"
        power = self.power()
        shares = {family.name: power[family.name] for family in self.families}
        taus = {family.name: self.stability(family.name, samples=samples).tau for family in self.families}
        return [
            _best(shares, _APART, "of the pairs differ significantly", ".1%")
            + f"{on} ({self.choices.test} test at {self.choices.alpha:g})",
            _best(taus, "orders the systems most stably", "is the mean tau with the order over all queries", ".3f")
            + f"{on} (over {samples} bootstrap samples of the queries, seed {self.choices.seed})",
        ]

    # -- the tables --------------------------------------------------------------------------------

    def table(self, name: str) -> Table:
        """One of TABLES."""
        made: Mapping[str, Callable[[], Table]] = {
            "scores": self.scores_table,
            "tau": self.tau_table,
            "conflicts": self.conflicts_table,
            "power": self.power_table,
            "pad": self.pad_table,
            "swaps": self.swaps_table,
            "split-half": self.split_half_table,
            "stability": self.stability_table,
        }
        if name not in made:
            raise CalipersError(f"unknown table '{name}'; there are {', '.join(made)}")
        return made[name]()

    def scores_table(self) -> Table:
        """set, system, and each measure (tables 2 to 5, 12 to 15)."""
        columns = [name for view in self.views[self.sets[0]] for name in view.measures]
        rows: list[tuple[Cell, ...]] = []
        for name, parts in self.views.items():
            of_systems = np.concatenate([means(view.values) for view in parts])
            rows += [(name, system, *of_systems[:, s].tolist()) for s, system in enumerate(self.systems)]
        return Table(("set", "system", *columns), tuple(rows), self._about())

    def tau_table(self) -> Table:
        """Rank correlation between the orderings by two families (tables 6, 16)."""
        kind = self.choices.correlation

        def cell(one: int, other: int, name: str) -> float:
            averages = self.averages[name]
            return rank_correlation(averages[one], averages[other], kind)

        return self._of_confronted(cell, {"correlation": correlation_name(kind)})

    def conflicts_table(self) -> Table:
        """Tests that are significant under exactly one of two families, and in opposite directions (7, 17)."""
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
        """None where the two have no cutoff in common, as AP beside nDCG at two cutoffs."""
        try:
            return conflicts(compared, self.placed[one], self.placed[other])
        except CalipersError:
            return None

    def power_table(self) -> Table:
        """Significant tests, and their share of all tests (8, 18)."""
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

    def pad_table(self) -> Table:
        """Percentage absolute difference (9, 19)."""
        rows: list[tuple[Cell, ...]] = [
            (
                family.name,
                *(
                    percentage_absolute_difference(self.averages[name][f], self.choices.denominator)
                    for name in self.sets
                ),
            )
            for f, family in enumerate(self.families)
        ]
        return Table(("measure", *self.sets), tuple(rows), {**self._about(), "denominator": self.choices.denominator})

    def swaps_table(self) -> Table:
        """Swap rates between each two sets (11, 21; 6.11, 6.12, 7.11, 7.12)."""
        pairs = list(combinations(self.sets, 2))
        rows: list[tuple[Cell, ...]] = [
            (family.name, *(swap_rate(self.averages[x][f], self.averages[y][f]) for x, y in pairs))
            for f, family in enumerate(self.families)
        ]
        return Table(("measure", *(f"{x} / {y}" for x, y in pairs)), tuple(rows), self._about())

    def split_half_table(self) -> Table:
        """set, measure, swap rate between random halves of the queries, and the difference needed for 5% swaps."""
        rows: list[tuple[Cell, ...]] = []
        for name, parts in self.views.items():
            for family, view in zip(self.families, parts, strict=True):
                if len(view.queries) < 2:
                    continue
                found = split_half_swap_rate(view.by_name().values.mean(axis=0), seed=self.choices.seed)
                rows.append((name, family.name, found.size, found.rate, found.needed()))
        return Table(("set", "measure", "queries", "swap rate", "difference at 5%"), tuple(rows), self._about())

    def stability_table(self) -> Table:
        """Over bootstrap samples of the queries: how far rankings agree with that over all of them."""
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
        """Swap rates between two collections on each set that both have (10, 20)."""
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
        choices = self.choices
        return {**self.metadata, "test": choices.test, "alpha": choices.alpha, "seed": choices.seed}

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

    def __repr__(self) -> str:
        return (
            f"<MetaEvaluation: {counted(len(self.families), 'measure')} on "
            f"{', '.join(self.sets)}>\n{self.power_table()}"
        )

    def _repr_html_(self) -> str:
        return self.power_table()._repr_html_()


def _best(values: Mapping[str, float], what: str, of: str, format: str) -> str:
    """The measure with the largest value, or those that share it, and the next one."""
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


def meta_evaluate(
    judgments: JudgmentsLike,
    runs: RunsLike,
    measures: Measures = DEFAULT_MEASURES,
    sets: Iterable[str] = ("all",),
    choices: Choices | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
    **policies: Unpack[Policies],
) -> MetaEvaluation:
    """Judge measures by what they say of some runs, on sets of queries.

    Measures that differ in the cutoff only are one family: its tests are counted together, its scores averaged.
    sets: among all, uninformative, ideal, hard, easy, broad, focused, left, right.
    warn: give one CalipersWarning with what is to be known of the runs, as `evaluate` does; `scores.notes` has it too.
    policies: how lists are read and undefined scores counted, as for `evaluate`.
    """
    choices = choices or Choices()
    check_type("choices", choices, Choices, "Choices")
    check_type("sets", sets, Iterable, f"names of sets among {', '.join(SETS)}")
    wanted_sets = list(dict.fromkeys(sets))
    for name in wanted_sets:
        check_choice("set", name, SETS)
    if not wanted_sets:
        raise CalipersError(f"name at least one set; there are {', '.join(SETS)}")
    known = as_judgments(judgments)
    systems: list[Run] = as_runs(runs)
    if set(wanted_sets) & {*HALVES, *BY_DIFFERENCE}:
        systems = [RememberedRun(system) for system in systems]
    wanted = parse_all(measures)
    names = [name for name, _ in wanted]
    exact = {repr(measure.bind(known.pool)) for _, measure in wanted}
    bases = {repr(base_measure(measure).bind(known.pool)): None for _, measure in wanted}
    extra = [base for base in bases if base not in exact] if set(wanted_sets) & set(BY_DIFFERENCE) else []
    scores = evaluate(known, systems, [*names, *extra], progress=progress, warn=warn, **policies)
    found = families(scores, only=names)

    everything: Ints = np.arange(len(scores.queries))
    by_grades = broad_and_focused(known, seed=choices.seed) if set(wanted_sets) & set(BY_GRADES) else {}
    halves = document_halves(known, choices.seed) if set(wanted_sets) & set(HALVES) else {}
    types = {}
    if set(wanted_sets) & set(BY_DIFFERENCE):
        types = _types_of_bases(known, systems, scores, found, choices.population, policies)
    views: dict[str, tuple[Scores, ...]] = {}
    for name in wanted_sets:
        source, places = scores, everything
        if name in HALVES:
            half = halves[name]
            parts = [half.run(system) for system in systems]
            condensed: Policies = {**policies, "condensed": True, "unmatched": "warn"}
            source = evaluate(half.judgments, parts, names, warn=False, **condensed)
        elif name in BY_GRADES:
            places = by_grades[name]
        views[name] = tuple(
            _view(
                source,
                family,
                by_difference(types[family.name], name, choices.size, choices.absolute)
                if name in BY_DIFFERENCE
                else places,
            )
            for family in found
        )
    return MetaEvaluation._of(views, found, choices, scores)


def _types_of_bases(
    judgments: Any,
    systems: Sequence[Run],
    scores: Scores,
    of: Sequence[Family],
    population: str,
    policies: Policies,
) -> dict[str, QueryTypes]:
    """The types of the queries for each family, by the measures that it is made from."""
    how: dict[str, Any] = {key: scores.metadata[key] for key in ("depth", "condensed")}
    exact = [repr(measure) for measure in scores.definitions]
    found: dict[tuple[str, ...], QueryTypes] = {}
    result = {}
    for family in of:
        bases = tuple(repr(base_measure(scores.definitions[m])) for m in family.members)
        if bases not in found:
            places = [exact.index(base) for base in bases]
            part = Scores(bases, scores.systems, scores.queries, scores.values[places], scores.reasons[places])
            facts = facts_as_keywords(policies, (scores.definitions[place] for place in places))
            of_bases = bounds(judgments, list(bases), population=population, runs=systems, **how, **facts)
            found[bases] = query_types(part, of_bases)
        result[family.name] = found[bases]
    return result


def _view(scores: Scores, family: Family, places: Any) -> Scores:
    """The scores of a family on some queries."""
    members = list(family.members)
    return Scores(
        tuple(scores.measures[m] for m in members),
        scores.systems,
        tuple(scores.queries[q] for q in places),
        scores.values[members][:, :, places],
        scores.reasons[members][:, :, places],
        tuple(scores.definitions[m] for m in members) if scores.definitions else (),
        None,
        scores.metadata,
    )
