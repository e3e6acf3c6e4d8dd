"""Features of learning-to-rank files: labels, queries and a matrix, in one pass over the file.

The scanner is compiled where that was possible, its plain twin elsewhere or where CALIPERS_PLAIN=1 asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.files import Path, shown_name
from calipers.collection.formats.letor import letor_blocks
from calipers.collection.reader import scan
from calipers.errors import CalipersError
from calipers.native.columns import Features, Labels
from calipers.native.scanner import FeatureScanner, LetorScanner, ScanError
from calipers.plurals import counted

MOST_CELLS = 1 << 27  # of a dense matrix that is mostly empty: a gigabyte
OTHER = "other features than in training"
SHARE = 1 / 50  # of its cells that a file must name for a larger one


@dataclass(frozen=True, eq=False)
class FeatureFile:
    """A LETOR (SVMlight) file: what each line says of one document, in the order of the file."""

    name: str
    labels: Labels
    features: Features

    @property
    def width(self) -> int:
        """The largest feature."""
        return self.features.width

    def dense(self, width: int | None = None) -> NDArray[np.float64]:
        """Return an array of document x feature. Features that a line leaves out are 0."""
        columns = self.fitting(width)
        rows, found = len(self.features.start) - 1, self.features
        if found.index is None and columns == found.width:
            return found.value.reshape(rows, columns)
        if rows * columns > max(MOST_CELLS, len(found.value) / SHARE):
            raise CalipersError(
                f"{rows:,} documents with features up to {columns:,} make a matrix that is too large and nearly empty: "
                "read it as a sparse one",
                file=self.name,
            )
        matrix = np.zeros((rows, columns))
        matrix[np.repeat(np.arange(rows), np.diff(found.start)), self._index()] = found.value
        return matrix

    def sparse(self, width: int | None = None) -> Any:
        """Return the features as a `scipy.sparse.csr_matrix`."""
        from scipy.sparse import csr_matrix

        columns = self.fitting(width)
        shape = (len(self.features.start) - 1, columns)
        return csr_matrix((self.features.value, self._index(), self.features.start), shape=shape)

    def fitting(self, width: int | None) -> int:
        """Return the number of columns: the given one, if it suits the file.

        A file of full lines with another number of features than a model knows has other features. One with gaps may
        well lack the last ones: they are 0 everywhere.
        """
        found = self.features
        if width is None or width == found.width:
            return found.width
        if found.width > width:
            row = int(np.argmax(self._last() > width))
            raise CalipersError(
                f"feature {int(self._last()[row])}, where the training data has {width}: {OTHER}",
                file=self.name,
                line=int(self.labels.line[row]),
            )
        if found.index is None:
            raise CalipersError(
                f"every line has {counted(found.width, 'feature')}, where the training data has {width}: {OTHER}",
                file=self.name,
                line=int(self.labels.line[0]),
            )
        return width

    def _last(self) -> NDArray[np.int64]:
        """Return the largest feature of each line, or 0 if it has no feature."""
        start, index = self.features.start, self._index()
        last = np.zeros(len(start) - 1, np.int64)
        filled = np.diff(start) > 0
        last[filled] = index[start[1:][filled] - 1] + 1
        return last

    def _index(self) -> NDArray[np.int32]:
        found = self.features
        if found.index is not None:
            return found.index
        return np.tile(np.arange(found.width, dtype=np.int32), len(found.start) - 1)


class _LabelsAndFeatures:
    """Feeds the labels and the features with the same blocks; of two errors, the earlier line's is raised."""

    def __init__(self) -> None:
        self.labels = LetorScanner()
        self.features = FeatureScanner()

    @property
    def lines(self) -> int:
        return self.labels.lines

    @property
    def rows(self) -> int:
        return self.labels.rows

    @property
    def idle(self) -> bool:
        return False

    def feed(self, block: Any, /) -> None:
        self._each("feed", block)

    def finish(self) -> tuple[Labels, Features]:
        labels, features = self._each("finish")
        return labels, features

    def _each(self, what: str, *arguments: Any) -> list[Any]:
        results, errors = [], []
        for scanner in (self.labels, self.features):
            try:
                results.append(getattr(scanner, what)(*arguments))
            except ScanError as error:
                errors.append(error)
        if errors:
            raise min(errors, key=lambda error: error.line)
        return results


def read_features(source: Path, *, max_unpacked: int | None = None) -> FeatureFile:
    """Read labels, queries and features of a LETOR (SVMlight) file, which may be compressed.

    Queries are named by qid, or their sizes are in a second file (.query, .group).

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "part.txt"
    >>> _ = file.write_text("2 qid:7 1:0.5 3:1.5 #docid = a\\n0 qid:7 2:1 #docid = b\\n")
    >>> read_features(file).dense()
    array([[0.5, 0. , 1.5],
           [0. , 1. , 0. ]])
    """
    labels, features = scan(source, _LabelsAndFeatures, source=letor_blocks(source, max_unpacked=max_unpacked))
    return FeatureFile(shown_name(source), labels, features)
