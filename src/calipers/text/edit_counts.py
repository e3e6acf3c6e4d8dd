"""Edits between texts and references where moving a block of words is one edit: what TER counts.

    TER = (insertions + deletions + substitutions + shifts) / words of the reference

Which shifts are made is a heuristic (Snover et al., 2006): as long as one lowers the edit distance, that which lowers
it most; then the longest block, the earliest block, the earliest target. A block is at most 10 words that the reference
has, too, at most 50 words away; not all of it may be right where it is, nor where it goes to. After 1000 candidates no
more shifts are made. The edit distance is that inside a band of 25 words on both sides of the diagonal. All of this is
as in sacrebleu, so that the numbers are the same; what differs is how they are computed:

    - all pairs of texts and references take their shifts at the same time, and all candidates are scored at once;
    - a row of a matrix of edit distances is two whole numbers, the bits where it rises and where it falls (Myers, 1999;
      Hyyrö, 2003), seen through a window that moves along with the band;
    - a candidate starts from the row of its text where the two begin to differ;
    - a reference is left when no order of the text's words could bring it below what another reference has.

Snover et al., A study of translation edit rate with targeted human annotation, AMTA 2006. Myers, A fast bit-vector
algorithm for approximate string matching based on dynamic programming, JACM 1999. Hyyrö, A bit-vector algorithm for
computing Levenshtein and Damerau edit distances, Nordic Journal of Computing 2003.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.lists import Ints

BAND = 25  # columns on each side of the diagonal
BLOCK = 10  # words that are shifted at once
REACH = 50  # words between a block and its match
CANDIDATES = 1000
WINDOW = 64  # columns that fit into a machine word; wider bands take Python's whole numbers
CELLS = 30_000_000  # of the matrices of pairs that are compared at once

Bits = NDArray[Any]  # int64, or Python's whole numbers; all bits beyond the last are as its sign says
Words = Sequence[str]


def fewest_edits(texts: Sequence[Words], references: Sequence[Words]) -> Ints:
    """Of each text, the edits that lead to the reference to which the fewest lead.

    >>> fewest_edits(["a b c d".split(), "d a b c".split()], ["d a b c".split(), "x y".split()]).tolist()
    [1, 0]
    """
    found = np.array([min(_without_words(text, references), default=-1) for text in texts], dtype=np.int64)
    left = [i for i, text in enumerate(texts) if text]
    filled = [reference for reference in references if reference]
    if left and filled:
        made = _counted([texts[i] for i in left], filled)
        there = found[left]
        found[left] = np.where(there < 0, made, np.minimum(there, made))
    return found


def _without_words(text: Words, references: Sequence[Words]) -> list[int]:
    """The edits where one of the two is empty."""
    return [max(len(text), len(each)) for each in references if not text or not each]


def _counted(texts: Sequence[Words], references: Sequence[Words]) -> Ints:
    """The fewest edits, where all have words."""
    longest = max(map(len, references))
    found = np.empty(len(texts), dtype=np.int64)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    while order:
        size = CELLS // (len(references) * longest * max(longest, len(texts[order[-1]])))
        groups = [references] if size else [[each] for each in references]
        some, order = order[-max(1, size) :], order[: -max(1, size)]  # about equally long
        chosen = [texts[i] for i in some]
        found[some] = np.min([_counted_at_once(chosen, each) for each in groups], axis=0)
    return found


def _counted_at_once(texts: Sequence[Words], references: Sequence[Words]) -> Ints:
    every = np.array([(t, r) for t in range(len(texts)) for r in range(len(references))])
    words, size = (np.array([len(each) for each in some]) for some in (texts, references))
    wide = 2 * _half_bands(words[every[:, 0]], size[every[:, 1]]) > WINDOW
    best = np.full(len(texts), np.iinfo(np.int64).max)
    for kind, chosen in ((np.int64, ~wide), (object, wide)):
        if chosen.any():
            _shift_all(_paired(texts, references, every[chosen], kind), best)
    return best


def _half_bands(words: Ints, size: Ints) -> Ints:
    """Columns on each side of the diagonal: more for a text that is much shorter than its reference."""
    half = size / words / 2
    return np.where(half > BAND, np.ceil(half + BAND), BAND).astype(np.int64)


# -- pairs of texts and references -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Texts and references, pair by pair. Texts end at the same place: a text of n words begins at longest - n."""

    text: Ints  # [pair]: the number of the text
    start: Ints  # [pair]: where the text begins
    size: Ints  # [pair]: words of the reference
    ids: Ints  # [pair, place]: words of the text, as numbers
    rows: Ints  # [pair, place]: where the table has the word
    reference: Ints  # [pair, place]: words of the reference, as numbers
    least: Ints  # [pair]: the edit distance that no order of the text's words can go below
    shifts: Ints  # [pair]: those that were made
    checked: Ints  # [pair]: the candidates that were looked at
    matches: tuple[Ints, Ints, Ints]  # pair, place in the text as it was, place in the reference
    now: Ints  # [pair, place in the text as it was]: where the word is now
    table: Bits  # by word and first column: the columns of a window that have the word
    band: _Band

    def only(self, chosen: NDArray[np.bool_]) -> _Pairs:
        """Some of the pairs."""
        each = ("text", "start", "size", "ids", "rows", "reference", "least", "shifts", "checked", "now")
        number = np.cumsum(chosen) - 1
        pair, there, here = self.matches
        kept = chosen[pair]
        matches = number[pair[kept]], there[kept], here[kept]
        return replace(
            self, matches=matches, band=self.band.only(chosen), **{name: getattr(self, name)[chosen] for name in each}
        )


