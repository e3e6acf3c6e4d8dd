"""Judgments and runs in arrays: sparse matrices of SciPy, and the documents that a vector index returns.

A row stands for a query and a column for a document. Without names, both go by their numbers, from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calipers.collection.table_rows import Rows, by_appearance
from calipers.errors import CalipersError
from calipers.native.ids import Ids
from calipers.support.plurals import counted


def is_sparse(value: object) -> bool:
    """Return True for a sparse matrix or array of SciPy. Imports nothing."""
    return hasattr(value, "tocsr")


def rows_of_matrix(matrix: Any, queries: Sequence[str] | None, documents: Sequence[str] | None) -> Rows:
    """Return the stored entries of a sparse matrix, queries x documents. Entries that are not stored do not count."""
    if not is_sparse(matrix):
        raise CalipersError(
            f"expected a sparse matrix of SciPy, found {type(matrix).__name__}: scipy.sparse.csr_matrix(array) makes "
            "one of a dense array"
        )
    stored = matrix.tocsr()
    _check_names("queries", queries, stored.shape[0])
    _check_names("documents", documents, stored.shape[1])
    row = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
    return _rows(row, stored.indices, stored.data, queries, documents)


def rows_of_top(
    ids: ArrayLike, scores: ArrayLike | None, queries: Sequence[str] | None, documents: Sequence[str] | None
) -> Rows:
    """Return the top documents of each query (queries x k). Negative numbers stand for no document, as in Faiss."""
    top = np.asarray(ids)
    if top.ndim != 2 or top.dtype.kind not in "iuUSO":
        raise CalipersError(
            f"expected an array of document ids, queries x k, found one of shape {top.shape} and type {top.dtype}"
        )
    scored = -np.broadcast_to(np.arange(1.0, top.shape[1] + 1), top.shape) if scores is None else np.asarray(scores)
    if scored.shape != top.shape:
        raise CalipersError(f"scores have the shape {scored.shape}, and ids {top.shape}")
    _check_names("queries", queries, top.shape[0])
    kept = top >= 0 if top.dtype.kind in "iu" else np.ones(top.shape, bool)
    if documents is not None:
        if top.dtype.kind not in "iu":
            raise CalipersError("documents are the names of numbered documents, but ids are names already")
        if (top >= len(documents)).any():
            raise CalipersError(f"document {top.max()} of {counted(len(documents), 'name')} (counted from 0)")
    return _rows(np.nonzero(kept)[0], top[kept], scored[kept], queries, documents)


def _rows(
    row: NDArray[np.int64],
    column: NDArray[Any],
    value: NDArray[Any],
    queries: Sequence[str] | None,
    documents: Sequence[str] | None,
) -> Rows:
    number = np.asarray(value, np.float64)
    if not len(number):
        raise CalipersError("the array holds no documents")
    if not np.isfinite(number).all():
        raise CalipersError(f"row {row[int(np.argmin(np.isfinite(number)))]}: a number is not finite")
    used, query = by_appearance(row, int(row.max()) + 1)
    return Rows(
        queries=Ids.of(str(each) if queries is None else str(queries[each]) for each in used.tolist()),
        query=query,
        documents=Ids.of(str(each) if documents is None else str(documents[each]) for each in column.tolist()),
        value=number,
    )


def _check_names(what: str, names: Sequence[str] | None, expected: int) -> None:
    if names is not None and len(names) != expected:
        raise CalipersError(f"{counted(len(names), 'name')} of {what}, but the array has {expected:,}")
