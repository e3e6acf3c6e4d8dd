"""What a document at a grade is worth, and what a rank is worth: the two halves of most measures.

Both are values themselves: named, hashable, passed to a form, never looked up deep inside one. Each says what is
known of it: its formula, and the facts that proofs of a measure's properties rest on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.record import Record


class Value(Protocol):
    """The worth of a judged document, from its grade. Unjudged documents are worth nothing."""

    def __call__(self, grade: Floats) -> Floats: ...


class Worth(Record):
    """A value that says what is known of it."""

    unit: ClassVar[bool] = False  # whether grades from 0 to 1 are worth 0 to 1, never less
    rising: ClassVar[bool] = True  # whether a better document is worth more
    chance: ClassVar[bool] = False  # whether it is a probability, whatever the grade
    certain: ClassVar[bool] = True  # whether that may be 1
    adds: ClassVar[bool] = True  # whether a document adds its worth to a score; otherwise documents are sorted by it
    measures_judging: ClassVar[bool] = False  # whether it tells of the judgments themselves: judging more changes it

    @property
    def level(self) -> float | None:
        """The grade from which on a document is worth 1, where all others are worth 0; None for other worths."""
        return None

    @property
    def only_grades(self) -> tuple[float, ...] | None:
        """The grades above nothing that it has a worth for, where others are refused; None where any grade will do."""
        return None

    @property
    def formula(self) -> str:
        """The worth as text."""
        return "a given worth of the grade"

    def __call__(self, grade: Floats) -> Floats:
        raise TypeError(f"{type(self).__name__} does not say what a grade is worth")


class GivenWorth(Worth):
    """A user's function of grades, of which nothing is known."""

    function: Value

    def __call__(self, grade: Floats) -> Floats:
        return self.function(grade)


def described(value: Value) -> Worth:
    """What is known of a value."""
    return value if isinstance(value, Worth) else GivenWorth(value)


class Grade(Worth):
    """The grade as it is."""

    adds = False

    def __call__(self, grade: Floats) -> Floats:
        return grade


class Negative(Worth):
    """A worth turned round."""

    of: Value

    def __call__(self, grade: Floats) -> Floats:
        return -self.of(grade)


class AtLeast(Worth):
    """1 for a relevant document: one whose grade reaches the relevance level."""

    unit = True
    chance = True
    rel: float = 1

    @property
    def level(self) -> float:
        return self.rel

    @property
    def formula(self) -> str:
        return f"1 for a grade of at least {self.rel:g}, else 0"

    def __call__(self, grade: Floats) -> Floats:
        return (grade >= self.rel).astype(np.float64)


class Judged(Worth):
    """1 for every judged document."""

    unit = True
    rising = False
    measures_judging = True
    formula = "1 for a judged document, else 0"

    def __call__(self, grade: Floats) -> Floats:
        return np.ones_like(grade)


class LinearGain(Worth):
    """The grade itself; grades below 0 are worth 0."""

    unit = True
    formula = "the grade, 0 if it is negative"

    def __call__(self, grade: Floats) -> Floats:
        return np.maximum(grade, 0.0)


class ExponentialGain(Worth):
    """2^grade - 1; grades below 0 are worth 0."""

    unit = True
    formula = "2^grade - 1, 0 if it is negative"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):  # what is infinite is refused by those who ask
            return np.exp2(np.maximum(grade, 0.0)) - 1.0


class TableGain(Worth):
    """A worth for each grade; a grade of 0 or less that the table lacks is worth 0."""

    formula = "the gain that a table gives the grade"
    table: tuple[tuple[float, float], ...]

    @property
    def only_grades(self) -> tuple[float, ...]:
        return tuple(grade for grade, gain in self.table if gain > 0)

    def __call__(self, grade: Floats) -> Floats:
        grades = np.array([entry[0] for entry in self.table])
        gains = np.array([entry[1] for entry in self.table])
        place = np.minimum(np.searchsorted(grades, grade), len(grades) - 1)
        listed = grades[place] == grade
        missing = grade[~listed & (grade > 0)]
        if len(missing):
            raise CalipersError(f"the gain table has no entry for grade {missing[0]:g}")
        return np.where(listed, gains[place], 0.0)


