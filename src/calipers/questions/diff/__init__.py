"""Changes from one system to another: means, queries, documents."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.diff.difference import (
        Difference as Difference,
        DocumentChange as DocumentChange,
        MeanChange as MeanChange,
        QueryChange as QueryChange,
        diff as diff,
        diff_of_scores as diff_of_scores,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
