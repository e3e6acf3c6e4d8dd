"""Between which values a reading of a reader lies, whatever the grades of unknown documents.

A reader at rank i has gained s so far. With N the sums that a reading divides and D what they are divided by,

    F_i(s) = best over the gains g that may stand at rank i of
             n_i(g, s + g) - l * d_i(g, s + g) + C_i(g, s + g) * F_(i+1)(s + g)

is the best of N - l * D from rank i on, as no chance C of going on is below 0. The largest N / D is found by Dinkelbach's
method: l is the quotient of the last round, until it stops growing. A list without ties gets an exact end, and the grades
that attain it. In a list with ties every rank of a tie may hold any grade that a document of the tie has or may get,
whatever the others hold: no order and no grading passes that end, and none need attain it.

Dinkelbach, On nonlinear fractional programming, Management Science 1967.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from calipers.lazy import numpy as np
from calipers.lists import Floats, Ints
from calipers.measures.forms.gradings import NOISE, NoRange, Steps, Unknown
from calipers.measures.values import Value
from calipers.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from calipers.measures.forms.browsing import Read, Stage

MOST_CELLS = 1 << 23  # of a table of ranks, sums of gains and gains: where it would be larger, there is no range
DIGITS = 12  # to which sums of gains are told apart
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
    depth: int | None  # ranks that are looked at; None where there is no end
    divides: bool  # whether the reading is a quotient; else its denominator is 1
    terms: Callable[[Stage], Terms]
    below: Callable[[int, Floats, float], tuple[Floats, Floats]]  # of a width, sums of gains, and what was spent


class _Layer(Record):
    """One rank: [sum of gains above it, gain that may stand here]."""

    gains: Floats
    terms: Terms
    next: Ints  # where s + g is among the sums of the next rank


def walked(path: Path, unknown: Unknown, largest: bool) -> tuple[Floats, Floats]:
    """Of lists without ties: the end of each range, and grades that attain it."""
    steps = Steps.of(path.value, unknown.grades, unknown.lists.pool)
    grade, ends = unknown.all(steps.grade[0]), np.empty(len(unknown.lists))
    for i in range(len(unknown.lists)):
        options, rows = _options(path, unknown, steps, i, tied=False)
        layers, tail = _layers(path, options, _costs(path, unknown, i, len(options)))
        ends[i], chosen = _best(path, layers, tail, largest)
        at = np.flatnonzero(rows[: len(chosen)] >= 0)
        worth = np.array([layers[j].gains[chosen[j]] for j in at.tolist()])
        grade[rows[at]] = steps.grade[np.searchsorted(steps.worth, worth)] if len(at) else grade[rows[at]]
    return ends, grade


def outer(path: Path, unknown: Unknown, largest: bool) -> Floats:
    """Of lists with ties: an end that no order and no grading passes."""
    steps = Steps.of(path.value, unknown.grades, unknown.lists.pool)
    ends = np.empty(len(unknown.lists))
    for i in range(len(unknown.lists)):
        options, _ = _options(path, unknown, steps, i, tied=True)
        layers, tail = _layers(path, options, np.ones(len(options)))
        ends[i] = _best(path, layers, tail, largest)[0]
    return ends


def tied(unknown: Unknown) -> bool:
    """Whether some list has ties."""
    return unknown.lists.tied or bool((unknown.first != unknown.last).any())


def _options(path: Path, unknown: Unknown, steps: Steps, i: int, tied: bool) -> tuple[list[Floats], NDArray[np.int64]]:
    """The gains that may stand at each rank of list i, and the row of the unknown document there, or -1."""
    lists = unknown.lists
    width = int(lists.length[i]) if path.depth is None else min(int(lists.length[i]), path.depth)
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


def _costs(path: Path, unknown: Unknown, i: int, width: int) -> Floats:
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


def _layers(path: Path, options: list[Floats], cost: Floats) -> tuple[list[_Layer], tuple[Floats, Floats]]:
    """The ranks, as far down as somebody comes, and what is below them for each sum of gains."""
    from calipers.measures.forms.browsing import Stage

    sums, layers, cells, reached, spent = np.zeros(1), [], 0, 1.0, 0.0
    for rank, gains in enumerate(options, 1):
        spent += float(cost[rank - 1])
        after = sums[:, None] + gains
        cells += after.size
        if cells > MOST_CELLS:
            raise NoRange("its reader may have gained too many different sums")
        column = after.reshape(-1, 1)
        gain = np.broadcast_to(gains, after.shape).reshape(-1, 1)
        at = Stage(
            np.array([float(rank)]), gain, np.full(column.shape, cost[rank - 1]), column, np.full(column.shape, spent)
        )
        found = path.terms(at)
        terms = Terms(*(np.broadcast_to(each, column.shape).reshape(after.shape) for each in (
            found.numerator, found.denominator, found.goes_on)))  # fmt: skip
        goes_on = terms.goes_on > 0
        _, one, place = np.unique(np.round(after[goes_on], DIGITS), return_index=True, return_inverse=True)
        sums, next = after[goes_on][one], np.zeros(after.shape, np.int64)
        next[goes_on] = place.reshape(-1)
        layers.append(_Layer(gains, terms, next))
        reached *= float(terms.goes_on.max(initial=0.0))
        if reached < NOBODY:
            nothing = np.zeros(max(len(sums), 1))
            return layers, (nothing, nothing)
    return layers, path.below(len(options), sums, spent)


def _best(
    path: Path, layers: list[_Layer], tail: tuple[Floats, Floats], largest: bool
) -> tuple[float, NDArray[np.int64]]:
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


def _round(
    layers: list[_Layer], tail: tuple[Floats, Floats], by: float, sign: float
) -> tuple[float, float, NDArray[np.int64]]:
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
