"""Bounds of measures: the scores of the best, the worst and a random ranking of the same documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from calipers.collection.document_facts import Costs, whole_runs, with_costs, with_retrieved
from calipers.collection.run_names import distinct_names
from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.conventions import Convention
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.evaluation.inputs import depending_on_costs, notes_on_reading
from calipers.evaluation.options import ScoringOptions
from calipers.lists import Floats, Ints, Lists, Pool, Population
from calipers.measures.exactness import exactness_notes
from calipers.measures.forms import Form
from calipers.measures.forms.base import ComputationMethod, inexact
from calipers.measures.forms.intents import greedy_ideal
from calipers.measures.grammar import DEFAULT_MEASURES, MeasuresLike
from calipers.measures.normalisation import population_of, refuse_parts, standard_deviation
from calipers.measures.populations import DEFAULT_POPULATION, OF_LISTS, check_population, no_room
from calipers.measures.random_rankings import deviation_error, enumerable, expected_error
from calipers.measures.registry import Measure
from calipers.results.result import Result, Tables
from calipers.results.tables import Cell, Table, as_number
from calipers.support.choices import DeviationOfRandom, ExpectedOfRandom, IdealRanking
from calipers.support.plurals import counted, verb

__all__ = ["Bounds", "bounds", "bounds_of", "depth_for_residual"]


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Result):
    """The bounds of measures, query by query; arrays are in the order of `queries`.

    With the populations `union` and `retrieved` of several runs, arrays have one line per system.
    """

    measures: tuple[str, ...]
    queries: tuple[str, ...]
    systems: tuple[str, ...]  # empty where the bounds do not depend on one
    population: str
    n: Ints  # documents that a random ranking shuffles
    relevant: Ints  # of them relevant, at grade 1
    ideal: dict[str, Floats]
    expected: dict[str, Floats]
    worst: dict[str, Floats]
    sd: dict[str, Floats]  # over random rankings; NaN where there is no closed form and none was asked for
    error: dict[str, Floats]  # standard error of `expected` where that is sampled, else 0
    sd_error: dict[str, Floats]  # standard error of `sd` where that is sampled, else 0
    exactness: dict[
        str, dict[str, ComputationMethod]
    ]  # of ideal, expected, worst and, where there is one, sd: how it was found
    left_out: tuple[str, ...] = ()  # a sentence on normalised measures, if some were asked for

    @property
    def inexact(self) -> dict[str, str]:
        """The bounds that are sampled, greedy or only sorted: {"expected of infAP": "sampled", ...}."""
        return {
            f"{part} of {measure}": how
            for measure, parts in self.exactness.items()
            for part, how in parts.items()
            if inexact(how)
        }

    @property
    def largest_errors(self) -> dict[str, float]:
        """The largest standard error of each bound that is sampled: {"expected of infAP": 0.004, ...}."""
        return {
            f"{part} of {measure}": float(np.nan_to_num(errors[measure]).max(initial=0.0))
            for part, errors in (("expected", self.error), ("sd", self.sd_error))
            for measure in self.measures
            if self.exactness[measure].get(part) == "sampled"
        }

    def _columns(self) -> dict[str, dict[str, Floats]]:
        """Return the columns of the tables by name. Standard errors are shown if something is sampled."""
        shown = {"ideal": self.ideal, "expected": self.expected, "expected_error": self.error}
        shown |= {"sd": self.sd, "sd_error": self.sd_error, "worst": self.worst}
        drawn = {f"{name.split()[0]}_error" for name in self.largest_errors}
        return {name: values for name, values in shown.items() if not name.endswith("_error") or name in drawn}

    @property
    def title(self) -> str:
        """The subject of the result, with numbers of measures and queries."""
        size = f"{counted(len(self.measures), 'measure')} x {counted(len(self.queries), 'query')}"
        return f"Bounds of {size}, population {self.population}"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        row = self.means().row(self.measures[0])
        ideal, expected = (as_number(row[name]) for name in ("ideal", "expected"))
        return (
            f"{self.measures[0]}: the ideal ranking scores {ideal:.4f} and a random one {expected:.4f}, means over "
            f"{counted(len(self.queries), 'query')}."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on measures that were left out, and on bounds that are not exact, with their errors."""
        return (*self.left_out, *exactness_notes(self.inexact, self.largest_errors))

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"queries": self._queries, "means": self.means})

    def _queries(self) -> Table:
        """Return one row per query and measure: query, measure, n, relevant, ideal, expected, sd, worst.

        Where some are sampled, expected_error and sd_error follow them: standard errors, 0 of what is exact.
        """
        shape = (max(len(self.systems), 1), len(self.queries))
        shown = self._columns()
        arrays = [[values[m] for values in shown.values()] for m in self.measures]
        lines = [[a.reshape(shape).tolist() for a in each] for each in arrays]
        n, relevant = self.n.reshape(shape).tolist(), self.relevant.reshape(shape).tolist()
        several = len(self.systems) > 1
        rows: list[tuple[Cell, ...]] = [
            (
                *((self.systems[s],) if several else ()),
                query,
                measure,
                n[s][q],
                relevant[s][q],
                *(a[s][q] for a in each),
            )
            for s in range(shape[0])
            for q, query in enumerate(self.queries)
            for measure, each in zip(self.measures, lines, strict=True)
        ]
        columns = ("query", "measure", "n", "relevant", *shown)
        about = {"population": self.population, "exactness": self.exactness}
        return Table((("system", *columns) if several else columns), tuple(rows), about)

    def means(self) -> Table:
        """Return means over the queries for which a measure is defined."""
        shown = self._columns()
        rows: list[tuple[Cell, ...]] = []
        for m in self.measures:
            means = (
                _error_of_mean(values[m]) if name.endswith("_error") else _mean(values[m])
                for name, values in shown.items()
            )
            rows.append((m, *means))
        return Table(("measure", *shown), tuple(rows), {"population": self.population})


