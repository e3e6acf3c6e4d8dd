"""The measures once more: plain, slow and exact, for the tests to compare with.

Nothing here is shared with the library. A ranking is a list of entries, best rank first; an entry is the
grade of the document at that rank, or None where the document is unjudged. `pool` is the grades of all
judged documents of the query, retrieved or not. Every measure is a function

    measure(ranking, pool, k=None, ...) -> number, or None where it is undefined

of one concrete order. What ties do to it is not a formula but an enumeration: `average` is the mean over
all the orders that the ties allow.

Grades, and everything that is a ratio of them, are exact (`fractions.Fraction`). Logarithms, and 2**g of a
grade that is not whole, are floats; a sum that contains one becomes a float.

Conventions: relevant means grade >= rel. An unjudged document has gain 0 and is not relevant. A grade below
0 is judged, has gain 0 and is not relevant; bpref alone skips it as if it were unjudged. Ranks past the end
of the list hold nothing. Undefined are: Recall, AP, RPrec, bpref, SetR, SetF without a relevant document in
the pool, nDCG and GAP where the ideal is 0, SN-* where the top k holds nothing, Judged of an empty list.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

Grade = int | float | Fraction
Entry = Grade | None
Number = Fraction | float
Measure = Callable[[Sequence[Entry], Sequence[Grade]], Number | None]
Gain = str | Mapping[Grade, Grade]
Discount = str | Callable[[int], Number]


# --- what a document is worth -----------------------------------------------------------------------------


def relevant(entry: Entry, rel: Grade = 1) -> bool:
    """Whether the document is judged and reaches the relevance level."""
    return entry is not None and entry >= rel


def gain_of(entry: Entry, gain: Gain = "linear") -> Number:
    """The gain of one document: 0 where unjudged or below 0, else g, 2^g - 1, or what the table says."""
    if entry is None or entry < 0:
        return Fraction(0)
    if gain == "linear":
        return Fraction(entry)
    if gain == "exp":
        return two_to(entry) - 1
    assert not isinstance(gain, str), f"no gain {gain!r}"
    return Fraction(gain[entry])


def two_to(grade: Grade) -> Number:
    """2^grade, exact for whole grades."""
    exact = Fraction(grade)
    return Fraction(2) ** int(exact) if exact.denominator == 1 else 2.0 ** float(grade)


def stop_of(entry: Entry, max_grade: Grade) -> Number:
    """ERR's probability that this document satisfies: (2^g - 1) / 2^max_grade."""
    return gain_of(entry, "exp") / two_to(max_grade)


def discount_at(rank: int, discount: Discount) -> Number:
    """The weight of a rank: log2, jk2 (1 for rank 1, then 1 / log2(rank)), zipf, none, or any function."""
    if callable(discount):
        return discount(rank)
    if discount == "log2":
        return 1 / math.log2(rank + 1)
    if discount == "jk2":
        return Fraction(1) if rank < 2 else 1 / math.log2(rank)
    if discount == "zipf":
        return Fraction(1, rank)
    assert discount == "none", f"no discount {discount!r}"
    return Fraction(1)


def cut(ranking: Sequence[Entry], k: int | None) -> list[Entry]:
    """The first k entries, or all of them."""
    return list(ranking if k is None else ranking[:k])


def count(entries: Iterable[Entry], rel: Grade = 1) -> int:
    """How many of the entries are relevant."""
    return sum(relevant(entry, rel) for entry in entries)


# --- counting relevant documents --------------------------------------------------------------------------


def precision(ranking: Sequence[Entry], pool: Sequence[Grade], k: int, rel: Grade = 1) -> Number:
    """P@k: relevant in the top k, over k, however short the list."""
    return Fraction(count(cut(ranking, k), rel), k)


def recall(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, rel: Grade = 1) -> Number | None:
    """Relevant in the top k, over all relevant."""
    total = count(pool, rel)
    return Fraction(count(cut(ranking, k), rel), total) if total else None


def r_precision(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, rel: Grade = 1) -> Number | None:
    """P at rank min(k, R)."""
    total = count(pool, rel)
    if not total:
        return None
    return precision(ranking, pool, total if k is None else min(k, total), rel)


