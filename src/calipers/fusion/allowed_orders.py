"""The order of some documents that scores best in AP, among those that keep certain documents above others.

Documents that are not relevant are only in the way. So an order is the relevant documents, one after the other, each
right behind those that have to stand above it and are not there yet; everything else comes last. Which relevant
document comes next is searched for, layer by layer: after so many of them only which ones they are matters, not their
order. A relevant document with nothing left above it always comes next, because moving it up raises AP. Where a layer
has more than LAYER sets, the most promising are kept, and the result is what such a look-ahead finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calipers.lists import Ints

LAYER = 48  # sets of relevant documents that are looked at side by side
Above = NDArray[np.bool_]


@dataclass(frozen=True)
class Found:
    """An order, and whether no other that is allowed has a larger AP."""

    order: Ints
    exact: bool


def best_order(
    relevant: Sequence[int], above: Above, upper: Ints, greedy: Ints, runs: Sequence[Sequence[int]]
) -> Found:
    """The best order of documents 0, 1, ...

    relevant: those that count, the better grade first. above: [one of `upper`, document], which stay above which,
    without cycles. greedy: some allowed order. runs: for each run the places of `relevant` in the order in which it has
    them; none of them, cleared of what is in the way, scores more than the result.
    """
    if not relevant:
        return Found(greedy, True)
    blocks = _Blocks.of(relevant, above, upper, greedy)
    sequence, exact = blocks.searched()
    value = blocks.value(sequence)
    for run in () if exact else runs:
        other = blocks.completed(run)
        if (better := blocks.value(other)) > value:
            sequence, value = other, better
    return Found(blocks.whole(sequence), exact)


@dataclass(frozen=True)
class _Blocks:
    """For each relevant document, as sets in the bits of a number, what has to stand above it."""

    others: list[int]  # documents that are not relevant, counted in the greedy order
    before: list[int]  # relevant documents, counted as in `relevant`
    relevant: Sequence[int]
    greedy: Ints

    @classmethod
    def of(cls, relevant: Sequence[int], above: Above, upper: Ints, greedy: Ints) -> _Blocks:
        place = np.empty(len(greedy), np.int64)
        place[greedy] = np.arange(len(greedy))
        ancestors = _ancestors(above, upper, np.array(relevant))  # [relevant document, one of upper]
        number = {document: i for i, document in enumerate(relevant)}
        others, before = [], []
        for row in ancestors:
            documents = upper[np.flatnonzero(row)]
            named = [number.get(document) for document in documents.tolist()]
            before.append(sum(1 << i for i in named if i is not None))
            bits = np.zeros(len(greedy), np.uint8)
            bits[place[[d for d, i in zip(documents.tolist(), named, strict=True) if i is None]]] = 1
            others.append(int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little"))
        return cls(others, before, relevant, greedy)

    def searched(self) -> tuple[list[int], bool]:
        """The relevant documents in the best order found, and whether every set of them was looked at."""
        size, exact = len(self.relevant), True
        # For each set of relevant documents: SP so far, what else is used up, and the order.
        layer: dict[int, tuple[float, int, tuple[int, ...]]] = {0: (0.0, 0, ())}
        for count in range(1, size + 1):
            following: dict[int, tuple[float, int, tuple[int, ...]]] = {}
            for done, (value, used, order) in layer.items():
                free = [i for i in range(size) if not done >> i & 1 and not self.before[i] & ~done]
                costs = [(self.others[i] & ~used).bit_count() for i in free]
                if 0 in costs:
                    free, costs = [free[costs.index(0)]], [0]
                depth = used.bit_count() + count
                for i, cost in zip(free, costs, strict=True):
                    reached = value + count / (depth + cost)
                    known = following.get(done | 1 << i)
                    if known is None or reached > known[0] + 1e-15:
                        following[done | 1 << i] = reached, used | self.others[i], (*order, i)
            if len(following) > LAYER:
                exact = False
                best = sorted(following.items(), key=lambda each: -self._promise(each[1][0], each[1][1], count))[:LAYER]
                following = dict(best)
            layer = following
        ((_, _, order),) = layer.values()
        return list(order), exact

    def _promise(self, value: float, used: int, count: int) -> float:
        """SP so far, and what it would become if nothing were in the way: the sum of i / (depth + i) for all i left."""
        depth, size = used.bit_count(), len(self.relevant)
        return value + (size - count) - depth * (self._harmonic[depth + size] - self._harmonic[depth + count])

    @cached_property
    def _harmonic(self) -> list[float]:
        """1 + 1/2 + ... + 1/n for each n, from 0 on."""
        return [0.0, *np.cumsum(1.0 / np.arange(1, len(self.greedy) + len(self.relevant) + 1)).tolist()]

    def completed(self, order: Sequence[int]) -> list[int]:
        """The relevant documents as a run has them, each behind those that have to stand above it; then the rest."""
        done, found = 0, []
        for i in (*order, *range(len(self.relevant))):
            waiting = self.before[i] & ~done
            for j in (*sorted(_members(waiting), key=lambda j: self.before[j].bit_count()), i):
                if not done >> j & 1:
                    done |= 1 << j
                    found.append(j)
        return found

    def value(self, sequence: Sequence[int]) -> float:
        """SP: AP times the number of relevant documents."""
        total, used = 0.0, 0
        for count, i in enumerate(sequence, 1):
            used |= self.others[i]
            total += count / (used.bit_count() + count)
        return total

    def whole(self, sequence: Sequence[int]) -> Ints:
        """All documents: each relevant one behind what has to stand above it, then the rest as in the greedy order."""
        used, order = 0, []
        for i in sequence:
            order += self.greedy[_members(self.others[i] & ~used)].tolist()
            order.append(self.relevant[i])
            used |= self.others[i]
        rest = np.ones(len(self.greedy), bool)
        rest[order] = False
        return np.concatenate([np.array(order, np.int64), self.greedy[rest[self.greedy]]])


def _members(bits: int) -> list[int]:
    """The members of a set, ascending."""
    if not bits:
        return []
    data = np.frombuffer(bits.to_bytes(-(-bits.bit_length() // 8), "little"), np.uint8)
    members: list[int] = np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()
    return members


def _ancestors(above: Above, upper: Ints, documents: Ints) -> Above:
    """[document, one of upper]: what stands above each of these documents, directly or through others."""
    found = above[:, documents].T
    between = above[:, upper].T.astype(np.float32)  # [below, above]
    while True:
        wider = found | (found.astype(np.float32) @ between > 0)
        if (wider == found).all():
            return np.asarray(found)
        found = wider
