"""Golbus & Aslam (2013), A mutual information-based framework for the analysis of retrieval systems."""