class Except(Worth):
    """A gain, but another worth for some grades."""

    gain: Value
    table: tuple[tuple[float, float], ...]

    def __call__(self, grade: Floats) -> Floats:
        worth = self.gain(grade)
        for level, gain in self.table:
            worth = np.where(grade == level, gain, worth)
        return worth


class GainFrom(Worth):
    """The gain of a relevant document, one whose grade reaches the relevance level; nothing for the others."""

    gain: Value
    rel: float = 1

    @property
    def formula(self) -> str:
        return f"{described(self.gain).formula}; nothing for a grade below {self.rel:g}"

    def __call__(self, grade: Floats) -> Floats:
        return np.where(grade >= self.rel, self.gain(grade), 0.0)


class ShareOfLargest(Worth):
    """A gain as a share of what the largest grade is worth, so that it lies in [0, 1]."""

    unit = True
    chance = True
    gain: Value
    max_grade: float

    @property
    def formula(self) -> str:
        return f"{described(self.gain).formula}, as a share of what the largest grade is worth"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            largest = float(self.gain(np.array([self.max_grade]))[0])
            gain = self.gain(_not_above(grade, self.max_grade))
        if largest <= 0:
            return np.zeros_like(grade)
        return _share(gain, largest, self.max_grade)


class StopProbability(Worth):
    """(2^grade - 1) / 2^max_grade: how likely a reader is satisfied and stops."""

    unit = True
    chance = True
    certain = False
    max_grade: float

    formula = "(2^grade - 1) / 2^(largest grade)"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            most = float(np.exp2(self.max_grade))
        return _share(ExponentialGain()(_not_above(grade, self.max_grade)), most, self.max_grade)


class StopByGain(Worth):
    """gain / (gain of the largest grade + 1): how likely a reader is satisfied and stops."""

    unit = True
    chance = True
    certain = False
    gain: Value
    max_grade: float

    @property
    def formula(self) -> str:
        return f"g / (G + 1), g being {described(self.gain).formula}, and G that of the largest grade"

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            most = float(self.gain(np.array([self.max_grade]))[0]) + 1.0
            return _share(self.gain(_not_above(grade, self.max_grade)), most, self.max_grade)


class ShareOf(Worth):
    """The grade, which is a gain already, over the gain of the largest grade + 1."""

    formula = "what it gains / (the gain of the largest grade + 1)"
    gain: Value
    max_grade: float

    def __call__(self, grade: Floats) -> Floats:
        with np.errstate(over="ignore"):
            most = float(self.gain(np.array([self.max_grade]))[0]) + 1.0
        return _share(np.maximum(grade, 0.0), most, self.max_grade)


def _share(gain: Floats, most: float, max_grade: float) -> Floats:
    """The gains by what the largest grade is worth. Infinite ones stay so, and are refused by those who ask."""
    if np.isfinite(most):
        return np.asarray(gain / most)
    if not np.isinf(gain).any():
        raise CalipersError(f"max_grade={max_grade:g}: its gain is not a finite number; take another gain")
    return np.where(np.isinf(gain), gain, 0.0)


def _not_above(grade: Floats, max_grade: float) -> Floats:
    if len(grade) and grade.max() > max_grade:
        raise CalipersError(f"grade {grade.max():g} is above max_grade={max_grade:g}")
    return grade


GAINS: dict[str, Value] = {"linear": LinearGain(), "exp": ExponentialGain()}


def gain_of(gain: str | Mapping[float, float] | Value, gains: Mapping[float, float] | None = None) -> Value:
    """The gain that parameters name: a name, a table {grade: gain}, or a function of an array of grades.

    gains: a table of exceptions to it, as in trec_eval and ir_measures.
    """
    if gains is not None and gains != {}:
        if not isinstance(gains, Mapping) or not all(value >= 0 for value in gains.values()):
            raise CalipersError(f"gains={gains} is not a table of a gain of at least 0 for some grades")
        return Except(gain_of(gain), tuple(sorted((float(grade), float(value)) for grade, value in gains.items())))
    if isinstance(gain, str):
        if gain not in GAINS:
            raise CalipersError(f"unknown gain '{gain}'; expected a table or one of {', '.join(sorted(GAINS))}")
        return GAINS[gain]
    if isinstance(gain, Mapping):
        if not gain:
            raise CalipersError("the gain table is empty")
        return TableGain(tuple(sorted((float(grade), float(value)) for grade, value in gain.items())))
    if not callable(gain):
        raise CalipersError(f"gain={gain!r} is neither a table nor one of {', '.join(sorted(GAINS))}")
    return gain


