"""The weights of ranks.

Weights are values: named, hashable, and passed to a form. Each says what is known of it: its formula, and the facts
that proofs of a measure's properties use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.support.record import Record

DEEP = 1 << 20  # ranks whose weights are kept one by one


class Facts(Record):
    """Facts about the weights of all ranks."""

    positive: bool  # every weight is above 0
    decreasing: bool  # each is larger than the next
    falling: bool  # none is smaller than the next
    largest: float  # no weight is larger
    total: float | None = None  # of all ranks; None where it has no limit


class Discount(Record):
    """The weight of a rank, as a function of an array of ranks from 1, that says what is known of it."""

    @property
    def smooth(self) -> bool:
        """True if the weights of deep ranks change so little that their sum is as good as their integral."""
        return False

    @property
    def kink(self) -> float:
        """A rank at which smooth weights change their course; 0 where they do not."""
        return 0.0

    @property
    def facts(self) -> Facts | None:
        """Facts for proofs, or None if nothing is known."""
        return None

    @property
    def formula(self) -> str:
        """The weight of rank i as text."""
        return "a given weight of the rank"

    @property
    def reader(self) -> str:
        """A sentence about the reader with these weights."""
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
        """The weights with their facts."""
        return self.at if isinstance(self.at, Discount) else GivenDiscount(self.at)

    def up_to(self, cutoff: int | None) -> Weights:
        return Weights(self.at, cutoff)

    def of_ranks(self, depth: int) -> Floats:
        """Return the weights of the ranks from 1 to depth, or to the cutoff if that is smaller."""
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
        """Return the sum of the weights of all ranks up to the cutoff."""
        if self.cutoff is None:
            raise CalipersError("this measure needs a cutoff")
        if self.cutoff <= DEEP:
            return float(self.of_ranks(self.cutoff).sum())
        return float(self.of_ranks(DEEP).sum()) + self._between(DEEP, self.cutoff)

    def sums(self, ranks: Ints) -> Floats:
        """Return the sum of the weights of all ranks down to each of these, or to the cutoff if that is smaller.

        The weights of the first ranks are added one by one. Smooth weights of deep ranks are integrated from half a
        rank above to half a rank below (the midpoint rule), which differs by less than floating point precision.
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
        """Return the sum of the weights of the ranks from above + 1 to last."""
        if self.discount.smooth:
            ends = [above + 0.5, last + 0.5]
            kink = self.discount.kink
            if ends[0] < kink < ends[1]:
                ends.insert(1, kink)
            return sum(integrated(self.at, start, end) for start, end in pairwise(ends))
        starts = range(above, last, DEEP)
        return sum(float(self.at(np.arange(a + 1.0, min(a + DEEP, last) + 1)).sum()) for a in starts)

    def mean(self, first: Ints, last: Ints) -> Floats:
        """Return the mean weight over each span of ranks."""
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
    """Return the integral of a smooth function, by Gauss-Legendre quadrature between doubling points."""
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
    reader = "Looks at k documents, with the same attention for each."

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
        """The rank from which on the weights decrease."""
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
        """True if all weights below the first ranks are 0."""
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
    """Return the weights for a parameter: log2, jk2 (or any base), zipf, none, telescoping, a list, or a function."""
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
