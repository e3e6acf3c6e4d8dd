"""The report: everything about some runs on one page, in one file that needs no network."""
