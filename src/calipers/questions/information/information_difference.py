"""Information difference: information about the judgments that one of two systems has and the other has not.

    id(S, T) = I(S; Q | T) + I(T; Q | S) = 2 RIC(S, T) - RIC(S) - RIC(T)                    0 to 2 bits

It is not a metric: a perfect list and its reverse have a difference of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.runs import remembered
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.lists import Floats, Ints
from calipers.measures.information import order_information
from calipers.native.scanner import one_sided_pairs, order_bits, shared_bits
from calipers.questions.information.rankings import MISSING, QueryRankings, Rankings, in_parallel
from calipers.results.result import Result, Tables
from calipers.results.tables import Table, as_number
from calipers.support.checks import check_choice, check_type, check_whole
from calipers.support.plurals import counted

COLUMNS = ("system_a", "system_b", "information_difference", "delta_ap")
BINS = 20
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False)
class InformationDifference(Result):
    """Information difference of each pair of systems, as a mean over queries."""

    systems: tuple[str, ...]
    matrix: Floats  # [system, system]
    ric: Floats  # of each system
    ap: Floats  # of each system, on the same queries
    queries: int  # number of queries that count
    skipped: int = 0  # number of queries whose judged documents all have the same grade
    notes: tuple[str, ...] = ()  # notes about the runs
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Title with the numbers of systems and queries."""
        size = f"{counted(len(self.systems), 'system')}, {counted(self.queries, 'query')}"
        return f"Information difference: {size}; most similar pairs first"

    @property
    def summary(self) -> str:
        """The conclusion in one or two sentences."""
        table = self.table()
        if not len(table):
            return "There is only one system, so there is no difference."
        row = next(iter(table))
        bits = as_number(row["information_difference"])
        return f"{row['system_a']} and {row['system_b']} are most similar: they differ by {bits:.4f} bits."

    def plot(self) -> Any:
        """Draw how systems join into clusters. See `calipers.plot.dendrogram`."""
        from calipers.plot import dendrogram

        return dendrogram(self)

    def tables(self) -> Tables:
        """Return the tables by name."""
        return Tables({"pairs": self._pairs})

    def _pairs(self) -> Table:
        """system_a, system_b, information_difference, delta_ap (absolute): one row per pair, most similar first."""
        return self._table(*np.triu_indices(len(self.systems), 1))

    def within_bins(self, bins: int = BINS) -> Table:
        """Return the pairs of systems whose AP lies in the same bin, most similar pairs first.

        Bins hold the same number of systems.
        """
        if not 1 <= bins <= len(self.systems):
            raise CalipersError(f"bins must be between 1 and {len(self.systems)}, the number of systems, not {bins}")
        place = np.zeros(len(self.systems), np.int64)
        for number, members in enumerate(np.array_split(np.argsort(-self.ap, kind="stable"), bins)):
            place[members] = number
        a, b = np.triu_indices(len(self.systems), 1)
        alike = place[a] == place[b]
        return self._table(a[alike], b[alike])

    def _table(self, a: Ints, b: Ints) -> Table:
        difference, delta = self.matrix[a, b], np.abs(self.ap[a] - self.ap[b])
        order = np.argsort(difference, kind="stable")
        columns = (
            [self.systems[i] for i in a[order].tolist()],
            [self.systems[i] for i in b[order].tolist()],
            difference[order].tolist(),
            delta[order].tolist(),
        )
        return Table(COLUMNS, tuple(zip(*columns, strict=True)), self.metadata)

    def linkage(self) -> Floats:
        """Return a hierarchical clustering of the systems by average linkage, as SciPy's linkage matrix."""
        if len(self.systems) < 2:
            raise CalipersError(f"clustering needs at least two systems, but there is only {', '.join(self.systems)}")
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        return np.asarray(linkage(squareform(self.matrix, checks=False), "average", optimal_ordering=True))

    def clusters(self, at: float) -> dict[str, int]:
        """Return the cluster of each system, numbered from 1. Clusters more than `at` bits apart are not joined."""
        from scipy.cluster.hierarchy import fcluster

        label = fcluster(self.linkage(), at, "distance")
        return dict(zip(self.systems, label.tolist(), strict=True))

    def order(self) -> list[int]:
        """Return the systems in the order of the dendrogram, with similar systems next to each other."""
        from scipy.cluster.hierarchy import leaves_list

        found: list[int] = leaves_list(self.linkage()).tolist()
        return found