def success(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, rel: Grade = 1) -> Number:
    """1 where the top k holds a relevant document, else 0."""
    return Fraction(int(count(cut(ranking, k), rel) > 0))


def hit(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, gain: Gain = "linear") -> Number:
    """The largest value in the top k, 0 where there is none."""
    return max((gain_of(entry, gain) for entry in cut(ranking, k)), default=Fraction(0))


def judged(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None) -> Number | None:
    """The judged share of the top min(k, length)."""
    top = cut(ranking, k)
    return Fraction(sum(entry is not None for entry in top), len(top)) if top else None


def set_precision(ranking: Sequence[Entry], pool: Sequence[Grade], rel: Grade = 1) -> Number:
    """Relevant retrieved over retrieved; 0 where nothing is retrieved."""
    return Fraction(count(ranking, rel), len(ranking)) if ranking else Fraction(0)


def set_recall(ranking: Sequence[Entry], pool: Sequence[Grade], rel: Grade = 1) -> Number | None:
    """Relevant retrieved over relevant."""
    return recall(ranking, pool, None, rel)


def set_f(ranking: Sequence[Entry], pool: Sequence[Grade], beta: Grade = 1, rel: Grade = 1) -> Number | None:
    """(1 + b^2) P R / (b^2 P + R) of the retrieved set; 0 where both are 0."""
    p, r = set_precision(ranking, pool, rel), set_recall(ranking, pool, rel)
    if r is None:
        return None
    square = Fraction(beta) ** 2
    return (1 + square) * p * r / (square * p + r) if p or r else Fraction(0)


def f_measure(
    ranking: Sequence[Entry], pool: Sequence[Grade], k: int, beta: Grade = 1, rel: Grade = 1
) -> Number | None:
    """(1 + b^2) P R / (b^2 P + R) of the top k; 0 where both are 0."""
    p, r = precision(ranking, pool, k, rel), recall(ranking, pool, k, rel)
    if r is None:
        return None
    square = Fraction(beta) ** 2
    return (1 + square) * p * r / (square * p + r) if p or r else Fraction(0)


def hits(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, rel: Grade = 1) -> Number:
    """Relevant documents in the top k."""
    return Fraction(count(cut(ranking, k), rel))


def auc(ranking: Sequence[Entry], pool: Sequence[Grade], rel: Grade = 1) -> Number | None:
    """Pairs of a relevant and another judged document in order, those not retrieved in one tie at the end."""
    shown = [entry for entry in ranking if entry is not None]
    hidden = list((Counter(pool) - Counter(shown)).elements())
    placed = [(grade, place) for place, grade in enumerate(shown)] + [(grade, len(shown)) for grade in hidden]
    pairs = [(a, b) for grade, a in placed if grade >= rel for other, b in placed if other < rel]
    if not pairs:
        return None
    return sum((Fraction((a < b) * 2 + (a == b), 2) for a, b in pairs), Fraction(0)) / len(pairs)


def num_ret(ranking: Sequence[Entry], pool: Sequence[Grade]) -> Number:
    """Documents retrieved."""
    return Fraction(len(ranking))


def num_rel(ranking: Sequence[Entry], pool: Sequence[Grade], rel: Grade = 1) -> Number:
    """Relevant documents of the query."""
    return Fraction(count(pool, rel))


def num_rel_ret(ranking: Sequence[Entry], pool: Sequence[Grade], rel: Grade = 1) -> Number:
    """Relevant documents retrieved."""
    return Fraction(count(ranking, rel))


# --- sums of weight times value ---------------------------------------------------------------------------


def dcg(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
) -> Number:
    """The sum over the top k of gain times discount."""
    return sum(
        (gain_of(entry, gain) * discount_at(rank, discount) for rank, entry in enumerate(cut(ranking, k), 1)),
        Fraction(0),
    )


def by_gain(entries: Iterable[Entry], gain: Gain) -> list[Entry]:
    """The entries, most gain first."""
    return sorted(entries, key=lambda entry: gain_of(entry, gain), reverse=True)


def ndcg(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
) -> Number | None:
    """DCG over that of the whole pool sorted by gain, then cut."""
    ideal = dcg(by_gain(pool, gain), pool, k, gain, discount)
    return dcg(ranking, pool, k, gain, discount) / ideal if ideal else None


