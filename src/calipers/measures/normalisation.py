"""Scores between their bounds: normalisations by the ideal, the worst and the expected score of a random ranking.

With A the score, U that of the ideal ranking, m0 that of the worst, E and sd the mean and standard deviation over
random rankings of the same documents:

    U   = A / U
    W   = (A - m0) / (U - m0)
    V1  = (A / U) * A / (A + E)
    V2  = (A - E) / (U - E)  where A >= E,  (A - E) / E         below
    V2s = (A - E) / (U - E)  where A >= E,  (A - E) / (E - m0)  below, never under -1
    Z   = (A - E) / sd

U, V1 and V2 also normalise measures of texts, and E is the mean score of random texts (see calipers.texts).

Under ties A is the average over their orders, which is then normalised. For U, W and Z, which are linear in A, that is
the average of the normalised scores of all orders too; V1, V2 and V2s are not linear, and there it is not.

Gienapp et al., SIGIR 2020 (W); the V1 and V2 normalisations are those of the papers on lower-bound normalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists, Pool, Population
from calipers.measures.forms.base import Exactness, Form, Traits, inexact
from calipers.measures.forms.texts import NormalisedTextForm, TextForm
from calipers.measures.gains import Value
from calipers.measures.parameters import POPULATION, Parameter
from calipers.measures.populations import (
    DEFAULT_POPULATION,
    OF_LISTS,
    check_population,
    collection_size,
)
from calipers.measures.random_rankings import SEED, deviation_error, expected_error, sampled_deviation
from calipers.measures.registry import Declaration, Measure, measure
from calipers.support.plurals import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOISE = 1e-12  # differences of sums of floats that mean no difference
BELOW_WORST = (
    "some lists score less than the worst ranking of all judged documents, because they lack relevant documents"
)
NEGATIVE = "V1 and V2 measure from 0 upwards; W, V2s and Z take measures that can be negative"


@dataclass(frozen=True, eq=False)
class Limits:
    """The bounds of a measure for each of some lists or pools."""

    ideal: Floats
    expected: Floats
    worst: Floats
    deviation: Floats | None = None
    expected_error: Floats | None = None  # standard errors, where rankings were drawn
    deviation_error: Floats | None = None

    @property
    def degenerate(self) -> NDArray[np.bool_]:
        """True where random and ideal rankings score the same."""
        return np.asarray((self.ideal > 0) & (self.ideal - self.expected <= NOISE * self.ideal))

    def of(self, query: NDArray[Any]) -> Limits:
        """Return the bounds of these queries."""

        def some(values: Floats | None) -> Floats | None:
            return None if values is None else values[query]

        return Limits(
            self.ideal[query],
            self.expected[query],
            self.worst[query],
            some(self.deviation),
            some(self.expected_error),
            some(self.deviation_error),
        )


def upper(score: Floats, limits: Limits) -> Floats:
    """Return A / U, the score divided by the ideal score.

    >>> upper(np.array([0.5]), Limits(np.array([2.0]), np.array([0.5]), np.array([0.0])))
    array([0.25])
    """
    return _divided(score, limits.ideal)


def worst_to_ideal(score: Floats, limits: Limits) -> Floats:
    """Return (A - m0) / (U - m0): 0 for the worst ranking, 1 for the ideal one, and 0 if both score the same."""
    room = limits.ideal - limits.worst
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(room > NOISE * limits.ideal, (score - limits.worst) / room, 0.0)
    return _where_positive(limits.ideal, value)


def v1(score: Floats, limits: Limits) -> Floats:
    """Return (A / U) * A / (A + E). A perfect ranking gets U / (U + E), a random one E / (2 U).

    >>> v1(np.array([1.0, 0.25]), Limits(np.ones(2), np.full(2, 0.25), np.zeros(2)))
    array([0.8  , 0.125])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(score + limits.expected > 0, score / (score + limits.expected), 0.0)
    return _divided(score, limits.ideal) * weight