DEEP = 1 << 20  # ranks whose weights are kept one by one

# -- ranks -------------------------------------------------------------------------------------------


class Facts(Record):
    """What is known of the weights of all ranks."""

    positive: bool  # every weight is above 0
    decreasing: bool  # each is larger than the next
    falling: bool  # none is smaller than the next
    largest: float  # no weight is larger
    total: float | None = None  # of all ranks; None where it has no limit


class Discount(Record):
    """The weight of a rank, as a function of an array of ranks from 1, that says what is known of it."""

    @property
    def smooth(self) -> bool:
        """Whether weights change so little from a deep rank to the next that their sum is as good as their integral."""
        return False

    @property
    def kink(self) -> float:
        """A rank at which smooth weights change their course; 0 where they do not."""
        return 0.0

    @property
    def facts(self) -> Facts | None:
        """What proofs may rest on; None where nothing is known."""
        return None

    @property
    def formula(self) -> str:
        """The weight of rank i as text."""
        return "a given weight of the rank"

    @property
    def reader(self) -> str:
        """Who reads with such weights, in a sentence."""
        return "Looks at k documents, and cares less for each further one."

    def __call__(self, rank: Floats) -> Floats:
        raise TypeError(f"{type(self).__name__} does not say what a rank weighs")


class GivenDiscount(Discount):
    """A user's function of ranks, of which nothing is known."""

    function: Callable[[Floats], Floats]

    def __call__(self, rank: Floats) -> Floats:
        return self.function(rank)


class Weights(Record):
    """The weight of each rank: a function of an array of ranks from 1, nothing beyond the cutoff."""

    at: Callable[[Floats], Floats]
    cutoff: int | None = None

    @property
    def discount(self) -> Discount:
        """What is known of the weights."""
        return self.at if isinstance(self.at, Discount) else GivenDiscount(self.at)

    def up_to(self, cutoff: int | None) -> Weights:
        return Weights(self.at, cutoff)

    def of_ranks(self, depth: int) -> Floats:
        """The weights of ranks 1 to depth, or to the cutoff where that comes first."""
        return self.at(np.arange(1, self._cut(depth) + 1, dtype=np.float64))

    def falling(self, depth: int, above: bool) -> tuple[Floats, bool] | None:
        """Weights of ranks 1 to depth, none larger than the one above it, and whether they are the true ones.

        Where they are not, they are the least such weights that are nowhere smaller, or the largest that are nowhere
        larger. None where a weight is negative.
        """
        weight = self.of_ranks(depth)
        if (weight < 0).any():
            return None
        weight = np.append(weight, np.zeros(depth - len(weight)))
        found = np.maximum.accumulate(weight[::-1])[::-1] if above else np.minimum.accumulate(weight)
        return found, bool((found == weight).all())

    def total(self) -> float:
        """The weight of all ranks up to the cutoff."""
        if self.cutoff is None:
            raise CalipersError("this measure needs a cutoff")
        if self.cutoff <= DEEP:
            return float(self.of_ranks(self.cutoff).sum())
        return float(self.of_ranks(DEEP).sum()) + self._between(DEEP, self.cutoff)

    def sums(self, ranks: Ints) -> Floats:
        """The weight of all ranks down to each of these, or to the cutoff where that comes first.

        The weights of the first ranks are added up one by one; those below are, where they change smoothly, integrated
        (the midpoint rule: a rank's weight is that of the stretch from half a rank above it to half a rank below),
        which differs from the sum by less than floats can tell.
        """
        ranks = np.minimum(ranks, sys.maxsize if self.cutoff is None else self.cutoff).astype(np.int64)
        depth = min(int(ranks.max(initial=0)), DEEP)
        table = np.zeros(depth + 1)
        np.cumsum(self.of_ranks(depth), out=table[1:])
        found = table[np.minimum(ranks, DEEP)]
        below = np.flatnonzero(ranks > DEEP)
        if len(below):
            distinct, place = np.unique(ranks[below], return_inverse=True)
            stretches = [self._between(a, b) for a, b in pairwise([DEEP, *distinct.tolist()])]
            found[below] += np.cumsum(stretches)[place]
        return found

    def _between(self, above: int, last: int) -> float:
        """The weight of the ranks below the first and down to the second."""
        if self.discount.smooth:
            ends = [above + 0.5, last + 0.5]
            kink = self.discount.kink
            if ends[0] < kink < ends[1]:
                ends.insert(1, kink)
            return sum(integrated(self.at, start, end) for start, end in pairwise(ends))
        starts = range(above, last, DEEP)
        return sum(float(self.at(np.arange(a + 1.0, min(a + DEEP, last) + 1)).sum()) for a in starts)

    def mean(self, first: Ints, last: Ints) -> Floats:
        """The mean weight over each span of ranks."""
        depth = self._cut(int(last.max(initial=0)))
        shown = min(depth, DEEP)
        weight = np.zeros(shown + 2)  # nothing at rank 0, nothing just beyond the cut
        weight[1:-1] = self.of_ranks(shown)
        alone = weight[np.minimum(first, shown + 1)]
        spread = np.flatnonzero(first != last)
        if depth > DEEP:
            below = np.flatnonzero((first > DEEP) & (first <= depth))
            alone[below] = self.at(first[below].astype(np.float64))
        if len(spread):
            start, end = first[spread].astype(np.int64), last[spread].astype(np.int64)
            if depth > DEEP:
                inside = self.sums(np.minimum(end, depth)) - self.sums(np.minimum(start - 1, depth))
            else:
                total = np.cumsum(weight)
                inside = total[np.minimum(end, depth)] - total[np.minimum(start - 1, depth)]
            alone[spread] = inside / (end - start + 1)
        return alone

    def _cut(self, depth: int) -> int:
        return depth if self.cutoff is None else min(depth, self.cutoff)


