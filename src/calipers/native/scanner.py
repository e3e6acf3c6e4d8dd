"""The scanner: compiled where that was possible, its plain twin elsewhere or where CALIPERS_PLAIN=1 asks for it.

The compiled one imports without NumPy, so `COMPILED` is cheap to ask for.
"""

from __future__ import annotations

import os

from calipers.native.scan_error import ScanError as ScanError

try:
    if os.environ.get("CALIPERS_PLAIN") == "1":
        raise ImportError("the plain scanner was asked for")
    from calipers.native import _scanner as scanner
except ImportError:
    # The classes have the same methods, but to a type checker two modules are never one.
    from calipers.native import plain as scanner  # type: ignore[no-redef]

COMPILED = scanner.COMPILED
ColumnScanner = scanner.ColumnScanner
FeatureScanner = scanner.FeatureScanner
JudgedIndex = scanner.JudgedIndex
LetorScanner = scanner.LetorScanner
NumberScanner = scanner.NumberScanner
PairNumbers = scanner.PairNumbers
RunScanner = scanner.RunScanner
count_patterns = scanner.count_patterns
number_distinct = scanner.number_distinct
order_bits = scanner.order_bits
rank_documents = scanner.rank_documents
rank_segments = scanner.rank_segments
shared_bits = scanner.shared_bits
sort_by_votes = scanner.sort_by_votes
symmetric_means = scanner.symmetric_means
top_segments = scanner.top_segments