def bounds(
    judgments: JudgmentsLike,
    measures: MeasuresLike = DEFAULT_MEASURES,
    *,
    population: str = DEFAULT_POPULATION,
    runs: RunsLike | None = None,
    like: str | Convention | None = None,
    relevant: float | None = None,
    sd: DeviationOfRandom = "exact",
    expected: ExpectedOfRandom = "exact",
    ideal: IdealRanking = "exact",
    depth: int | None = None,
    condensed: bool = False,
    warn: bool = True,
    costs: Costs | None = None,
) -> Bounds:
    """Return the ideal, worst and expected score per query, and the standard deviation over random rankings.

    population: the documents that random rankings shuffle: `pool`, the judged documents of the query; `retrieved`, the
        documents that a run returned; `union`, the pool and the unjudged documents that a run ranks above judged ones;
        `collection(N)`, N documents of which the unjudged are not relevant. `retrieved` and `union` need `runs`. The
        pool is refused where most queries have judged documents of one grade only: all their rankings score the same.
    like: the tool whose conventions say what a measure leaves open, as in `evaluate`.
    relevant: the smallest relevant grade, as in `evaluate`.
    sd: `exact` where there is a closed form, else NaN; `sampled` draws random rankings for the others.
    expected: the mean itself (`exact`), or for SP and AP `paper`, the published k p^2, at most the ideal.
    ideal: that of the best ranking (`exact`), for SP and AP `k`, for measures by subtopic `greedy`: of the ranking that
        takes at each rank the document that adds most, as in ndeval.
    depth, condensed: how lists are read where the population depends on them, as in `evaluate`.
    warn: a CalipersWarning with what is to be known of how the files were read.
    costs: what documents cost to read, as in `evaluate`; 1 where nothing is given. With runs, all documents that some
        run retrieves are shuffled as well.

    Normalised measures, such as V2(nDCG@10), are made of bounds themselves. They are left out, and a note says so.

    Not everything has a closed form: `exactness` says of each bound how it was found; `error` and `sd_error` hold the
    standard errors of expected scores and of standard deviations that are sampled.

    >>> b = bounds({"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0, "c": 0}}, ["RR", "AP"])
    >>> b.expected["RR"], b.ideal["RR"], b.worst["RR"]
    (array([0.75      , 0.61111111]), array([1., 1.]), array([0.5       , 0.33333333]))
    """
    options = ScoringOptions(like=like, relevant=relevant, depth=depth, condensed=condensed)
    request = Evaluation.of(judgments, runs, measures, options, costs=costs, warn=warn)
    return bounds_of(request, population=population, sd=sd, expected=expected, ideal=ideal)


