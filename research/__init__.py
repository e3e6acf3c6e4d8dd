"""The printed figures of the papers, recomputed: from other printed figures where that is possible, else from data."""
