"""Evaluation on Spark: DataFrames in, DataFrames out, with the scores of the local engine.

    from calipers import spark
    scores = spark.evaluate(judgments_df, runs_df, ["nDCG@10", "V2(nDCG@10)", "ERR@20"])
    spark.means(scores).show()
    calipers.compare(spark.collect(scores))

Needs the extra `spark` and a Java runtime. benchmarks/scale.md has measurements of time and memory.
"""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.spark.evaluation import evaluate as evaluate
    from calipers.spark.files import read_judgments as read_judgments, read_runs as read_runs
    from calipers.spark.session import session as session
    from calipers.spark.statistics import collect as collect, means as means
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
