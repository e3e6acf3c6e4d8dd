from calipers.evaluation.inputs import as_judgments as as_judgments
from calipers.evaluation.inputs import as_runs as as_runs
from calipers.evaluation.inspection import Inspection as Inspection
