"""Feng (2023), the dissertation that repeats Karmaker & Feng (2022) and extends it to summaries."""
