"""Fusion: several runs as one, the most that any fusion of them could reach, and how the two compare.

Montague, Metasearch: data fusion for document retrieval, PhD thesis, Dartmouth College 2002.
"""
