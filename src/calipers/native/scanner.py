"""The scanner: compiled where that was possible, its plain twin elsewhere or where CALIPERS_PLAIN=1 asks for it.

The compiled one imports without NumPy, so `COMPILED` is cheap to ask for.
"""

from __future__ import annotations

import os

from calipers.native.scan_error import ScanError

__all__ = [
    "COMPILED",
    "ColumnScanner",
    "FeatureScanner",
    "JudgedIndex",
    "LetorScanner",
    "NumberScanner",
    "RunScanner",
    "ScanError",
    "count_patterns",
    "number_distinct",
    "rank_documents",
    "rank_segments",
    "shared_bits",
    "symmetric_means",
    "top_segments",
]

try:
    if os.environ.get("CALIPERS_PLAIN") == "1":
        raise ImportError("the plain scanner was asked for")
    from calipers.native._scanner import (
        COMPILED,
        ColumnScanner,
        FeatureScanner,
        JudgedIndex,
        LetorScanner,
        NumberScanner,
        RunScanner,
        count_patterns,
        number_distinct,
        rank_documents,
        rank_segments,
        shared_bits,
        symmetric_means,
        top_segments,
    )
except ImportError:
    # The classes have the same methods, but to a type checker two classes are never one.
    from calipers.native.plain import (  # type: ignore[assignment]
        COMPILED,
        ColumnScanner,
        FeatureScanner,
        JudgedIndex,
        LetorScanner,
        NumberScanner,
        RunScanner,
        count_patterns,
        number_distinct,
        rank_documents,
        rank_segments,
        shared_bits,
        symmetric_means,
        top_segments,
    )
