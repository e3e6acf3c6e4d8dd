"""Errors that end trec_eval with an exit code of its own."""

from __future__ import annotations

from calipers.errors import CalipersError


class Refused(CalipersError):
    """An error with an exit code of trec_eval's."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code
