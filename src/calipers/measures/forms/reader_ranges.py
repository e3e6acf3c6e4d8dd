"""Between which values a reading of a reader lies, whatever the grades of unknown documents.

A reader at rank i has gained s so far. With N the sums that a reading divides and D what they are divided by,

    F_i(s) = best over the gains g that may stand at rank i of
             n_i(g, s + g) - l * d_i(g, s + g) + C_i(g, s + g) * F_(i+1)(s + g)

is the best of N - l * D from rank i on, as no chance C of going on is below 0. The largest N / D is found by
Dinkelbach's method: l is the quotient of the last round, until it stops growing. A list without ties gets an exact end,
and grades that attain it. In a list with ties every rank of a tie may hold any grade that a document of the tie has or
may get, whatever the others hold: no order and no grading passes that end, and none need attain it.

Dinkelbach, On nonlinear fractional programming, Management Science 1967.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats, Ints
from calipers.measures.forms.gradings import NOISE, NoRange, Steps, Unknown
from calipers.measures.values import Value
from calipers.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from calipers.measures.forms.browsing import Stage

MOST_CELLS = 1 << 23  # of a table of ranks, sums of gains and gains: where it would be larger, there is no range
FINEST = 1 << 12  # gains are whole multiples of the largest one over a number of at most this
NOBODY = 1e-18  # a rank that a smaller share of the readers reach is not looked at
ROUNDS = 100


class Terms(Record):
    """What ranks add to the sums of a reading, and how likely the reader goes on from them. All alike in shape."""

    numerator: Floats
    denominator: Floats
    goes_on: Floats


class Path(Record):
    """A reader's way down lists: what each rank adds, and the ranks below the list."""

    value: Value
    depth: int  # ranks that are looked at
    divides: bool  # whether the reading is a quotient; else its denominator is 1
    terms: Callable[[Stage], Terms]
    below: Callable[[int, Floats, float], tuple[Floats, Floats]]  # of a width, sums of gains, and what was spent


class _Layer(Record):
    """One rank: [sum of gains above it, in units; gain that may stand here]."""

    terms: Terms
    next: Ints  # the sum of gains down to here, in units


Ends = tuple[Floats, Floats]  # the smallest and the largest of each list


def walked(path: Path, unknown: Unknown) -> Ends:
    """Of lists without ties: grades that attain the two ends of each range."""
    steps = Steps.of(path.value, unknown.grades, unknown.lists.pool)
    grades = unknown.all(steps.grade[0]), unknown.all(steps.grade[0])
    for i in range(len(unknown.lists)):
        options, rows = _options(path, unknown, steps, i, tied=False)
        layers, tail = _layers(path, options, _costs(unknown, i, len(options)))
        for grade, largest in zip(grades, (False, True), strict=True):
            chosen = _best(path, layers, tail, largest)[1]
            at = np.flatnonzero(rows[: len(chosen)] >= 0)
            if len(at):
                worth = np.array([options[j][chosen[j]] for j in at.tolist()])
                grade[rows[at]] = steps.grade[np.searchsorted(steps.worth, worth)]
    return grades


def outer(path: Path, unknown: Unknown) -> Ends:
    """Of lists with ties: ends that no order and no grading passes."""
    steps = Steps.of(path.value, unknown.grades, unknown.lists.pool)
    ends = np.empty(len(unknown.lists)), np.empty(len(unknown.lists))
    for i in range(len(unknown.lists)):
        options, _ = _options(path, unknown, steps, i, tied=True)
        layers, tail = _layers(path, options, np.ones(len(options)))
        for end, largest in zip(ends, (False, True), strict=True):
            end[i] = _best(path, layers, tail, largest)[0]
    return ends


def tied(unknown: Unknown) -> bool:
    """Whether some list has ties."""
    return unknown.lists.tied or bool((unknown.first != unknown.last).any())


def _options(path: Path, unknown: Unknown, steps: Steps, i: int, tied: bool) -> tuple[list[Floats], NDArray[np.int64]]:
    """The gains that may stand at each rank of list i, and the row of the unknown document there, or -1."""
    lists = unknown.lists
    width = min(int(lists.length[i]), path.depth)
    judged = slice(int(lists.offsets[i]), int(lists.offsets[i + 1]))
    mine = np.arange(int(unknown.offsets[i]), int(unknown.offsets[i + 1]))
    mine = mine[unknown.seen[mine]]
    worth = lists.worth(path.value)[judged]
    rows = np.full(width + 1, -1)
    if not tied:
        found = [np.zeros(1)] * width
        for rank, gain in zip(lists.first[judged].tolist(), worth.tolist(), strict=True):
            if rank <= width:
                found[rank - 1] = np.array([gain])
        rows[np.minimum(unknown.first[mine] - 1, width)] = mine
        rows = rows[:width]
        return [steps.worth if row >= 0 else each for each, row in zip(found, rows.tolist(), strict=True)], rows
    ties: dict[tuple[int, int], list[Floats]] = {}
    for first, last, gain in zip(
        lists.first[judged].tolist(), lists.last[judged].tolist(), worth.tolist(), strict=True
    ):
        ties.setdefault((first, last), []).append(np.array([gain]))
    for first, last in zip(unknown.first[mine].tolist(), unknown.last[mine].tolist(), strict=True):
        if not any(each is steps.worth for each in ties.setdefault((first, last), [])):
            ties[first, last].append(steps.worth)
    found = [np.zeros(1)] * width
    for (first, last), several in ties.items():
        found[first - 1 : min(last, width)] = [np.unique(np.concatenate(several))] * max(
            min(last, width) - first + 1, 0
        )
    return found[:width], rows[:width]


