"""Training data of rankers: a matrix of features, one label per document, and the query of each document."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers import CalipersError
from calipers.lists import Floats, Ints
from calipers.support.plurals import counted
from research.rankers.objective import Goal, Objective

Matrix = Any  # a dense array or a scipy.sparse CSR matrix
Codes = NDArray[np.uint64]

OTHER = "other features than in training"

ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Examples:
    """Documents with features and labels, query by query.

    Queries stand in an order that only their content decides, and the documents of a query in the order in which they
    came. So a model depends neither on the order of the queries nor on what they are called.
    """

    X: Matrix  # [document, feature]
    y: Floats
    size: Ints  # of each query
    name: str

    @classmethod
    def of(cls, X: Any, y: Any, qid: Any, group: Any, name: str) -> Examples:
        """Check the data, bring the documents of each query together, and put the queries into canonical order."""
        matrix = as_matrix(X, name)
        labels = np.asarray(y, dtype=np.float64)
        if labels.ndim != 1 or len(labels) != matrix.shape[0]:
            raise CalipersError(
                f"{counted(matrix.shape[0], 'document')} with features, but {counted(labels.size, 'label')}", file=name
            )
        if not np.isfinite(labels).all():
            row = int(np.argmin(np.isfinite(labels)))
            raise CalipersError(f"the label of document {row + 1} is not a finite number", file=name)
        if (qid is None) == (group is None):
            raise CalipersError("give either qid, a query id for each document, or group, the size of each query")
        size: NDArray[Any]
        if group is not None:
            size = np.asarray(group)
            if size.ndim != 1 or not np.issubdtype(size.dtype, np.integer) or (size < 0).any():
                raise CalipersError("group is not a list of sizes", file=name)
            if size.sum() != len(labels):
                raise CalipersError(
                    f"group adds up to {counted(size.sum(), 'document')}, but there are {len(labels)}", file=name
                )
            query: Ints = np.repeat(np.arange(len(size)), size)
        else:
            query = places(qid, len(labels), name)
            size = np.bincount(query)
        rows, counts = _canonical(_row_codes(matrix, labels), query, size.astype(np.int64))
        return cls(matrix[rows], labels[rows], counts, name)

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @cached_property
    def query(self) -> Ints:
        """The query of each document, counted from 0."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @cached_property
    def start(self) -> Ints:
        """The first row of each query."""
        return np.cumsum(self.size) - self.size

    @cached_property
    def dense(self) -> Floats:
        return np.asarray(self.X.toarray() if is_sparse(self.X) else self.X)

    @cached_property
    def constant(self) -> NDArray[np.bool_]:
        """The features that have one value for all documents."""
        if is_sparse(self.X):
            least, most = (np.asarray(end.toarray()).ravel() for end in (self.X.min(axis=0), self.X.max(axis=0)))
        else:
            least, most = self.X.min(axis=0), self.X.max(axis=0)
        return np.asarray(least == most)

    def objective(self, goal: Goal) -> Objective:
        return goal.on(self.y, self.size, self.name)

    def queries(self, chosen: NDArray[np.bool_]) -> Examples:
        """Return the documents of some queries only."""
        rows = np.flatnonzero(chosen[self.query])
        return Examples(self.X[rows], self.y[rows], self.size[chosen], self.name)

    def check_trainable(self) -> None:
        """Refuse data that nothing can be learnt from."""
        if not (self.y > 0).any():
            raise CalipersError("no document is relevant (has a label above 0): nothing can be learnt", file=self.name)
        if self.constant.all():
            raise CalipersError(
                f"all {counted(self.width, 'feature')} are constant: they cannot tell one document from another",
                file=self.name,
            )


def as_matrix(X: Any, name: str) -> Matrix:
    """Features as a dense array or as CSR, all of them finite."""
    if is_sparse(X):
        matrix = X.tocsr().astype(np.float64)
        values = matrix.data
    else:
        try:
            matrix = values = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise CalipersError(f"a feature is not a number ({error})", file=name) from None
        if matrix.ndim != 2:
            raise CalipersError(
                f"features must be [document, feature], not an array of shape {matrix.shape}", file=name
            )
    if not np.isfinite(values).all():
        row, column = _first_not_finite(matrix)
        raise CalipersError(
            f"feature {column + 1} of document {row + 1} is not a finite number: replace what is missing, say by 0",
            file=name,
        )
    if 0 in matrix.shape:
        raise CalipersError(
            f"{counted(matrix.shape[0], 'document')} with {counted(matrix.shape[1], 'feature')}: nothing to rank",
            file=name,
        )
    return matrix


