"""Expected scores with sampled candidates, and scores of full rankings estimated from them."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.sampled.full_from_sampled import (
        FullEstimates as FullEstimates,
        candidate_ranks as candidate_ranks,
        estimate_full as estimate_full,
    )
    from calipers.questions.sampled.sampled_candidates import SampledScores as SampledScores, sampled as sampled
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
