"""Judging measures: how well they tell systems apart, and how stable what they say is."""