def bounds_of(
    evaluation: Evaluation,
    *,
    population: str = DEFAULT_POPULATION,
    sd: DeviationOfRandom = "exact",
    expected: ExpectedOfRandom = "exact",
    ideal: IdealRanking = "exact",
) -> Bounds:
    """Return the bounds of the measures of an experiment. The options are those of `bounds`."""
    for option, value, choices in (
        ("sd", sd, get_args(DeviationOfRandom)),
        ("expected", expected, get_args(ExpectedOfRandom)),
        ("ideal", ideal, get_args(IdealRanking)),
    ):
        if value not in choices:
            raise CalipersError(f"{option}={value} is not one of {', '.join(choices)}")
    check_population(population)
    rules, depth, condensed = evaluation.options.like, evaluation.options.depth, evaluation.options.condensed
    known, runs, costs = evaluation.known, evaluation.runs, evaluation.costs
    if costs is not None:
        depending_on_costs(evaluation.measures)
        if runs:
            whole = whole_runs(runs)
            runs, known = tuple(whole), known if condensed else with_retrieved(known, whole)
        known = with_costs(known, costs)
    refuse_parts(known.pool)
    named = {name: measure.bind(known.pool) for name, measure in evaluation.measures.items()}
    rules.check(known, named.values())
    named, left_out = _without_normalised(named)
    if population == "pool" and costs is None:
        refuse_one_grade(known.pool, named)
    systems: tuple[str, ...] = ()
    place: Any = slice(None)  # of each list, among the populations
    sets: dict[str, Population]  # of each measure
    read = runs if population in OF_LISTS else ()
    warn_user(notes_on_reading(known, read), evaluation.warn)
    if population in OF_LISTS:
        if not runs:
            raise CalipersError(f"population '{population}' needs a run")
        lists = Lists.of(known.pool, [run.retrieved(known, depth or 0) for run in read])
        lists = lists.condensed() if condensed else lists
        if population == "union":
            closed = (ideal, expected) == ("exact", "exact")
            rows = {n: _rows_that_matter(known.pool, m.form, sd) if closed else None for n, m in named.items()}
            sets = {name: lists.with_judged(row)[0] for name, row in rows.items()}
            place = lists.with_judged(next(iter(rows.values())))[1]
        else:
            sets = dict.fromkeys(named, lists.all_shuffled())
        systems = tuple(name for name, _ in distinct_names(read))
    else:
        sets = dict.fromkeys(named, population_of(population, known.pool))
    first = next(iter(sets.values()))
    shape = (len(systems), len(known.queries)) if len(systems) > 1 else (len(known.queries),)

    def each(of: Any) -> dict[str, Floats]:
        return {name: np.asarray(of(measure.form, sets[name]))[place].reshape(shape) for name, measure in named.items()}

    def best(form: Form, whole: Population) -> Floats:
        if ideal == "greedy":
            return greedy_ideal(form, whole)
        return form.published(whole, "ideal") if ideal == "k" else form.ideal(whole)

    def mean(form: Form, whole: Population) -> Floats:
        if expected == "exact":
            return form.expected(whole)
        return np.minimum(form.published(whole, "expected"), best(form, whole))

    errors = {} if expected == "paper" else each(expected_error)
    return Bounds(
        measures=tuple(named),
        queries=known.queries,
        systems=systems,
        population=population,
        n=first.size[place].reshape(shape),
        relevant=_relevant(first, population, rules.rel)[place].reshape(shape),
        ideal=each(best),
        expected=each(mean),
        worst=each(lambda f, whole: f.worst(whole)),
        sd=each(lambda f, whole: standard_deviation(f, whole, sample=sd == "sampled")),
        error=errors or each(lambda f, whole: np.zeros(len(whole.size))),
        sd_error=each(lambda f, whole: _deviation_error(f, whole, sd)),
        exactness={
            name: _exactness(measure.form, sets[name], errors.get(name), sd, ideal) for name, measure in named.items()
        },
        left_out=left_out,
    )


