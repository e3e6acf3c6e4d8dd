"""Readers who go down a list and stop somewhere: what they expect to gain and to spend.

C(i)  the chance of going on from rank i to the next
V(i)  of looking at rank i: the product of C(j) over j < i
W(i)  the share of the attention that rank i gets: V(i) / sum of V
L(i)  of rank i being the last: V(i) * (1 - C(i))
"""

from __future__ import annotations

from functools import singledispatch
from typing import ClassVar, cast

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists
from calipers.measures.forms.base import Form, Traits, Wrapper
from calipers.measures.forms.cascade import Cascade
from calipers.measures.forms.denominators import TOTAL_WEIGHT
from calipers.measures.forms.free import Deterministic, OverOrders
from calipers.measures.forms.linear import Linear
from calipers.measures.forms.paired import Paired
from calipers.measures.forms.self_normalised import SelfNormalisedPrecision
from calipers.measures.forms.shares import Share
from calipers.measures.forms.wrappers import WithoutZeroGains
from calipers.measures.gains import AtLeast, Value, as_gain
from calipers.measures.weights import FLAT, Discount, Facts, Weights
from calipers.support.record import Record

CELLS = 1 << 20  # ranks that are worked on at once
MOST_RANKS = 1 << 20  # that a reader is followed down
READINGS = {
    "EU": "sum over ranks i of W(i) * gain(i)",
    "ETU": "sum over ranks i of L(i) * (gain(1) + ... + gain(i))",
    "EC": "sum over ranks i of W(i) * cost(i)",
    "ETC": "sum over ranks i of L(i) * (cost(1) + ... + cost(i))",
    "ED": "sum over ranks i of V(i)",
}


class Stage(Record):
    """Some ranks of some lists: what stands there, and what was gained and spent down to each. All are [list, rank]
    but the ranks themselves.
    """

    rank: Floats
    gain: Floats
    cost: Floats
    gained: Floats  # this rank included
    spent: Floats


class Browser(Record):
    """A reader with a probability to go on from each rank to the next, and a gain for each document."""

    spends: ClassVar[bool] = False  # whether it depends on the costs of documents
    ends: ClassVar[bool] = False  # whether every reader has stopped at the last rank that is looked at
    value: Value

    @property
    def weights(self) -> Weights | None:
        """The weights of the ranks, where these alone decide."""
        return None

    @property
    def cutoff(self) -> int | None:
        """The rank where every reader has stopped; None where there is no such rank."""
        return None

    @property
    def formula(self) -> str:
        """C(i) as text."""
        raise TypeError(f"{type(self).__name__} does not say how likely its reader goes on")

    def goes_on(self, at: Stage) -> Floats:
        """C of each rank."""
        raise TypeError(f"{type(self).__name__} does not say how likely its reader goes on")


class ByRank(Browser):
    """A reader who goes on with probability C(i) = w(i + 1) / w(i), independent of what is found."""

    at: Weights

    @property
    def weights(self) -> Weights:
        return self.at

    @property
    def cutoff(self) -> int | None:
        return self.at.cutoff

    @property
    def formula(self) -> str:
        return f"w(i + 1) / w(i), w(i) = {self.at.discount.formula}"

    def goes_on(self, at: Stage) -> Floats:
        return np.broadcast_to(_ratios(self.at, at.rank), at.gain.shape)


class SatisfiedReader(Browser):
    """A reader who stops where a document satisfies: C(i) = (1 - gain(i)) * w(i + 1) / w(i)."""

    at: Weights

    @property
    def cutoff(self) -> int | None:
        return self.at.cutoff

    @property
    def formula(self) -> str:
        return f"(1 - gain(i)) * w(i + 1) / w(i), w(i) = {self.at.discount.formula}"

    def goes_on(self, at: Stage) -> Floats:
        if (at.gain > 1).any():
            raise CalipersError("a gain above 1 is no chance of being satisfied")
        return (1.0 - at.gain) * _ratios(self.at, at.rank)


class AllRelevant(Browser):
    """The reader of average precision: C(i) = S(i + 1) / S(i), S(i) being the sum of gain(j) / j over j >= i."""

    formula = "S(i + 1) / S(i), S(i) = sum over j >= i of gain(j) / j"
    last: int | None = None

    @property
    def cutoff(self) -> int | None:
        return self.last

    def goes_on(self, at: Stage) -> Floats:
        share = np.where(at.rank <= (self.last or np.inf), at.gain, 0.0) / at.rank
        below = np.cumsum(share[:, ::-1], axis=1)[:, ::-1]
        after = np.hstack([below[:, 1:], np.zeros((len(below), 1))])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(after > 0, after / below, 0.0)


