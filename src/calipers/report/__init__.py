"""The report: everything about some runs on one HTML page that needs no network."""
