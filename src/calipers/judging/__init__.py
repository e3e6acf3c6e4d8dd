"""Judging the judges: how people and language models agree, and what their disagreement does to systems."""