def sdcg(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    k: int,
    gain: Gain = "linear",
    discount: Discount = "log2",
) -> Number:
    """DCG over the sum of the first k discounts, however short the list."""
    return dcg(ranking, pool, k, gain, discount) / sum(discount_at(rank, discount) for rank in range(1, k + 1))


def sn_dcg(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
) -> Number | None:
    """DCG over that of the same top k, sorted by gain."""
    ideal = dcg(by_gain(cut(ranking, k), gain), pool, k, gain, discount)
    return dcg(ranking, pool, k, gain, discount) / ideal if ideal else None


def value_of(entry: Entry, rel: Grade, gain: Gain | None, max_grade: Grade | None) -> Number:
    """1 for relevant and 0 for the rest; with a gain, the gain over that of the largest grade."""
    if gain is None:
        return Fraction(int(relevant(entry, rel)))
    assert max_grade is not None, "a graded value needs the largest grade"
    return gain_of(entry, gain) / gain_of(max_grade, gain)


def weighted(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    k: int | None = None,
    discount: Discount = "zipf",
    rel: Grade = 1,
    gain: Gain | None = None,
    max_grade: Grade | None = None,
) -> Number:
    """The sum over the top k of weight times value."""
    return sum(
        (
            discount_at(rank, discount) * value_of(entry, rel, gain, max_grade)
            for rank, entry in enumerate(cut(ranking, k), 1)
        ),
        Fraction(0),
    )


def rbp(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    k: int | None = None,
    p: str | Grade = "0.8",
    rel: Grade = 1,
    gain: Gain | None = None,
    max_grade: Grade | None = None,
) -> Number:
    """Rank-biased precision: weights (1 - p) p^(rank - 1)."""
    stay = Fraction(p)
    return weighted(ranking, pool, k, lambda rank: (1 - stay) * stay ** (rank - 1), rel, gain, max_grade)


def rbp_residual(
    ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, p: str | Grade = "0.8"
) -> Number:
    """The weight of what is not known: unjudged documents, and all ranks past the last one looked at."""
    stay = Fraction(p)
    seen = (rank for rank, entry in enumerate(cut(ranking, k), 1) if entry is not None)
    return 1 - sum(((1 - stay) * stay ** (rank - 1) for rank in seen), Fraction(0))


def insq(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    k: int | None = None,
    T: Grade = 1,
    rel: Grade = 1,
    gain: Gain | None = None,
    max_grade: Grade | None = None,
    ranks: int | None = None,
) -> Number:
    """Weights 1 / (rank + 2T - 1)^2, divided by their sum over all ranks, or over the first so many."""
    first = 2 * Fraction(T)
    total = inverse_squares(first)
    if ranks is not None:
        k, total = ranks, float(sum(1 / (rank + first - 1) ** 2 for rank in range(1, ranks + 1)))
    return weighted(ranking, pool, k, lambda rank: float(1 / (rank + first - 1) ** 2) / total, rel, gain, max_grade)


@cache
def inverse_squares(start: Number) -> float:
    """The sum of 1 / (start + j)^2 over j = 0, 1, ...: 2000 terms, and Euler and Maclaurin's tail."""
    terms = 2000
    rest = float(start) + terms
    head = math.fsum(1 / (float(start) + j) ** 2 for j in range(terms))
    return head + 1 / rest + 1 / (2 * rest**2) + 1 / (6 * rest**3) - 1 / (30 * rest**5)


# --- readers who go on from each rank with some chance ------------------------------------------------------


def reading(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    what: str,
    goes_on: Callable[[int, Number, Number], Number],
    depth: int,
    rel: Grade = 1,
    gain: Gain | None = None,
    max_grade: Grade | None = None,
) -> Number:
    """EU, ETU, ETC or ED over the first ranks; goes_on(rank, gain there, gained so far) is C. Each rank costs 1."""
    gains = [value_of(entry, rel, gain, max_grade) for entry in cut(ranking, depth)]
    gains += [Fraction(0)] * (depth - len(gains))
    seen: Number = Fraction(1)
    gained: Number = Fraction(0)
    sums: dict[str, Number] = dict.fromkeys(("ED", "gains", "ETU", "ETC"), Fraction(0))
    for rank, here in enumerate(gains, 1):
        gained += here
        chance = goes_on(rank, here, gained)
        sums["ED"] += seen
        sums["gains"] += seen * here
        sums["ETU"] += seen * (1 - chance) * gained
        sums["ETC"] += seen * (1 - chance) * rank
        seen *= chance
    return sums["gains"] / sums["ED"] if what == "EU" else sums[what]