def difference(evaluation: Evaluation, *, rel: float = 1.0, cut: str = "relevant") -> InformationDifference:
    """Return the information difference of each pair of runs, and their difference in AP.

    Queries are skipped if all judged documents have the same grade, or if none is relevant. If ties are averaged, a
    tied pair of documents counts as half in each order.

    rel: the smallest grade that is relevant.
    cut: lists end after their last relevant document (`relevant`), or are not cut (`none`). AP does not depend on it.

    >>> import calipers as cal
    >>> judgments = {"q": {"r1": 1, "r2": 1, "a": 0, "b": 0, "c": 0}}
    >>> runs = {"A": {"q": {"r1": 3, "a": 2, "r2": 1}}, "B": {"q": {"r2": 3, "b": 2, "r1": 1}}}
    >>> print(cal.questions.information.difference(cal.Experiment(judgments, runs)).table())
    system_a  system_b  information_difference  delta_ap
    --------  --------  ----------------------  --------
    A         B                         0.6334    0.0000
    <BLANKLINE>
    """
    check_type("evaluation", evaluation, Evaluation, "an Experiment")
    if len(evaluation.runs) < 2:
        names = ", ".join(evaluation.systems)
        raise CalipersError(f"the information difference needs at least two systems, but there is only {names}")
    given = evaluation.changed(runs=tuple(map(remembered, evaluation.runs)))
    rankings = Rankings.of_evaluation(given, rel, cut)
    # AP is computed from grades. Preferences have the grades of the documents in their pairs.
    graded = given.changed(judgments=rankings.judgments).of_measures(f"AP(rel={rel:g})")
    options = graded.options.changed(empty="skip")
    scores = graded.changed(options=options, unmatched="warn", warn=False, progress=None).scores
    warn_user(rankings.notes, evaluation.warn)
    return difference_of(rankings, scores.values[0], evaluation.progress, evaluation.jobs)


def difference_of(
    rankings: Rankings, ap: Floats, progress: Callable[[int], None] | None = None, jobs: int | None = None
) -> InformationDifference:
    """Return the information differences of these rankings. ap: [system, query of the judgments]."""
    size = len(rankings.systems)
    total, alone, places = np.zeros((size, size)), np.zeros(size), []

    def of_query(query: QueryRankings) -> tuple[int, Floats, Floats]:
        return query.place, *known_by_two(query)

    for place, ric, joint in in_parallel(of_query, rankings.queries(), jobs):
        total += 2 * joint - ric[:, None] - ric
        alone += ric
        places.append(place)
        if progress:
            progress(1)
    if not places:
        raise CalipersError(
            "no query has a relevant document and documents of different grades", file=rankings.judgments.name
        )
    matrix = np.maximum(total / len(places), 0.0)
    np.fill_diagonal(matrix, 0.0)
    return InformationDifference(
        systems=rankings.systems,
        matrix=(matrix + matrix.T) / 2,
        ric=alone / len(places),
        ap=np.asarray(ap[:, places].mean(axis=1)),
        queries=len(places),
        skipped=len(rankings.judgments.queries) - len(places),
        notes=rankings.notes,
        metadata={"rel": rankings.rel, "cut": rankings.cut},
    )


def known_by_two(query: QueryRankings) -> tuple[Floats, Floats]:
    """Return the RIC of each system, and the joint RIC of each pair of systems, on one query.

    Two systems have nine patterns of signs. The pairs of documents that a system has in the right order are stored as
    bits. Pairs that both systems have in the right order are (+, +). Pairs that one system has in the right order,
    while the other shows neither document, are (+, 0). The counts of all other patterns follow from these counts and
    from the counts of each system.
    """
    rank = query.until_last_relevant()
    above, tied, only_plus = _compared(query, rank)
    agree = shared_bits(above, above).astype(np.float64)
    if tied.any():  # half of each tied pair is (+), half (-); all systems break a tie the same way
        with_above, with_tied = (shared_bits(tied, each) for each in (above, tied))
        agree += (with_above + with_above.T + with_tied) / 2
    neither = _neither(query, rank)
    right = np.diagonal(agree)
    wrong = query.size - right - np.diagonal(neither)
    shown = right + wrong
    oppose = right[:, None] - agree - only_plus
    both_wrong = shown[:, None] + shown - query.size + neither - agree - oppose - oppose.T
    only_minus = wrong[:, None] - both_wrong - oppose.T
    one_sided = order_information(only_plus, only_minus)
    joint = order_information(agree, both_wrong) + order_information(oppose, oppose.T) + one_sided + one_sided.T
    return order_information(right, wrong) / query.size, joint / query.size


