"""Comparison of scores under the conventions of other tools."""
