"""Evaluation as information: rank correlation in bits, what systems know together, which are the same underneath.

Golbus & Aslam, A mutual information-based framework for the analysis of information retrieval systems, SIGIR 2013.
"""
