"""Random rankings, drawn: for what has no closed form."""

from __future__ import annotations

from zlib import crc32

from calipers.lazy import numpy as np
from calipers.lists import Floats, Ints, Lists, Population
from calipers.measures.forms.base import Form
from calipers.measures.forms.free import CELLS, FEWEST_DRAWS, drawn_places

DRAWS = 1000
SEED = 42


def sampled_mean(form: Form, population: Population, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """The mean of the score over random rankings of each set of documents, from so many draws."""
    return _moments(form, population, draws, seed)[0]


def sampled_deviation(form: Form, population: Population, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """The standard deviation of the score over random rankings of each set of documents, from so many draws."""
    return _moments(form, population, draws, seed)[1]


def sampled_error(form: Form, population: Population, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """The standard error of `sampled_mean`."""
    return np.asarray(_moments(form, population, draws, seed)[1] / np.sqrt(_affordable(population, draws)))


def _moments(form: Form, population: Population, draws: int, seed: int) -> tuple[Floats, Floats]:
    return population.once(("sampled", form, draws, seed), lambda: _drawn_moments(form, population, draws, seed))


def _drawn_moments(form: Form, population: Population, draws: int, seed: int) -> tuple[Floats, Floats]:
    sets = len(population.size)
    mean, deviation = np.empty(sets), np.empty(sets)
    for i, affordable in enumerate(_affordable(population, draws).tolist()):
        scores = form.score(drawn_lists(population, i, affordable, _random(population, i, seed)))
        undefined = np.isnan(scores)
        scores[undefined] = np.nan if undefined.all() else 0.0  # orders that find nothing, where others find something
        mean[i], deviation[i] = np.mean(scores), np.std(scores, ddof=1)
    return mean, deviation


def _affordable(population: Population, draws: int) -> Ints:
    """How many draws of each set: fewer where it is large."""
    return np.asarray(np.clip(CELLS // np.maximum(population.judged, 1), FEWEST_DRAWS, draws))


def _random(population: Population, i: int, seed: int) -> np.random.Generator:
    """Draws that depend on the seed and on the set of documents, not on the sets beside it."""
    grades = np.sort(population.grade[population.offsets[i] : population.offsets[i + 1]])
    return np.random.default_rng([seed, int(population.size[i]), crc32(grades.tobytes())])


def drawn_lists(population: Population, i: int, draws: int, random: np.random.Generator) -> Lists:
    """Random rankings of set i."""
    rows = population.document[population.offsets[i] : population.offsets[i + 1]]
    # By grade: in which order the documents were judged must not decide what is drawn.
    rows = rows[np.argsort(-population.pool.grade[rows], kind="stable")]
    places = drawn_places(int(population.size[i]), len(rows), draws, random) + 1
    order = np.argsort(places, axis=1)
    rank = np.take_along_axis(places, order, axis=1).ravel()
    return Lists(
        pool=population.pool,
        query=np.repeat(population.query[i], draws),
        length=np.repeat(population.size[i], draws),
        offsets=np.arange(draws + 1) * len(rows),
        document=rows[order].ravel(),
        first=rank,
        last=rank,
    )
