"""What ends trec_eval, and with which exit code."""

from __future__ import annotations

from calipers.errors import CalipersError

CANNOT_BE_CALCULATED = 4


class Refused(CalipersError):
    """Something that ends trec_eval with a code of its own."""

    def __init__(self, message: str, code: int, *, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message, file=file, line=line)
        self.code = code


def not_calculated(error: CalipersError) -> Refused:
    """What is wrong with the documents of a query that is evaluated."""
    message = error.message.partition("; combine (--combine)")[0]  # which trec_eval has not
    return Refused(message, CANNOT_BE_CALCULATED, file=error.file, line=error.line)