def _costs(unknown: Unknown, i: int, width: int) -> Floats:
    """What the document at each rank of a list costs."""
    cost, lists = np.ones(width + 1), unknown.lists
    if lists.pool.cost is not None:
        judged = slice(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        cost[np.minimum(lists.first[judged] - 1, width)] = lists.pool.cost[lists.document[judged]]
    if unknown.cost is not None:
        mine = slice(int(unknown.offsets[i]), int(unknown.offsets[i + 1]))
        seen = unknown.seen[mine]
        cost[np.minimum(unknown.first[mine][seen] - 1, width)] = unknown.cost[mine][seen]
    return cost[:width]


def _unit(gains: Floats) -> float:
    """A number that all gains are whole multiples of."""
    largest = float(gains.max(initial=0.0))
    if largest == 0:
        return 1.0
    parts = np.arange(1, FINEST + 1)[:, None] * (gains / largest)
    fits = (np.abs(parts - np.rint(parts)) < 1e-9).all(axis=1)
    if not fits.any():
        raise NoRange("no range is known where gains have no common unit")
    return largest / (int(fits.argmax()) + 1)


def _layers(path: Path, options: list[Floats], cost: Floats) -> tuple[list[_Layer], Ends]:
    """The ranks, as far down as somebody comes, and what is below them for each sum of gains, in units."""
    from calipers.measures.forms.browsing import Stage

    unit = _unit(np.unique(np.concatenate([*options, np.zeros(1)])))
    layers, states, cells, reached, spent = [], 1, 0, 1.0, 0.0
    for rank, gains in enumerate(options, 1):
        spent += float(cost[rank - 1])
        step = np.rint(gains / unit).astype(np.int64)
        after = np.arange(states)[:, None] + step
        cells += after.size
        if cells > MOST_CELLS:
            raise NoRange("no range is known where a reader may have gained so many different sums")
        column = np.asarray(after * unit, np.float64).reshape(-1, 1)
        gain = np.broadcast_to(gains, after.shape).reshape(-1, 1)
        paid, total = np.full(column.shape, cost[rank - 1]), np.full(column.shape, spent)
        found = path.terms(Stage(np.array([float(rank)]), gain, paid, column, total))
        parts = (found.numerator, found.denominator, found.goes_on)
        terms = Terms(*(np.broadcast_to(each, column.shape).reshape(after.shape) for each in parts))
        layers.append(_Layer(terms, after))
        states += int(step.max(initial=0))
        reached *= float(terms.goes_on.max(initial=0.0))
        if reached < NOBODY:
            return layers, (np.zeros(states), np.zeros(states))
    return layers, path.below(len(options), unit * np.arange(states, dtype=np.float64), spent)


def _best(path: Path, layers: list[_Layer], tail: Ends, largest: bool) -> tuple[float, NDArray[np.int64]]:
    """The largest or smallest quotient, and which gain stands at each rank under it."""
    sign = 1.0 if largest else -1.0
    if not path.divides:
        _, numerator, way = _round(layers, tail, 0.0, sign)
        return numerator, way
    value, _, way = _round(layers, tail, 0.0, 1.0)  # where the numerator is largest, there is something to divide by
    for _ in range(ROUNDS):
        found, _, other = _round(layers, tail, value, sign)
        if not sign * (found - value) > NOISE * abs(value):  # NaN where nothing is worth anything
            break
        value, way = found, other
    return value, way


def _round(layers: list[_Layer], tail: Ends, by: float, sign: float) -> tuple[float, float, NDArray[np.int64]]:
    """The quotient, and the numerator, of the way on which N - by * D is the largest or smallest; and the way."""
    top, bottom = tail
    choices = []
    for layer in reversed(layers):
        over = layer.terms.numerator + layer.terms.goes_on * top[layer.next]
        under = layer.terms.denominator + layer.terms.goes_on * bottom[layer.next]
        aim = over - by * under
        choice = (sign * aim).argmax(axis=1)
        row = np.arange(len(choice))
        top, bottom = over[row, choice], under[row, choice]
        choices.append(choice)
    at, way = 0, np.empty(len(layers), np.int64)
    for j, (layer, choice) in enumerate(zip(layers, reversed(choices), strict=True)):
        way[j] = choice[at]
        at = int(layer.next[at, way[j]])
    quotient = float(top[0] / bottom[0]) if bottom[0] > 0 else np.nan
    return quotient, float(top[0]), way
