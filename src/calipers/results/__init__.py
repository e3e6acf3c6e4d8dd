"""Scores, files of scores, and tables."""
