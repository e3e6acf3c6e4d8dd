"""Measures: declared in families, built from a few forms, named in several grammars."""