def v2(score: Floats, limits: Limits) -> Floats:
    """Return (A - E) / (U - E) if A >= E, else (A - E) / E: -1 for a score of 0, 0 for random, 1 for ideal.

    >>> v2(np.array([0.0, 0.25, 1.0]), Limits(np.ones(3), np.full(3, 0.25), np.zeros(3)))
    array([-1.,  0.,  1.])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(limits.expected > 0, (score - limits.expected) / limits.expected, 0.0)
    return _two_sided(score, limits, below)


def v2s(score: Floats, limits: Limits) -> Floats:
    """Return V2 with (A - E) / (E - m0) below random, so that the worst ranking gets -1."""
    room = limits.expected - limits.worst
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(room > NOISE * limits.ideal, (score - limits.expected) / room, -1.0)
    return _two_sided(score, limits, np.maximum(below, -1.0))


def standard_score(score: Floats, limits: Limits) -> Floats:
    """Return (A - E) / sd, the standard deviations above a random ranking. It is 0 if random rankings do not vary."""
    assert limits.deviation is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(limits.deviation > NOISE, (score - limits.expected) / limits.deviation, 0.0)
    return _where_positive(limits.ideal, np.where(np.isnan(limits.deviation), np.nan, value))


def _two_sided(score: Floats, limits: Limits, below: Floats) -> Floats:
    expected = np.minimum(limits.expected, limits.ideal)
    room = limits.ideal - expected
    reaches = score >= expected - NOISE * limits.ideal
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(limits.degenerate | (room <= 0), 0.0, np.maximum(score - expected, 0.0) / room)
    above = np.where(np.abs(above - 1) < 1e-10, 1.0, above)
    return _where_positive(limits.ideal, np.where(np.isnan(score), np.nan, np.where(reaches, above, below)))


def _divided(score: Floats, by: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(by > 0, score / by, np.nan)


def _where_positive(ideal: Floats, value: Floats) -> Floats:
    return np.where(ideal > 0, value, np.nan)


# -- as measures made from measures --------------------------------------------------------------------


class Normalised(Form):
    """A form between its bounds over a population of documents."""

    base: Form
    function: Callable[[Floats, Limits], Floats]
    population: str = DEFAULT_POPULATION
    published_expected: bool = False
    published_ideal: bool = False

    @property
    def traits(self) -> Traits:
        return Traits(reads_costs=self.base.traits.reads_costs, is_normalised=True)

    def exactness(self, population: Population | None = None) -> Exactness:
        inner = self.base.exactness()
        reads_extremes = self.function is not standard_score and not (
            self.published_ideal and self.function in (v1, v2)
        )
        bounds = inexact(
            *((inner.expected,) if self._reads_expected else ()),
            *(("sampled",) if self._samples_deviation else ()),
            *((inner.ideal, inner.worst) if reads_extremes else ()),
        )
        expected = "sampled" if self._samples_deviation else inner.expected
        return Exactness(ties=inner.ties, expected=expected, samples_ties=inner.samples_ties, inexact_bounds=bounds)

    def error(self, lists: Lists) -> Floats:
        """Return the standard error from the errors of the score, of the expected score and of the deviation.

        It is the square root of the sum of the squared changes that each of these errors makes.
        """
        score, limits = self.base.score(lists), self.limits(lists)
        at = self.function(score, limits)

        def change(error: Floats | None, moved: Callable[[Floats], Floats]) -> Floats:
            if error is None or not np.nan_to_num(error).any():
                return np.zeros(len(at))
            return np.fmax(np.abs(moved(error) - at), np.abs(moved(-error) - at)) ** 2

        total = change(self.base.error(lists), lambda error: self.function(score + error, limits))
        total += change(
            limits.expected_error,
            lambda error: self.function(score, replace(limits, expected=limits.expected + error)),
        )
        if limits.deviation is not None:
            deviation = limits.deviation
            total += change(
                limits.deviation_error,
                lambda error: self.function(score, replace(limits, deviation=np.maximum(deviation + error, 0.0))),
            )
        return np.sqrt(total)

    @property
    def gain(self) -> Value:
        return self.base.gain

    def score(self, lists: Lists) -> Floats:
        score, limits = self.base.score(lists), self.limits(lists)
        if self.function in (v1, v2) and ((score < -NOISE).any() or (limits.expected < -NOISE).any()):
            raise CalipersError(f"the measure inside is negative for some ranking: {NEGATIVE}")
        return self.function(score, limits)

    def substitute(self, score: float, lists: Lists) -> Floats:
        return self.function(np.full(len(lists), score), self.limits(lists))

    def undefined_for_any_ranking(self, lists: Lists) -> NDArray[np.bool_]:
        return super().undefined_for_any_ranking(lists) | self.base.undefined_for_any_ranking(lists)

    def is_degenerate(self, lists: Lists) -> NDArray[np.bool_]:
        """Return True for lists whose random and ideal rankings score the same, or for W the worst and the ideal."""
        limits = self.limits(lists)
        if self.function is worst_to_ideal:
            return np.asarray((limits.ideal > 0) & (limits.ideal - limits.worst <= NOISE * limits.ideal))
        return limits.degenerate

    def limits(self, lists: Lists) -> Limits:
        """Return the bounds for each list. The bounds of pools are computed once for all systems."""
        refuse_parts(lists.pool)
        if self.population == "retrieved":
            return self._limits(lists.all_shuffled())
        if self.population == "union":
            population, place = lists.with_judged()
            return self._limits(population).of(place)
        return self._limits(population_of(self.population, lists.pool, lists.length)).of(lists.query)

    def _limits(self, population: Population) -> Limits:
        return population.once(("limits", self), lambda: self._worked_out(population))

    def _worked_out(self, population: Population) -> Limits:
        ideal = self.base.published(population, "ideal") if self.published_ideal else self.base.ideal(population)
        expected = (
            np.minimum(self.base.published(population, "expected"), ideal)
            if self.published_expected
            else self.base.expected(population)
        )
        deviation = deviation_off = expected_off = None
        if self.function is standard_score:
            deviation = standard_deviation(self.base, population, sample=True)
            if self._samples_deviation:
                deviation_off = deviation_error(self.base, population)
        how = self.base.exactness()
        if self._reads_expected and (how.expected == "sampled" or how.samples_ties):
            expected_off = expected_error(self.base, population)
        worst = self.base.worst(population) if self._reads_worst else np.full(len(ideal), np.nan)
        return Limits(ideal, expected, worst, deviation, expected_off, deviation_off)

    @property
    def _reads_worst(self) -> bool:
        return self.function in (worst_to_ideal, v2s)

    @property
    def _reads_expected(self) -> bool:
        return self.function not in (upper, worst_to_ideal) and not self.published_expected

    @property
    def _samples_deviation(self) -> bool:
        return self.function is standard_score and not self.base.exactness().has_variance

    @property
    def reach(self) -> int | None:
        """The reach of the form inside for bounds over the pool, otherwise None.

        Bounds over retrieved documents need the whole list, a collection must not be smaller than the list, and bounds
        over the union need the list down to its last judged document.
        """
        return self.base.reach if self.population == "pool" else None

    def formula(self, letters: dict[str, str]) -> str:
        letters["A"] = self.base.formula(letters)
        letters["U, m0"] = "A of the best and of the worst ranking of the same documents"
        letters["E, sd"] = "mean and standard deviation of A over random rankings of the same documents"
        return f"a function of A, {self.function.__name__}"


@singledispatch
def population_of_bounds(form: Form) -> str | None:
    """Return the documents whose bounds normalise the score, or None if the form is not normalised."""
    return None


@population_of_bounds.register(Normalised)
def population_of_bounds_for_normalised(form: Normalised) -> str:
    return form.population


def standard_deviation(form: Form, population: Population, *, sample: bool) -> Floats:
    """Return the standard deviation of the score over random rankings of each set of documents.

    It is exactly 0 where the best and the worst ranking score the same: rounding would leave about 1e-8 there.
    sample: draw rankings where there is no closed form, instead of returning NaN.
    """
    variance = form.variance(population)
    if variance is not None:
        deviation = np.sqrt(np.maximum(variance, 0.0))
    elif sample:
        deviation = sampled_deviation(form, population)
    else:
        return np.full(len(population.size), np.nan)
    how = form.exactness()
    if (how.ideal, how.worst) != ("exact", "exact"):
        return deviation
    ideal, worst = form.ideal(population), form.worst(population)
    constant = np.abs(ideal - worst) <= NOISE * np.maximum(np.abs(ideal), np.abs(worst))
    return np.where(constant & ~np.isnan(deviation), 0.0, deviation)


def refuse_parts(pool: Pool) -> None:
    """Raise an error if some pooled documents are not named: then ideal and random rankings are not known."""
    if not pool.whole:
        raise CalipersError(
            "prels name only the documents that were judged, so that bounds and normalised scores are not known; lines "
            "`query 0 document stratum grade` for the whole pool give them"
        )


def population_of(population: str, pool: Pool, lengths: NDArray[Any] | None = None) -> Population:
    """Return the documents of each query that a random ranking shuffles."""
    check_population(population)
    if population == "pool":
        return pool.everything
    if population in OF_LISTS:
        raise CalipersError(f"population '{population}' needs a run")
    size = collection_size(population)
    largest = int(max(pool.size.max(initial=0), 0 if lengths is None else lengths.max(initial=0)))
    if size < largest:
        raise CalipersError(f"population {population} is smaller than a list of {counted(largest, 'document')}")
    everything = pool.everything
    return pool.once(
        ("collection", size),
        lambda: Population(
            everything.pool, everything.query, np.full(pool.queries, size), everything.offsets, everything.document
        ),
    )


OF = Parameter("The measure that is normalised, with its own cutoff and parameters.", "measure").required
EXPECTED = Parameter(
    "The exact expected score (exact), or the published approximation for SP and AP (paper).",
    "word",
    "exact",
    ("exact", "paper"),
)
ATTAINABLE = Parameter(
    "The ideal score that a ranking can reach (exact), or the published one of SP and AP (k).",
    "word",
    "exact",
    ("exact", "k"),
)


OF_TEXTS: dict[str, Any] = {
    "random": Parameter(
        "Of texts: the random texts behind the expected score.",
        "word",
        choices=("words", "sentences", "lead", "shuffled", "other-document", "keywords"),
        open="keywords for BERTScore, words for others",
    ),
    "upper": Parameter(
        "Of texts: the upper bound: 1, what a text of this length can reach, or each reference against the others.",
        "word",
        1,
        (1, "attainable", "human"),
    ),
    "length": Parameter(
        "Of texts: words of a random text: as many as the candidate or the references have, or a number.",
        "size",
        "candidate",
        ("candidate", "reference"),
    ),
    "texts": Parameter("Of texts: random texts per text that are scored one by one.", "whole number", 10, least=2),
    "draws": Parameter("Of texts: random texts where ROUGE is sampled.", "whole number", 1000, least=2),
    "seed": Parameter("Of texts: the seed of the draws.", "whole number", SEED, least=0),
    "tokens": Parameter(
        "Of texts: the tokens of the source that BERTScore's expected text has: the most or the least similar ones, or "
        "random ones.",
        "word",
        "most",
        ("most", "least", "random"),
    ),
    "k": Parameter(
        "Of texts: how many tokens: as many as the candidate or the references have, or a number.",
        "size",
        "reference",
        ("candidate", "reference"),
    ),
}
NORMALS_OF_TEXTS = ("U", "V1", "V2", "E")


def _of_texts(name: Any, of: Measure, given: Mapping[str, Any]) -> Form:
    """Return a measure of texts between its bounds."""
    if name not in NORMALS_OF_TEXTS:
        raise CalipersError(f"{name} of {of!r}: measures of texts are normalised by U, V1 and V2")
    if not isinstance(of.form, TextForm):
        raise CalipersError(f"{name} of {of!r}: a normalised measure is not normalised again; name the measure itself")
    if name != "U" and of.form.chance is None:
        raise CalipersError(
            f"{name}({of!r}): {of.name} has no expected score, because random texts cannot be scored by it"
        )
    changed = {key: value for key, value in given.items() if key in OF_TEXTS and value != OF_TEXTS[key].default}
    if other := [key for key, value in given.items() if key not in OF_TEXTS and value != DEFAULTS_OF_RANKINGS[key]]:
        raise CalipersError(f"{other[0]} of {name}({of!r}) is for measures of rankings")
    return NormalisedTextForm(of.form, name, tuple(changed.items()))


def _declare(name: str, function: Callable[[Floats, Limits], Floats], sentence: str) -> Declaration:
    """Declare a normalisation of measures."""

    def build(of: Measure, population: str, expected: str, ideal: str, **of_texts: Any) -> Form:
        if of.reads == "texts":
            rankings = {"population": population, "expected": expected, "ideal": ideal}
            return _of_texts(name, of, {**rankings, **of_texts})
        if changed := [key for key, value in of_texts.items() if value != OF_TEXTS[key].default]:
            raise CalipersError(f"{changed[0]} of {name}({of!r}) is for measures of texts")
        if of.form.traits.is_normalised:
            raise CalipersError(
                f"{name} of {of!r}: a normalised measure is not normalised again; name the measure itself"
            )
        gain = of.parameters.get("gain")
        if isinstance(gain, Mapping) and min(gain.values()) < 0:
            raise CalipersError(
                f"{name} of {of!r}: with negative gains the expected score may exceed the ideal's range, "
                "so the normalised score means nothing; negative grades are fine"
            )
        if function in (v1, v2) and of.form.traits.can_be_negative:
            raise CalipersError(f"{name} of {of!r}, which can be negative: {NEGATIVE}")
        return Normalised(of.form, function, population, expected == "paper", ideal == "k")

    build.__doc__ = sentence
    build.__module__ = __name__
    of_rankings: dict[str, Any] = {"population": POPULATION, "expected": EXPECTED, "ideal": ATTAINABLE}
    of_texts: Mapping[str, Any] = OF_TEXTS if name in NORMALS_OF_TEXTS else {}
    return measure(name, example=f"{name}(nDCG@10)", of=OF, **of_rankings, **of_texts)(build)


def _mean_of_random_texts(of: Measure, **given: Any) -> Form:
    """Take the mean score of random texts, from which V1 and V2 start."""
    if of.reads != "texts":
        raise CalipersError(f"E of {of!r} is for measures of texts; calipers.bounds has expected scores of rankings")
    return _of_texts("E", of, given)


DEFAULTS_OF_RANKINGS = {"population": POPULATION.default, "expected": EXPECTED.default, "ideal": ATTAINABLE.default}
E = measure("E", example="E(ROUGE-1)", reads="texts", of=OF, **OF_TEXTS)(_mean_of_random_texts)
U = _declare("U", upper, "The score divided by the score of the ideal ranking.")
W = _declare("W", worst_to_ideal, "The score on a scale from the worst ranking (0) to the ideal one (1).")
V1 = _declare("V1", v1, "The score divided by the ideal score, reduced if random rankings score well too.")
V2 = _declare("V2", v2, "The score on a scale from a score of 0 (-1) over random rankings (0) to the ideal one (1).")
V2s = _declare("V2s", v2s, "The score on a scale from the worst (-1) over random (0) to the ideal ranking (1).")
Z = _declare("Z", standard_score, "The number of standard deviations above the mean score of random rankings.")
