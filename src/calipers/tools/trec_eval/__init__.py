"""trec_eval, as it was called and as it printed."""