@dataclass(frozen=True, eq=False)
class _Band:
    """The columns of each row that are looked at, [row, pair]. Row r is that after r places of the text.

    A window starts at the first of these columns. In the row before, columns outside of the band have no value;
    they are taken to rise to both sides by 1 per column, from which nothing inside of the band can gain.
    """

    first: Ints
    step: Ints  # columns that the window moves on
    falls: Bits  # bits that are made to fall: that of the first column, where the window stands still
    rises: Bits  # bits that are made to rise: those of columns to the right of the last row's
    equal: Bits  # bits of columns that a word may be matched with

    def only(self, chosen: NDArray[np.bool_]) -> _Band:
        return _Band(*(each[:, chosen] for each in (self.first, self.step, self.falls, self.rises, self.equal)))


def _bands(start: Ints, size: Ints, longest: int, kind: Any) -> _Band:
    words, half = longest - start, _half_bands(longest - start, size)
    row = np.maximum(0, np.arange(longest + 1)[:, None] - start)
    middle = np.floor(row * (size / words)).astype(np.int64)
    first = np.maximum(0, middle - half)
    end = np.minimum(size + 1, middle + half)
    first[row == 0], end[row == 0] = 0, np.broadcast_to(size + 1, row.shape)[row == 0]
    step = np.diff(first, axis=0, prepend=0)
    before = np.concatenate([end[:1], end[:-1]]) - first  # columns of the row before, in this window
    if kind is np.int64:
        before = np.minimum(before, WINDOW - 2)  # in the first row only, where all columns rise
    minus, one = np.full(row.shape, -1, dtype=kind), np.ones(row.shape, dtype=kind)
    falls = np.where(step == 0, one, one - one)
    rises = minus << before.astype(kind)
    return _Band(first, step.astype(kind), falls, rises, ~(falls | rises << one))


def _paired(texts: Sequence[Words], references: Sequence[Words], chosen: Ints, kind: Any) -> _Pairs:
    known = {word: i for i, word in enumerate(dict.fromkeys(word for each in references for word in each))}
    longest, widest = max(map(len, texts)), max(map(len, references))
    written = np.full((len(texts), longest), len(known))
    for t, words in enumerate(texts):
        written[t, longest - len(words) :] = [known.get(word, len(known)) for word in words]
    wanted = np.full((len(references), widest), -1)
    for r, words in enumerate(references):
        wanted[r, : len(words)] = [known[word] for word in words]
    text, reference = chosen.T
    start = longest - np.array([len(words) for words in texts])[text]
    size = np.array([len(words) for words in references])[reference]
    ids, goal = written[text], wanted[reference]
    band = _bands(start, size, longest, kind)
    width = WINDOW if kind is np.int64 else 2 * int(_half_bands(longest - start, size).max()) + 2
    table, rows = _table(wanted, len(known), int(band.first.max()), width, kind)
    same = (ids[:, :, None] == goal[:, None, :]) & (np.arange(longest) >= start[:, None])[:, :, None]
    least = np.maximum(longest - start, size) - _common(written, wanted, len(known), chosen)
    nothing = np.zeros(len(text), dtype=np.int64)
    return _Pairs(
        text, start, size, ids, rows[reference[:, None], ids], goal, least,
        nothing, nothing, tuple(np.nonzero(same)),  # type: ignore[arg-type]  # two arrays
        np.tile(np.arange(longest), (len(text), 1)), table, band,
    )  # fmt: skip


