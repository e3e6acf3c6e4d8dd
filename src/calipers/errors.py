"""Errors that a user sees. They say what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import FrameType

from calipers.support.removed_names import farewell

__all__ = [
    "CalipersError",
    "CalipersWarning",
    "CheckFailed",
    "ConflictingGrades",
    "MissingFile",
    "UnknownName",
    "WrongFormat",
    "chosen_measure",
    "place_of",
    "suggestion",
    "warn_user",
]

SHOWN_NAMES = 10  # existing names that an error lists if none of them is similar


class CalipersError(ValueError):
    """Bad input: one line that names the file and line where known. The command line exits with 2.

    parameter: the Python parameter that solves the problem. The command line then names the option for it.

    >>> str(CalipersError("score 'abc' is not a number", file="a.run", line=17))
    "a.run:17: score 'abc' is not a number"
    """

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, parameter: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.parameter = parameter

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        text = f"{place}: {self.message}" if place else self.message
        return text.encode("utf-8", "backslashreplace").decode()  # ids that are not UTF-8 can be printed, too


class CalipersWarning(UserWarning):
    """A warning about the input: queries that a run lacks, ties, unjudged documents, exchanged files.

    A call gives at most one warning, with all sentences. The `notes` of the result have the same sentences. Turn it off
    with `evaluate(..., warn=False)`, or for all calls with `warnings.simplefilter("ignore", CalipersWarning)`.
    """


def warn_user(notes: Iterable[str], warn: bool = True) -> None:
    """Give one CalipersWarning with all notes, at the line of the user's code. warn: False gives no warning."""
    text = "; ".join(notes) if warn else ""
    if not text:
        return
    import sys
    import warnings

    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and (_module(frame) + ".").startswith(("calipers.", "functools.", "importlib.")):
        frame = frame.f_back
        level += not _of_import(frame)  # warnings does not count these
    warnings.warn(text, CalipersWarning, stacklevel=level)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _of_import(frame: FrameType) -> bool:
    return _module(frame).startswith("importlib._bootstrap")


class CheckFailed(CalipersError):
    """The input is readable, but a check on it failed. The command line exits with 1."""


class MissingFile(CalipersError):
    """A file, or a pattern of files, for which there is no file."""


class WrongFormat(CalipersError):
    """A file of another format than was expected, for example a run instead of judgments."""

    def __init__(self, message: str, *, found: str = "", file: str | None = None) -> None:
        super().__init__(message, file=file)
        self.found = found  # name of the format


class ConflictingGrades(CalipersError):
    """A document that is judged twice, with different grades."""

    advice = "the argument combine (for example combine='max') makes one grade of them"

    def __str__(self) -> str:
        return f"{super().__str__()}; {self.advice}"


class UnknownName(CalipersError, KeyError):
    """A system, measure, query or other name that does not exist, with the name that may have been meant.

    >>> raise UnknownName.among("system", "bm52", ["bm25", "dense"])
    Traceback (most recent call last):
    ...
    calipers.errors.UnknownName: unknown system 'bm52'; did you mean bm25?
    """

    @classmethod
    def among(cls, kind: str, name: object, known: Iterable[str], *, file: str | None = None) -> UnknownName:
        """Return the error for a name that is not one of the known names."""
        reason = farewell(kind, str(name)) or f"unknown {kind} '{name}'; {suggestion(str(name), known)}"
        return cls(reason, file=file)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question with the most similar known name, or a list of the first known names.

    >>> suggestion("NDCG@1O", ["nDCG@10", "AP"])
    'did you mean nDCG@10?'
    >>> suggestion("?", ["nDCG@10", "AP"])
    'there are nDCG@10, AP'
    """
    from difflib import get_close_matches

    names = {str(each).lower(): str(each) for each in known}
    if near := get_close_matches(name.lower(), names, n=1):
        return f"did you mean {names[near[0]]}?"
    shown = ", ".join([*names.values()][:SHOWN_NAMES])
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return f"there are {shown}{more}" if names else "no name is known"


def place_of(kind: str, name: str, known: Sequence[str]) -> int:
    """Return the place of a name in a list of known names, or raise an error that suggests a similar name.

    >>> place_of("query", "q2", ("q1", "q2"))
    1
    """
    if name not in known:
        raise UnknownName.among(kind, name, known)
    return known.index(name)


def chosen_measure(name: str | None, measures: Sequence[str]) -> int:
    """Return the place of a measure in a list of measures. Case does not matter.

    name: None if there is only one measure.

    >>> chosen_measure(None, ("AP",)), chosen_measure("rr", ("AP", "RR"))
    (0, 1)
    """
    if name is None and len(measures) > 1:
        raise CalipersError(f"which measure? There are {', '.join(measures)}")
    if name is None or name in measures:
        return 0 if name is None else measures.index(name)
    lowered = [measure.lower() for measure in measures]
    if name.lower() not in lowered:
        raise UnknownName.among("measure", name, measures)
    return lowered.index(name.lower())
