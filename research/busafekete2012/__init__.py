"""Busa-Fekete et al. (2012), on tools that compute nDCG in different ways."""
