"""Scoring: options, requests, and the one function that turns lists into scores."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.evaluation.candidates import ScoredCandidates as ScoredCandidates
    from calipers.evaluation.inputs import as_judgments as as_judgments, as_runs as as_runs
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