def _compared(query: QueryRankings, rank: NDArray[np.int32]) -> tuple[Words, Words, Floats]:
    """Return three arrays about pairs of documents.

    [system, word]: bits of the pairs that a system has in the right order. [system, word]: bits of the pairs that it
    ties. [system, system]: the number of pairs that the first system has in the right order while the second shows
    neither document. Tied pairs count half.
    """
    blocks = []
    only_plus = np.zeros((len(rank), len(rank)))
    for better, worse in query.sides(rank, 0):
        missing = int(np.iinfo(better.dtype).max)
        if better.ndim == 3 and better.dtype == np.int16:
            sides = better[:, :, 0], worse[:, 0, :]
            blocks.append(order_bits(*sides, missing))
            only_plus += one_sided_pairs(*sides, missing)
        else:
            pairs = [*zip(better, worse, strict=True)]
            above = _words(one < other for one, other in pairs)
            tied = _words((one == other) & (one != missing) for one, other in pairs)
            lacked = _words((one == missing) & (other == missing) for one, other in pairs)
            blocks.append((above, tied))
            only_plus += shared_bits(above, lacked) + shared_bits(tied, lacked) / 2
    above, tied = (parts[0] if len(parts) == 1 else np.hstack(parts) for parts in zip(*blocks, strict=True))
    return above, tied, only_plus


def _words(rows: NDArray[np.bool_] | Iterable[NDArray[np.bool_]]) -> Words:
    """Pack the bits of each row into 64-bit words."""
    packed = np.packbits(rows, axis=1) if isinstance(rows, np.ndarray) else np.stack([np.packbits(row) for row in rows])
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def _neither(query: QueryRankings, rank: NDArray[np.int32]) -> Floats:
    """Return the number of pairs, as [system, system], in which neither system shows either document."""
    lacks = rank == MISSING
    found = np.zeros((len(rank), len(rank)), np.int64)
    for each in query.pairs:
        better, worse = lacks[:, each.better], lacks[:, each.worse]
        if each.crossed:
            found += _in_common(better) * _in_common(worse)
        else:
            found += _in_common(better & worse)
    return found.astype(np.float64)


def _in_common(rows: NDArray[np.bool_]) -> Ints:
    """Return how many columns are true in both rows, as [row, row].

    Matrix products would give the same counts, but the threads of BLAS cost more than such small products.
    """
    words = _words(rows)
    return shared_bits(words, words)


def same_group_share(table: Table, groups: Mapping[str, str], top: int = 27, by: str = COLUMNS[2]) -> float:
    """Return the share of the `top` most similar pairs whose two systems belong to the same group.

    by: information_difference or delta_ap.

    >>> table = Table(COLUMNS, (("a1", "a2", 0.1, 0.3), ("a1", "b", 0.2, 0.1)))
    >>> groups = {"a1": "a", "a2": "a", "b": "b"}
    >>> same_group_share(table, groups, top=1), same_group_share(table, groups, top=1, by="delta_ap")
    (1.0, 0.0)
    """
    check_type("table", table, Table, "the table of an InformationDifference")
    check_type("groups", groups, Mapping, "{system: group}")
    check_whole("top", top)
    check_choice("column", by, table.columns)
    if not table.rows:
        raise CalipersError("the table has no pairs of systems")
    place = table.columns.index(by)
    first = sorted(table.rows, key=lambda row: as_number(row[place]))[:top]
    known = [(groups.get(str(row[0])), groups.get(str(row[1]))) for row in first]
    return sum(one is not None and one == other for one, other in known) / len(first)