def _table(wanted: Ints, known: int, last: int, width: int, kind: Any) -> tuple[Bits, Ints]:
    """Of each word of a reference, the columns that have it, seen from each first column; and where a word's begin.

    Words that a reference does not have share its first row, which is empty.
    """
    number = np.zeros((len(wanted), known + 1), dtype=np.int64)
    pairs = np.unique([(r, word) for r, row in enumerate(wanted.tolist()) for word in row if word >= 0], axis=0)
    number[pairs[:, 0], pairs[:, 1]] = np.arange(1, len(pairs) + 1)
    has = np.zeros((len(pairs) + 1, wanted.shape[1] + 1), dtype=bool)
    has[1:, 1:] = wanted[pairs[:, 0]] == pairs[:, 1:]  # column j of a matrix stands for word j - 1
    seen = np.empty((len(has), last + 1), dtype=kind)
    bits, inside = np.zeros(len(has), dtype=kind), -1 if width == WINDOW else (1 << width) - 1
    for column in range(has.shape[1] - 1, -1, -1):
        bits = ((bits << 1) & inside) | has[:, column].astype(kind)
        if column <= last:
            seen[:, column] = bits
    return seen.ravel(), number * (last + 1)


def _common(written: Ints, wanted: Ints, known: int, chosen: Ints) -> Ints:
    """Words that the two have in common, each as often as both have it."""
    counts = [np.stack([np.bincount(row[row >= 0], minlength=known + 1) for row in each]) for each in (written, wanted)]
    return np.asarray(np.minimum(counts[0][chosen[:, 0]], counts[1][chosen[:, 1]]).sum(axis=1))


# -- rows of edit distances --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a matrix of edit distances for each pair, [row, pair]."""

    up: Bits  # columns with 1 more than the column before
    down: Bits  # columns with 1 less
    value: Ints  # of the first column
    back: Bits  # columns whose best path comes from the row before
    left: Bits  # columns whose best path comes from the column before
    same: Bits  # columns whose best path comes from a match
    total: Ints  # [pair]: of the last row and column

    def only(self, chosen: NDArray[np.bool_]) -> _Rows:
        each = (self.up, self.down, self.value, self.back, self.left, self.same, self.total)
        return _Rows(*(array[..., chosen] for array in each))


def _rows_of(pairs: _Pairs) -> _Rows:
    """Of the texts as they are."""
    longest, count, kind = pairs.ids.shape[1], len(pairs.text), pairs.table.dtype
    up, down, back, left, same = (np.zeros((longest + 1, count), dtype=kind) for _ in range(5))
    value = np.zeros((longest + 1, count), dtype=np.int64)
    up[pairs.start, np.arange(count)], down[pairs.start, np.arange(count)] = -2, 1
    order = np.argsort(pairs.start, kind="stable")
    begun = np.searchsorted(pairs.start[order], np.arange(longest), side="right")
    state = (np.full(count, -2, dtype=kind), np.ones(count, dtype=kind), np.zeros(count, dtype=np.int64))
    for place in range(longest):
        pair = order[: begun[place]]
        found = _next_row(pairs, pair, place, pairs.rows[pair, place], *(each[: len(pair)] for each in state))
        up[place + 1, pair], down[place + 1, pair], value[place + 1, pair] = (each[: len(pair)] for each in state)
        equal, kept, below = found
        beyond = pairs.band.rises[place + 1, pair] << 1
        diagonal = equal | ~(kept | beyond)
        above = below & ~(diagonal | beyond)
        back[place + 1, pair], left[place + 1, pair], same[place + 1, pair] = diagonal | above, ~above, equal
    total = np.empty(count, dtype=np.int64)
    total[order] = _totals(pairs, order, *state)
    return _Rows(up, down, value, back, left, same, total)


def _next_row(
    pairs: _Pairs, pair: Ints, place: int, word: Ints, up: Bits, down: Bits, value: Ints
) -> tuple[Bits, Bits, Bits]:
    """Make rows those after one more word each: up, down and value are changed in place.

    The columns that match; those with the value of the column before in the row before; those with 1 more than in the
    row before.
    """
    band, row = pairs.band, place + 1
    step, falls, rises = (each[row, pair] for each in (band.step, band.falls, band.rises))
    if (step > 1).any():
        passed = (1 << np.maximum(step - 1, 0)) - 1
        value += _count((up >> 1) & passed) - _count((down >> 1) & passed)
    equal = pairs.table[word + band.first[row, pair]] & band.equal[row, pair]
    up[:] = ((up >> step) & ~falls) | rises
    down[:] = ((down >> step) & ~rises) | falls
    kept = (((equal & up) + up) ^ up) | equal | down
    below = down | ~(kept | up)
    value += 1 - (kept & 1 & ~falls).astype(np.int64)
    ahead = (below << 1) | 1
    down[:], up[:] = ahead & kept, ((kept & up) << 1) | ~(kept | ahead)
    return equal, kept, below