# --- pairs of ranks ---------------------------------------------------------------------------------------


def sum_precision(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, rel: Grade = 1) -> Number:
    """SP@k: P at the rank of every relevant document in the top k, summed."""
    return sum(
        (precision(ranking, pool, rank, rel) for rank, entry in enumerate(cut(ranking, k), 1) if relevant(entry, rel)),
        Fraction(0),
    )


def average_precision(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    k: int | None = None,
    rel: Grade = 1,
    norm: str = "R",
) -> Number | None:
    """SP@k over R, k, or the smaller of the two; by k, defined without a relevant document too."""
    total = count(pool, rel)
    if not total and norm != "k":
        return None
    assert norm == "R" or k is not None, f"AP by {norm} needs a cutoff"
    by = total if norm == "R" or k is None else k if norm == "k" else min(total, k)
    return sum_precision(ranking, pool, k, rel) / by


def sn_ap(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, rel: Grade = 1) -> Number | None:
    """SP@k over the number of relevant documents in the top k."""
    found = count(cut(ranking, k), rel)
    return sum_precision(ranking, pool, k, rel) / found if found else None


def gap(ranking: Sequence[Entry], pool: Sequence[Grade], t: Sequence[Grade], k: int | None = None) -> Number | None:
    """Graded AP: t[j - 1] is the probability that a user's own relevance level is j.

    The sum over ranks i <= k and m <= i of G(min(g_m, g_i)) / i, over the pool's sum of G, where G(c) is the
    probability that grade c suffices.
    """

    def suffices(*grades: Entry) -> Number:
        least = min(-1 if grade is None else grade for grade in grades)
        return sum((Fraction(share) for level, share in enumerate(t, 1) if level <= least), Fraction(0))

    total = sum((suffices(grade) for grade in pool), Fraction(0))
    if not total:
        return None
    top = cut(ranking, k)
    pairs = (suffices(top[m], top[i]) / (i + 1) for i in range(len(top)) for m in range(i + 1))
    return sum(pairs, Fraction(0)) / total


# --- the rest ---------------------------------------------------------------------------------------------


def reciprocal_rank(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, rel: Grade = 1) -> Number:
    """One over the rank of the first relevant document, 0 where the top k has none."""
    ranks = (rank for rank, entry in enumerate(cut(ranking, k), 1) if relevant(entry, rel))
    first = next(ranks, None)
    return Fraction(0) if first is None else Fraction(1, first)


def err(ranking: Sequence[Entry], pool: Sequence[Grade], max_grade: Grade, k: int | None = None) -> Number:
    """Expected reciprocal rank of the document at which the reader stops, satisfied."""
    looking: Number = Fraction(1)
    total: Number = Fraction(0)
    for rank, entry in enumerate(cut(ranking, k), 1):
        stop = stop_of(entry, max_grade)
        total += looking * stop / rank
        looking *= 1 - stop
    return total


def bpref(ranking: Sequence[Entry], pool: Sequence[Grade], k: int | None = None, rel: Grade = 1) -> Number | None:
    """How few judged non-relevant documents stand above the relevant ones (trec_eval's form)."""
    total = count(pool, rel)
    if not total:
        return None
    others = sum(0 <= grade < rel for grade in pool)
    above = 0
    score = Fraction(0)
    for entry in cut(ranking, k):
        if relevant(entry, rel):
            score += 1 - Fraction(min(above, total), min(others, total)) if above else 1
        elif entry is not None and entry >= 0:
            above += 1
    return score / total


# --- ties: one ranking is all the orders that its ties allow ----------------------------------------------


def distinct_orders(items: Sequence[Entry]) -> Iterator[tuple[Entry, ...]]:
    """Every distinct order of the items. Each stands for equally many permutations: their mean is right."""
    left = Counter(items)

    def extend(prefix: tuple[Entry, ...]) -> Iterator[tuple[Entry, ...]]:
        if len(prefix) == len(items):
            yield prefix
            return
        for item in [item for item, times in left.items() if times]:
            left[item] -= 1
            yield from extend((*prefix, item))
            left[item] += 1

    yield from extend(())


