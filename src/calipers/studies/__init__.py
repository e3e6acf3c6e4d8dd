"""The papers' experiments with rankers, on any learning-to-rank collection, in a folder that keeps what is done."""