def _totals(pairs: _Pairs, pair: Ints, up: Bits, down: Bits, value: Ints) -> Ints:
    """The edit distances at the end of last rows."""
    width = (pairs.size[pair] - pairs.band.first[-1, pair]).astype(pairs.table.dtype)
    inside = (1 << width) - 1
    return value + _count((up >> 1) & inside) - _count((down >> 1) & inside)


_bit_count = getattr(np, "bitwise_count", None) or np.frompyfunc(int.bit_count, 1, 1)  # NumPy 2 has it


def _count(bits: Bits) -> Ints:
    return np.asarray(_bit_count(bits)).astype(np.int64)


# -- shifts ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Shifts:
    """Candidates: text[:low] + text[middle:high] + text[low:middle] + text[high:]."""

    pair: Ints
    low: Ints
    middle: Ints
    high: Ints
    rank: Ints  # the larger, the better, where the edit distances are the same


def _shift_all(pairs: _Pairs, best: Ints) -> None:
    """Shift until nothing is gained; best, [text], becomes the fewest edits."""
    while len(pairs.text):
        rows = _rows_of(pairs)
        np.minimum.at(best, pairs.text, pairs.shifts + rows.total)
        hopeful = pairs.shifts + 1 + pairs.least < best[pairs.text]
        pairs, rows = pairs.only(hopeful), rows.only(hopeful)
        shifts, checked = _candidates(pairs, rows)
        pairs = _shifted(replace(pairs, checked=pairs.checked + checked), rows, shifts)


def _shifted(pairs: _Pairs, rows: _Rows, shifts: _Shifts) -> _Pairs:
    """The pairs that gain by a shift, with their best one made."""
    few = (pairs.checked < CANDIDATES)[shifts.pair]
    shifts = _Shifts(*(each[few] for each in (shifts.pair, shifts.low, shifts.middle, shifts.high, shifts.rank)))
    gain = rows.total[shifts.pair] - _distances(pairs, rows, shifts)
    order = np.lexsort((shifts.rank, gain, shifts.pair))
    last = order[np.append(np.diff(shifts.pair[order]) > 0, True)] if len(order) else order
    last = last[gain[last] > 0]
    place = np.arange(pairs.ids.shape[1])
    low, middle, high = (each[last, None] for each in (shifts.low, shifts.middle, shifts.high))
    gaining = np.zeros(len(pairs.text), dtype=bool)
    gaining[shifts.pair[last]] = True
    kept = pairs.only(gaining)
    source = _sources(place, low, middle, high)
    to = np.empty_like(source)
    np.put_along_axis(to, source, np.broadcast_to(place, source.shape), axis=1)
    return replace(
        kept,
        ids=np.take_along_axis(kept.ids, source, axis=1),
        rows=np.take_along_axis(kept.rows, source, axis=1),
        now=np.take_along_axis(to, kept.now, axis=1),
        shifts=kept.shifts + 1,
    )


def _sources(place: Any, low: Ints, middle: Ints, high: Ints) -> Ints:
    """Where the word at a place was before a shift."""
    turned = low + high - middle
    moved = np.where(place < turned, place + middle - low, place - high + middle)
    return np.asarray(np.where((place < low) | (place >= high), place, moved))


def _distances(pairs: _Pairs, rows: _Rows, shifts: _Shifts) -> Ints:
    """The edit distance after each of the shifts."""
    longest = pairs.ids.shape[1]
    key = ((shifts.low * (longest + 1) + shifts.middle) * (longest + 1) + shifts.high) * len(pairs.text) + shifts.pair
    _, once, every = np.unique(key, return_index=True, return_inverse=True)  # by where they begin
    pair, low, middle, high = (each[once] for each in (shifts.pair, shifts.low, shifts.middle, shifts.high))
    up, down, value = (each[low, pair] for each in (rows.up, rows.down, rows.value))
    begun = np.searchsorted(low, np.arange(longest), side="right")
    for place in range(int(low.min(initial=longest)), longest):
        n = begun[place]
        source = _sources(place, low[:n], middle[:n], high[:n])
        _next_row(pairs, pair[:n], place, pairs.rows[pair[:n], source], up[:n], down[:n], value[:n])
    return _totals(pairs, pair, up, down, value)[every]