def is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")


def places(qid: Any, documents: int, name: str) -> Ints:
    """Return the place of each document's query among all queries, in order of first appearance."""
    ids = np.asarray(qid)
    if ids.shape != (documents,):
        raise CalipersError(f"{counted(ids.size, 'query id')} for {counted(documents, 'document')}", file=name)
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.ravel()])


def weighted_sums(X: Any, weights: Floats) -> Floats:
    """Return the weighted sum of each row.

    A matrix product may round a row differently at another place of the matrix. Here equal documents have equal scores
    at every place.

    >>> weighted_sums(np.array([[1.0, 2.0], [0.5, 0.0]]), np.array([2.0, 0.5]))
    array([3., 1.])
    """
    sums = np.empty(len(X))
    for start in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        sums[rows] = np.multiply(X[rows], weights, order="C").sum(axis=1)
    return sums


def row_products(X: Floats, weights: Floats) -> Floats:
    """Return the matrix product. As in `weighted_sums`, rounding does not depend on the place of a row.

    >>> row_products(np.array([[1.0, 2.0], [0.5, 0.0]]), np.array([[2.0, 1.0], [0.5, 1.0]]))
    array([[3. , 3. ],
           [1. , 0.5]])
    """
    return np.asarray(np.einsum("ij,kj->ik", np.ascontiguousarray(X), np.ascontiguousarray(weights.T)))


def _canonical(codes: Codes, query: Ints, size: Ints) -> tuple[Ints, Ints]:
    """Return the rows query by query, sorted by a code of each query's documents, and the sizes of the queries."""
    rows = np.argsort(query, kind="stable")
    starts = np.cumsum(size) - size
    place = np.arange(len(rows)) - np.repeat(starts, size)
    total = np.append(np.uint64(0), np.cumsum(_mixed(codes[rows]) * _mixed(place + 1)))
    order = np.argsort(total[starts + size] - total[starts], kind="stable")
    size = size[order]
    within = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
    return rows[np.repeat(starts[order], size) + within], size


def _row_codes(matrix: Matrix, labels: Floats) -> Codes:
    """Return a hash of each row's label and features. Dense and sparse rows have the same hash."""
    key = _mixed(np.arange(1, matrix.shape[1] + 1))
    if is_sparse(matrix):
        total = np.append(np.uint64(0), np.cumsum(_mixed(_bits(matrix.data)) * key[matrix.indices]))
        features = total[matrix.indptr[1:]] - total[matrix.indptr[:-1]]
    else:
        features = np.empty(len(matrix), np.uint64)
        for start in range(0, len(matrix), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            features[rows] = (_mixed(_bits(matrix[rows])) * key).sum(axis=1)
    return np.asarray(_mixed(features) ^ _mixed(_bits(labels)))


def _bits(values: Floats) -> Codes:
    return (np.ascontiguousarray(values) + 0.0).view(np.uint64)  # + 0.0: -0 is 0


def _mixed(values: Any) -> Codes:
    """Spread the bits of integers over 64 bits, and leave 0 as it is: the last step of SplitMix64.

    Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
    """
    code = values.astype(np.uint64)
    code ^= code >> np.uint64(30)
    code *= np.uint64(0xBF58476D1CE4E5B9)
    code ^= code >> np.uint64(27)
    code *= np.uint64(0x94D049BB133111EB)
    code ^= code >> np.uint64(31)
    return np.asarray(code)


def by_query(X: Matrix, query: Ints) -> Floats:
    """Scale each feature to 0 .. 1 within each query: (x - min) / (max - min), and 0 if all values are equal.

    Qin, Liu, Xu & Li, LETOR: a benchmark collection for research on learning to rank, 2010.

    >>> by_query(np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 0.0]]), np.array([0, 0, 1])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    dense = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    order = np.argsort(query, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(query[order]) != 0))
    sizes = np.diff(np.append(starts, len(order)))
    least = np.repeat(np.minimum.reduceat(dense[order], starts), sizes, axis=0)
    most = np.repeat(np.maximum.reduceat(dense[order], starts), sizes, axis=0)
    scaled = np.empty_like(dense)
    scaled[order] = (dense[order] - least) / np.where(most > least, most - least, 1.0)
    return scaled


def _first_not_finite(matrix: Matrix) -> tuple[int, int]:
    if is_sparse(matrix):
        place = int(np.argmin(np.isfinite(matrix.data)))
        return int(np.searchsorted(matrix.indptr, place, side="right")) - 1, int(matrix.indices[place])
    row, column = np.argwhere(~np.isfinite(matrix))[0]
    return int(row), int(column)
