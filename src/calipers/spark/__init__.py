"""Evaluation on Spark: DataFrames in, DataFrames out, with the scores of the local engine.

    from calipers import spark
    scores = spark.evaluate(judgments_df, runs_df, ["nDCG@10", "V2(nDCG@10)", "ERR@20"])
    spark.means(scores).show()
    calipers.compare(spark.collect(scores))

Needs the extra `spark` and a Java runtime. benchmarks/scale.md has measurements of time and memory.
"""

from typing import TYPE_CHECKING, Any

from calipers.spark.evaluation import evaluate
from calipers.spark.files import read_judgments, read_runs
from calipers.spark.scores import collect, means
from calipers.spark.session import session
from calipers.support.removed_names import farewell

__all__ = [
    "collect",
    "evaluate",
    "means",
    "read_judgments",
    "read_runs",
    "session",
]

if not TYPE_CHECKING:  # to type checkers, a name that is not there is an error

    def __getattr__(name: str) -> Any:
        raise AttributeError(farewell("name", name, __name__) or f"module '{__name__}' has no attribute '{name}'")
