"""The errors that a user sees: what is wrong, where, and what to do."""

from __future__ import annotations


class CalipersError(Exception):
    """Bad input: one line that names the file and line where known. The command line exits with 2.

    >>> str(CalipersError("score 'abc' is not a number", file="a.run", line=17))
    "a.run:17: score 'abc' is not a number"
    """

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return f"{place}: {self.message}" if place else self.message


class CalipersWarning(UserWarning):
    """Scores that mislead unless one knows something of the runs: queries that are missing, nothing that is judged.

    `Scores.notes` has it too. Turn it off with `evaluate(..., warn=False)`, or for all calls with
    `warnings.simplefilter("ignore", CalipersWarning)`.
    """


class CheckFailed(CalipersError):
    """The input is readable, but a check on it failed. The command line exits with 1."""
