"""Other places to compute the same scores: Spark, for what one machine does not hold."""