class Patient(Browser):
    """The reader of INST, who wants a gain of T in all: ((i + T + T_i - 1) / (i + T + T_i))^2, T_i still wanted."""

    target: float

    @property
    def formula(self) -> str:
        return f"((i + T + T_i - 1) / (i + T + T_i))^2, T = {self.target:g}, T_i = T - gain(1) - ... - gain(i)"

    def goes_on(self, at: Stage) -> Floats:
        left = at.rank + 2.0 * self.target - at.gained
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(left > 0, ((left - 1.0) / left) ** 2, 0.0)


class Bejeweled(Browser):
    """A reader who goes on while less than T was gained and less than K spent; both move with what is found."""

    spends = True
    target: float
    budget: float
    raises_target: float = 0.0
    raises_budget: float = 0.0
    middle: float = 0.5

    @property
    def formula(self) -> str:
        limits = f"T = {self.target:g}, K = {self.budget:g}"
        fixed = f"1 while gain(1) + ... + gain(i) < T and cost(1) + ... + cost(i) < K, {limits}"
        if not self.raises_target and not self.raises_budget:
            return fixed
        return (
            f"{fixed}, both growing by hb = {self.raises_target:g} and hc = {self.raises_budget:g} times "
            f"(gain - {self.middle:g}) of each document above"
        )

    def goes_on(self, at: Stage) -> Floats:
        above = (at.gained - at.gain) - self.middle * (at.rank - 1.0)
        wants = at.gained < self.target + self.raises_target * above
        affords = at.spent < self.budget + self.raises_budget * above
        return (wants & affords).astype(np.float64)


class Foraging(Browser):
    """A reader with a goal T of gain, an expected rate A of gain by cost, or both."""

    spends = True
    goal: tuple[float, float, float] | None = None  # T, b1, R1
    rate: tuple[float, float, float] | None = None  # A, b2, R2

    @property
    def formula(self) -> str:
        parts = []
        if self.goal is not None:
            target, b, r = self.goal
            parts.append(f"(1 - 1 / (1 + {b:g} exp({r:g} ({target:g} - gained))))")
        if self.rate is not None:
            expected, b, r = self.rate
            parts.append(f"1 / (1 + {b:g} exp({r:g} ({expected:g} - gained / spent)))")
        return " * ".join(parts)

    def goes_on(self, at: Stage) -> Floats:
        chance = np.ones(at.gain.shape)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if self.goal is not None:
                target, b, r = self.goal
                chance *= 1.0 - 1.0 / (1.0 + b * np.exp((target - at.gained) * r))
            if self.rate is not None:
                expected, b, r = self.rate
                chance *= 1.0 / (1.0 + b * np.exp((expected - at.gained / at.spent) * r))
        return chance


