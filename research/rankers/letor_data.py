"""Learning-to-rank data: files of labels and features, read, put together, and sampled by queries."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from calipers import CalipersError, Judgments
from calipers.collection.formats.letor import read_letor
from calipers.lists import Floats, Ints
from calipers.support.plurals import counted
from research.rankers.training_examples import OTHER, Matrix, is_sparse

OPENED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
MOST_CELLS = 1 << 27  # of a dense matrix that is mostly empty: a gigabyte
SHARE = 1 / 50  # of its cells that a file must name for a larger one


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
        return Judgments.from_arrays(self.y, qid=np.array(self.queries)[self.query], name=self.name)

    def of_queries(self, places: Any) -> LetorData:
        """Return only these queries, given by their places. Documents keep their order."""
        wanted = np.zeros(len(self.queries), bool)
        wanted[places] = True
        rows = np.flatnonzero(wanted[self.query])
        fresh = np.cumsum(wanted) - 1
        names = tuple(name for name, kept in zip(self.queries, wanted.tolist(), strict=True) if kept)
        return LetorData(self.X[rows], self.y[rows], fresh[self.query[rows]], names, self.name)

    def widened(self, width: int, sparse: bool) -> LetorData:
        """Return data of a file with the features that a model expects, as a sparse or a dense matrix.

        A file of full lines with another number of features has other features. One with gaps may well lack the last
        ones: they are 0 everywhere.
        """
        if self.width > width:
            raise CalipersError(f"feature {self.width}, where the training data has {width}: {OTHER}", file=self.name)
        full = self.X.nnz == len(self) * self.width
        if full and self.width < width:
            features = counted(self.width, "feature")
            raise CalipersError(
                f"every line has {features}, where the training data has {width}: {OTHER}", file=self.name
            )
        matrix = self.X.copy()
        matrix.resize((len(self), width))
        if not sparse:
            if len(self) * width > max(MOST_CELLS, self.X.nnz / SHARE):
                raise CalipersError(
                    f"{len(self):,} documents with features up to {width:,} make a matrix that is too large and nearly "
                    "empty: read it as a sparse one",
                    file=self.name,
                )
            matrix = matrix.toarray()
        return replace(self, X=matrix)


def read_letor_file(path: str | PathLike[str]) -> LetorData:
    """Read a LETOR (SVMlight) file, which may be compressed, as a sparse matrix.

    Labels and queries are read as `evaluate` reads them, features by scikit-learn. Queries are named by qid, or their
    sizes are in a second file (.query, .group).

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "part.txt"
    >>> _ = file.write_text("2 qid:7 1:0.5 3:1.5 #docid = a\\n0 qid:7 2:1 #docid = b\\n")
    >>> read_letor_file(file).X.toarray()
    array([[0.5, 0. , 1.5],
           [0. , 1. , 0. ]])
    """
    from sklearn.datasets import load_svmlight_file

    name = fspath(path)
    labels = read_letor(name)
    try:
        with OPENED.get(Path(name).suffix, open)(name, "rb") as file:
            X, _ = load_svmlight_file(file, zero_based=False)
    except (ValueError, OverflowError) as error:
        raise CalipersError(f"the features cannot be read: {error}", file=name) from None
    return LetorData(X, labels.label, labels.query.astype(np.int64), tuple(labels.queries.texts()), name)


def read_letor_data(
    source: str | PathLike[str] | Sequence[str | PathLike[str]], *, width: int | None = None, sparse: bool = False
) -> LetorData:
    """Read LETOR (SVMlight) files as one data set. Queries of different files are different queries.

    width: number of features that a model expects; by default the largest feature that occurs. A file with features
    beyond it is refused.
    """
    each = [source] if isinstance(source, str | PathLike) else list(source)
    files = [read_letor_file(path) for path in each]
    columns = max(file.width for file in files) if width is None else width
    if not any(file.X.nnz for file in files):
        raise CalipersError("no line has a feature", file=files[0].name)
    return joined([file.widened(columns, sparse) for file in files], ", ".join(fspath(path) for path in each))


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
