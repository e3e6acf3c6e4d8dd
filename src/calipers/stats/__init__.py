"""Judging systems: significance tests over all pairs at once, corrections, rank correlation."""
