"""Planning of experiments: how many queries or repeated runs a comparison needs."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.plan.repeats import RepeatedRuns as RepeatedRuns, repeated_runs as repeated_runs
    from calipers.questions.plan.sample_size import SampleSizePlan as SampleSizePlan, plan as plan
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
