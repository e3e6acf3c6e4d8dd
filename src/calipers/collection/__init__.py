"""Judgments and runs: model, reader, formats, writing, simulation."""
