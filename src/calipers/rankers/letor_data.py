"""Learning-to-rank data: files of labels and features, read, put together, and sampled by queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import fspath
from typing import Any

import numpy as np

from calipers.collection.features import FeatureFile, read_features
from calipers.collection.files import Path
from calipers.collection.judgments import Judgments
from calipers.errors import CalipersError
from calipers.lists import Floats, Ints
from calipers.native.ids import decode
from calipers.plurals import counted
from calipers.rankers.training_examples import Matrix, is_sparse


@dataclass(frozen=True, eq=False)
class LetorData:
    """Documents with features and labels, in the order of their files.

    >>> data = LetorData(np.eye(3), np.array([1.0, 0.0, 2.0]), np.array([0, 0, 1]), ("q1", "q2"))
    >>> data.qid.tolist(), data.width
    (['q1', 'q1', 'q2'], 3)
    """

    X: Matrix  # [document, feature], dense or scipy.sparse CSR
    y: Floats
    query: Ints  # of each document, a place among the queries
    queries: tuple[str, ...]
    name: str = "data"

    @property
    def width(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def qid(self) -> Any:
        """The query of each document, by name."""
        return np.array(self.queries, dtype=object)[self.query]

    def __len__(self) -> int:
        return len(self.y)

    def judgments(self) -> Judgments:
        """Return the labels as judgments, for evaluate."""
        return Judgments._grouped(self.name, self.queries, self.query, self.y, None)

    def of_queries(self, places: Any) -> LetorData:
        """Return only these queries, given by their places. Documents keep their order."""
        wanted = np.zeros(len(self.queries), bool)
        wanted[places] = True
        rows = np.flatnonzero(wanted[self.query])
        fresh = np.cumsum(wanted) - 1
        names = tuple(name for name, kept in zip(self.queries, wanted.tolist(), strict=True) if kept)
        return LetorData(self.X[rows], self.y[rows], fresh[self.query[rows]], names, self.name)


def read_letor_data(
    source: Path | Sequence[Path], *, max_unpacked: int | None = None, width: int | None = None, sparse: bool = False
) -> LetorData:
    """Read LETOR (SVMlight) files as one data set. Queries of different files are different queries.

    width: number of features that a model expects; by default the largest feature that occurs. A file with features
    beyond it is refused.
    """
    each = [source] if isinstance(source, str) or not isinstance(source, Sequence) else list(source)
    files = [read_features(path, max_unpacked=max_unpacked) for path in each]
    columns = max(file.width for file in files) if width is None else width
    if not columns:
        raise CalipersError("no line has a feature", file=files[0].name)
    return joined([data_of(file, columns, sparse) for file in files], ", ".join(fspath(path) for path in each))


def joined(parts: Sequence[LetorData], name: str) -> LetorData:
    """Join several data sets."""
    if len(parts) == 1:
        return parts[0]
    if any(is_sparse(part.X) for part in parts):
        from scipy.sparse import vstack

        X = vstack([part.X for part in parts], format="csr")
    else:
        X = np.concatenate([part.X for part in parts])
    starts = np.cumsum([0, *(len(part.queries) for part in parts)])
    names: dict[str, None] = {}
    for part in parts:
        for query in part.queries:
            names[query if query not in names else f"{part.name}:{query}"] = None
    if len(names) != starts[-1]:
        raise CalipersError("two of the files are one and the same", file=name)
    return LetorData(
        X,
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.query + start for part, start in zip(parts, starts.tolist(), strict=False)]),
        tuple(names),
        name,
    )


def sampled_queries(data: LetorData, count: int, seed: int = 42) -> LetorData:
    """Draw `count` queries at random. Queries and documents keep their order.

    >>> data = LetorData(np.eye(3), np.zeros(3), np.array([0, 1, 2]), ("a", "b", "c"))
    >>> len(sampled_queries(data, 2).queries)
    2
    """
    if not 1 <= count <= len(data.queries):
        raise CalipersError(f"{counted(count, 'query')} cannot be drawn from {len(data.queries)}", file=data.name)
    return data.of_queries(np.random.default_rng(seed).permutation(len(data.queries))[:count])


def data_of(file: FeatureFile, width: int, sparse: bool) -> LetorData:
    labels = file.labels
    return LetorData(
        file.sparse(width) if sparse else file.dense(width),
        labels.label,
        labels.query.astype(np.int64),
        tuple(decode(query) for query in labels.queries),
        file.name,
    )
