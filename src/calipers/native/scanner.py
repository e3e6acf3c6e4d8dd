"""The scanner: the compiled one, or the plain Python one if that is not available or if CALIPERS_PLAIN=1.

If the compiled scanner is not available, a warning says once per process how slow the plain one is.
"""

from __future__ import annotations

import os

from calipers.errors import warn_user
from calipers.native.scan_error import ScanError as ScanError

SLOW = (
    "the scanner is not compiled here: a million lines take about 10 seconds instead of a fifth of a second; "
    "install a wheel, or a C++17 compiler and then Calipers again (CALIPERS_PLAIN=1 silences this)"
)
_ASKED = os.environ.get("CALIPERS_PLAIN") == "1"

try:
    if _ASKED:
        raise ImportError("the plain scanner was asked for")
    from calipers.native import _scanner as scanner
except ImportError:
    from calipers.native import plain as scanner  # type: ignore[no-redef]  # it has the same functions and classes

    if not _ASKED:
        warn_user([SLOW])

COMPILED = scanner.COMPILED
ColumnScanner = scanner.ColumnScanner
JudgedIndex = scanner.JudgedIndex
LetorScanner = scanner.LetorScanner
NumberScanner = scanner.NumberScanner
PairNumbers = scanner.PairNumbers
RunScanner = scanner.RunScanner
bits_of_groups = scanner.bits_of_groups
count_patterns = scanner.count_patterns
number_distinct = scanner.number_distinct
one_sided_pairs = scanner.one_sided_pairs
order_bits = scanner.order_bits
pattern_bits = scanner.pattern_bits
rank_documents = scanner.rank_documents
rank_segments = scanner.rank_segments
shared_bits = scanner.shared_bits
sort_by_votes = scanner.sort_by_votes
symmetric_means = scanner.symmetric_means
top_segments = scanner.top_segments