class FadingReader(Browser):
    """A reader whose attention fades with what was spent above a document: C(i) = D(spent(i)) / D(spent(i - 1))."""

    spends = True
    ends = True
    halflife: float | None = None  # D halves with each halflife of cost
    limit: float | None = None  # D falls linearly to 0 at this cost

    @property
    def formula(self) -> str:
        fades = f"2^(-x / {self.halflife:g})" if self.halflife is not None else f"max(0, 1 - x / {self.limit:g})"
        return f"D(cost(1) + ... + cost(i)) / D(cost(1) + ... + cost(i - 1)), D(x) = {fades}"

    def goes_on(self, at: Stage) -> Floats:
        if self.halflife is not None:
            return np.exp2(-at.cost / self.halflife)
        assert self.limit is not None
        before = np.maximum(1.0 - (at.spent - at.cost) / self.limit, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(before > 0, np.maximum(1.0 - at.spent / self.limit, 0.0) / before, 0.0)


class Read(Record):
    """One reading of what a reader does, over the first ranks of lists without ties."""

    of: Browser
    what: str
    depth: int

    def __call__(self, lists: Lists) -> Floats:
        if not len(lists):
            return np.zeros(0)
        # Ranks below the last judged document are the same for all lists with the same gain and cost so far.
        width = int(min(max(lists.first.max(initial=0), 1), self.depth))
        step = max(CELLS // width, 1)
        parts = [self._of(lists, start, min(start + step, len(lists)), width) for start in range(0, len(lists), step)]
        return np.concatenate(parts)

    def _of(self, lists: Lists, start: int, stop: int, width: int) -> Floats:
        gain, cost = dense(lists, self.of.value, start, stop, width)
        top = staged(gain, cost)
        goes_on = self.goes_on(top)
        first = tallied(self.what, top, goes_on)
        reaches = np.prod(goes_on, axis=1)
        if width == self.depth or not (reaches > 0).any():
            return first.value(self.what)
        ends = np.stack([top.gained[:, -1], top.spent[:, -1]], axis=1)
        different, which = np.unique(ends, axis=0, return_inverse=True)
        which = which.reshape(-1)
        found = [
            tallied(self.what, rest, self.goes_on(rest)) for rest in (self._rest(row[None], width) for row in different)
        ]
        total = first
        for name in ReadingTally._names:
            below = np.concatenate([getattr(each, name) for each in found])[which]
            total = total.changed(**{name: getattr(total, name) + reaches * below})
        return total.value(self.what)

    def _rest(self, ends: Floats, width: int) -> Stage:
        """Return the ranks below, which have no gain and cost 1 each."""
        rank = np.arange(width + 1.0, self.depth + 1.0)
        nothing = np.zeros((len(ends), len(rank)))
        return Stage(rank, nothing, nothing + 1.0, nothing + ends[:, :1], ends[:, 1:] + (rank - width))

    def goes_on(self, at: Stage) -> Floats:
        """C, 0 from where every reader has stopped."""
        chance = self.of.goes_on(at)
        last = self.depth if self.of.ends else self.of.cutoff
        return chance if last is None else np.where(at.rank < last, chance, 0.0)


class ReadingTally(Record):
    """The contributions of ranks to the sums of a reading."""

    viewed: Floats
    weighed: Floats
    stopped: Floats

    def value(self, what: str) -> Floats:
        if what == "ED":
            return self.viewed
        if what in ("ETU", "ETC"):
            return self.stopped
        return np.asarray(self.weighed / self.viewed)


def tallied(what: str, at: Stage, goes_on: Floats) -> ReadingTally:
    """Return the sums over these ranks, for a reader who looks at the first of them."""
    viewed = np.cumprod(np.hstack([np.ones((len(goes_on), 1)), goes_on[:, :-1]]), axis=1)
    one, total = (at.cost, at.spent) if what in ("EC", "ETC") else (at.gain, at.gained)
    return ReadingTally(viewed.sum(axis=1), (viewed * one).sum(axis=1), (viewed * (1.0 - goes_on) * total).sum(axis=1))


def dense(lists: Lists, value: Value, start: int, stop: int, width: int) -> tuple[Floats, Floats]:
    """Return gain and cost of the first ranks of lists without ties, [list, rank].

    Unjudged documents have no gain. Documents without a cost, and ranks below the list, cost 1.
    """
    rows = slice(int(lists.offsets[start]), int(lists.offsets[stop]))
    inside = lists.first[rows] <= width
    at = (lists.list[rows][inside] - start, lists.first[rows][inside] - 1)
    gain, cost = np.zeros((stop - start, width)), np.ones((stop - start, width))
    gain[at] = lists.gains(value)[rows][inside]
    if lists.pool.cost is not None:
        cost[at] = lists.pool.cost[lists.document[rows][inside]]
    return gain, cost


def staged(gain: Floats, cost: Floats) -> Stage:
    """Return a stage with all ranks."""
    rank = np.arange(1.0, gain.shape[1] + 1.0)
    return Stage(rank, gain, cost, np.cumsum(gain, axis=1), np.cumsum(cost, axis=1))


def _ratios(weights: Weights, rank: Floats) -> Floats:
    """w(i + 1) / w(i), 0 where nothing follows."""
    weight = np.append(weights.at(rank), weights.at(rank[-1:] + 1.0))
    weight = np.where(np.append(rank, rank[-1] + 1.0) <= (weights.cutoff or np.inf), weight, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(weight[:-1] > 0, weight[1:] / weight[:-1], 0.0)
    if (found > 1).any() or (weight < 0).any():
        raise CalipersError("a rank that weighs more than the one above it leaves no chance of going on")
    return found


class Browsed(Wrapper):
    """A reading of a reader's way down the list."""

    of: Deterministic

    @property
    def reading(self) -> Read:
        return cast("Read", self.of.function)

    @property
    def browser(self) -> Browser:
        return self.reading.of

    @property
    def traits(self) -> Traits:
        costs = self.browser.spends or self.reading.what in ("EC", "ETC")
        return super().traits.changed(reads_costs=costs)

    def score(self, lists: Lists) -> Floats:
        return self.of.score(self._rows(lists))

    def error(self, lists: Lists) -> Floats:
        return self.of.error(self._rows(lists))

    def _rows(self, lists: Lists) -> Lists:
        """Return the documents that affect the score: those with a gain and, if costs are known, all."""
        return lists if self.traits.reads_costs and lists.pool.cost is not None else lists.with_gain(self.browser.value)

    @property
    def gain(self) -> Value:
        return self.browser.value

    def formula(self, letters: dict[str, str]) -> str:
        letters["gain"] = as_gain(self.gain).formula
        letters["C(i)"] = self.browser.formula
        letters["V(i)"] = "product over j < i of C(j)"
        if self.reading.what in ("EU", "EC"):
            letters["W(i)"] = "V(i) / sum over ranks of V"
        if self.reading.what in ("ETU", "ETC"):
            letters["L(i)"] = "V(i) * (1 - C(i))"
        if self.traits.reads_costs:
            letters["cost"] = "of reading the document, by default 1"
        return READINGS[self.reading.what]


class Seen(Discount):
    """w(i) / w(1) - rest: how likely rank i is seen by a reader who stops before the last rank."""

    of: Weights
    rest: float

    @property
    def facts(self) -> Facts | None:
        known = self.of.discount.facts
        return None if known is None else Facts(known.positive, known.decreasing, known.falling, 1.0)

    @property
    def formula(self) -> str:
        return f"w(i) / w(1), w(i) = {self.of.discount.formula}"

    @property
    def reader(self) -> str:
        return self.of.discount.reader

    def __call__(self, rank: Floats) -> Floats:
        return np.asarray(self.of.at(rank) / self.of.at(np.ones(1)) - self.rest)


def read(browser: Browser, what: str, depth: int) -> Form:
    """Return a reading as a form. It is a closed form for gains of readers who depend on ranks only."""
    weights = browser.weights
    if weights is not None and what in ("EU", "ETU"):
        last = depth if weights.cutoff is None else min(depth, weights.cutoff)
        _ratios(weights.up_to(last), np.arange(1.0, last + 1.0))  # refuses weights that grow
        if weights.of_ranks(1)[0] <= 0:
            raise CalipersError("the first rank weighs nothing, so that no reader begins there")
        if what == "EU":
            return Linear(weights.up_to(last), browser.value) / TOTAL_WEIGHT
        beyond = 0.0 if weights.cutoff == last else float(weights.at(np.array([last + 1.0]))[0])
        seen = Seen(weights, beyond / float(weights.of_ranks(1)[0]))
        return Linear(Weights(seen, last), browser.value)
    return Browsed(Deterministic(Read(browser, what, depth)))


@singledispatch
def browsing_model(form: Form) -> Browser | None:
    """Return the reader who goes on from each rank with some probability, or None if the form has no such reader."""
    return None


@browsing_model.register(Linear)
def browsing_model_of_linear(form: Linear) -> Browser:
    return ByRank(form.value, form.weight)


@browsing_model.register(Cascade)
def browsing_model_of_cascade(form: Cascade) -> Browser | None:
    return SatisfiedReader(form.stop, FLAT.up_to(form.weight.cutoff)) if form.stops_at_first_relevant else None


@browsing_model.register(Paired)
@browsing_model.register(SelfNormalisedPrecision)
def browsing_model_of_paired(form: Paired | SelfNormalisedPrecision) -> Browser:
    """The expected utility of this reader is average precision, over R or over what was found."""
    return AllRelevant(AtLeast(form.rel), form.cutoff)


@browsing_model.register(Browsed)
def browsing_model_of_browsed(form: Browsed) -> Browser:
    return form.browser


@browsing_model.register(OverOrders)
def browsing_model_of_over_orders(form: OverOrders) -> Browser | None:
    found: Browser | None = getattr(form.function, "browser", None)
    return found


@browsing_model.register(Share)
@browsing_model.register(WithoutZeroGains)
def browsing_model_of_share(form: Share | WithoutZeroGains) -> Browser | None:
    return browsing_model(form.of)
