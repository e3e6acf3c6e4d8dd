"""Spark's failures as ours: one line from the pages that come back from an executor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from calipers.errors import CalipersError, CheckFailed, UnknownName

MARK = "CalipersError"  # stands before the words of an error that Spark's own expressions raise
_OURS = re.compile(r"\b(CalipersError|CheckFailed|UnknownName): (.+)")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*$")  # Spark's own number of the error
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_KILLED = ("Python worker exited unexpectedly", "java.lang.OutOfMemoryError", "ExecutorLostFailure")


@contextmanager
def translated() -> Iterator[None]:
    """Around everything that makes Spark work."""
    try:
        yield
    except CalipersError:
        raise
    except Exception as error:  # Spark has many, from Java and from Python
        raise _as_ours(error) from None


def _as_ours(error: Exception) -> Exception:
    text = str(error)
    if found := _OURS.search(text):
        kind = {kind.__name__: kind for kind in (CalipersError, CheckFailed, UnknownName)}[found[1]]
        return kind(_STATE.sub("", found[2]).strip())
    if found := _NO_MODULE.search(text):
        return CalipersError(
            f"the workers of Spark have no module '{found[1]}': install calipers[spark] for the Python that they run "
            "(PYSPARK_PYTHON, or spark.archives with a packed environment)"
        )
    if any(sign in text for sign in _KILLED):
        return CalipersError(
            "an executor of Spark died, most likely for want of memory: give it more (spark.executor.memory, "
            f"spark.executor.memoryOverhead) or use more partitions; it said: {_reason(text)}"
        )
    if type(error).__module__.startswith(("pyspark", "py4j")):
        return CalipersError(f"Spark failed: {_reason(text)}")
    return error


def _reason(text: str) -> str:
    """The first line, or, of a traceback from a worker, the last, which says what happened."""
    lines = [line.strip() for line in text.partition("JVM stacktrace")[0].strip().splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        ours = [line for line in lines if not line.startswith(("at ", "SQLSTATE", "^"))]
        return ours[-1][:300]
    return _STATE.sub("", lines[0])[:300] if lines else "no reason given"
