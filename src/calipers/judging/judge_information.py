"""Which judge knows most: what the order of a system's documents tells about judges' preferences, in bits.

    I(R_S; Q_1 .. Q_m) = sum over patterns q of f(q) lg(2 f(q) / (f(q) + f(-q)))

Pairs of documents that at least one judge orders, the one that the system shows higher first; f(q) is the share of
those that the judges order as q says (1, -1, or 0 where a judge calls them equal or lacks a label), pairs of which the
system shows neither document counting in the whole. It is the joint relevance information correlation with the roles of
systems and judges exchanged; lists are cut as for RIC, after the last document that any judge calls relevant. Many
judges seem to know much by chance: beside each value stands that of lists that are shuffled.

Golbus & Aslam, A mutual information-based framework for the analysis of information retrieval systems, SIGIR 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.model import Run
from calipers.errors import CalipersError
from calipers.information.rankings import MISSING, QueryRankings, Rankings
from calipers.information.sign_patterns import check_number_of_lists, written
from calipers.judging.panel import Panel
from calipers.lists import Floats, Ints
from calipers.measures.information import order_information
from calipers.results.tables import Cell, Table
from calipers.stats.significance import SEED

DRAWS = 5
ALL = "all together"


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Bits per judge, and of all judges together: means over queries, system by system."""

    judges: tuple[str, ...]  # the last line of each array is all of them together
    systems: tuple[str, ...]
    bits: Floats  # [judge, system]
    null: Floats  # [draw, judge, system]: of shuffled lists
    queries: int
    skipped: int  # queries that no judge orders anything of
    metadata: dict[str, Any] = field(default_factory=dict)

    def table(self) -> Table:
        """judge, bits (the mean over systems), null_mean, null_sd, above_null, best_system."""
        rows: list[tuple[Cell, ...]] = []
        for j, name in enumerate((*self.judges, ALL)):
            of_draws = self.null[:, j].mean(axis=1)
            bits = float(self.bits[j].mean())
            spread = float(of_draws.std(ddof=1)) if len(of_draws) > 1 else float("nan")
            best = self.systems[int(self.bits[j].argmax())]
            rows.append((name, bits, float(of_draws.mean()), spread, bits - float(of_draws.mean()), best))
        return Table(("judge", "bits", "null_mean", "null_sd", "above_null", "best_system"), tuple(rows), self.metadata)

    def by_system(self) -> Table:
        """system, and the bits of each judge and of all together."""
        rows = [(system, *self.bits[:, s].tolist()) for s, system in enumerate(self.systems)]
        return Table(("system", *self.judges, ALL), tuple(rows), self.metadata)


def knowledge_of(
    panel: Panel,
    runs: Sequence[Run],
    *,
    rel: float = 1.0,
    draws: int = DRAWS,
    seed: int = SEED,
    progress: Callable[[int], None] | None = None,
    **how: Any,
) -> Knowledge:
    """What each judge of a panel, the human included, knows of the order of each system's documents."""
    check_number_of_lists(len(panel.names), "judges")
    if draws < 1:
        raise CalipersError(f"draws {draws} is not a whole number of at least 1")
    rankings = Rankings.of(panel.whole, runs, **how)
    offsets = panel.whole.pool.offsets.tolist()
    bits, null, counted = [], [], 0
    for q, name in enumerate(panel.queries):
        span = slice(offsets[q], offsets[q + 1])
        labels = panel.grade[:, span]
        labels = np.where(labels >= 0, labels, np.nan)  # a grade below 0 is none
        if np.isnan(labels).all(axis=1).any():
            continue  # a query that not all have judged
        relevant = np.nan_to_num(labels).max(axis=0) >= rel
        pairs = OrderedByJudges.of(labels)
        if pairs is not None and relevant.any():
            counted += 1
            seen = QueryRankings(name, q, rankings.rank[:, span], relevant, ())
            bits.append(pairs.told(seen.until_last_relevant()))
            random = np.random.default_rng([seed, q])
            shuffled = (random.permuted(seen.rank, axis=1) for _ in range(draws))
            null.append([pairs.told(seen.until_last_relevant(rank)) for rank in shuffled])
        if progress:
            progress(1)
    if not counted:
        raise CalipersError("no query of all judges has documents that one of them tells apart")
    return Knowledge(
        judges=panel.names,
        systems=rankings.systems,
        bits=np.mean(bits, axis=0),
        null=np.mean(null, axis=0),
        queries=counted,
        skipped=len(panel.queries) - counted,
        metadata={"draws": draws, "seed": seed, "queries": counted},
    )


@dataclass(frozen=True, eq=False)
class OrderedByJudges:
    """The pairs of one query's documents that at least one judge orders, those of one pattern together.

    A pattern and its reverse are one: the documents of each pair stand in the order that makes them so.
    """

    one: Ints
    other: Ints
    sign: NDArray[np.int8]  # [judge, pair]: 1 where the judge prefers the first document, -1 the second
    start: Ints  # of each pattern, its first pair

    @classmethod
    def of(cls, labels: Floats) -> OrderedByJudges | None:
        """From labels of [judge, document]; None where nobody orders anything."""
        one, other = np.triu_indices(labels.shape[1], 1)
        apart = labels[:, one] - labels[:, other]
        sign = np.sign(np.nan_to_num(apart)).astype(np.int8)
        ordered = np.flatnonzero(sign.any(axis=0))
        if not len(ordered):
            return None
        code = written(sign[:, ordered], len(sign), len(ordered))
        ordered = ordered[np.argsort(np.abs(code), kind="stable")]
        code = np.sort(np.abs(code), kind="stable")
        one, other, sign = one[ordered], other[ordered], sign[:, ordered]
        turned = written(sign, len(sign), len(ordered)) < 0
        one, other = np.where(turned, other, one), np.where(turned, one, other)
        start = np.flatnonzero(np.append(True, code[1:] != code[:-1]))
        return cls(one, other, np.where(turned, -sign, sign).astype(np.int8), start)

    def told(self, rank: NDArray[np.int32]) -> Floats:
        """[judge and all together, system]: bits that the order of documents tells, from ranks [system, document]."""
        above, below = rank[:, self.one], rank[:, self.other]
        higher, lower = above < below, above > below
        half = ((above == below) & (above != MISSING)) / np.float32(2)  # a tie is taken half each way
        up, down = higher + half, lower + half
        liked, disliked = (self.sign > 0).astype(np.float32), (self.sign < 0).astype(np.float32)
        right, wrong = up @ liked.T + down @ disliked.T, down @ liked.T + up @ disliked.T  # [system, judge]
        alone = order_information(right.T.astype(np.float64), wrong.T.astype(np.float64))
        of_patterns = (np.add.reduceat(each, self.start, axis=1, dtype=np.float64) for each in (up, down))
        together = order_information(*of_patterns).sum(axis=1)
        return np.vstack([alone, together]) / len(self.one)
