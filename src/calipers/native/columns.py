"""What the scanners hand over: plain columns, one row per line or one row per judged document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from calipers.lazy import dataclass

if TYPE_CHECKING:  # a command that scores with the scanner alone need not load NumPy
    import numpy as np
    from numpy.typing import NDArray

    from calipers.native.ids import Ids

    Ints = NDArray[np.integer[Any]]

Precision = Literal["double", "single"]  # in which scores are compared


@dataclass(frozen=True)
class Columns:
    """Every line of a file of judgments or of a run, in the order of the file."""

    queries: Ids  # distinct, in order of first appearance
    query: NDArray[np.int32]  # row of `queries`
    documents: Ids
    value: NDArray[np.float64]  # the grade, or the score
    line: NDArray[np.int64]
    second: Ids | None = None  # the iteration (or subtopic) of judgments, where asked for
    tag: bytes = b""  # of the run's first line


@dataclass(frozen=True)
class Retrieved:
    """What the measures need of a run: the judged documents, and where they rank.

    One segment a judged query that the run has, in order of first appearance; inside a segment one row a judged
    document, by `docid_rank`. Ranks count from 1 and count unjudged documents too.
    """

    query: NDArray[np.int32]  # row of the judged queries
    length: NDArray[np.int32]  # documents retrieved, after the depth cut
    tied: NDArray[np.int32]  # documents that share their score with another
    offsets: NDArray[np.int64]  # segment s has the rows offsets[s]:offsets[s + 1]

    document: Ints  # row of the judged documents, over all queries
    score: NDArray[np.float64]
    first: Ints  # the ranks that the document's tie spans, inclusive
    last: Ints
    docid_rank: Ints | None  # by score, then id descending (trec_eval); None without ids
    input_rank: Ints  # score descending, then order of input

    tag: bytes  # of the run's first line
    unjudged: Ids  # the run's queries without judgments
    scattered: bool  # a judged query came back after another one

    @property
    def unjudged_queries(self) -> int:
        return len(self.unjudged)


@dataclass(frozen=True)
class Labels:
    """Every line of a LETOR (SVMlight) file but its features, in the order of the file."""

    queries: Ids  # distinct, in order of first appearance
    query: NDArray[np.int32]
    label: NDArray[np.float64]
    documents: Ids | None  # from the comments `#docid = X`, where every line has one
    line: NDArray[np.int64]


@dataclass(frozen=True)
class Features:
    """The features of every line of a LETOR (SVMlight) file, row by row as a CSR matrix has them."""

    start: NDArray[np.int64]  # row i has the entries start[i]:start[i + 1]
    index: NDArray[np.int32] | None  # the column of each entry, from 0; None where every row has all of them, in order
    value: NDArray[np.float64]
    width: int  # columns: the largest index that occurs