def _without_normalised(measures: Mapping[str, Measure]) -> tuple[dict[str, Measure], tuple[str, ...]]:
    """Return the measures that are not normalised, and a sentence on those that are. Refuse only normalised ones."""
    kept = {name: measure for name, measure in measures.items() if not measure.form.traits.is_normalised}
    normalised = [name for name in measures if name not in kept]
    if not normalised:
        return kept, ()
    if not kept:
        of = measures[normalised[0]].parameters["of"]
        raise CalipersError(f"{normalised[0]} is made of bounds itself; ask for those of {of!r}")
    return kept, (f"{', '.join(normalised)} {verb(len(normalised), 'is', 'are')} made of bounds: left out",)


def refuse_one_grade(pool: Pool, measures: Mapping[str, Measure]) -> None:
    """Stop where most pools have relevant documents of one grade only: all rankings of such a pool score the same."""
    if pool.kind != "grades":
        return
    starts = pool.offsets[:-1][pool.size > 0]
    if not len(starts):
        return
    lowest, highest = np.minimum.reduceat(pool.grade, starts), np.maximum.reduceat(pool.grade, starts)
    flat = int(((lowest == highest) & (lowest > 0)).sum())
    if 2 * flat > pool.queries:
        raise no_room(f"bounds of {', '.join(measures)}", flat, pool.queries, "pool", int(pool.size.max()))


def _rows_that_matter(pool: Pool, form: Form, sd: str) -> NDArray[np.bool_] | None:
    """Return True for the rows of a pool that can change the score of a form, or None if all rows are needed.

    Rows that are left out have the smallest gain and only take ranks. Leaving them out saves much memory, because the
    union of the pool with the documents of each list is a pool per list. All rows are needed if rankings are drawn.
    """
    how = form.exactness()
    closed = (
        (how.ties, how.ideal, how.worst, how.expected) == ("exact",) * 4
        and not how.samples_ties
        and not how.inexact_bounds
    )
    if pool.kind != "grades" or not closed or not (how.has_variance or sd == "exact"):
        return None
    if form.traits.ignores_unjudged or form.traits.reads_costs:
        return None
    matters, gain = form.grade_affects_score(pool.grade), np.asarray(form.gain(pool.grade), np.float64)
    apart = gain[matters].min(initial=np.inf) > gain[~matters].max(initial=-np.inf)
    return matters if apart else None


def _relevant(population: Population, name: str, rel: float) -> Ints:
    if name == "union":  # which holds the whole pool, of which it may not name everything
        return np.asarray(population.pool.relevant(rel)[population.query])
    shown = population.shuffled
    return np.asarray(shown.count(shown.grade >= rel))


def _exactness(
    form: Form, population: Population, error: Floats | None, sd: str, ideal: str
) -> dict[str, ComputationMethod]:
    """Return how each bound of a form was found.

    error: the standard error of the expected score, or None if that is a published formula.
    """
    how = form.exactness(population)
    expected = how.expected
    if error is None:
        expected = "exact"
    elif how.samples_ties or expected == "sampled":
        expected = "sampled" if (error > 0).any() else "enumerated"
    greedy = ideal == "greedy" and form.exactness().ideal == "bound"
    found: dict[str, ComputationMethod] = {
        "ideal": "greedy" if greedy else how.ideal,
        "expected": expected,
        "worst": how.worst,
    }
    if how.has_variance or sd == "sampled":
        found["sd"] = "exact" if how.has_variance else "enumerated" if enumerable(population).all() else "sampled"
    return found


def _deviation_error(form: Form, population: Population, how: str) -> Floats:
    if how == "sampled" and not form.exactness().has_variance:
        return deviation_error(form, population)
    return np.zeros(len(population.size))


def _error_of_mean(errors: Floats) -> float:
    """Return the standard error of the mean over queries, whose rankings are drawn independently."""
    defined = errors[~np.isnan(errors)]
    return float(np.sqrt((defined**2).sum()) / len(defined)) if len(defined) else math.nan


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def depth_for_residual(p: float, residual: float) -> int:
    """Return the depth of judging for which the residual of RBP is small enough: the smallest d with p^d <= residual.

    >>> depth_for_residual(0.8, 0.01)
    21
    """
    if not 0 < p < 1 or not 0 < residual < 1:
        raise CalipersError(f"p={p} and residual={residual} must lie between 0 and 1")
    depth = math.ceil(math.log(residual) / math.log(p) - 1e-9)
    while p**depth > residual:
        depth += 1
    return depth
