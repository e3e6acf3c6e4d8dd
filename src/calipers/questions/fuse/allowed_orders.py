"""Search for the order of documents with the largest AP that keeps certain documents above others.

Nonrelevant documents never raise AP. So the best order lists the relevant documents one after the other, each directly
after the documents that must stay above it and are not yet listed. All other documents come last. The search adds one
relevant document per layer. The next steps depend only on the set of relevant documents placed so far, not on their
order, so a layer holds one entry per set. If all documents that must stay above a relevant document are placed, this
document comes next, because moving it up raises AP. A layer keeps at most LAYER sets, the most promising ones. If sets
were dropped, the result may not be the best order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calipers.lists import Ints

LAYER = 48  # largest number of sets of relevant documents per layer
Above = NDArray[np.bool_]


@dataclass(frozen=True)
class Found:
    """Order of documents. `exact` is True if no allowed order has a larger AP."""

    order: Ints
    exact: bool


def best_order(
    relevant: Sequence[int], above: Above, upper: Ints, greedy: Ints, runs: Sequence[Sequence[int]]
) -> Found:
    """Return the best allowed order of documents 0, 1, ...

    relevant: relevant documents, best grades first. above: True at [i, document] if upper[i] must stay above the
    document; without cycles. greedy: any allowed order. runs: for each run, positions in `relevant` in the order of the
    run. The result scores at least as much as each run after nonrelevant documents that need not stay above are moved
    down.
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
    """Documents that must stay above each relevant document. Sets are stored as the bits of an integer."""

    others: list[int]  # nonrelevant documents above, numbered by the greedy order
    before: list[int]  # relevant documents above, numbered as in `relevant`
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
        """Return the best order of relevant documents that was found, and True if no set was dropped."""
        size, exact = len(self.relevant), True
        # For each set of relevant documents: SP so far, nonrelevant documents placed so far, and the order.
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
        """Return the largest possible SP: SP so far, plus the gain if all other relevant documents came next."""
        depth, size = used.bit_count(), len(self.relevant)
        return value + (size - count) - depth * (self._harmonic[depth + size] - self._harmonic[depth + count])

    @cached_property
    def _harmonic(self) -> list[float]:
        """Harmonic numbers 1 + 1/2 + ... + 1/n for n = 0, 1, ..."""
        return [0.0, *np.cumsum(1.0 / np.arange(1, len(self.greedy) + len(self.relevant) + 1)).tolist()]

    def completed(self, order: Sequence[int]) -> list[int]:
        """Return the relevant documents in the order of a run, as far as allowed, then all other relevant documents."""
        done, found = 0, []
        for i in (*order, *range(len(self.relevant))):
            waiting = self.before[i] & ~done
            for j in (*sorted(_members(waiting), key=lambda j: self.before[j].bit_count()), i):
                if not done >> j & 1:
                    done |= 1 << j
                    found.append(j)
        return found

    def value(self, sequence: Sequence[int]) -> float:
        """Return SP, which is AP times the number of relevant documents."""
        total, used = 0.0, 0
        for count, i in enumerate(sequence, 1):
            used |= self.others[i]
            total += count / (used.bit_count() + count)
        return total

    def whole(self, sequence: Sequence[int]) -> Ints:
        """Return an order of all documents.

        Each relevant document follows the documents that must stay above it. All others come last, in the greedy order.
        """
        used, order = 0, []
        for i in sequence:
            order += self.greedy[_members(self.others[i] & ~used)].tolist()
            order.append(self.relevant[i])
            used |= self.others[i]
        rest = np.ones(len(self.greedy), bool)
        rest[order] = False
        return np.concatenate([np.array(order, np.int64), self.greedy[rest[self.greedy]]])


def _members(bits: int) -> list[int]:
    """Return the members of a set in ascending order."""
    if not bits:
        return []
    data = np.frombuffer(bits.to_bytes(-(-bits.bit_length() // 8), "little"), np.uint8)
    members: list[int] = np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()
    return members


def _ancestors(above: Above, upper: Ints, documents: Ints) -> Above:
    """Return [document, i], True if upper[i] must stay above the document, directly or through other documents."""
    found = above[:, documents].T
    between = above[:, upper].T.astype(np.float32)  # [below, above]
    while True:
        wider = found | (found.astype(np.float32) @ between > 0)
        if (wider == found).all():
            return np.asarray(found)
        found = wider