def integrated(function: Callable[[Floats], Floats], start: float, end: float) -> float:
    """The integral of a smooth function, by Gauss and Legendre's rule between doubling points."""
    ends = [start]
    while ends[-1] < end:
        ends.append(min(2.0 * ends[-1], end))
    at, weight = np.polynomial.legendre.leggauss(64)
    halves = np.diff(ends)[:, None] / 2.0
    return float((function(np.array(ends[:-1])[:, None] + halves * (1.0 + at)) * halves * weight).sum())


class Flat(Discount):
    """1 at every rank."""

    smooth = True
    facts = Facts(True, False, True, 1.0)
    formula = "1"
    reader = "Looks at k documents, all alike."

    def __call__(self, rank: Floats) -> Floats:
        return np.ones_like(rank)


class Logarithmic(Discount):
    """1 / log2(rank + 1)."""

    smooth = True
    facts = Facts(True, True, True, 1.0)
    formula = "1 / log2(i + 1)"

    def __call__(self, rank: Floats) -> Floats:
        return 1.0 / np.log2(rank + 1.0)


class Zipf(Discount):
    """1 / rank."""

    smooth = True
    facts = Facts(True, True, True, 1.0)
    formula = "1 / i"

    def __call__(self, rank: Floats) -> Floats:
        return 1.0 / rank


class Telescoping(Discount):
    """1 / (rank (rank + 1)): all ranks after the first k together weigh 1 / (k + 1)."""

    smooth = True
    facts = Facts(True, True, True, 1.0, 1.0)
    formula = "1 / (i (i + 1))"
    reader = "Reads on past rank i with probability i / (i + 2): the more surely the deeper the rank."

    def __call__(self, rank: Floats) -> Floats:
        return 1.0 / (rank * (rank + 1.0))


