"""A new version of a system against the old one: what changed, and whether it is worse."""

from typing import TYPE_CHECKING

from calipers.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.changes.difference import (
        Difference as Difference,
        DocumentChange as DocumentChange,
        MeanChange as MeanChange,
        QueryChange as QueryChange,
        diff as diff,
        diff_of_scores as diff_of_scores,
    )
    from calipers.changes.gate import Check as Check, check as check
    from calipers.changes.verdicts import Decision as Decision, Floor as Floor, Loss as Loss, p_of_drop as p_of_drop

__getattr__, __dir__, __all__ = lazy_names(__name__)
