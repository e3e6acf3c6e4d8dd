"""Numbers of queries that a difference needs, and the smallest difference that the given queries can detect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Never

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Ints
from calipers.results.result import Result, Tables, in_short
from calipers.results.score_files import ScoresLike, as_scores, only_scores
from calipers.results.scores import Scores
from calipers.results.tables import Cell, Table
from calipers.statistics.differences import all_pairs
from calipers.statistics.power import (
    DESIGNS,
    SIMULATED,
    Pilot,
    SimulatedExperiments,
    deviation,
    smallest_effect,
    smallest_n,
    upper_limit,
)
from calipers.statistics.significance import SEED
from calipers.support.checks import (
    Pairs,
    check_alpha,
    check_between_0_and_1,
    check_choice,
    check_number,
    check_pairs,
    check_seed,
    check_whole,
)
from calipers.support.choices import Design
from calipers.support.plurals import counted, verb

COLUMNS = ("measure", "difference", "sd", "power", "alpha", "pairs", "queries", "detectable")
ALL_DESIGNS = (*DESIGNS, *SIMULATED)
CURVE = 60  # points of a power curve


@dataclass(frozen=True, eq=False, repr=False)
class SampleSizePlan(Result):
    """Number of queries needed, and smallest detectable difference, for each measure."""

    measures: tuple[str, ...]
    difference: tuple[float, ...]  # that is to be found
    sd: tuple[float, ...]
    queries: tuple[int, ...]  # for that difference, with the power that is wanted
    detectable: tuple[float, ...]  # by the available queries, with the same power
    at_hand: tuple[int, ...]
    power: float
    alpha: float  # of all pairs together
    pairs: int
    design: str = "t"
    systems: int = 2
    given: bool = True  # a difference was given; otherwise `difference` is the detectable one
    queries_error: tuple[float, ...] = ()  # standard errors of simulated answers
    detectable_error: tuple[float, ...] = ()
    simulations: tuple[SimulatedExperiments, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def alpha_each(self) -> float:
        """Alpha of each test: alpha divided by the number of pairs (Bonferroni)."""
        return self.alpha / self.pairs

    @property
    def title(self) -> str:
        """The pilot and the test that is planned."""
        about = self.metadata
        over = f"over {counted(self.systems, 'system')}"
        words = {
            "t": "two-sided paired t test",
            "anova": f"one-way analysis of variance {over}",
            "anova2": f"two-way analysis of variance {over}",
            "randomization": "randomisation test, simulated",
            "bootstrap": "bootstrap test, simulated",
        }
        shared = f" / {counted(self.pairs, 'pair')} = {self.alpha_each:.4g}" if self.pairs > 1 else ""
        given = about["queries"]
        available = "" if given is None else f", {counted(given, 'query')} available"
        pilot = f"{counted(about['pilot_systems'], 'system')} on {counted(about['pilot_queries'], 'query')}"
        return f"pilot of {pilot}{available}; {words[self.design]}, alpha {self.alpha:g}{shared}"

    @property
    def summary(self) -> str:
        """The number of queries that the difference needs, or the smallest difference that can be detected."""
        return in_short(self.conclusions())

    def conclusions(self) -> list[str]:
        """Return one sentence per measure."""
        return [self._conclusion(m) for m in range(len(self.measures))]

    def _conclusion(self, m: int) -> str:
        at_hand = counted(self.at_hand[m], "query")
        if not self.given:
            return (
                f"{self.measures[m]}: {at_hand} can detect a difference of {self.detectable[m]:.4g} (power "
                f"{self.power:g})"
            )
        queries = self.queries[m]
        return (
            f"{self.measures[m]}: {counted(queries, 'query')} {verb(queries, 'is', 'are')} needed to detect a "
            f"difference of {self.difference[m]:g} (power {self.power:g}); the power of {at_hand} is "
            f"{self.power_at(m, self.at_hand[m]):.3f}"
        )

    def plot(self) -> Any:
        """Draw the power by the number of queries. See `calipers.plot.power_curves`."""
        from calipers.plot import power_curves

        return power_curves(self)

    def tables(self) -> Tables:
        """Return the plan by measure, and the power by the number of queries."""
        return Tables({"plan": self._plan, "curve": self.curve})

    def _plan(self) -> Table:
        """Return one row per measure: measure, difference, sd, power, alpha, pairs, queries, detectable."""
        rows: list[tuple[Cell, ...]] = [
            (
                name,
                self.difference[m],
                self.sd[m],
                self.power,
                self.alpha,
                self.pairs,
                self.queries[m],
                self.detectable[m],
            )
            for m, name in enumerate(self.measures)
        ]
        return Table(COLUMNS, tuple(rows), self.metadata, notes=self._simulated())

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the standard deviation and about simulations."""
        about = self.metadata
        found = (
            [] if about["upper"] is None else [f"sd is the upper limit of the pilot's at confidence {about['upper']:g}"]
        )
        if "seed" in about:
            found.append(f"{counted(about['samples'], 'sample')} in each simulated test, seed {about['seed']}")
        return (*found, *self._simulated())

    def _simulated(self) -> tuple[str, ...]:
        """Return the standard errors of simulated answers."""
        return tuple(
            f"{name}: {counted(self.queries[m], 'query')} (standard error {self.queries_error[m]:.1f}), detectable "
            f"{self.detectable[m]:.4f} (standard error {self.detectable_error[m]:.4f}), simulated"
            for m, name in enumerate(self.measures)
            if self.queries_error
        )

    def power_at(self, m: int, queries: int, difference: float | None = None) -> float:
        """Return the power of the m-th measure with this number of queries."""
        difference = self.difference[m] if difference is None else difference
        if self.design in SIMULATED:
            return self.simulations[m].power(difference, queries).value
        if self.sd[m] == 0:
            return 1.0
        return DESIGNS[self.design](difference / self.sd[m], queries, self.alpha_each, self.systems)

    def curve(self, queries: Sequence[int] | None = None) -> Table:
        """Return the power of each measure by the number of queries: measure, queries, power."""
        sizes = self._sizes() if queries is None else list(queries)
        if self.design in SIMULATED:
            sizes = sizes[:: max(1, len(sizes) // 12)]  # each point is a simulation
        rows = [(name, n, self.power_at(m, n)) for m, name in enumerate(self.measures) for n in sizes]
        return Table(("measure", "queries", "power"), tuple(rows), self.metadata)

    def _sizes(self) -> list[int]:
        """Return numbers of queries from 3 to 1.5 times the largest number that a measure needs."""
        most = max(*self.queries, *self.at_hand, 10) * 3 // 2
        found: Ints = np.unique(np.linspace(3, most, CURVE).round().astype(np.int64))
        return [int(n) for n in found]


def plan(
    scores: ScoresLike,
    *others: Never,
    difference: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    pairs: Pairs = 1,
    queries: int | None = None,
    design: Design = "t",
    upper: float | None = None,
    over: int | None = None,
    samples: int | None = None,
    seed: int = SEED,
) -> SampleSizePlan:
    """Return the number of queries that each measure needs to detect a difference, from the scores of a pilot.

    difference: the difference to detect between the means of two systems (anova, anova2: of the best and the worst
        system). Without it, the plan is for the difference that the queries at hand can detect.
    power: the probability of detecting the difference.
    alpha: the significance level of two-sided tests, divided by the number of pairs (Bonferroni).
    pairs: the number of pairs of systems that will be tested, or `all` for all pairs of these systems.
    queries: the number of queries at hand, by default that of the pilot.
    design: `t` (paired t), `anova` (one-way), `anova2` (queries as blocks), or simulated: `randomization`, `bootstrap`.
    upper: plan for the upper limit of the standard deviation at this confidence, such as 0.8, because a small pilot may
        underestimate it.
    over: the number of systems that anova and anova2 will compare, by default those of the pilot.
    samples, seed: number of samples and seed of simulated designs.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.5, 0.3, 0.6, 0.4], [0.4, 0.35, 0.3, 0.2]], measure="AP")
    >>> print(plan(scores, difference=0.1).table())
    measure  difference      sd   power   alpha  pairs  queries  detectable
    -------  ----------  ------  ------  ------  -----  -------  ----------
    AP           0.1000  0.1493  0.8000  0.0500      1       20      0.3177
    <BLANKLINE>
    """
    only_scores("plan", others)
    scores = as_scores(scores).by_name()
    _check(scores, difference, power, alpha, queries, design, upper, samples, seed)
    count = len(scores.systems)
    tests = _pairs(pairs, count, design)
    groups = count if over is None else over
    if design in ("anova", "anova2") and groups < 2:
        raise CalipersError(f"an analysis of variance of {counted(groups, 'system')} compares nothing")
    each = alpha / tests
    if power <= each:
        raise CalipersError(f"a power of {power:g} is not above alpha, {each:g}: no query would be needed")
    rows: dict[str, list[Any]] = {name: [] for name in ("difference", "sd", "queries", "detectable", "at_hand")}
    errors: list[tuple[float, float]] = []
    simulations: list[SimulatedExperiments] = []
    for measure, values in zip(scores.measures, scores.values, strict=True):
        sd, freedom = deviation(values, design)
        if math.isnan(sd):
            raise CalipersError(f"no two systems share two queries under {measure}: there is no deviation to plan with")
        scale = upper_limit(freedom, upper) if upper is not None else 1.0
        sd *= scale
        n = _at_hand(values) if queries is None else queries
        effect = smallest_effect(n, power, each, _closed(design), groups)
        found = wanted = effect * sd
        needed = n
        if difference is not None:
            wanted = difference
            needed = smallest_n(wanted / sd if sd else math.inf, power, each, _closed(design), groups)
        if design in SIMULATED:
            pilot = Pilot.of(values, *all_pairs(count))
            pilot = Pilot(pilot.centred * scale, pilot.size)
            simulation = SimulatedExperiments.of(pilot, design, each, seed, samples)
            simulations.append(simulation)
            seen = simulation.difference(n, power, found)
            found = seen.value
            error = 0.0
            if difference is None:
                wanted = found
            else:
                least = simulation.queries(difference, power, needed)
                needed, error = max(3, math.ceil(least.value)), least.error
            errors.append((error, seen.error))
        for name, value in zip(rows, (wanted, sd, needed, found, n), strict=True):
            rows[name].append(value)
    return SampleSizePlan(
        measures=scores.measures,
        **{name: tuple(values) for name, values in rows.items()},
        power=power,
        alpha=alpha,
        pairs=tests,
        design=design,
        systems=groups,
        given=difference is not None,
        queries_error=tuple(queries for queries, _ in errors),
        detectable_error=tuple(detectable for _, detectable in errors),
        simulations=tuple(simulations),
        metadata={
            "design": design,
            "pilot_queries": len(scores.queries),
            "pilot_systems": count,
            "upper": upper,
            "queries": queries,
            "like": scores.metadata.get("like"),
            **({"seed": seed, "samples": simulations[0].samples} if simulations else {}),
        },
    )


def _closed(design: str) -> str:
    """Return the design in closed form. For a simulated design it is `t`, which gives the starting point."""
    return "t" if design in SIMULATED else design


def _at_hand(values: Any) -> int:
    """Return the number of queries on which at least two systems are defined."""
    return max(int(((~np.isnan(values)).sum(axis=0) > 1).sum()), 2)


def _pairs(pairs: Pairs, systems: int, design: str) -> int:
    checked = check_pairs(pairs)
    found = systems * (systems - 1) // 2 if checked == "all" else checked
    if design in ("anova", "anova2") and found > 1:
        raise CalipersError("an analysis of variance is one test of all systems: there are no pairs to correct for")
    return found


def _check(
    scores: Scores,
    difference: float | None,
    power: float,
    alpha: float,
    queries: int | None,
    design: str,
    upper: float | None,
    samples: int | None,
    seed: int,
) -> None:
    if len(scores.systems) < 2:
        raise CalipersError(f"there is only one system ({', '.join(scores.systems)}): a pilot needs two")
    if len(scores.queries) < 2:
        raise CalipersError("there are fewer than two queries: a pilot needs more")
    if difference is not None:
        check_number("difference", difference, above=0)
    check_between_0_and_1("power", power)
    check_alpha(alpha)
    if upper is not None:
        check_between_0_and_1("upper", upper)
    if queries is not None:
        check_whole("queries", queries, 2)
    check_choice("design", design, ALL_DESIGNS)
    if samples is not None:
        check_whole("samples", samples)
    check_seed(seed)
