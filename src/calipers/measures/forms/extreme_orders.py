"""The best or the worst order of a few documents, by branch and bound, and what the search asks of a plain form.

The gain of a document may depend on the documents above it, so the best document at each rank need not give the best
order. Orders are extended rank by rank, the most promising first. Let F(S) be the total gain of the documents S of the
first ranks. With decreasing weights w, the score is the sum over ranks of (w_r - w_(r+1)) F(S_r). Each term is bounded:
if F is submodular, r more documents add at most the sum of their r largest current gains. Documents with the same gains
are one kind, and a document that adds less to everything is not taken before a better one. A search that takes too long
ends with a bound. Increasing weights are replaced by decreasing weights that bound them.

Nemhauser, Wolsey & Fisher, An analysis of approximations for maximizing submodular set functions, Mathematical
Programming 1978 (the bound).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats, Ints, Pool
from calipers.measures.forms.base import Form
from calipers.measures.forms.cascade import Cascade
from calipers.measures.forms.linear import Linear
from calipers.measures.forms.paired import Paired
from calipers.measures.gains import AtLeast

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_TRIED = 50_000  # prefixes of one set of documents
NOISE = 1e-12


class SearchTerm(Protocol):
    """A term of the score that is searched, for documents of some kinds."""

    @property
    def kinds(self) -> Floats:
        """The features of each kind, [kind, ...]. Larger features are never worse."""
        ...

    @property
    def exact(self) -> bool:
        """True if the term is exact, and not an upper (or lower) bound of it."""
        ...

    def start(self) -> Any:
        """Return the state before the first rank."""
        ...

    def gains(self, state: Any, rank: int) -> Floats:
        """Return the gain that a document of each kind adds at a rank (from 0)."""
        ...

    def after(self, state: Any, kind: int) -> Any:
        """Return the state after a document of this kind."""
        ...

    def bound(self, state: Any, rank: int, last: int, left: Ints, best: bool) -> float:
        """Return an upper (lower) bound of the gain that the remaining documents can add at the ranks up to last."""
        ...


@dataclass(frozen=True, eq=False)
class Satisfied:
    """The sum over ranks and intents of weight * value * chance * product over those above of (1 - chance)."""

    weight: Floats  # of each rank, falling
    value: Floats  # of each intent
    kinds: Floats  # [kind, intent]: the chance of being satisfied
    exact: bool = True

    def start(self) -> Floats:
        return self.value

    def gains(self, state: Floats, rank: int) -> Floats:
        return np.asarray(self.weight[rank] * (self.kinds @ state))

    def after(self, state: Floats, kind: int) -> Floats:
        return np.asarray(state * (1 - self.kinds[kind]))

    def bound(self, state: Floats, rank: int, last: int, left: Ints, best: bool) -> float:
        ranks = last - rank
        steps = self.weight[rank:last] - np.append(self.weight[rank + 1 : last], 0.0)
        now = np.sort(np.repeat(self.kinds @ state, np.minimum(left, ranks)))
        if not best:
            return float(steps @ now[:ranks])  # the largest of r gains is at least the r-th smallest
        most = np.cumsum(now[::-1][:ranks])
        # Each document answers a limited number of intents, and each further document adds less to an intent.
        here = self.kinds[left > 0]
        chance, times = here.max(axis=0), np.arange(ranks)
        each = state[:, None] * chance[:, None] * (1 - chance[:, None]) ** times
        each[times >= (left @ (self.kinds > 0))[:, None]] = 0.0
        together = np.cumsum(np.sort(each.ravel())[::-1])
        ends = np.minimum(_answers(self.kinds, left, ranks), len(together)) - 1
        return float(steps @ np.minimum(most, together[ends]))


@dataclass(frozen=True, eq=False)
class Added:
    """The sum over ranks of weight * gain."""

    weight: Floats  # falling
    gain: Floats  # of each kind
    true: Floats | None = None  # the weights that these bound, where they are not these

    @property
    def exact(self) -> bool:
        return self.true is None

    def alone(self) -> Added:
        """Return the term if it is the only one: then the order of the weights does not matter."""
        return self if self.true is None else Added(np.sort(self.true)[::-1], self.gain)

    @property
    def kinds(self) -> Floats:
        return self.gain[:, None]

    def start(self) -> None:
        return None

    def gains(self, state: None, rank: int) -> Floats:
        return np.asarray(self.weight[rank] * self.gain)

    def after(self, state: None, kind: int) -> None:
        return None

    def bound(self, state: None, rank: int, last: int, left: Ints, best: bool) -> float:
        now = np.sort(np.repeat(self.gain, np.minimum(left, last - rank)))
        taken = now[::-1][: last - rank] if best else now[: last - rank]
        return float(self.weight[rank:last] @ taken)


@dataclass(frozen=True, eq=False)
class Precise:
    """The sum over ranks and intents of value * relevant * the relevant documents down to the rank, over the rank."""

    value: Floats  # of each intent
    kinds: Floats  # [kind, intent]: 1 where it is relevant
    exact: bool = True

    def start(self) -> Floats:
        return np.zeros(len(self.value))

    def gains(self, state: Floats, rank: int) -> Floats:
        return np.asarray(self.kinds @ (self.value * (state + 1))) / (rank + 1)

    def after(self, state: Floats, kind: int) -> Floats:
        return np.asarray(state + self.kinds[kind])

    def bound(self, state: Floats, rank: int, last: int, left: Ints, best: bool) -> float:
        ranks = last - rank
        over = np.arange(rank + 1, last + 1)
        if not best:  # no precision falls by what is put above it
            return float((np.sort(np.repeat(self.gains(state, 0), np.minimum(left, ranks)))[:ranks] / over).sum())
        there = left @ self.kinds
        found = state[:, None] + np.minimum(np.arange(1, ranks + 1), there[:, None])  # [intent, rank]
        one_by_one = (self.kinds[left > 0] @ (self.value[:, None] * found)).max(axis=0) / over
        final = np.sort(np.repeat(self.kinds @ (self.value * found[:, -1]), np.minimum(left, ranks)))[::-1][:ranks]
        return float(min(one_by_one.sum(), (final / over).sum(), self._by_answers(state, found, left, over)))

    def _by_answers(self, state: Floats, found: Floats, left: Ints, over: Ints) -> float:
        """Return a bound from the total number of answers.

        If c of the documents down to a rank are relevant to an intent, it adds at most value * c (c + 1) / 2, up to the
        weight of the rank. This is convex in c. For a given total number of answers, the extreme gives some intents all
        the answers they can have, and one intent a part.
        """
        answers = (found - state[:, None]).T  # [rank, intent]: at most
        total = self.value * (found.T * (found.T + 1) - state * (state + 1)) / 2
        order = np.argsort(-total / np.maximum(answers, 1), axis=1)
        answers, total = (np.take_along_axis(each, order, axis=1) for each in (answers, total))
        room = _answers(self.kinds, left, len(over))[:, None] - np.cumsum(answers, axis=1) + answers
        part = np.clip(room / np.maximum(answers, 1), 0.0, 1.0)
        steps = 1 / over - np.append(1 / over[1:], 0.0)
        return float(steps @ (part * total).sum(axis=1))


def _answers(kinds: Floats, left: Ints, ranks: int) -> Ints:
    """Return the total number of intents that the first documents can answer, most answers first."""
    size = np.sort(np.repeat((kinds > 0).sum(axis=1), np.minimum(left, ranks)))[::-1][:ranks]
    return np.cumsum(size)


def extreme(parts: Sequence[SearchTerm], copies: Ints, first: int, last: int, best: bool) -> tuple[float, bool]:
    """Return the largest (smallest) sum of the terms over all orders of the documents at ranks `first` to `last`.

    copies: number of documents of each kind. Also return True if an order reaches the sum; otherwise it is a bound.

    >>> part = Satisfied(np.ones(2), np.ones(3) / 3, np.array([[1.0, 1, 0], [1, 0, 0], [0, 1, 1]]))
    >>> extreme([part], np.array([1, 1, 1]), 0, 2, best=True)
    (1.0, True)
    """
    last = min(last, first + int(copies.sum()))
    if last <= first:
        return 0.0, True
    sign = 1.0 if best else -1.0
    kinds = np.concatenate([part.kinds for part in parts], axis=1)
    better = (kinds[:, None] >= kinds[None]).all(axis=2) & (kinds[:, None] > kinds[None]).any(axis=2)  # [this, than]
    hindering: NDArray[np.bool_] = np.asarray(better if best else better.T)

    def promise(states: tuple[Any, ...], rank: int, left: Ints) -> float:
        return sum(part.bound(state, rank, last, left, best) for part, state in zip(parts, states, strict=True))

    def gains(states: tuple[Any, ...], rank: int) -> Floats:
        each = [part.gains(state, rank) for part, state in zip(parts, states, strict=True)]
        return np.asarray(np.sum(each, axis=0))

    def after(states: tuple[Any, ...], kind: int) -> tuple[Any, ...]:
        return tuple(part.after(state, kind) for part, state in zip(parts, states, strict=True))

    states, left, found = tuple(part.start() for part in parts), copies.copy(), 0.0
    for rank in range(first, last):  # the greedy order, to begin with
        now = gains(states, rank)
        kind = int(np.argmax(np.where(left > 0, sign * now, -np.inf)))
        found += float(now[kind])
        states, left[kind] = after(states, kind), left[kind] - 1
    start = tuple(part.start() for part in parts)
    opened: list[tuple[float, int, int, float, tuple[Any, ...], Ints]] = []
    heapq.heappush(opened, (-sign * promise(start, first, copies), 0, first, 0.0, start, copies))
    reached: dict[bytes, float] = {}
    tried = 0
    while opened:
        bound, _, rank, value, states, left = opened[0]
        if -bound <= sign * found + NOISE * max(1.0, abs(found)):
            return found, True
        if tried > MOST_TRIED:
            return -sign * bound, False
        heapq.heappop(opened)
        now = gains(states, rank)
        here = np.asarray(left > 0)
        for kind in np.flatnonzero(here & ~hindering[here].any(axis=0)).tolist():
            tried += 1
            total = value + float(now[kind])
            if rank + 1 == last:
                found = max(found, total) if best else min(found, total)
                continue
            fewer = left.copy()
            fewer[kind] -= 1
            key = fewer.tobytes()
            if sign * total <= reached.get(key, -np.inf):
                continue
            reached[key] = sign * total
            then = after(states, kind)
            hope = sign * (total + promise(then, rank + 1, fewer))
            if hope > sign * found + NOISE * max(1.0, abs(found)):
                heapq.heappush(opened, (-hope, tried, rank + 1, total, then, fewer))
    return found, True


@singledispatch
def gain_alone(form: Form, pool: Pool) -> Floats:
    """Return what each judged document adds with no other document above it, apart from the weight of its rank."""
    raise CalipersError(f"no order is known that would be ideal for {type(form).__name__} by intent")


@gain_alone.register(Linear)
def gain_alone_of_linear(form: Linear, pool: Pool) -> Floats:
    return pool.gains(form.value)


@gain_alone.register(Cascade)
def gain_alone_of_cascade(form: Cascade, pool: Pool) -> Floats:
    return pool.gains(form.stop)


@gain_alone.register(Paired)
def gain_alone_of_paired(form: Paired, pool: Pool) -> Floats:
    return np.asarray(AtLeast(form.rel)(pool.grade) / np.maximum(pool.relevant(form.rel), 1)[pool.query])


@singledispatch
def search_term(form: Form, ranks: int, value: Floats, gain: Floats, best: bool) -> SearchTerm | None:
    """Return the part of a search for the best (or worst) order of `ranks` documents, or None if no search is known.

    value: how much each intent counts. gain: what a document of each kind adds to each intent alone, [kind, intent].
    """
    return None


@search_term.register(Linear)
def search_term_of_linear(form: Linear, ranks: int, value: Floats, gain: Floats, best: bool) -> SearchTerm | None:
    falling = form.weight.falling(ranks, above=best)
    if falling is None:
        return None
    weight = form.weight.of_ranks(ranks)
    true = None if falling[1] else np.append(weight, np.zeros(ranks - len(weight)))
    return Added(falling[0], gain @ value, true)


@search_term.register(Cascade)
def search_term_of_cascade(form: Cascade, ranks: int, value: Floats, gain: Floats, best: bool) -> SearchTerm | None:
    weight = form.weight.falling(ranks, above=best)
    return None if weight is None else Satisfied(weight[0], value, gain, exact=weight[1])


@search_term.register(Paired)
def search_term_of_paired(form: Paired, ranks: int, value: Floats, gain: Floats, best: bool) -> SearchTerm | None:
    return Precise(value * gain.max(axis=0), np.asarray(gain > 0, np.float64))


@singledispatch
def fades_until(form: Form) -> int | None:
    """Return the rank down to which a document adds less if a document above it had a gain.

    0: what a document adds does not depend on the documents above it. None: it does at every rank.
    """
    return 0


@fades_until.register(Cascade)
def fades_until_of_cascade(form: Cascade) -> int | None:
    return form.weight.cutoff
