"""Karmaker & Feng (2022), on normalisation by upper and lower bounds."""