def tie_orders(groups: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """All distinct rankings of a list of tie groups, highest score first."""
    each = [list(distinct_orders(group)) for group in groups]
    return [[entry for part in parts for entry in part] for parts in product(*each)]


def mean(values: Sequence[Number | None], empty: Number | None = 0) -> Number | None:
    """The mean of the values; undefined ones count `empty`, or are left out where that is None.

    Where all are undefined, so is the mean.
    """
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    if empty is None:
        return sum(defined, Fraction(0)) / len(defined)
    return (sum(defined, Fraction(0)) + empty * (len(values) - len(defined))) / len(values)


def average(measure: Measure, groups: Sequence[Sequence[Entry]], pool: Sequence[Grade]) -> Number | None:
    """The mean over all orders of the ties.

    Only the SN-* measures are undefined in some of the orders of a list and defined in others (nothing found
    in the top k): those orders count 0, which is what a reader who finds nothing got.
    """
    return mean([measure(order, pool) for order in tie_orders(groups)])


def tie_key(entry: Entry) -> tuple[Grade, bool]:
    """What documents of a tie are sorted by under `best` and `worst`: the grade, unjudged as 0.

    A judged 0 counts as better than an unjudged document. Only measures of judgedness see the difference.
    """
    return (0, False) if entry is None else (entry, True)


def best(groups: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """Ties broken by grade, the highest first."""
    return [[entry] for group in groups for entry in sorted(group, key=tie_key, reverse=True)]


def worst(groups: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    """Ties broken by grade, the lowest first."""
    return [[entry] for group in groups for entry in sorted(group, key=tie_key)]


def ordered(scored: Mapping[str, tuple[Grade, Entry]], ties: str) -> list[list[Entry]]:
    """A run {document: (score, grade or None)} as the tie groups that remain under a tie rule.

    `average` keeps the ties; `docid` breaks them by descending bytes of the id, `input` by the order of the
    mapping, `best` and `worst` by grade.
    """
    scores = sorted({score for score, _ in scored.values()}, reverse=True)
    named = [[(name, entry) for name, (s, entry) in scored.items() if s == score] for score in scores]
    if ties == "docid":
        named = [sorted(group, key=lambda pair: pair[0].encode(), reverse=True) for group in named]
    groups = [[entry for _, entry in group] for group in named]
    if ties in ("docid", "input"):
        return [[entry] for group in groups for entry in group]
    return {"average": list, "best": best, "worst": worst}[ties](groups)


# --- the pool in every order: bounds ----------------------------------------------------------------------


def pool_values(measure: Measure, pool: Sequence[Grade]) -> list[Number | None]:
    """The measure on every distinct ranking of the whole pool."""
    return [measure(order, pool) for order in distinct_orders(pool)]


def expected(measure: Measure, pool: Sequence[Grade], empty: Number | None = 0) -> Number | None:
    """The mean over all rankings of the pool."""
    return mean(pool_values(measure, pool), empty)


def variance(measure: Measure, pool: Sequence[Grade], empty: Number | None = 0) -> Number | None:
    """The variance over all rankings of the pool (of the population of them, not of a sample)."""
    values = pool_values(measure, pool)
    centre = mean(values, empty)
    if centre is None:
        return None
    if empty is not None:
        values = [empty if value is None else value for value in values]
    return mean([None if value is None else (value - centre) ** 2 for value in values], None)


def highest(measure: Measure, pool: Sequence[Grade]) -> Number | None:
    """The ideal: the largest value that any ranking of the pool gets."""
    return max((value for value in pool_values(measure, pool) if value is not None), default=None)


def lowest(measure: Measure, pool: Sequence[Grade], empty: Number | None = 0) -> Number | None:
    """The worst: the smallest value that any ranking gets, undefined ones counting `empty` or left out."""
    values = pool_values(measure, pool)
    if all(value is None for value in values):
        return None
    counted = [empty if value is None else value for value in values]
    return min(value for value in counted if value is not None)


# --- blended ratios: the measures of NTCIR ----------------------------------------------------------------


def blended_ratio(
    ranking: Sequence[Entry], pool: Sequence[Grade], r: int, rel: Grade, beta: Grade, gain: Gain
) -> Number:
    """(C(r) + beta cg(r)) / (r + beta cg*(r)); documents below rel gain nothing."""

    def gained(entries: Sequence[Entry]) -> Number:
        return sum((gain_of(entry, gain) for entry in entries if relevant(entry, rel)), Fraction(0))

    ideal = by_gain([grade for grade in pool if relevant(grade, rel)], gain)
    beta = Fraction(beta)
    return (count(ranking[:r], rel) + beta * gained(ranking[:r])) / (r + beta * gained(ideal[:r]))


def _ratios(ranking: Sequence[Entry], pool: Sequence[Grade], rel: Grade, beta: Grade, gain: Gain) -> dict[int, Number]:
    """The blended ratio at the rank of each relevant document."""
    ranks = [r for r, entry in enumerate(ranking, 1) if relevant(entry, rel)]
    return {r: blended_ratio(ranking, pool, r, rel, beta, gain) for r in ranks}


def q_measure(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    k: int | None = None,
    rel: Grade = 1,
    beta: Grade = 1,
    gain: Gain = "linear",
    norm: str = "min",
) -> Number | None:
    total = count(pool, rel)
    if not total:
        return None
    ratios = _ratios(cut(ranking, k), pool, rel, beta, gain)
    return sum(ratios.values(), Fraction(0)) / (total if k is None or norm == "R" else min(total, k))


def o_measure(
    ranking: Sequence[Entry], pool: Sequence[Grade], rel: Grade = 1, beta: Grade = 1, gain: Gain = "linear"
) -> Number | None:
    ratios = _ratios(ranking, pool, rel, beta, gain)
    return None if not count(pool, rel) else ratios[min(ratios)] if ratios else Fraction(0)


def p_measure(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    rel: Grade = 1,
    beta: Grade = 1,
    gain: Gain = "linear",
    mean: bool = False,
) -> Number | None:
    if not count(pool, rel):
        return None
    ratios = _ratios(ranking, pool, rel, beta, gain)
    if not ratios:
        return Fraction(0)
    best = max(entry for entry in ranking if entry is not None)
    preferred = next(r for r, entry in enumerate(ranking, 1) if entry == best)
    upto = [ratio for r, ratio in ratios.items() if r <= preferred]
    return sum(upto, Fraction(0)) / len(upto) if mean else ratios[preferred]


def ncu_graded(
    ranking: Sequence[Entry], pool: Sequence[Grade], rel: Grade = 1, beta: Grade = 1, gain: Gain = "linear"
) -> Number | None:
    total = sum((gain_of(grade, gain) for grade in pool if relevant(grade, rel)), Fraction(0))
    ratios = _ratios(ranking, pool, rel, beta, gain)
    stopped = sum((gain_of(ranking[r - 1], gain) * ratio for r, ratio in ratios.items()), Fraction(0))
    return stopped / total if total else None


def ncu_rank(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    gamma: Grade,
    rel: Grade = 1,
    beta: Grade = 1,
    gain: Gain = "linear",
) -> Number | None:
    if not count(pool, rel):
        return None
    gamma = Fraction(gamma)
    ratios = _ratios(ranking, pool, rel, beta, gain)
    return sum((gamma**c * ratios[r] for c, r in enumerate(sorted(ratios))), Fraction(0)) / sum(
        gamma**c for c in range(count(pool, rel))
    )


def stops(
    ranking: Sequence[Entry],
    pool: Sequence[Grade],
    max_grade: Grade,
    k: int | None = None,
    gain: Gain = "exp",
    share: bool = False,
) -> Number | None:
    """ERR where a document satisfies with its gain / (that of the largest grade + 1), or its share of the ideal's."""
    total: Number = Fraction(0)
    through: Number = Fraction(1)
    for rank, entry in enumerate(cut(ranking, k), 1):
        stop = gain_of(entry, gain) / (gain_of(max_grade, gain) + 1)
        total += through * stop / rank
        through *= 1 - stop
    if not share:
        return total
    ideal = stops(sorted(pool, reverse=True), pool, max_grade, k, gain)
    return total / ideal if ideal else None
