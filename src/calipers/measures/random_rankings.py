"""Random rankings, for what has no closed form: all of them where they are few, else drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from calipers.lists import Floats, Ints, Lists, Population
from calipers.measures.forms.base import Form
from calipers.measures.forms.free import CELLS, FEWEST_DRAWS, drawn_places, lists_by_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

DRAWS = 1000
MOST_ORDERS = 5000  # that are gone through, documents of one grade being alike
SEED = 42


def sampled_mean(form: Form, population: Population) -> Floats:
    """Return the mean score over random rankings of each set of documents."""
    return _moments(form, population, DRAWS, SEED)[0]


def sampled_deviation(form: Form, population: Population, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Return the standard deviation of the score over random rankings of each set of documents."""
    return _moments(form, population, draws, seed)[1]


def sampled_error(form: Form, population: Population) -> Floats:
    """Return the standard error of `sampled_mean`."""
    error = _moments(form, population, DRAWS, SEED)[1] / np.sqrt(_affordable(population, DRAWS))
    return np.where(enumerable(population), 0.0, error)


def expected_error(form: Form, population: Population) -> Floats:
    """Return the standard error of the expected score of each set of documents: 0 where nothing was drawn.

    A random ranking is one tie, so this is the error of its score. Forms that score ties by a closed form although
    their expected score has none draw whole rankings instead.
    """
    how = form.exactness()
    if how.expected == "sampled" and how.ties == "exact":
        return sampled_error(form, population)
    return form.error(population.shuffled)


def deviation_error(form: Form, population: Population, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Return the standard error of `sampled_deviation`: sqrt((m4 - s^4) / draws) / (2 s), with the fourth moment m4."""
    return _moments(form, population, draws, seed)[2]


def enumerable(population: Population) -> NDArray[np.bool_]:
    """Return True for sets with few enough rankings to try all of them."""
    return population.once("enumerable", lambda: _few(population))


def _few(population: Population) -> NDArray[np.bool_]:
    few = np.asarray(population.size <= MOST_ORDERS)
    for i in np.flatnonzero(few).tolist():
        size, ways = int(population.size[i]), 1
        for count in _alike(population, i):
            ways, size = ways * math.comb(size, count), size - count
            if ways > MOST_ORDERS:
                few[i] = False
                break
    return few


def _alike(population: Population, i: int) -> list[int]:
    """Return the number of documents of set i per grade, best first, or 1 per document if more than grades matter."""
    grade = population.grade[population.offsets[i] : population.offsets[i + 1]]
    if population.pool.kind != "grades":
        return [1] * len(grade)
    counts: list[int] = np.unique(-grade, return_counts=True)[1].tolist()
    return counts


def _places(size: int, counts: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the positions (from 0) of documents in all their orders. Equal documents are in ascending order."""

    def of(free: tuple[int, ...], counts: list[int]) -> Iterator[tuple[int, ...]]:
        if not counts:
            yield ()
            return
        for here in combinations(free, counts[0]):
            left = tuple(place for place in free if place not in here)
            for rest in of(left, counts[1:]):
                yield (*here, *rest)

    return of(tuple(range(size)), counts)


def _moments(form: Form, population: Population, draws: int, seed: int) -> tuple[Floats, Floats, Floats]:
    return population.once(("sampled", form, draws, seed), lambda: _drawn_moments(form, population, draws, seed))


def _drawn_moments(form: Form, population: Population, draws: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return mean and standard deviation and, if rankings were drawn, the standard error of the deviation."""
    sets = len(population.size)
    mean, deviation, error = np.empty(sets), np.empty(sets), np.zeros(sets)
    few = enumerable(population).tolist()
    for i, affordable in enumerate(_affordable(population, draws).tolist()):
        if few[i]:
            scores = form.score(all_lists(population, i))
        else:
            scores = form.score(drawn_lists(population, i, affordable, _random(population, i, seed)))
        undefined = np.isnan(scores)
        scores[undefined] = np.nan if undefined.all() else 0.0  # orders that find nothing, where others find something
        mean[i], deviation[i] = np.mean(scores), np.std(scores, ddof=0 if few[i] else 1)
        if not few[i] and deviation[i] > 0:
            fourth = np.mean((scores - mean[i]) ** 4)
            error[i] = np.sqrt(max(fourth - deviation[i] ** 4, 0.0) / len(scores)) / (2.0 * deviation[i])
    return mean, deviation, error


def _affordable(population: Population, draws: int) -> Ints:
    """Return the number of draws for each set, fewer for large sets."""
    return np.asarray(np.clip(CELLS // np.maximum(population.judged, 1), FEWEST_DRAWS, draws))


def _random(population: Population, i: int, seed: int) -> np.random.Generator:
    """Return a generator that depends on the seed and on the set of documents, not on other sets."""
    grades = np.sort(population.grade[population.offsets[i] : population.offsets[i + 1]])
    return np.random.default_rng([seed, int(population.size[i]), crc32(grades.tobytes())])


def drawn_lists(population: Population, i: int, draws: int, random: np.random.Generator) -> Lists:
    """Random rankings of set i."""
    places = drawn_places(int(population.size[i]), int(population.judged[i]), draws, random)
    return _lists_of(population, i, places)


def all_lists(population: Population, i: int) -> Lists:
    """Return all rankings of set i. Documents of the same grade are interchangeable."""
    orders = list(_places(int(population.size[i]), _alike(population, i)))  # one where nothing is judged
    places = np.array(orders, np.int64).reshape(len(orders), int(population.judged[i]))
    return _lists_of(population, i, places)


def _lists_of(population: Population, i: int, places: Ints) -> Lists:
    """Rankings of set i, in which its documents, by grade, stand at these places from 0."""
    rows = population.document[population.offsets[i] : population.offsets[i + 1]]
    # By grade: in which order the documents were judged must not decide what is drawn.
    rows = rows[np.argsort(-population.pool.grade[rows], kind="stable")]
    return lists_by_rank(population.pool, population.query[i], population.size[i], rows, places + 1)
