"""Evaluation on Spark: DataFrames in, DataFrames out, with the scores of the local engine.

    from calipers import spark
    scores = spark.evaluate(judgments_df, runs_df, ["nDCG@10", "V2(nDCG@10)", "ERR@20"])
    spark.means(scores).show()
    calipers.compare(spark.collect(scores))

Needs the extra `spark` and a Java runtime. benchmarks/scale.md has measurements of time and memory.
"""

from calipers.spark.evaluation import evaluate
from calipers.spark.files import read_judgments, read_runs
from calipers.spark.session import session
from calipers.spark.statistics import collect, means

__all__ = [
    "collect",
    "evaluate",
    "means",
    "read_judgments",
    "read_runs",
    "session",
]