def _candidates(pairs: _Pairs, rows: _Rows) -> tuple[_Shifts, Ints]:
    """The shifts that are looked at, without those that change nothing; and how many there are for each pair."""
    target, wrong_text, wrong_reference = _alignment(pairs, rows)
    pair, there, at = pairs.matches
    block = pairs.now[pair, there]
    near = np.abs(block - pairs.start[pair] - at) <= REACH
    pair, block, at = pair[near], block[near], at[near]
    run = _runs(pairs, pair, block, at)
    each, length = _repeated(run)
    pair, block, at, length = pair[each], block[each], at[each], length + 1
    aligned = target[pair, at + 1] - 1
    useful = (wrong_text[pair, block + length] > wrong_text[pair, block]) & (
        wrong_reference[pair, at + length] > wrong_reference[pair, at]
    )
    useful &= (aligned < block) | (aligned >= block + length)
    pair, block, at, length = pair[useful], block[useful], at[useful], length[useful]
    each, offset = _repeated(length + 1)
    pair, block, at, length = pair[each], block[each], at[each], length[each]
    goal = target[pair, at + offset]
    new = (offset == 0) | (goal != target[pair, np.maximum(at + offset - 1, 0)])
    pair, block, length, goal = pair[new], block[new], length[new], goal[new]
    checked = np.bincount(pair, minlength=len(pairs.text))
    longest = pairs.ids.shape[1]
    rank = (length * (longest + 1) - block) * (longest + 1) - goal
    before, inside = goal < block, goal <= block + length
    high = np.where(before, block + length, np.where(inside, np.minimum(longest, goal + length), goal))
    low, middle = np.where(before, goal, block), np.where(before, block, block + length)
    real = middle < high
    return _Shifts(pair[real], low[real], middle[real], high[real], rank[real]), checked


def _repeated(times: Ints) -> tuple[Ints, Ints]:
    """Each number as often as it says, and how often it was there before.

    >>> [each.tolist() for each in _repeated(np.array([2, 0, 1]))]
    [[0, 0, 2], [0, 1, 0]]
    """
    each = np.repeat(np.arange(len(times)), times)
    return each, np.arange(len(each)) - (np.cumsum(times) - times)[each]


def _runs(pairs: _Pairs, pair: Ints, block: Ints, at: Ints) -> Ints:
    """How many words in a row are the same, from matches on."""
    run = np.ones(len(pair), dtype=np.int64)
    left = np.arange(len(pair))
    for length in range(1, BLOCK):
        p, i, j = pair[left], block[left] + length, at[left] + length
        inside = (i < pairs.ids.shape[1]) & (j < pairs.size[p])
        left, p, i, j = left[inside], p[inside], i[inside], j[inside]
        left = left[pairs.ids[p, i] == pairs.reference[p, j]]
        run[left] += 1
    return run


def _alignment(pairs: _Pairs, rows: _Rows) -> tuple[Ints, Ints, Ints]:
    """By the best path of each pair: where words are to be inserted, and how many before are wrong in both texts."""
    (count, longest), widest = pairs.ids.shape, pairs.reference.shape[1]
    row, column = np.full(count, longest), pairs.size.copy()
    pair = np.arange(count)
    steps_i, steps_j = [row], [column]
    first, back, left = pairs.band.first.ravel(), rows.back.ravel(), rows.left.ravel()
    while (row > pairs.start).any():
        flat = row * count + pair
        bit = column - first[flat]
        row, column = row - _bit(back[flat], bit), column - _bit(left[flat], bit)
        steps_i.append(row)
        steps_j.append(column)
    i, j = np.array(steps_i), np.array(steps_j)
    target = np.broadcast_to(pairs.start[:, None], (count, widest + 1)).copy()
    leaving, who = np.nonzero(j[1:] < j[:-1])
    target[who, j[leaving, who]] = i[leaving, who]
    target[:, 0] = pairs.start
    wrong_text = np.ones((count, longest + 1), dtype=np.int64)
    wrong_reference = np.ones((count, widest + 1), dtype=np.int64)
    flat = i * count + pair
    hit, who = np.nonzero(_bit(rows.same.ravel()[flat], j - first[flat]))
    wrong_text[who, i[hit, who]] = 0
    wrong_reference[who, j[hit, who]] = 0
    wrong_text[:, 0] = wrong_reference[:, 0] = 0
    return target, np.cumsum(wrong_text, axis=1), np.cumsum(wrong_reference, axis=1)


def _bit(bits: Bits, place: Ints) -> Ints:
    return np.asarray((bits >> place.astype(bits.dtype)) & 1).astype(np.int64)
