from calipers.planning.repeats import RepeatedRuns as RepeatedRuns
from calipers.planning.repeats import repeated_runs as repeated_runs
from calipers.planning.sample_size import SampleSizePlan as SampleSizePlan
from calipers.planning.sample_size import plan as plan
