"""Which systems are the same underneath: what each tells about the judgments that the other does not.

    id(S, T) = I(S; Q | T) + I(T; Q | S) = 2 RIC(S, T) - RIC(S) - RIC(T)                    0 to 2 bits

It is not a metric: a perfect list and its reverse have a difference of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError
from calipers.evaluation import as_judgments, as_runs, evaluate
from calipers.information.rankings import Preferences, Rankings, sign_of, ways_to_break_ties
from calipers.lists import Floats, Ints
from calipers.measures.information import order_information
from calipers.metaeval.query_sets import RememberedRun
from calipers.plurals import counted
from calipers.results.tables import ShownAsTable, Table

COLUMNS = ("system_a", "system_b", "information_difference", "delta_ap")
BINS = 20
LINKAGES = ("average", "complete", "single", "weighted")
CELLS_AT_ONCE = 2_000_000  # systems x pairs of documents in one product; up to 2^24 a float32 counts exactly


@dataclass(frozen=True, eq=False)
class InformationDifference(ShownAsTable):
    """The information difference between each two systems, the mean over queries."""

    systems: tuple[str, ...]
    matrix: Floats  # [system, system]
    ric: Floats  # of each system
    ap: Floats  # of each system, on the same queries
    queries: int  # that count
    skipped: int = 0  # whose judgments tell no documents apart
    metadata: dict[str, Any] = field(default_factory=dict)

    def table(self) -> Table:
        """system_a, system_b, information_difference, delta_ap (absolute): one row per pair, the most alike first."""
        return self._table(*np.triu_indices(len(self.systems), 1))

    def within_bins(self, bins: int = BINS) -> Table:
        """The same for pairs of systems of like AP: sorted by AP, in so many bins of equal size (table 4)."""
        if not 1 <= bins <= len(self.systems):
            raise CalipersError(f"{bins} bins are not between 1 and the {counted(len(self.systems), 'system')}")
        place = np.empty(len(self.systems), np.int64)
        order = np.argsort(-self.ap, kind="stable")
        for number, members in enumerate(np.array_split(order, bins)):
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

    def linkage(self, method: str = "average") -> Floats:
        """The clusters in which systems join, as SciPy writes them. Methods that need distances in space are refused:
        the difference is not a metric.
        """
        if method not in LINKAGES:
            raise CalipersError(f"method={method} is not one of {', '.join(LINKAGES)}")
        if len(self.systems) < 2:
            raise CalipersError(f"there is only one system ({', '.join(self.systems)}): nothing to cluster")
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        return np.asarray(linkage(squareform(self.matrix, checks=False), method, optimal_ordering=True))

    def clusters(self, at: float, method: str = "average") -> dict[str, int]:
        """The cluster of each system, from 1, where clusters that differ by more than `at` bits stay apart."""
        from scipy.cluster.hierarchy import fcluster

        label = fcluster(self.linkage(method), at, "distance")
        return dict(zip(self.systems, label.tolist(), strict=True))

    def order(self, method: str = "average") -> list[int]:
        """The systems as they stand below the dendrogram, like beside like."""
        from scipy.cluster.hierarchy import leaves_list

        found: list[int] = leaves_list(self.linkage(method)).tolist()
        return found

    def __repr__(self) -> str:
        table = self.table()
        shown = Table(table.columns, table.rows[:10])
        return (
            f"<InformationDifference: {counted(len(self.systems), 'system')}, {counted(self.queries, 'query')}; the "
            f"most alike>\n{shown}"
        )


def information_difference(
    judgments: JudgmentsLike,
    runs: RunsLike,
    *,
    rel: float = 1.0,
    ties: str = "average",
    depth: int | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> InformationDifference:
    """The information difference between each two runs, beside their difference in AP.

    Queries whose judgments tell no documents apart, or call none relevant at `rel`, are skipped. `ties` as for
    `evaluate`; `average` takes a tied pair of documents half each way.

    >>> judgments = {"q": {"r1": 1, "r2": 1, "a": 0, "b": 0, "c": 0}}
    >>> runs = {"A": {"q": {"r1": 3, "a": 2, "r2": 1}}, "B": {"q": {"r2": 3, "b": 2, "r1": 1}}}
    >>> print(information_difference(judgments, runs).table())
    system_a  system_b  information_difference  delta_ap
    --------  --------  ----------------------  --------
    A         B                         0.6334    0.0000
    <BLANKLINE>
    """
    known = as_judgments(judgments)
    systems = [RememberedRun(run) for run in as_runs(runs)]
    if len(systems) < 2:
        raise CalipersError(f"there is only one system ({systems[0].name}): nothing to compare it with")
    rankings = Rankings.of(known, systems, rel, ties, depth, jobs)
    scores = evaluate(known, systems, f"AP(rel={rel:g})", ties=ties, depth=depth, empty="skip", jobs=jobs, warn=False)
    return difference_of(rankings, scores.values[0], progress)


def difference_of(
    rankings: Rankings, ap: Floats, progress: Callable[[int], None] | None = None
) -> InformationDifference:
    """The differences of rankings that are read already; ap: [system, query of the judgments]."""
    size = len(rankings.systems)
    total, alone, places = np.zeros((size, size)), np.zeros(size), []
    for query in rankings.queries():
        ric, joint = known_by_two(query)
        total += 2 * joint - ric[:, None] - ric
        alone += ric
        places.append(query.place)
        if progress:
            progress(1)
    if not places:
        raise CalipersError("no query has judgments that tell its documents apart", file=rankings.judgments.name)
    matrix = np.maximum(total / len(places), 0.0)
    np.fill_diagonal(matrix, 0.0)
    return InformationDifference(
        systems=rankings.systems,
        matrix=(matrix + matrix.T) / 2,
        ric=alone / len(places),
        ap=np.asarray(ap[:, places].mean(axis=1)),
        queries=len(places),
        skipped=len(rankings.judgments.queries) - len(places),
        metadata={"rel": rankings.rel},
    )


def known_by_two(query: Preferences) -> tuple[Floats, Floats]:
    """On one query: the RIC of each system, and the joint RIC of each two.

    Of two systems there are nine patterns; which pairs of documents show (+, +), (+, -) and (-, -) is a product of
    matrices, and the others follow from what each system does alone.
    """
    rank = query.until_last_relevant()
    size = len(rank)
    plus, minus = np.zeros(size), np.zeros(size)
    agree, oppose, both_wrong = (np.zeros((size, size)) for _ in range(3))
    ways = ways_to_break_ties(rank)
    pairs = 0
    for better, worse in query.pairs():
        pairs += len(better)
        for tied in ways:
            for start in range(0, len(better), step := max(1, CELLS_AT_ONCE // size)):
                sign = _signs(rank, better[start : start + step], worse[start : start + step], tied)
                above, below = (sign > 0).astype(np.float32), (sign < 0).astype(np.float32)
                plus += above.sum(axis=1, dtype=np.float64)
                minus += below.sum(axis=1, dtype=np.float64)
                agree += above @ above.T
                oppose += above @ below.T
                both_wrong += below @ below.T
    only_plus = plus[:, None] - agree - oppose  # + of one, where the other shows neither document
    only_minus = minus[:, None] - both_wrong - oppose.T
    one_sided = order_information(only_plus, only_minus)
    joint = order_information(agree, both_wrong) + order_information(oppose, oppose.T) + one_sided + one_sided.T
    counted = pairs * len(ways)
    return order_information(plus, minus) / counted, joint / counted


def _signs(rank: NDArray[np.int32], better: Ints, worse: Ints, tied: int) -> NDArray[np.int8]:
    return sign_of(rank[:, better], rank[:, worse], tied)


def same_group_share(table: Table, groups: Mapping[str, str], top: int = 27, by: str = COLUMNS[2]) -> float:
    """Of the first pairs by information_difference or by delta_ap: the share whose two systems are of one group.

    >>> table = Table(COLUMNS, (("a1", "a2", 0.1, 0.3), ("a1", "b", 0.2, 0.1)))
    >>> groups = {"a1": "a", "a2": "a", "b": "b"}
    >>> same_group_share(table, groups, top=1), same_group_share(table, groups, top=1, by="delta_ap")
    (1.0, 0.0)
    """
    if top < 1 or not table.rows:
        raise CalipersError(f"there are {counted(len(table.rows), 'pair')} of systems: no share of the first {top}")
    place = table.columns.index(by)
    first = sorted(table.rows, key=lambda row: row[place])[:top]  # type: ignore[arg-type,return-value]
    known = [(groups.get(str(row[0])), groups.get(str(row[1]))) for row in first]
    return sum(one is not None and one == other for one, other in known) / len(first)