class JarvelinKekalainen(Discount):
    """No discount before rank b, then 1 / log_b(rank). With b = 2 ranks 1 and 2 weigh the same."""

    smooth = True
    base: float

    @property
    def facts(self) -> Facts:
        return Facts(True, self.base < 2, True, 1.0)

    @property
    def formula(self) -> str:
        return f"1 for i < {self.base:g}, then 1 / log_{self.base:g}(i)"

    @property
    def kink(self) -> float:
        """Where the weights begin to fall."""
        return float(np.ceil(self.base)) - 0.5

    def __call__(self, rank: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(rank < self.base, 1.0, np.log(self.base) / np.log(rank))


class Geometric(Discount):
    """(1 - p) p^(rank - 1): a reader who goes on with probability p."""

    smooth = True
    p: float

    @property
    def facts(self) -> Facts:
        return Facts(0 < self.p < 1, 0 < self.p < 1, 0 <= self.p < 1, 1.0, 1.0)

    @property
    def formula(self) -> str:
        return f"(1 - p) p^(i - 1), p = {self.p:g}"

    @property
    def reader(self) -> str:
        return f"Goes on from each document to the next with probability {self.p:g}."

    def __call__(self, rank: Floats) -> Floats:
        return np.asarray((1.0 - self.p) * self.p ** (rank - 1.0))


class InverseSquare(Discount):
    """1 / (rank + 2T - 1)^2, scaled to a sum of 1 over all ranks: a reader who wants T documents."""

    smooth = True
    target: float

    facts = Facts(True, True, True, 1.0, 1.0)

    @property
    def formula(self) -> str:
        return f"1 / (i + 2T - 1)^2, scaled to a sum of 1, T = {self.target:g}"

    @property
    def reader(self) -> str:
        return f"Wants T relevant documents, T = {self.target:g}, and goes on the more surely the deeper the rank."

    def __call__(self, rank: Floats) -> Floats:
        from scipy.special import polygamma

        return np.asarray(1.0 / ((rank + 2.0 * self.target - 1.0) ** 2 * polygamma(1, 2.0 * self.target)))


class PowerSteps(Discount):
    """(rank + 1)^b - rank^b: what one document more adds where a total grows as its number to the power of b."""

    reader = "Finds less and less in further documents, and looks at k of them at most."
    smooth = True
    power: float

    @property
    def facts(self) -> Facts:
        return Facts(True, self.power < 1, True, 1.0)

    @property
    def formula(self) -> str:
        return f"(i + 1)^beta - i^beta, beta = {self.power:g}"

    def __call__(self, rank: Floats) -> Floats:
        return np.asarray((rank + 1.0) ** self.power - rank**self.power)


class Listed(Discount):
    """A weight for each rank, given one by one; ranks beyond them weigh nothing."""

    weights: tuple[float, ...]

    @property
    def smooth(self) -> bool:
        """Whether nothing but zeros comes below the first ranks."""
        return len(self.weights) <= DEEP

    def __call__(self, rank: Floats) -> Floats:
        padded = np.append(self.weights, 0.0)
        return np.asarray(padded[np.minimum(rank.astype(np.int64) - 1, len(self.weights))])


DISCOUNTS: dict[str, Weights] = {
    "log2": Weights(Logarithmic()),
    "zipf": Weights(Zipf()),
    "none": Weights(Flat()),
    "telescoping": Weights(Telescoping()),
}
FLAT = DISCOUNTS["none"]


def discount_of(discount: str | Sequence[float] | Callable[[Floats], Floats]) -> Weights:
    """The weights that a parameter names: log2, jk2 (or any base), zipf, none, telescoping, a list, or a function."""
    if isinstance(discount, Sequence) and not isinstance(discount, str):
        if not discount or not all(isinstance(weight, int | float) and weight >= 0 for weight in discount):
            raise CalipersError(f"discount={list(discount)} does not list weights of at least 0")
        return Weights(Listed(tuple(float(weight) for weight in discount)))
    if callable(discount):
        return Weights(discount)
    if not isinstance(discount, str):
        raise CalipersError(f"discount={discount!r} is neither a list of weights nor the name of a discount")
    if discount in DISCOUNTS:
        return DISCOUNTS[discount]
    if discount.startswith("jk"):
        try:
            base = float(discount[2:])
        except ValueError:
            base = 0.0
        if 1 < base < np.inf:
            return Weights(JarvelinKekalainen(base))
    raise CalipersError(
        f"unknown discount '{discount}'; expected jk2 (or another base) or one of {', '.join(sorted(DISCOUNTS))}"
    )
